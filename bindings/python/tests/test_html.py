# SPDX-License-Identifier: Apache-2.0
"""How policies and stages show themselves in notebooks."""

import html.parser
import re
import shutil
import subprocess

import pytest
from conftest import torch
from PIL import Image

import motley


class Page(html.parser.HTMLParser):
    """Tags that close as they opened, and the text of cells and blocks."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.pre, self.tags = [], [], "", set()
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open:
            self.rows[-1][-1] += data
        if "pre" in self.open:
            self.pre += data


@pytest.mark.parametrize("name", motley.Policy.names())
def test_every_policy_shows_itself(name):
    policy = motley.Policy.builtin(name)
    text = policy._repr_html_()
    page = Page(text)
    assert page.pre == policy.show()
    assert not re.search(r"src=|href=|url\(|@import|<script|https?://(?!.*</pre>)", text.split("<pre>")[0]), (
        "it stands alone"
    )
    shown = {row[0]: float(row[1]) for row in page.rows if len(row) == 5}
    boxes = [[56, 56, 168, 168]] if policy.takes_boxes else None
    drawn = [
        step["op"]
        for steps in motley.Stage(policy).draw(2000, sample_ids=range(2000), boxes=boxes)
        for step in steps
    ]
    assert shown == {op: pytest.approx(drawn.count(op) / 2000, abs=6e-4) for op in set(drawn)}


def test_values_are_those_of_the_levels():
    page = Page(motley.Policy.builtin("rand_augment")._repr_html_())
    rows = {row[0]: row[3] for row in page.rows if len(row) == 5}
    assert rows["rotate"] == "-9 to 9" and rows["identity"] == "" and rows["solarize"] == "178.5 to 178.5"
    later = Page(motley.Stage("pba_cifar10", epoch=190)._repr_html_())
    assert later.rows != Page(motley.Stage("pba_cifar10")._repr_html_()).rows


def test_a_stage_lists_what_comes_next():
    stage = motley.Stage("trivial_augment_wide", seed=5, stream=1)
    page = Page(stage._repr_html_())
    wanted = [[str(i), steps[0]["op"]] for i, steps in enumerate(stage.draw(5))]
    assert [[row[0], row[1].split()[0]] for row in page.rows[-5:]] == wanted and stage.next_sample == 0
    assert "Stage(policy=&lt;motley.Policy" in stage._repr_html_() and "seed=5" in stage._repr_html_()
    assert motley.Follow(stage)._repr_html_() == stage._repr_html_()
    if torch is not None:
        from motley.torch import Stage

        assert Page(Stage("trivial_augment_wide", seed=5, stream=1)._repr_html_()).rows == page.rows


@pytest.mark.parametrize("name", motley.Transform.names())
def test_every_transform_shows_itself(name):
    transform = motley.Transform(name, seed=3, stream=0)
    text = transform._repr_html_()
    page = Page(text)
    assert page.pre == transform.show()
    assert not re.search(r"src=|href=|url\(|@import|<script", text.split("<pre>")[0]), "it stands alone"
    shown = {row[0]: float(row[1]) for row in page.rows if len(row) == 5}
    draws = transform.draw(2000, sample_ids=range(2000))
    wanted = {"crop: area": 1, "crop: ratio": 1}
    for axis in ("horizontal", "vertical"):
        wanted[f"flip: {axis}"] = sum(draw["flip"][axis] for draw in draws) / 2000
    wanted["erase: area"] = sum(len(draw.get("erase", ())) for draw in draws) / 2000
    for op in {step["op"] for draw in draws for step in draw["steps"]}:
        wanted[op] = sum(step["op"] == op for draw in draws for step in draw["steps"]) / 2000
    assert shown == {name: pytest.approx(count, abs=6e-4) for name, count in wanted.items() if count}
    lines = page.rows[-5:]
    assert [row[0] for row in lines] == list("01234") and transform.next_sample == 0
    for (_, line), draw in zip(lines, draws):
        crop = "crop {width}x{height} at {left}, {top}".format(**draw["crop"])
        assert line.startswith(crop) and ("flip horizontal" in line) == draw["flip"]["horizontal"]
        assert [step["op"] for step in draw["steps"]] == [
            part.split()[0] for part in line.split(", ")[2:] if not part.startswith(("flip", "erase"))
        ]


def test_a_mix_shows_itself():
    assert motley.Mix(mixup=0.2)._repr_html_() == "<code>Mix(mixup=0.2, seed=0)</code>"


def test_nothing_of_a_policy_is_read_as_html():
    text = (
        '{"motley": 1, "name": "x", "title": "<script>alert(1)</script> & <b>", "branches": [{"op": "invert", "p": 0}]}'
    )
    shown = motley.Policy(text)._repr_html_()
    assert (
        "<script" not in shown
        and "<b>" not in shown
        and "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &lt;b&gt;" in shown
    )
    assert len(Page(shown).rows) == 1  # the head alone: nothing is ever applied


def test_custom_operations():
    @motley.custom_op("mine_in_a_notebook")
    def mine(indices, images, values):
        pass

    shown = motley.Policy('{"motley": 1, "name": "x", "branches": ["mine_in_a_notebook"]}')._repr_html_()
    assert [row[:2] for row in Page(shown).rows[1:]] == [["mine_in_a_notebook", "1.000"]]


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not here")
def test_a_browser_shows_it_light_and_dark(tmp_path):
    page = tmp_path / "page.html"
    shades = []
    for dark in 0, 1:
        body = f"<body style='background:{'#111' if dark else '#fff'};color:{'#eee' if dark else '#111'}'>"
        page.write_text("<meta charset='utf-8'>" + body + motley.Stage("rand_augment")._repr_html_())
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=900,900"]
        command += [f"--blink-settings=preferredColorScheme={1 - dark}", f"--user-data-dir={tmp_path / 'browser'}"]
        command += [f"--screenshot={tmp_path / 'shot.png'}", f"file://{page}"]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        colours = Image.open(tmp_path / "shot.png").convert("RGB").getcolors(1 << 24)
        bars = {True: (0x7B, 0xA2, 0xF5), False: (0x3D, 0x6F, 0xD9)}
        shades.append({colour for count, colour in colours if count > 1000})
        assert bars[bool(dark)] in shades[-1] and bars[not dark] not in shades[-1]
