#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the gallery: every op at five strengths, every policy and transform in five draws, of one photograph.

doc/site/gallery.py MOTLEY PHOTO      writes doc/site/gallery.md and its pictures, doc/site/static/gallery/"""

import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SITE = pathlib.Path(__file__).resolve().parent
PICTURES = SITE / "static" / "gallery"
POLICIES = SITE.parents[1] / "policy_files"
STRENGTHS = (0.25, 0.5, 0.75, 1, 1.25)  # of the way from the neutral value to the op's example
AFFINE = [f"1,{0.1 * i:g},0,{0.05 * i:g},1,0" for i in range(1, 6)]  # six numbers each, of which the table knows none
SMALL = "motley: 1\nname: small\nstages:\n  - resize: {size: [128, 192]}\n"
HEAD = """# Gallery

What each op, policy and transform does to one photograph. The build of this site makes every picture by the `motley`
command: `motley op NAME VALUE photo.png out.png`, `motley apply NAME photo.png --out DIR --variants 5`.
"""


def values(op):
    """The strengths at which an op is shown, as the command takes them."""
    if not op["values_max"]:
        return [None]
    if op["values_min"] > 1:
        return AFFINE
    neutral = op.get("neutral") or 0
    found = [neutral + t * (op["example"] - neutral) for t in STRENGTHS]
    if op.get("whole"):
        found = map(round, found)
    return sorted({f"{min(max(value, op['minimum']), op['maximum']):g}" for value in found}, key=float)


def steps(draw):
    """What was drawn for a picture: "rotate -12, solarize 96"."""
    told = [
        f"{step['op']} {step['value']:.3g}" if isinstance(step.get("value"), float) else step["op"]
        for step in draw["steps"]
        if step["applied"] and not step["op"].startswith("mix_")
    ]
    return ", ".join(told) or "nothing"


def strip(pictures):
    """A row of (file, caption), which wraps on narrow screens."""
    figures = [
        f'<figure><img src="../../_static/gallery/{name}" alt="{html.escape(caption)}" loading="lazy">'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
        for name, caption in pictures
    ]
    return '<div class="strip">\n' + "\n".join(figures) + "\n</div>\n"


class Gallery:
    def __init__(self, motley, photo, scratch):
        self.motley, self.scratch = motley, scratch
        (scratch / "small.yaml").write_text(SMALL)
        self.run("apply", scratch / "small.yaml", photo, "--out", scratch / "small")
        self.photo = photo
        [self.small] = (scratch / "small").iterdir()

    def run(self, *args):
        done = subprocess.run([self.motley, *map(str, args)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"gallery: motley {' '.join(map(str, args))}: {done.stderr}")
        return done.stdout

    def op(self, op):
        pictures = []
        for i, value in enumerate(values(op)):
            name = f"op-{op['name']}-{i}.png"
            self.run("op", "--", op["name"], *([] if value is None else [value]), self.small, PICTURES / name)
            pictures.append((name, op["name"] if value is None else value))
        unit = f" In {op['unit']}." if op["unit"] else ""
        return f"\n### {op['name']}\n\n{op['summary']}{unit}\n\n" + strip(pictures)

    def policy(self, name, photo, *boxes):
        views = json.loads(self.run("show", name, "--json")).get("views")
        if not views:
            return f"\n### {name}\n\n" + self.draws(name, name, photo, *boxes)
        rows = [
            f"`{view['name']}`:\n\n" + self.draws(name, f"{name}-{view['name']}", photo, "--only", view["name"])
            for view in views
        ]
        return f"\n### {name}\n\n" + "\n".join(rows)

    def draws(self, policy, stem, photo, *options):
        """Five draws of a policy or of a view, in files STEM-0.png to STEM-4.png."""
        folder, draws = self.scratch / stem, self.scratch / f"{stem}.jsonl"
        self.run("apply", policy, photo, "--variants", 5, "--seed", 2, "--out", folder, "--draws", draws, *options)
        pictures = []
        rows = [json.loads(line) for line in draws.read_text().splitlines()]
        for i, draw in enumerate(row for row in rows if "out" in row):  # and not what views share
            shutil.move(draw["out"], PICTURES / f"{stem}-{i}.png")
            pictures.append((f"{stem}-{i}.png", steps(draw)))
        return strip(pictures)

    def boxes(self, path, photo):
        """The cat's face, for policies that work in boxes or crop by them."""
        if not re.search("_only_bboxes|iou_crop:", path.read_text()):
            return ()
        width, small = (int.from_bytes(png.read_bytes()[16:20], "big") for png in (photo, self.small))  # of the header
        face = self.scratch / "boxes.jsonl"
        face.write_text(json.dumps({"image": str(photo), "boxes": [[x * width / small for x in (55, 15, 130, 100)]]}))
        return "--boxes", face

    def page(self):
        small = [("photo.png", "the photograph: Chelsea, by S. van der Walt, CC0")]
        shutil.copy(self.small, PICTURES / small[0][0])
        parts = [HEAD, strip(small), "\n## Ops\n"]
        parts += [self.op(op) for op in json.loads(self.run("ops", "--json"))]
        parts += ["\n## Policies\n\nFive draws of each; below a picture is what was drawn.\n"]
        for path in sorted(POLICIES.glob("*.yaml")):
            parts.append(self.policy(path.stem, self.small, *self.boxes(path, self.small)))
        parts += ["\n## Transforms\n\nWhole recipes, from the photograph to what a network gets.\n"]
        for path in sorted((POLICIES / "transforms").glob("*.yaml")):
            parts.append(self.policy(path.stem, self.photo, *self.boxes(path, self.photo)))
        return "".join(parts)


def main():
    motley, photo = map(pathlib.Path, sys.argv[1:])
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        (SITE / "gallery.md").write_text(Gallery(motley.resolve(), photo.resolve(), pathlib.Path(scratch)).page())


if __name__ == "__main__":
    main()
