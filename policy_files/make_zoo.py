#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the policy files that follow from facts/*.json, and doc/zoo.md, the list of all published policies.

    policy_files/make_zoo.py            writes them
    policy_files/make_zoo.py --check    exits with 1 when one of them is not what would be written

A file of facts/ holds what a paper's released code says of one policy, as numbers: its ops, ranges, probabilities and
levels. Where its mapping from levels to values is the one that a policy file states, the file is generated from it;
policies that follow a library's own conventions (torchvision, timm, DALI) are written by hand, and only listed here."""

import argparse
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ZOO = HERE.parent / "doc" / "zoo.md"

# Facts that are written as policy files by this script: name of the policy, profile, and the fill of its warps.
GENERATED = {
    "augmix": ("augmix_paper", "paper", 0),
    "augmix_all_ops": ("augmix_all_ops_paper", "paper", 0),
    "autoaugment_detection_v0": ("tf_auto_augment_detection_v0", "tf", 128),
    "autoaugment_detection_v1": ("tf_auto_augment_detection_v1", "tf", 128),
    "autoaugment_detection_v2": ("tf_auto_augment_detection_v2", "tf", 128),
    "autoaugment_detection_v3": ("tf_auto_augment_detection_v3", "tf", 128),
    "autoaugment_cifar10_full": ("auto_augment_cifar10_full", "paper", 0),
    "autoaugment_svhn_full": ("auto_augment_svhn_full", "paper", 0),
    "autoaugment_imagenet_v0": ("tf_auto_augment_v0", "tf", 128),
    "autoaugment_imagenet_v0_simple": ("tf_auto_augment_v0_simple", "tf", 128),
    "autoaugment_tf_vit": ("tf_auto_augment_vit", "tf", 128),
    "autoaugment_panoptic_deeplab": ("tf_auto_augment_panoptic_deeplab", "tf", 128),
    "autoaugment_simple_classification": ("tf_auto_augment_simple_classification", "tf", 128),
    "fast_autoaugment_cifar10": ("fast_auto_augment_cifar10", "paper", 0),
    "fast_autoaugment_imagenet": ("fast_auto_augment_imagenet", "paper", 0),
    "fast_autoaugment_svhn": ("fast_auto_augment_svhn", "paper", 0),
    "fast_autoaug_torch_imagenet": ("fast_auto_augment_torch_imagenet", "paper", 0),
    "pba_cifar10": ("pba_cifar10", "paper", 0),
    "pba_svhn": ("pba_svhn", "paper", 0),
    "randaugment_efficientdet": ("efficientdet_rand_augment", "tf", 128),
    "randaugment_fixmatch": ("fixmatch_rand_augment", "paper", 0),
    "randaugment_fixmatch_imagenet": ("fixmatch_rand_augment_imagenet", "tf", 128),
    "randaugment_mm_simple_increasing": ("mm_rand_augment_simple_increasing", "paper", 128),
    "randaugment_uda": ("uda_rand_augment", "paper", 0),
    "trivialaugment_fiximagenet": ("trivial_augment_fiximagenet", "paper", 0),
    "trivialaugment_fixmirror": ("trivial_augment_fixmirror", "paper", 0),
    "trivialaugment_long": ("trivial_augment_long", "paper", 0),
    "trivialaugment_ohl": ("trivial_augment_ohl", "paper", 0),
    "trivialaugment_ra": ("trivial_augment_ra", "paper", 0),
    "trivialaugment_standard": ("trivial_augment_standard", "paper", 0),
    "trivialaugment_ua": ("trivial_augment_ua", "paper", 0),
    "trivialaugment_wide": ("trivial_augment_wide_paper", "paper", 0),
    "uniformaugment": ("uniform_augment", "paper", 0),
}

