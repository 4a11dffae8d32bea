#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference of doc/draws.md (doc/draws.py, which shares no code with the library) against the library: every
built-in policy and transform, and texts with what no built-in has. Every number of every draw is compared.

    tests/test_draws.py --library build/libmotley.so [--draws 100000] [NAME...]
"""

import argparse
import copy
import ctypes
import os
import pathlib
import sys

try:
    import numpy as np
    import yaml
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "pillow"), str(HERE.parent / "doc")]
import draws
import library

FILES = HERE.parent / "policy_files"
CHUNK = 5000
DRAWS = 4 * 500  # of each policy and transform; EVERY=N in the environment: one in N
BATCHES = [  # seed, epoch, first id, view (2: each its own), channels
    (0, 0, 0, 0, 3),
    (7, 3, 2**32 - 9, 1, 1),
    (2**63 + 5, 199, 2**64 - CHUNK, 65535, 4),
    (43, 2**30 - 1, 12, 2, 2),
]
OTHERS = {  # what no built-in has
    "weights": """
        motley: 1
        name: weights
        top: 10
        interpolation: [bicubic, nearest, bilinear]
        fill: [1, 2, 3, 4]
        repeat: {weights: [1, 2, 0.5, 0]}
        choice: without_replacement
        ops: {rotate: {range: [-3, 30], sign: minus, min: -20, max: 20},
              half: {op: solarize, range: [0, 250], round: half_even},
              translate_y: {range: [0, 0.3], of: height, sign: random, round: trunc, fill: 9},
              cutout: {range: [0.1, 0.5], of: width},
              shear_y: {low: 0.1, span: 0.3, sign: random, via: degrees}}
        branches:
          - [{op: rotate, p: 0.3, level: {uniform: [0.5, 9]}}, {op: half, level: {normal: 9, std: 3}}]
          - {weight: 0.3, steps: [{op: translate_y, level: 7.5}, invert]}
          - {weight: 0, steps: smooth}
          - weight: 2.25
            steps: [{op: cutout, p: 0.5, level: 3}, {op: shear_y, level: 2}, {op: cutout_tf, value: 3.5}]
          - {op: bbox_cutout, value: 0.5}
        """,
    "given": """
        motley: 1
        name: given
        bins: 11
        level: given
        repeat: 2
        ops: {rotate: {range: [0, 30], sign: random}, translate_x: {range: [0, 0.45], of: width, round: trunc},
              half: {op: solarize, range: [0, 250]}, cutout: {range: [4, 16]}}
        branches:
          - [{op: rotate, p: 0.5}, {op: half, level: {given: [2.5, 9]}}]
          - [{op: translate_x, level: {uniform: [0, 9]}}, invert, cutout]
          - {op: translate_x, level: {given: [0, 0.75]}}
        """,
    "given_by_torch": """
        motley: 1
        name: given_by_torch
        stages:
          - policy: {name: trivial_augment_wide, level: given}
          - policy: {name: timm_rand_m9_mstd05_inc1, level: {given: [0, 10]}}
          - policy: {bins: 31, level: given, arithmetic: torch, ops: {rotate: {range: [0, 30]}}, branches: [rotate]}
          - policy: {top: 5, level: given, ops: {rotate: {range: [0, 30]}}, branches: [rotate]}
        """,
    "any_at_all": """
        motley: 1
        name: any_at_all
        p: 0.3
        bins: 11
        level: given
        repeat: {given: [0, 3]}
        choice: without_replacement
        ops: {rotate: {range: [0, 30], sign: random}, solarize: {range: [0, 250]}}
        branches: [rotate, {weight: 0.2, steps: [solarize, {op: invert, p: 0.5}]}, flip_lr]
        """,
    "stages_with_p": """
        motley: 1
        name: stages_with_p
        epochs: 300
        stages:
          - policy: {name: trivial_augment_wide, p: 0.25}
          - policy: {name: rand_augment, p: {from: [[0, 0], [2, 0.75]]}, repeat: {weights: [1, 0.5, 0, 2]}}
          - policy: {p: 0.9, choice: until_applied, repeat: {weights: [0, 1, 1]},
                     branches: [{op: solarize, value: 128, p: 0.2}, {op: invert, p: 0.5}, flip_ud]}
        """,
    "chains": """
        motley: 1
        name: chains
        bins: 31
        level: uniform
        arithmetic: torch
        augmix: {width: 4, form: one_sum}
        repeat: 3
        choice: without_replacement
        ops: {translate_x: {range: [0, 0.45], of: width, sign: random, round: trunc}, color: {range: [0, 0.9], base: 1}}
        branches: [translate_x, {weight: 3, steps: color}, equalize, [{op: color, p: 0.5}, flip_lr]]
        """,
    "places": """
        motley: 1
        name: places
        stages:
          - random_resized_crop:
              {size: [64, 48], scale: [0.3, 1], ratio: [0.2, 0.25], filter: [lanczos, box, nearest]}
          - random_crop: {size: [70, 30], padding: 7}
          - flip: {horizontal: 0.25, vertical: 0.75}
          - jitter: {p: 0.7, brightness: 1.5, contrast: [0.2, 3], hue: [-0.1, 0.4]}
          - policy: {name: rand_augment, interpolation: [bilinear, bicubic], fill: 5, repeat: 3}
          - grayscale: {p: 0.5}
          - policy: trivial_augment_wide
          - blur: {p: 0.9, kernel_size: 9, sigma: [0.1, 2]}
          - jitter: {saturation: 0.3, hue: 0}
          - blur: {p: 0.1, radius: [1, 3]}
          - output: {}
          - erase: {p: 0.6, value: pixel, area: [0.3, 0.9], ratio: [0.1, 8], boxes: [1, 8]}
        """,
    "zooms": """
        motley: 1
        name: zooms
        stages: [{zoom_out: {p: 0.6, side: [1.25, 3.7], fill: 7}}, {resize: {size: [20, 30], filter: bicubic}},
                 {flip: {horizontal: 0.5}}, {policy: trivial_augment_wide}]
        """,
    "photometric": """
        motley: 1
        name: photometric
        stages:
          - photometric: {p: 0.7, brightness: [0.2, 1], hue: [0, 0.3], channels: 0.9}
          - one_of: [{stages: [{photometric: {}}]}, {stages: []}]
          - resize: {size: [30, 40]}
          - policy: trivial_augment_wide
          - photometric: {p: 0.4}
        """,
    "choices": """
        motley: 1
        name: choices
        stages:
          - flip: {horizontal: 0.5}
          - one_of:
              - {weight: 3, stages: [{jitter: {brightness: 0.4}}, {policy: rand_augment}]}
              - {stages: []}
              - {weight: 0.3, stages: [{policy: trivial_augment_wide}, {grayscale: {p: 0.5}}, {jitter: {hue: 0.2}}]}
          - jitter: {contrast: 0.3}
          - one_of: [{weight: 0, stages: [{blur: {radius: [1, 2]}}]}, {weight: 2, stages: [{grayscale: {p: 0.1}}]}]
        """,
    "choices_of_places": """
        motley: 1
        name: choices_of_places
        stages:
          - one_of:
              - {weight: 0.7, stages: [{zoom_out: {p: 0.6, fill: 3}}, {resize: {size: [50, 40], filter: box}}]}
              - stages: [{random_resized_crop: {size: [50, 40], filter: [lanczos, nearest]}}]
              - {weight: 1.25, stages: [{resize: {size: 70}}, {random_crop: {size: [50, 40], padding: 4}}]}
          - one_of: [{stages: [{flip: {horizontal: 0.5, vertical: 0.2}}]}, {stages: []}]
          - policy: trivial_augment_wide
        """,
    "shortest": """
        motley: 1
        name: shortest
        stages: [{resize: {shortest: [480, 512, 544, 800], longest: 1333}}, {flip: {horizontal: 0.5}}]
        """,
    "detr": """
        motley: 1
        name: detr
        stages: [{resize: {shortest: [40, 50, 60], longest: 90, rounding: detr, filter: bicubic}},
                 {size_crop: {sides: [30, 70]}}, {policy: rand_augment}]
        """,
    "detectron2": """
        motley: 1
        name: detectron2
        stages: [{resize: {shortest: [64, 67, 80], longest: 133, rounding: detectron2}}, {pad: {multiple: 32}}]
        """,
    "lsj": """
        motley: 1
        name: lsj
        stages: [{resize: {fit: [100, 120], scale: [0.3, 2]}}, {fixed_crop: {size: [100, 120], fill: [1, 2, 3]}},
                 {flip: {horizontal: 0.5}}, {jitter: {brightness: 0.4}}, {output: {}}]
        """,
    "squares": """
        motley: 1
        name: squares
        stages: [{resize: {square: [48, 64, 80]}}, {pad: {size: [70, 90], at: centre}}]
        """,
    "longest": """
        motley: 1
        name: longest
        stages: [{resize: {longest: 33, rounding: detectron2}}, {pad: {size: 40, at: centre, fill: 114}}]
        """,
    "overlaps": """
        motley: 1
        name: overlaps
        stages:
          - {zoom_out: {p: 0.5}}
          - {iou_crop: {p: 0.8, overlap: [0, 0.1, 0.3, 0.5, 0.7, 1]}}
          - {resize: {size: [20, 30]}}
          - {flip: {horizontal: 0.5}}
          - {policy: {ops: {rotate: {range: [0, 30]}}, bins: 3, level: uniform, branches: [rotate]}}
        """,
    "schedules": """
        motley: 1
        name: schedules
        epochs: 400
        stages:
          - random_resized_crop: {size: {from: [[0, 32], [3, 48]]}, scale: [{ramp: [[0, 0.9], [8, 0.1]]}, 1]}
          - flip: {horizontal: {cosine: [[0, 1], [7, 0.1]]}}
          - policy: {name: rand_augment, level: {from: [[0, 3], [2, 9]]}, repeat: {from: [[0, 1], [1, 3]]}}
          - policy:
              top: 10
              level: {uniform: [0, {ramp: [[0, 1], [10, 6]]}]}
              ops: {rotate: {range: [0, 30], sign: random}}
              branches: [rotate, {op: rotate, p: {from: [[0, 0.25], [5, 0.75]]}}]
          - blur: {p: {ramp: [[1, 0], [390, 1]]}, radius: [0.1, 2]}
        """,
    "phases": """
        motley: 1
        name: phases
        phases:
          - {from: 0, stages: [{random_resized_crop: {size: 24}}, {policy: trivial_augment_wide}]}
          - {from: 3, stages: [{resize: {size: [24, 24]}}, {jitter: {hue: {ramp: [[3, 0], [300, 0.4]]}}}]}
        """,
    "shared": """
        motley: 1
        name: shared
        stages: [{to_rgb: {}}, {random_resized_crop: {size: [40, 70]}}, {random_crop: {size: 48, padding: 9}},
                 {jitter: {p: 0.8, hue: 0.1}}]
        views:
          - {name: source, stages: [{flip: {horizontal: 0.5}}, {policy: trivial_augment_wide}]}
          - {name: target, count: 2, stages: [{random_resized_crop: {size: 20}}, {output: {}}]}
        """,
    "shared_whole": """
        motley: 1
        name: shared_whole
        stages: [{flip: {vertical: 0.5}}, {jitter: {brightness: 0.4}}]
        views: [{name: only, number: 3, stages: [{resize: {size: [9, 7]}}, {policy: rand_augment}]}]
        """,
    "rgb": """
        motley: 1
        name: rgb
        stages: [{to_rgb: {}}, {flip: {horizontal: 0.5}}, {policy: {name: rand_augment, fill: [9, 80, 200]}}]
        """,
    "flipped": """
        motley: 1
        name: flipped
        stages: [{zoom_out: {p: 0.5}}, {flip: {horizontal: 0.5, vertical: 0.5}}, {size_crop: {sides: [20, 60]}},
          {resize: {shortest: [90, 130]}}, {flip: {vertical: 0.5}}, {fixed_crop: {size: [100, 140]}}]
        """,
    "twice": """
        motley: 1
        name: twice
        stages:
          - zoom_out: {p: 0.5}
          - iou_crop: {p: 0.8}
          - random_resized_crop: {size: [80, 64]}
          - flip: {horizontal: 0.5}
          - pad: {multiple: 48}
          - one_of: [{stages: []}, {stages: [{resize: {square: [9, 96]}}]}]
          - size_crop: {sides: [8, 50]}
          - jitter: {brightness: 0.5}
        """,
    "padded": """
        motley: 1
        name: padded
        stages: [{resize: {size: 150, filter: hamming}}, {center_crop: {size: [301, 140]}}, {flip: {vertical: 1}}]
        """,
}


DRAWN_SIZES = {"shortest", "detr", "detectron2", "lsj", "squares", "longest"}
DRAWN_SIZES |= {
    "detectron2_lsj",
    "tv_lsj",
    "tv_multiscale",
    "detr",
    "rf_detr",
    "flipped",
    "twice",
    "tv_ssd",
    "tv_ssdlite",
}


def texts():
    for path in sorted(FILES.glob("*.yaml")) + sorted((FILES / "transforms").glob("*.yaml")):
        yield path.stem, path.read_text(encoding="utf-8")
    yield from OTHERS.items()


def load(name):
    return yaml.safe_load((FILES / f"{name}.yaml").read_text(encoding="utf-8"))


def inputs(rng, seed, epoch, first, view, channels, count):
    """Samples with ids, views and sizes of their own; each image has 0 to 3 boxes."""
    ids = np.uint64(first) + np.arange(count, dtype=np.uint64)
    views = rng.integers(0, 65536, count) if view == 2 else view
    width, height = (
        np.where(rng.random(count) < 0.1, rng.integers(1, 9, count), rng.integers(9, 700, count)) for _ in range(2)
    )
    boxes = []
    for w, h in zip(width.tolist(), height.tolist()):
        x, y = (np.sort(rng.uniform([-2, 0], side, (3, 2)), 1) for side in (w, h))
        boxes.append(np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], 1)[: rng.integers(0, 4)])
    levels = np.where(rng.random(count) < 0.05, np.nan, rng.uniform(-0.1, 1.1, count))
    return draws.Samples(seed, epoch, ids, views, width, height, channels, boxes, levels)


def struct_of(s):
    """The library's samples and sizes, and what must live as long."""
    views, ids, levels = np.ascontiguousarray(s.view, np.uint32), np.ascontiguousarray(s.ids), s.levels
    boxes, ends = np.concatenate([*s.boxes, np.zeros((1, 4))]), np.cumsum([0, *map(len, s.boxes)]).astype(np.uintp)
    sizes = np.ascontiguousarray(s.width, np.int32), np.ascontiguousarray(s.height, np.int32)

    def at(array, kind):
        return array.ctypes.data_as(ctypes.POINTER(kind))

    samples = library.Samples(
        seed=s.seed,
        epoch=s.epoch,
        ids=at(ids, ctypes.c_uint64),
        views=at(views, ctypes.c_uint32),
        boxes=at(boxes, ctypes.c_double),
        box_offsets=at(ends, ctypes.c_size_t),
        levels=at(levels, ctypes.c_float),
    )
    return samples, [at(side, ctypes.c_int32) for side in sizes], (views, ids, levels, boxes, ends, sizes)


