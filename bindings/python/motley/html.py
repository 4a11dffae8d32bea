# SPDX-License-Identifier: Apache-2.0
"""How policies, stages and transforms show themselves in notebooks: the parts of `motley preview`'s page that need no
images. Their content comes from the library: draws, values by motley_policy_describe, and the policy's text. The style
is not the page's, which styles its body: output in a notebook must not restyle the rest of the notebook."""

import collections
import json
from html import escape

from ._core import lib
from .draws import Drawn, Samples, same_boxes
from .errors import text_from, text_of

SAMPLES = 2000  # drawn for the frequencies
SIZE = 224, 224  # of the images that they are drawn for
MIDDLE = 56, 56, 168, 168  # the box of each, for policies that work in boxes
BARS = 24  # of a distribution of values
FEW = 5  # samples whose steps a stage lists

STYLE = """<style>
.motley{--soft:#6b6b70;--line:#d8d8dc;--fill:#3d6fd9;font:14px/1.45 system-ui,sans-serif;max-width:900px}
@media(prefers-color-scheme:dark){.motley{--soft:#9a9aa2;--line:#3a3b40;--fill:#7ba2f5}}
.motley h3{margin:0}.motley .paper{color:var(--soft);margin:0 0 .8em}
.motley table{border-collapse:collapse;margin:0 0 .8em}
.motley td,.motley th{text-align:left;padding:2px 12px 2px 0;border-bottom:1px solid var(--line)}
.motley .bar{height:10px;width:180px}.motley .bar div{height:100%;background:var(--fill);border-radius:2px}
.motley svg{width:130px;height:20px;fill:var(--fill);display:block}
.motley pre{overflow:auto;max-height:400px;border:1px solid var(--line);border-radius:4px;padding:10px}
</style>"""


def of_policy(policy):
    return _framed(_head(policy) + _operations(policy, 0, 0) + _text(policy))


def of_stage(stage):
    drawn = stage.draw(FEW, size=SIZE, boxes=[MIDDLE] if stage.policy.takes_boxes else None)
    lines = _samples(stage, [", ".join(map(_step, steps)) for steps in drawn])
    code = f"<p><code>{escape(repr(stage))}</code></p>"
    operations = _operations(stage.policy, stage.seed, stage.epoch)
    return _framed(_head(stage.policy) + code + operations + lines + _text(stage.policy))


def of_transform(transform):
    """With the draws of the samples that come next, for images of SIZE; areas are shares of the image's."""
    draws = transform.draw(SAMPLES, size=SIZE)
    height, width = transform.size or SIZE
    counts, values = collections.Counter(), collections.defaultdict(list)
    for draw in draws:
        crop = draw["crop"]
        found = [
            ("crop: area", crop["width"] * crop["height"] / (SIZE[0] * SIZE[1])),
            ("crop: ratio", crop["width"] / crop["height"]),
            *((f"flip: {axis}", None) for axis, flipped in draw["flip"].items() if flipped),
            *((step["op"], (_numbers(step) or [None])[0]) for step in draw["steps"]),
            *(("erase: area", box["width"] * box["height"] / (width * height)) for box in draw.get("erase", ())),
        ]
        for name, number in found:
            counts[name] += 1
            values[name] += [] if number is None else [number]
    lines = [
        ", ".join(
            [
                "crop {width}x{height} at {left}, {top}".format(**draw["crop"]),
                *(f"flip {axis}" for axis, flipped in draw["flip"].items() if flipped),
                *map(_step, draw["steps"]),
                *("erase {width}x{height}".format(**box) for box in draw.get("erase", ())),
            ]
        )
        for draw in draws[:FEW]
    ]
    code = f"<p><code>{escape(type(transform).__name__)}('{escape(transform.name)}')</code></p>"
    table = _rows(counts, values) + _samples(transform, lines)
    return _framed(_head(transform) + code + table + _text(transform, "transform"))


def _framed(body):
    return f'{STYLE}<div class="motley">{body}</div>'


def _head(policy):
    paper = escape(policy.paper) or "no paper is cited"
    return f"<h3>{escape(policy.title or policy.name)}</h3><p class='paper'>{paper}</p>"


def _text(shown, what="policy"):
    return f"<details><summary>the {what}'s text</summary><pre>{escape(shown.show())}</pre></details>"


def _samples(stage, lines):
    """What the next samples will get, a line each."""
    rows = "".join(
        f"<tr><td>{stage.next_sample + i}</td><td>{escape(line) or 'nothing'}</td></tr>" for i, line in enumerate(lines)
    )
    return f"<table><tr><th>sample</th><th>what it will get</th></tr>{rows}</table>"


def _numbers(step):
    value = step.get("value")
    return value if isinstance(value, list) else [] if value is None else [value]


def _step(step):
    return " ".join([step["op"], *(f"{number:.4g}" for number in _numbers(step))])


def _operations(policy, seed, epoch):
    """A row for each operation that the samples of this epoch get: how often, and its values."""
    return _rows(_counts(policy, seed, epoch), _values(policy, epoch))


def _rows(counts, values):
    most = max(counts.values(), default=1)
    rows = []
    for name, count in sorted(counts.items()):
        numbers = values.get(name, [])
        span = f"{min(numbers):.4g} to {max(numbers):.4g}" if numbers else ""
        bar = f"<div class='bar'><div style='width:{100 * count / most:.1f}%'></div></div>"
        cells = escape(name), f"{count / SAMPLES:.3f}", bar, span, _bars(numbers)
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return (
        "<table><tr><th>operation</th><th colspan='2'>per image</th><th colspan='2'>values</th></tr>"
        + "".join(rows)
        + "</table>"
    )


def _counts(policy, seed, epoch):
    boxes = same_boxes([MIDDLE], SAMPLES) if policy.takes_boxes else None
    drawn = Drawn.of(policy, Samples(seed, epoch).c, [SIZE] * SAMPLES, 3, boxes)
    steps = (drawn.steps[i * drawn.max_steps + s].op for i in range(SAMPLES) for s in range(drawn.counts[i]))
    names = collections.Counter(steps)
    return {text_of(lib.motley_policy_op(policy._handle, op).name): count for op, count in names.items()}


def _values(policy, epoch):
    """op -> the values that it can have in that epoch, one for each level and sign."""
    phases = json.loads(text_from(lib.motley_policy_describe, policy._handle))["phases"]
    found = collections.defaultdict(list)
    phase = next(phase for phase in reversed(phases) if phase["from"] <= epoch)
    for step in (step for branch in phase["branches"] for step in branch["steps"] if step["p"]):
        for level in step["levels"]:
            found[step["op"]] += [level[key] for key in ("value", "minus") if isinstance(level.get(key), (int, float))]
    return found


def _bars(numbers):
    if not numbers:
        return ""
    low, high = min(numbers), max(numbers)
    place = BARS / (high - low) if high > low else 0
    bars = collections.Counter(min(int((number - low) * place), BARS - 1) for number in numbers)
    most = max(bars.values())
    rects = "".join(
        f"<rect x='{bar}.1' y='{10 - 10 * n / most:.2f}' width='.8' height='{10 * n / most:.2f}'/>"
        for bar, n in sorted(bars.items())
    )
    return f"<svg viewBox='0 0 {BARS} 10' preserveAspectRatio='none'>{rects}</svg>"