# Facts whose policies are files that were written by hand, in the conventions of the library that they name.
BY_HAND = {
    "augmix_all_ops": ["augmix", "timm_augmix"],
    "autoaugment_cifar10": ["auto_augment_cifar10"],
    "autoaugment_imagenet": ["auto_augment_imagenet", "timm_auto_augment_original", "timm_auto_augment_originalr"],
    "autoaugment_svhn": ["auto_augment_svhn"],
    "autoaugment_imagenet_v0": ["timm_auto_augment_v0", "timm_auto_augment_v0r", "dali_auto_augment_image_net"],
    "randaugment": ["rand_augment", "dali_rand_augment"],
    "randaugment_tf": ["tf_rand_augment"],
    "randaugment_timm": ["timm_rand_augment"],
    "randaugment_timm_increasing": ["timm_rand_m9_mstd05_inc1"],
    "randaugment_timm_weighted": ["timm_rand_augment_weights"],
    "randaugment_timm_3a": ["timm_rand_augment_3a"],
    "randaugment_timm_3aw": ["timm_rand_augment_3aw"],
    "three_augment": ["timm_3_augment"],
    "trivialaugment_wide": ["trivial_augment_wide", "dali_trivial_augment_wide"],
}

# Built-in policies that nobody has published, and what they are for.
OWN = {
    "trivial_augment_bands": "TrivialAugment for any number of bands: the operations of TrivialAugment Wide that mean "
    "the same on every band, flips and a blur. No paper has tried the list"
}

# Facts without a policy file yet, and why.
NOT_YET = {
    "trivialaugment_aa": "sample_pairing needs a second image",
    "trivialaugment_full": "crop_bilinear resizes, which no op of a policy does",
    "trivialaugment_xlong": "crop_bilinear resizes, which no op of a policy does; the facts do not give the parameters "
    "of max_filter, min_filter, median_filter and gaussian_filter",
}

# Published policies that are not here because of the terms of their source: title, paper, source, reason.
LEFT_OUT = [
    (
        "ARS-Aug, CIFAR-10 (25 rows; 35 in a copy)",
        "Tian, Lin, Sun, Wang, Yan, Ouyang 2020",
        "kelelexu/ARS-Aug",
        "the source states no licence",
    ),
    (
        "DADA, CIFAR-10, CIFAR-100, ImageNet, SVHN",
        "Li, Hu, Wang, Hospedales, Robertson, Yang 2020, arXiv:2003.03780",
        "VDIGPKU/DADA",
        "its README limits it to academic research",
    ),
    (
        "DeepAA, CIFAR and ImageNet",
        "Zheng, Zhang, Yan, Zhang 2022, arXiv:2203.06172",
        "MSU-MLSys-Lab/DeepAA",
        "the source states no licence",
    ),
    (
        "LA3, CIFAR-10, CIFAR-100, ImageNet",
        "Zhao, Li, Zhang 2022",
        "Simpleple/LA3-Label-Aware-AutoAugment",
        "the source states no licence; it also chooses by the label",
    ),
    (
        "OHL-AutoAug's elements",
        "Lin, Guo, Li, Yuan, Lin, Yan, Ouyang 2019, arXiv:1905.07373",
        "Awesome-AutoAug-Algorithms/AWS-OHL-AutoAug",
        "the source states no licence; no final distribution was published",
    ),
    (
        "SA-AutoAug, COCO",
        "Chen, Li, Li, Liu, Zhang, Jia 2021",
        "dvlab-research/SA-AutoAug",
        "its licence is for non-commercial purposes",
    ),
]

DETECTION = (
    "The detection policies take the boxes of each image (`motley_samples.boxes`, `motley.Follow`). As in the source, "
    "a step inside boxes is applied to each box separately, with a third of the published chance and in a drawn "
    "order; its level and sign are the same for all boxes, and it does not move the boxes. Motley decides the rest. A "
    "box is the pixels that it touches; the source takes one more column and row. Earlier steps of the image move "
    "boxes by the polygon rule of `motley_follow`, which does not round to whole pixels as the source does. No "
    "step works in a box that has left the image. Masks that follow are warped inside boxes like their image, while "
    "points stay where they are. `bbox_cutout` chooses one of the boxes that are left, and its rectangle is clipped "
    "to the image, not to the box."
)