class View(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("count", ctypes.c_int32),
        ("number", ctypes.c_int32),
        ("policy", ctypes.c_void_p),
    ]


def compared(ours, reference, s):
    """(what, samples, the library's draws, the reference's): of each view's first and last result, or of all."""
    if not any(ours.views()):
        yield "", s, ours.draw(s), reference.draw(s)
        return
    if isinstance(reference, draws.Scheduled):
        ours, reference = ours.at(s.epoch), draws.read(draws.plain(reference.text, s.epoch), load)
    views = list(ours.views())
    s = copy.copy(s)
    s.view = s.view % 256  # reads
    wanted = reference.draw(s)
    for name, count, number, view in views:
        for j in {0, count - 1}:
            behind = name and reference.shared
            own = reference.shared.after(s, wanted[""][0][2]) if behind else copy.copy(s)
            own.view = 256 * s.view + 16 * number + j
            yield f", {name} {j}", own, view.draw(own), wanted[name][j]


class Loaded:
    """A policy or transform of the library."""

    def __init__(self, lib, text):
        self.lib, self.c, self.handle, self.whole = lib, lib.c, ctypes.c_void_p(), "stages:" in text
        data, error = text.encode(), library.Error()
        lib.check(
            self.c.motley_policy_parse(
                data, ctypes.c_size_t(len(data)), None, ctypes.byref(self.handle), ctypes.byref(error)
            ),
            error,
        )

    def views(self):
        """Each view as (name, count, number, one of these)."""
        at = self.c.motley_policy_view
        at.restype = ctypes.POINTER(View)
        for i in range(17):
            view, own = at(self.handle, ctypes.c_size_t(i)), copy.copy(self)
            if not view:
                return
            own.handle = ctypes.c_void_p(view.contents.policy)
            yield view.contents.name.decode(), view.contents.count, view.contents.number, own

    def at(self, epoch):
        plain, error = copy.copy(self), library.Error()
        plain.handle = ctypes.c_void_p()
        self.lib.check(
            self.c.motley_policy_at(
                self.handle, ctypes.c_uint32(epoch), ctypes.byref(plain.handle), ctypes.byref(error)
            ),
            error,
        )
        return plain

    def draw(self, s):
        """Steps [n][most] as NumPy has the struct, their counts, and the places of a transform."""
        samples, sizes, keep = struct_of(s)
        n, error, most_boxes = len(s.ids), library.Error(), max(map(len, s.boxes))
        info = self.c.motley_policy_describe(self.handle).contents
        most = max(1, info.max_steps * (max(1, most_boxes) if info.takes_boxes & 1 else 1))
        steps, counts, places = (library.Step * (n * most))(), (ctypes.c_int32 * n)(), (library.Drawn * n)()
        self.lib.check(
            self.c.motley_draw(
                self.handle,
                ctypes.byref(samples),
                ctypes.c_size_t(n),
                *sizes,
                s.channels,
                places,
                steps,
                counts,
                ctypes.byref(error),
            ),
            error,
        )
        del keep
        return (
            np.frombuffer(steps, np.dtype(library.Step)).reshape(n, most),
            np.asarray(counts),
            np.frombuffer(places, np.dtype(library.Drawn)),
        )


