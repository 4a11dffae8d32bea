# SPDX-License-Identifier: Apache-2.0
"""CUDA's hardware queues: who asks for them, and what is said where there are too few."""

import re
import warnings

import pytest

torch = pytest.importorskip("torch")

import motley.torch  # noqa: E402
from motley.torch import prefetch  # noqa: E402
from motley.torch.prefetch import QUEUES  # noqa: E402


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch):
    monkeypatch.setattr(prefetch, "_told", set())
    monkeypatch.setenv(QUEUES, "32")  # which is put back, whatever a test does to it
    monkeypatch.delenv(QUEUES)


CASES = [  # what is set before, whether CUDA has begun, what is set then, what is said
    (None, False, "32", None),
    (None, True, None, "CUDA began before .* want motley.torch.ask_for_queues() at the top of the script, before any"),
    ("1", False, "1", f"{QUEUES} is 1, so that .* want {QUEUES}=32 in the environment, or none and motley.torch.ask"),
    ("8", True, "8", f"{QUEUES} is 8, so that"),
    ("17", False, "17", f"{QUEUES} is 17, so that"),
    ("many", False, "many", f"{QUEUES} is many, so that"),
    ("18", True, "18", None),
    ("32", True, "32", None),
]  # fmt: skip


@pytest.mark.parametrize("given,begun,then,said", CASES)
def test_they_are_asked_for_and_what_is_wrong_is_said_once(given, begun, then, said, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: begun)
    if given is not None:
        monkeypatch.setenv(QUEUES, given)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for _ in range(3):
            motley.torch.ask_for_queues()
    assert prefetch.os.environ.get(QUEUES) == then
    assert [re.match(said.replace("()", r"\(\)"), str(one.message)) is not None for one in heard] == [True] * (
        said is not None
    )
    assert all(one.filename == __file__ for one in heard)


@pytest.mark.parametrize("encoded", [False, True])
def test_a_prefetcher_says_it_with_the_first_files(encoded, monkeypatch):
    """Batches that need no decoder have no stream that waits."""
    batches = motley.torch.Prefetcher([([b"file"] if encoded else torch.zeros(1, 3, 8, 8, dtype=torch.uint8), 0)] * 2,
                                      "rand_augment", "cpu")  # fmt: skip
    assert batches._why_slow is None and QUEUES not in prefetch.os.environ  # nothing is asked for on the CPU
    batches._why_slow = prefetch.TOO_LATE
    monkeypatch.setattr(batches, "_decode_aside", lambda batch, lent: ([], [], None))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for _ in batches._decoding([]):
            pass
    assert [str(one.message) for one in heard] == [prefetch.TOO_LATE] * encoded
