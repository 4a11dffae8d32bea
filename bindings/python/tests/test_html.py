# SPDX-License-Identifier: Apache-2.0
"""How policies, stages and transforms show themselves in notebooks."""

from html import escape

import pytest

import motley


@pytest.mark.parametrize(
    "shown",
    [
        motley.Policy.builtin("rand_augment"),
        motley.Transform("trivial_augment_wide", seed=5, stream=1),
        motley.Transform("torchvision_train", seed=3),
        motley.Policy.builtin("tf_auto_augment_detection_v0"),
    ],
    ids=repr,
)
def test_the_name_and_the_text(shown):
    text = getattr(shown, "policy", shown).show()
    assert shown._repr_html_() == (
        f"<details><summary><code>{escape(repr(shown))}</code></summary><pre>{escape(text)}</pre></details>"
    )


def test_what_wraps_a_stage_shows_it():
    stage = motley.Transform("rand_augment", seed=5)
    assert motley.Follow(stage)._repr_html_() == stage._repr_html_()
    assert motley.Mix(mixup=0.2)._repr_html_() == "<code>Mix(mixup=0.2, seed=0)</code>"


def test_nothing_of_a_policy_is_read_as_html():
    text = '{"motley": 1, "name": "x", "title": "<script>alert(1)</script> & <b>", "branches": [{"op": "invert"}]}'
    shown = motley.Policy(text)._repr_html_()
    assert "<script" not in shown and "<b>" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &lt;b&gt;" in shown