def placed(part, own, ref):
    """The pairs of a place, or of what comes first, where something does."""
    there = ref["resize"][:, 0] > 0
    yield f"{part}resize", np.stack([own["width"], own["height"]], 1), ref["resize"]
    for key, found in (
        ("crop", np.stack([own["crop"][key] for key in ("left", "top", "width", "height")], 1)),
        ("beyond", own["beyond"]),
        ("filter", own["filter"]),
        ("window", np.stack([own["left"], own["top"]], 1)),
        ("result", np.stack([own["result_width"], own["result_height"]], 1)),
        ("flip", np.stack([own["flip_horizontal"], own["flip_vertical"]], 1)),
        ("flipped_first", own["flipped_first"][:, None] >> [0, 1] & 1),
    ):
        yield part + key, found[there], ref[key][there]


def differences(names, s, got, want):
    """What differs between the library's draws and the reference's: (sample, what, found, wanted) each."""
    (steps, counts, places), (ref, ref_counts, ref_places) = got, want
    for i in np.flatnonzero(counts != ref_counts)[:1]:
        yield i, "steps", counts[i], ref_counts[i]
        return
    here = np.arange(ref.shape[1])[None] < ref_counts[:, None]
    lib, ref = steps[:, : ref.shape[1]][here], ref[here]
    owner = np.repeat(np.arange(len(counts)), ref_counts)
    values = lib["values"][:, :5].copy()
    values[np.arange(5)[None] >= lib["values_count"][:, None]] = 0
    pairs = [
        ("op", np.array([names[op] for op in lib["op"].tolist()], "U20"), ref["op"]),
        ("value", values.view(np.uint64), ref["values"].copy().view(np.uint64)),
        *((key, lib[key], ref[key]) for key in ("level", "interpolation", "fill", "inside")),
    ]
    if ref_places:
        owner = np.concatenate([owner, np.arange(len(counts))])
        pairs = [(key, a, b) for key, a, b in pairs] + [
            *placed("", places, ref_places),
            *placed("first ", places["first"], ref_places["first"]),
            ("overlap", places["overlap"], ref_places["overlap"]),
            ("canvas", np.stack([places["canvas_left"], places["canvas_top"]], 1), ref_places["canvas"]),
            ("noise", places["noise"], ref_places["noise"]),
        ]
        for i, boxes in enumerate(ref_places["erase"]):
            own = places["boxes"][i][: places["boxes_count"][i]]
            own = [[b[k] for k in ("left", "top", "width", "height")] for b in own]
            if own != boxes:
                yield i, "erase", own, boxes
                return
    for key, a, b in pairs:
        wrong = np.flatnonzero((a != b).reshape(len(a), -1).any(1)) if len(a) else []
        for i in wrong[:1]:
            yield (i if len(a) == len(counts) and ref_places and key != pairs[0][0] else owner[i]), key, a[i], b[i]
            return


