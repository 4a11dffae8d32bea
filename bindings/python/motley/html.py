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
    return _page(policy, "policy", "", *_of_drawn(policy, 0, 0))


def of_stage(stage):
    drawn = stage.draw(FEW, size=SIZE, boxes=[MIDDLE] if stage.policy.takes_boxes else None)
    lines = [", ".join(map(_step, steps)) for steps in drawn]
    counts = _of_drawn(stage.policy, stage._key(None, counted=False), stage.epoch)
    return _page(stage.policy, "policy", repr(stage), *counts, stage, lines)


def of_transform(transform):
    """With the draws of the samples that come next, for images of SIZE; areas are shares of the image's."""
    draws = transform.draw(SAMPLES, size=SIZE)
    height, width = transform.size or SIZE
    values, lines = collections.defaultdict(list), []
    for draw in draws:
        crop, boxes = draw["crop"], draw.get("erase", ())
        flips = [axis for axis, flipped in draw["flip"].items() if flipped]
        values["crop: area"].append(crop["width"] * crop["height"] / (SIZE[0] * SIZE[1]))
        values["crop: ratio"].append(crop["width"] / crop["height"])
        for axis in flips:
            values[f"flip: {axis}"].append(None)
        for step in draw["steps"]:
            values[step["op"]].append((_numbers(step) or [None])[0])
        for box in boxes:
            values["erase: area"].append(box["width"] * box["height"] / (width * height))
        if len(lines) < FEW:
            parts = ["crop {width}x{height} at {left}, {top}".format(**crop), *(f"flip {axis}" for axis in flips)]
            parts += [*map(_step, draw["steps"]), *("erase {width}x{height}".format(**box) for box in boxes)]
            lines.append(", ".join(parts))
    counts = {name: len(numbers) for name, numbers in values.items()}
    code = f"{type(transform).__name__}({transform.name!r})"
    return _page(transform, "transform", code, counts, values, transform, lines)


def _page(shown, what, code, counts, values, stage=None, lines=()):
    """lines: what the next samples of `stage` will get."""
    parts = [f"<h3>{escape(shown.title or shown.name)}</h3>"]
    parts.append(f"<p class='paper'>{escape(shown.paper) or 'no paper is cited'}</p>")
    parts += [f"<p><code>{escape(code)}</code></p>"] if code else []
    parts.append(_operations(counts, values))
    if stage is not None:
        rows = [[str(stage.next_sample + i), escape(line) or "nothing"] for i, line in enumerate(lines)]
        parts.append(_table("<th>sample</th><th>what it will get</th>", rows))
    parts.append(f"<details><summary>the {what}'s text</summary><pre>{escape(shown.show())}</pre></details>")
    return f'{STYLE}<div class="motley">{"".join(parts)}</div>'


def _table(head, rows):
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _numbers(step):
    value = step.get("value")
    return value if isinstance(value, list) else [] if value is None else [value]


def _step(step):
    return " ".join([step["op"], *(f"{number:.4g}" for number in _numbers(step))])


def _operations(counts, values):
    """A row for each operation: how often samples get it, and its values."""
    most, rows = max(counts.values(), default=1), []
    for name, count in sorted(counts.items()):
        numbers = [number for number in values.get(name, ()) if number is not None]
        span = f"{min(numbers):.4g} to {max(numbers):.4g}" if numbers else ""
        bar = f"<div class='bar'><div style='width:{100 * count / most:.1f}%'></div></div>"
        rows.append([escape(name), f"{count / SAMPLES:.3f}", bar, span, _bars(numbers)])
    return _table("<th>operation</th><th colspan='2'>per image</th><th colspan='2'>values</th>", rows)


def _of_drawn(policy, seed, epoch):
    """How many samples of this epoch get each operation, and the values that it can have, one for each level and
    sign."""
    boxes = same_boxes([MIDDLE], SAMPLES) if policy.takes_boxes else None
    drawn = Drawn.of(policy, Samples(seed, epoch).c, [SIZE] * SAMPLES, 3, boxes)
    steps = (drawn.steps[i * drawn.max_steps + s].op for i in range(SAMPLES) for s in range(drawn.counts[i]))
    by_number = collections.Counter(steps).items()
    counts = {text_of(lib.motley_policy_op(policy._handle, op).name): count for op, count in by_number}
    phases = json.loads(text_from(lib.motley_policy_describe, policy._handle))["phases"]
    phase = next(phase for phase in reversed(phases) if phase["from"] <= epoch)
    values = collections.defaultdict(list)
    for step in (step for branch in phase["branches"] for step in branch["steps"] if step["p"]):
        for level in step["levels"]:
            values[step["op"]] += [level[key] for key in ("value", "minus") if isinstance(level.get(key), (int, float))]
    return counts, values


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