OP_NAMES = {"posterize_0_4": "posterize"}  # a second range of an op; every other name is the op's own
BOXES_FOLLOW = "_bbox"  # a name that ends so: the op itself. Boxes follow every op
IN_BOXES = "_only_bboxes"  # a name that ends so: the op inside each box, to which it is applied with a third of `p`
PHASES = {"pba_cifar10", "pba_svhn"}


def facts_of(name):
    return json.loads((HERE / "facts" / f"{name}.json").read_text(encoding="utf-8"))


def number(value):
    return repr(int(value)) if float(value).is_integer() else repr(float(value))


def pair(a, b):
    return f"[{number(a)}, {number(b)}]"


def citation(paper):
    """'A. Author; Title; 2019 (VENUE); arXiv 1905.00397' as 'A. Author 2019, arXiv:1905.00397'."""
    authors, _, rest = paper.partition("; ")
    year = re.search(r"\b(20\d\d)\b", rest)
    arxiv = re.search(r"arXiv (\d{4}\.\d{5})", rest)
    surnames = ", ".join(name.split()[-1] for name in authors.replace(" and others", "").split(", "))
    if " and others" in authors:
        surnames += " and others"
    return f"{surnames} {year.group(1)}" + (f", arXiv:{arxiv.group(1)}" if arxiv else "")


def op_entry(name, op, policy_fill):
    """The policy's entry for an op that takes levels or works in boxes, or None."""
    plain = name.removesuffix(IN_BOXES)
    if op["range"] is None:
        return None if plain == name else (name, f"  {name}: {{op: {plain}, inside: boxes}}")
    low, high = op["range"]
    rounding = op.get("rounding", "")
    signed = op["negate"]
    stem = name
    named = "cutout_tf" if plain == "cutout" else OP_NAMES.get(name, plain)
    keys = [f"op: {named}"] if name in OP_NAMES or plain != name else []
    if name == "cutout" and "half side" in op["unit"]:
        stem = "cutout_tf"
    elif name == "cutout" and op["unit"] == "pixels (side)":
        stem, high = "cutout_tf", high / 2  # whole pixels, half-open, clipped: half the side is drawn
    falling = re.match(r"(\d+) - int\(", rounding)
    if falling:  # base - int(magnitude)
        keys += [f"range: {pair(0, low - high)}", f"base: {falling.group(1)}", "sign: minus", "round: trunc"]
        assert float(falling.group(1)) == low, (name, rounding)
    else:
        offset = op["unit"] == "blend factor offset"
        if (low, high) == (0.1, 1.9) and op["level_range"] != [0, 1]:
            keys += ["low: 0.1, span: 1.8"]  # 0.1 + 1.8 * level / top, as the sources compute it
        else:
            keys += [f"range: {pair(low, high)}"]
        if offset:
            keys += ["base: 1"]
        if signed:
            keys += ["sign: random"]
        if op["unit"].startswith("fraction") and name != "bbox_cutout":
            keys += ["of: height" if name == "translate_y" else "of: width"]
        if rounding.startswith("truncate"):
            keys += ["round: trunc"]
    if name == "cutout":
        fill = [int(v) for v in op.get("fill", "125,122,113").split(",")]
        if fill != [policy_fill] * 3:
            keys += [f"fill: [{', '.join(map(str, fill))}]"]
    if plain != name:
        keys += ["inside: boxes"]
    return stem, f"  {stem}: {{{', '.join(keys)}}}"


def step_text(name, probability, level):
    if probability == 1 and level is None:
        return name
    parts = [f"op: {name}"]
    if probability != 1:
        parts.append(f"p: {number(probability)}")
    if level is not None:
        parts.append(f"level: {number(level)}")
    return "{" + ", ".join(parts) + "}"