def matrices_differ(lib, steps, s, counts):
    """The first warp of the whole image whose matrix is not the reference's, among those of 50 samples."""
    for i in range(min(50, len(counts))):
        for step in steps[i, : counts[i]]:
            name = lib.op_names[step["op"]] if step["op"] >= 0 else ""
            if name not in draws.WARPS or step["inside"].any():
                continue
            size = int(s.width[i]), int(s.height[i])
            found = lib.matrix(step.tobytes(), *size)
            wanted = draws.matrix(name, float(step["values"][0]), *size)
            if found != wanted:
                return i, f"the matrix of {name}", found, wanted
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--draws", type=int, default=DRAWS // int(os.environ.get("EVERY", 1)), help="of each text")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    lib = library.Library(args.library)
    names = dict(enumerate(lib.op_names))
    names.update({-2: "hue", -3: "mix_add", -4: "mix_blend", -5: "mix_sum", -6: "kernel_blur", -8: "permute"})
    failed = passed = 0
    for name, text in texts():
        if args.names and name not in args.names:
            continue
        ours, reference, left, batch = Loaded(lib, text), draws.read(yaml.safe_load(text), load), args.draws, 0
        rng = np.random.default_rng(len(name))
        while left > 0:
            seed, epoch, first, view, channels = BATCHES[batch % len(BATCHES)]
            count = min(CHUNK, left, max(1, args.draws // len(BATCHES)))
            s = inputs(rng, seed, epoch, (first + batch // len(BATCHES) * CHUNK) % 2**64, view, channels, count)
            if name in DRAWN_SIZES:  # a side of a pixel or two may become none, which is refused
                s.width, s.height = np.maximum(s.width, 64), np.maximum(s.height, 64)
            for part, own, got, want in compared(ours, reference, s):
                wrong = list(differences(names, own, got, want))
                wrong = wrong or [found for found in [matrices_differ(lib, *got[:1], own, got[1])] if found]
                for i, what, found, wanted in wrong:
                    print(
                        f"{name}{part}: seed {seed} epoch {epoch} id {own.ids[i]} view {own.view[i]} "
                        f"{own.width[i]}x{own.height[i]}: {what} is {found}, the reference has {wanted}"
                    )
                failed, passed = failed + bool(wrong), passed + (0 if wrong else count)
            left, batch = left - count, batch + 1
    if args.draws < DRAWS:
        print(f"left out: {DRAWS - args.draws} of {DRAWS} draws of each policy and transform")
    print(f"{passed} draws equal, {failed} batches differ")
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