def policy_text(name):
    facts = facts_of(name)
    policy, profile, fill = GENERATED[name]
    ops = facts["ops"]
    stems, entries = {}, []
    for op, row in ops.items():
        stems[op] = op.removesuffix(BOXES_FOLLOW) if not op.endswith(IN_BOXES) else op
        entry = op_entry(stems[op], row, fill)
        if entry:
            stems[op] = entry[0]
            entries.append(entry[1])

    levelled = {op for op, row in ops.items() if row["range"] is not None}
    ranges = {tuple(ops[op]["level_range"]) for op in levelled}
    assert len(ranges) == 1, (name, ranges)
    top = ranges.pop()[1]
    head = [f"repeat: {1 if facts['kind'] not in ('rand_augment',) else 2}"]
    each_level = None  # levels that branches list one by one
    probability = 1
    application = facts["application"]
    if facts["kind"] == "schedule":
        weights = ", ".join(number(p) for p in application["count_probabilities"])
        head = [f"repeat: {{weights: [{weights}]}}", "choice: until_applied", f"top: {top}"]
    elif facts["kind"] == "augmix":
        assert application["depth"].startswith("-1: uniform in 1..3"), name
        assert application["level"].endswith("severity]"), name
        head = [
            f"augmix: {{width: {application['width']}, alpha: {number(application['alpha'])}}}",
            "repeat: {weights: [0, 1, 1, 1]}",
            f"top: {top}",
            f"level: {{uniform: [0.1, {application['severity']}]}}",
        ]
    elif facts["kind"] == "trivial_augment":
        head += [f"bins: {top + 1}", "level: uniform"]
    elif facts["kind"] == "rand_augment":
        probability = {"uniformaugment": 0.5}.get(name) or application["probability_per_op"]
        magnitude = application["magnitude"]
        if name == "uniformaugment":
            head += [f"top: {top}", "level: {uniform: [0, 1]}"]
        elif "uniform in {0, 1" in magnitude:
            head += [f"bins: {top + 1}", "level: uniform"]
        elif "uniform in 1..9" in magnitude:
            head += [f"top: {top}"]
            each_level = range(1, 10)
        else:  # set by the user; this is what the library's configurations use
            head += [f"top: {top}", "level: 9"]
    else:
        head += [f"top: {top}"]

    def step(row):
        chance = row["p"] / 3 if row["op"].endswith(IN_BOXES) else row["p"] * probability
        return step_text(stems[row["op"]], chance, row.get("level") if row["op"] in levelled else None)

    rows = []
    if facts["kind"] == "schedule":
        rows.append("phases:")
        for phase in facts["schedule"]:
            rows += [f"  - from: {phase['first_epoch']}", "    branches:"]
            rows += [f"      - {step(row)}" for row in facts["subpolicies"][phase["subpolicy"]]]
    else:
        rows.append("branches:")
        for branch in facts["subpolicies"]:
            if each_level:
                row = branch[0]
                if row["op"] in levelled:
                    rows += [f"  - {step({**row, 'level': level})}" for level in each_level]
                else:
                    rows.append(f"  - {{weight: {len(each_level)}, steps: {step(row)}}}")
            else:
                steps = [step(row) for row in branch]
                rows.append("  - " + (steps[0] if len(steps) == 1 else f"[{', '.join(steps)}]"))

    source = facts["sources"][0]
    comments = [f"{facts['title']}.", f"{citation(facts['paper'])}; numbers of {source['path']} of {source['repo']}."]
    if profile == "tf" and ("contrast" in ops or "solarize" in ops):
        comments.append("Draws, ranges and rounding are TensorFlow's; the pixels of each op are Pillow's.")
    if any("boxes" in row for row in ops.values()):
        comments.append("Boxes move with the image: by motley_follow, or motley.Follow in Python.")
    if any(op.endswith(IN_BOXES) for op in ops):
        comments.append("Steps inside boxes have a third of the published chance, in each box, as in the source.")
    comments += [f"{note[0].upper()}{note[1:]}." for note in facts["notes"] if "'ops' holds" not in note]
    comments.append(f"Written by policy_files/make_zoo.py from facts/{name}.json.")
    lines = [f"# {line}" for comment in comments for line in wrap(comment)]
    lines += [
        "motley: 1",
        f"name: {policy}",
        f"title: {json.dumps(facts['title'])}",
        f"profile: {profile}",
        f"paper: {json.dumps(citation(facts['paper']), ensure_ascii=False)}",
        f"table: {json.dumps(source['path'])}",
        f"version: {json.dumps(source['repo'])}",
        f"interpolation: {'bilinear' if facts['kind'] == 'augmix' else 'nearest'}",
        f"fill: {fill}",
        *head,
        "ops:",
        *entries,
        *rows,
    ]
    return "\n".join(lines) + "\n"


def wrap(text, width=116):
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def zoo_text():
    lines = [
        "# Published policies",
        "",
        "Every published policy that Motley knows of. `motley show NAME` prints one; `policy_files/make_zoo.py` "
        "writes this page and the generated files from `policy_files/facts/`.",
        "",
        "| policy | title | paper | data set | branches | ops | profile | licence of the source |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for path in sorted((HERE / "facts").glob("*.json")):
        facts = facts_of(path.stem)
        names = ([GENERATED[path.stem][0]] if path.stem in GENERATED else []) + BY_HAND.get(path.stem, [])
        licences = sorted({f"{repo}: {licence}" for repo, licence in facts["source_licences"].items()})
        for name in names:
            policy = (HERE / f"{name}.yaml").read_text(encoding="utf-8") if name not in written else written[name]
            profile = re.search(r"^profile: (\w+)", policy, re.M)
            lines.append(
                f"| `{name}` | {facts['title']} | {citation(facts['paper'])} | {facts['dataset']} | "
                f"{facts['counts']['subpolicies']} | {len(facts['ops'])} | "
                f"{profile.group(1) if profile else ''} | {'; '.join(licences)} |"
            )
    lines += [
        "",
        "## Settings of RandAugment",
        "",
        "The numbers of ops N and magnitudes M of released configurations, named as in their sources. Where the "
        "policy is in the table above, `motley show POLICY --repeat N --level M` prints it with them.",
        "",
        "| policy | data set | model | N | M of | source |",
        "|---|---|---|---|---|---|",
    ]
    for row in facts_of("randaugment_presets")["presets"]:
        name = row["policy"]
        if name in GENERATED or name in BY_HAND:
            name = f"`{GENERATED[name][0] if name in GENERATED else BY_HAND[name][0]}`"
        magnitude = " of ".join(str(row[key]) for key in ("magnitude", "of") if key in row)
        lines.append(
            f"| {name} | {row['dataset']} | {row['model']} | {row.get('num_ops', '')} | {magnitude} | {row['source']} |"
        )
    lines += ["", "## Motley's own", "", "| policy | what |", "|---|---|"]
    lines += [f"| `{name}` | {what} |" for name, what in OWN.items()]
    lines += ["", "## Detection", "", *wrap(DETECTION)]
    lines += ["", "## Not here yet", "", "| policy | why |", "|---|---|"]
    lines += [f"| {facts_of(name)['title']} | {reason} |" for name, reason in NOT_YET.items()]
    lines += ["", "## Left out", "", "| policy | paper | source | why |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in LEFT_OUT]
    return "\n".join(lines) + "\n"


written = {}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when a file is out of date")
    check = parser.parse_args().check
    for path in (HERE / "facts").glob("*.json"):
        if path.stem not in {*GENERATED, *BY_HAND, *NOT_YET, "randaugment_presets"}:
            sys.exit(f"{path.name} has no policy in make_zoo.py and no reason why it has none")
    for name, (policy, _, _) in GENERATED.items():
        written[policy] = policy_text(name)
    outputs = {HERE / f"{policy}.yaml": text for policy, text in written.items()}
    outputs[ZOO] = zoo_text()
    stale = [path for path, text in outputs.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if check and stale:
        sys.exit("out of date, run policy_files/make_zoo.py: " + ", ".join(path.name for path in stale))
    for path in stale:
        path.write_text(outputs[path], encoding="utf-8")


if __name__ == "__main__":
    main()
