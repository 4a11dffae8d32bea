# SPDX-License-Identifier: Apache-2.0
"""The reference of draws.md in plain NumPy: a policy's or transform's text, seed, epoch, sample ids and views in, what
each sample draws out. It shares no code with the library. The sections are those of draws.md.

    policy = read(yaml.safe_load(text), load)  # load(name): the parsed text of a built-in policy
    steps, counts, places = policy.draw(Samples(seed=7, ids=range(256), width=500, height=375))
"""

import copy
import math
import statistics

import numpy as np

STEP = np.dtype(
    [
        ("op", "U20"),
        ("level", "i4"),
        ("values", "f8", 5),
        ("interpolation", "i4"),
        ("fill", "u1", 4),
        ("inside", "i4", 4),
    ]
)
VALUELESS = set(
    "identity auto_contrast equalize invert flip_lr flip_ud grayscale smooth sharpen edge_enhance "
    "edge_enhance_more find_edges contour detail emboss blur smooth_more".split()
)
WARPS = set("shear_x shear_y translate_x translate_y translate_x_rel translate_y_rel rotate flip_lr flip_ud".split())
ERASES = {"cutout", "cutout_tf", "bbox_cutout"}
KINDS = ["nearest", "bilinear", "bicubic"]
FILTERS = ["bilinear", "bicubic", "lanczos", "nearest", "box", "hamming"]
STAGES = (
    "random_resized_crop resize center_crop random_crop flip policy jitter grayscale blur output erase mix to_rgb "
    "zoom_out one_of size_crop fixed_crop pad photometric iou_crop"
).split()


# ---- 1. Words ----


def philox(counter, key):
    """Philox4x32-10: four arrays of words, for a counter of four numbers or arrays and a key of two."""
    c, k = ([np.atleast_1d(np.asarray(x, np.uint64)) for x in numbers] for numbers in (counter, key))
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> shift) ^ c[1] ^ k[0], b & low, (a >> shift) ^ c[3] ^ k[1], a & low]
        k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]
    return c


class Samples:
    """Samples of one seed and epoch. view, width, height and levels: one for all, or one each. boxes:
    [sample][box][4]."""

    def __init__(self, seed=0, epoch=0, ids=(0,), view=0, width=224, height=224, channels=3, boxes=None, levels=0.0):
        self.seed, self.epoch, self.channels, self.boxes = seed, epoch, channels, boxes
        self.ids = np.asarray(ids, np.uint64)
        self.view, self.width, self.height = (
            np.broadcast_to(np.asarray(x, np.int64), self.ids.shape) for x in (view, width, height)
        )
        self.levels = np.broadcast_to(np.asarray(levels, np.float32), self.ids.shape)

    def words(self, block):
        return philox(
            [(self.view << 16) + block, self.epoch, self.ids & np.uint64(0xFFFFFFFF), self.ids >> np.uint64(32)],
            [self.seed & 0xFFFFFFFF, self.seed >> 32],
        )

    def at(self, which):
        part = copy.copy(self)
        part.ids, part.view, part.width, part.height, part.levels = (
            x[which] for x in (self.ids, self.view, self.width, self.height, self.levels)
        )
        if self.boxes is not None:
            part.boxes = [self.boxes[i] for i in np.arange(len(self.ids))[which]]
        return part


def choose(word, n):
    """One of n: the high half of the product."""
    return (word * np.asarray(n).astype(np.uint64) >> np.uint64(32)).astype(np.int64)


def coin(word, p):
    return word < np.uint64(round(p * 2**32))


# ---- 2. Levels ----


def magnitude(position, low, span, side, last_bin):
    """A magnitude before it is rounded; last_bin: None for arithmetic `double`."""
    if last_bin is None:
        return (position * span + low) * side
    start, end = np.float32(low * side), np.float32((low + span) * side)
    stride = ((end - start) / np.float32(last_bin)).astype(np.float64)  # torch.linspace, whose fused products and
    up, down = stride * position + start, -stride * (last_bin - position) + end  # sums are exact in binary64
    return np.where(position < (last_bin + 1) // 2, up, down).astype(np.float32).astype(np.float64)


def levels_of(policy, level):
    """Every level that a step can draw, in the order of its cells."""
    if level == "uniform" or (level == "given" and "bins" in policy):
        return list(range(policy["bins"]))
    if is_given(level):
        low, high = [0, policy["top"]] if level == "given" else level["given"]
        return [low + (high - low) * (k / 512) for k in range(513)]
    if not isinstance(level, dict):
        return [level]
    middles = [(k + 0.5) / 512 for k in range(512)]
    if "uniform" in level:
        low, high = level["uniform"]
        return [low + (high - low) * p for p in middles]
    normal = [round(statistics.NormalDist().inv_cdf(p) * 2**20) / 2**20 for p in middles]
    return [min(max(level["normal"] + level["std"] * x, 0.0), top_of(policy)) for x in normal]


def given_cell(levels, n):
    inside = np.where(np.isnan(levels), 0, np.clip(levels, 0, 1))
    return np.rint(inside.astype(np.float64) * (n - 1)).astype(np.int64)


def is_given(level):
    return level == "given" or isinstance(level, dict) and "given" in level


def top_of(policy):
    return policy["top"] if "top" in policy else policy["bins"] - 1


def whole_weights(weights):
    """Equal weights become 1, whole ones stay, others become shares of 2^31; only 0 becomes 0."""
    if all(w == weights[0] for w in weights):
        return [int(w > 0) for w in weights]
    if all(w == math.floor(w) for w in weights) and sum(weights) <= 2**31:
        return [int(w) for w in weights]
    total = 0.0
    for w in weights:
        total += w
    return [w and max(1, round(w / total * 2**31)) for w in weights]


class Step:
    """One step of a branch: its chance, and the value of each of its levels with each sign."""

    def __init__(self, policy, written):
        written = {"op": written} if isinstance(written, str) else written
        space = (policy.get("ops") or {}).get(written["op"]) or {}
        self.op, p = space.get("op", written["op"]), written.get("p", 1)
        boxed = space.get("inside") == "boxes"
        self.takes_boxes = boxed or self.op == "bbox_cutout"
        self.p = round(p * 2**32)
        self.threshold = 2**32 if boxed and p > 0 else self.p
        fill = space.get("fill", policy.get("fill", 0)) if self.op in WARPS | ERASES else 0
        self.fill = [fill] * 4 if isinstance(fill, int) else (list(fill) + [255])[:4]
        self.side = self.signed = None
        level = written.get("level", policy.get("level"))
        self.given = is_given(level) and "value" not in written and self.op not in VALUELESS
        self.values = np.full((1, 2), written.get("value", 0), np.float64)  # [level][sign]
        if "value" not in written and self.op not in VALUELESS:
            self.set_values(policy, space, levels_of(policy, level))

    def set_values(self, policy, space, levels):
        low, high = space.get("range", [space.get("low"), None])
        span, torch = space.get("span") if high is None else high - low, policy.get("arithmetic") == "torch"
        if space.get("sign") == "minus":
            low, span = -low, -span
        position = np.array([level if torch else level / top_of(policy) for level in levels], np.float64)
        rounds = {"trunc": np.trunc, "half_even": np.rint}.get(space.get("round"), lambda m: m)
        last_bin, self.side, self.signed = (
            top_of(policy) if torch else None,
            space.get("of"),
            space.get("sign") == "random",
        )
        self.magnitude = lambda level, side: rounds(magnitude(position[level], low, span, side, last_bin))
        self.values = np.zeros((len(levels), 2))
        m = 0 * position if self.side else self.magnitude(slice(None), 1)
        for minus in range(2):
            v = space.get("base", 0) + (-m if minus and self.signed else m)
            v = np.minimum(np.maximum(v, space.get("min", -math.inf)), space.get("max", math.inf))
            self.values[:, minus] = [self.entry(x) for x in v] if space.get("via") == "degrees" else v

    def entry(self, v):
        angle = math.radians(math.degrees(math.atan(v)))
        return math.tan(angle) if self.op == "shear_x" else -(math.sin(-angle) / math.cos(angle))

    def draw(self, policy, samples, words, block):
        out, level = np.zeros(len(samples.ids), STEP), choose(words[1], len(self.values))
        if self.given:
            level = given_cell(samples.levels, len(self.values))
        minus = (words[2] >> np.uint64(31)).astype(np.int64) if self.signed else 0 * level
        value, sides = self.values[level, minus], (samples.width, samples.height)
        if self.side:
            m = self.magnitude(level, sides[self.side == "height"])
            value = np.where(minus == 1, -m, m)
        out["op"], out["level"], out["values"][:, 0], out["fill"] = self.op, level, value, self.fill
        if samples.channels <= 2:
            r, g, b, a = self.fill
            out["fill"][:, 0], out["fill"][:, 1] = (r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16, a
        if self.op in WARPS:
            out["interpolation"] = policy.kinds[choose(words[3], len(policy.kinds))]
        if self.op in ERASES and not self.takes_boxes:
            for axis, word in enumerate(samples.words(block + 1)[:2]):
                out["values"][:, 1 + axis] = place(self.op, word, sides[axis])
        return out


def place(op, word, side):
    """A centre along one side."""
    return word * 2.0**-32 * side if op == "cutout" else choose(word, side)


# ---- 3. Policies ----


class Policy:
    def __init__(self, text, first_block=0):
        self.text, self.first, kinds = text, first_block, text.get("interpolation", "nearest")
        self.kinds = np.array([KINDS.index(kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)])
        self.phases = [
            (phase["from"], self.branches_of(phase["branches"]))
            for phase in text.get("phases") or [{"from": 0, "branches": text["branches"]}]
        ]

    def branches_of(self, written):
        """(weight, steps) of each branch that has a weight."""
        pairs = [(b["weight"], b["steps"]) if "weight" in b and "steps" in b else (1, b) for b in written]
        weights = whole_weights([weight for weight, _ in pairs])
        return [
            (weight, [Step(self.text, step) for step in (steps if isinstance(steps, list) else [steps])])
            for weight, (_, steps) in zip(weights, pairs)
            if weight
        ]

    def draw(self, samples):
        """Steps [sample][most], how many each sample has, and None: only transforms have places."""
        columns = self.mixed(samples) if "augmix" in self.text else self.chain(samples, self.first)
        boxed = any(step.takes_boxes for _, branches in self.phases for _, steps in branches for step in steps)
        return (*(in_boxes(columns, samples) if boxed else packed(columns, len(samples.ids))), None)

    def chain(self, samples, first):
        """The columns of one chain: (order, which samples, their steps, the Step, its block)."""
        branches = [branches for start, branches in self.phases if start <= samples.epoch][-1]
        repeat, choice = self.text.get("repeat", 1), self.text.get("choice", "with_replacement")
        n, walks = len(samples.ids), choice == "until_applied"
        wanted = np.full(n, repeat if isinstance(repeat, int) else 0)
        if isinstance(repeat, dict) and "given" in repeat:
            least, most = repeat["given"]
            wanted = least + given_cell(samples.levels, most - least + 1)
        elif isinstance(repeat, dict):
            below = np.cumsum(whole_weights(repeat["weights"]))
            wanted = np.searchsorted(below, choose(samples.words(first)[0], below[-1]), "right")
        if "p" in self.text:
            wanted = np.where(coin(samples.words(first)[1], self.text["p"]), wanted, 0)
        most = len(branches) if walks or choice != "with_replacement" else 16
        left, applied, columns = np.tile([weight for weight, _ in branches], (n, 1)), np.zeros(n, np.int64), []
        for r in range(most if walks else min(most, int(wanted.max(initial=0)))):
            block, below = first + 1 + 64 * r, np.cumsum(left, axis=1)
            at = (below <= choose(samples.words(block)[0], below[:, -1])[:, None]).sum(1)
            if choice != "with_replacement":
                left[np.arange(n), at] = 0
            running, some = applied < wanted if walks else r < wanted, np.zeros(n, bool)
            for i, (_, steps) in enumerate(branches):
                here = np.flatnonzero(running & (at == i))
                part = samples.at(here)
                for s, step in enumerate(steps if len(here) else []):
                    words = part.words(block + 1 + 2 * s)
                    hit = words[0] < np.uint64(step.threshold)
                    columns.append(
                        (
                            r * 16 + s,
                            here[hit],
                            step.draw(self, part, words, block + 1 + 2 * s)[hit],
                            step,
                            block + 1 + 2 * s,
                        )
                    )
                    some[here[hit]] = True
            applied += some
        return columns

    # ---- 4. AugMix ----

    def mixed(self, samples):
        """The columns of all chains, whose shares and mixing are computed in binary32."""
        mix, n, columns = {"width": 3, "alpha": 1, "form": "sum", **self.text["augmix"]}, len(samples.ids), []
        assert mix["alpha"] == 1, "other alphas have no quantiles in closed form"
        words = [samples.words(self.first + 512 * c + 48) for c in range(mix["width"])]
        gamma = np.array([to_20_bits(-math.log1p(-(k + 0.5) / 512)) for k in range(512)])
        beta = [to_20_bits((k + 0.5) / 512) for k in range(256)]
        beta = np.array(beta + [1 - b for b in reversed(beta)])
        share, m = [gamma[choose(w[0], 512)] for w in words], beta[choose(words[0][1], 512)]
        weight = [(one / sum(share[1:], share[0])).astype(np.float32) for one in share]
        if mix["form"] != "sum":
            weight = [w * m.astype(np.float32) for w in weight]
        rest = np.ones(n, np.float32)
        for c in reversed(range(mix["width"]) if mix["form"] == "blends" else ()):
            with np.errstate(divide="ignore", invalid="ignore"):
                weight[c] = np.where(rest > 0, np.minimum(weight[c] / rest, np.float32(1)), np.float32(0))
            rest = rest * (1 - weight[c])

        def say(order, op, value):
            columns.append((order, np.arange(n), one_step(op, np.broadcast_to(value, n)), None, 0))

        if mix["form"] == "one_sum":
            say(-1, "mix_add", (1 - m).astype(np.float32))
        for c, w in enumerate(weight):
            columns += [(1024 * c + order, *rest) for order, *rest in self.chain(samples, self.first + 512 * c)]
            say(1024 * c + 1023, "mix_blend" if mix["form"] == "blends" else "mix_add", w)
        if mix["form"] != "blends":
            say(1024 * len(weight), "mix_sum", m.astype(np.float32) if mix["form"] == "sum" else 1)
        return columns


def to_20_bits(x):
    fraction, exponent = math.frexp(x)
    return math.ldexp(round(fraction * 2**21) / 2**21, exponent)


def one_step(op, values):
    out = np.zeros(len(values), STEP)
    out["op"], out["values"][:, 0] = op, values
    return out


def packed(columns, n):
    """The steps of each sample without gaps, [n][most], and their number."""
    counts = np.bincount(np.concatenate([np.zeros(0, np.int64), *(here for _, here, *_ in columns)]), minlength=n)
    steps, at = np.zeros((n, max(1, counts.max(initial=0))), STEP), np.zeros(n, np.int64)
    for _, here, out, *_ in sorted(columns, key=lambda column: column[0]):
        steps[here, at[here]] = out
        at[here] += 1
    return steps, counts


# ---- 5. Boxes ----


def matrix(op, v, width, height):
    """The matrix of a warp: output (x, y) shows input (m0 x + m1 y + m2, m3 x + m4 y + m5)."""
    if op == "rotate":
        turn = math.fmod(v, 360.0)
        turn = -((turn + 360.0 if turn < 0 else turn) * (math.pi / 180.0))
        c, s, x, y = round(math.cos(turn), 15), round(math.sin(turn), 15), width / 2.0, height / 2.0
        return [c, s, (c * -x + s * -y) + 0.0 + x, -s, c, (-s * -x + c * -y) + 0.0 + y]
    return {
        "shear_x": [1, v, 0, 0, 1, 0],
        "shear_y": [1, 0, 0, v, 1, 0],
        "translate_x": [1, 0, -v, 0, 1, 0],
        "translate_y": [1, 0, 0, 0, 1, -v],
        "translate_x_rel": [1, 0, -(v * width), 0, 1, 0],
        "translate_y_rel": [1, 0, 0, 0, 1, -(v * height)],
        "flip_lr": [-1, 0, width, 0, 1, 0],
        "flip_ud": [1, 0, 0, 0, -1, height],
    }[op]


def clipped(corners, width, height):
    """A polygon cut off at the image's sides: left, right, top, bottom (Sutherland, Hodgman 1974)."""
    for axis, sign, limit in (0, -1, 0), (0, 1, width), (1, -1, 0), (1, 1, height):
        kept = []
        for here, there in zip(corners, corners[1:] + corners[:1]):
            out, next_out = sign * (here[axis] - limit), sign * (there[axis] - limit)
            if out <= 0:
                kept.append(here)
            if out < 0 < next_out or next_out < 0 < out:
                cut, t = [float(limit)] * 2, out / (out - next_out)
                cut[1 - axis] = here[1 - axis] + t * (there[1 - axis] - here[1 - axis])
                kept.append(cut)
        corners = kept
    return corners


def touched(box, moves, width, height):
    """The pixels (left, top, right, bottom) that a box touches after `moves`; None: it has left the image."""
    left, top, right, bottom = map(float, box)
    corners = clipped([[left, top], [right, top], [right, bottom], [left, bottom]], width, height)
    for a in moves:
        det = a[0] * a[4] - a[1] * a[3]
        i0, i1, i3, i4 = a[4] / det, -a[1] / det, -a[3] / det, a[0] / det
        i2, i5 = -(i0 * a[2] + i1 * a[5]), -(i3 * a[2] + i4 * a[5])
        corners = clipped([[i0 * x + i1 * y + i2, i3 * x + i4 * y + i5] for x, y in corners], width, height)
    low, high = ([of(c[k] for c in corners) if corners else 0 for k in (0, 1)] for of in (min, max))
    return [*map(math.floor, low), *map(math.ceil, high)] if low[0] < high[0] and low[1] < high[1] else None


def in_boxes(columns, samples):
    """As packed(), with each step that takes boxes once for every box that it is applied to."""
    made, moves = [[] for _ in samples.ids], [[] for _ in samples.ids]
    for _, here, out, step, block in sorted(columns, key=lambda column: column[0]):
        words = np.stack(samples.at(here).words(block + 1), 1) if step.takes_boxes else here
        for i, one, own in zip(here, out, words):
            size = int(samples.width[i]), int(samples.height[i])
            if step.takes_boxes:
                made[i] += expanded(one, step, own, [touched(box, moves[i], *size) for box in samples.boxes[i]])
                continue
            made[i].append(one)
            if step.op in WARPS:
                moves[i].append(matrix(step.op, float(one["values"][0]), *size))
    return packed([(s, np.array([i]), one) for i, own in enumerate(made) for s, one in enumerate(own)], len(made))


def expanded(one, step, own, boxes):
    """The steps that one drawn step becomes; own: the words of its second block."""
    there, bbox, steps = [b for b, box in enumerate(boxes) if box], step.op == "bbox_cutout", []
    words = {b: [w[0] for w in philox([0, 0, b, 0], own[2:])] for b in there}
    chosen = sorted(there, key=lambda b: words[b][3])
    if bbox:
        chosen = [there[int(choose(own[0], len(there)))]] if there else []
    for b in chosen:
        if not bbox and words[b][0] >= step.p:
            continue
        box, out = boxes[b], one.copy()
        for k in range(2 if step.op in ERASES else 0):
            side = box[2 + k] - box[k]
            out["values"][1 + k] = (box[k] if bbox else 0) + place(step.op, words[b][1 + k], side)
            out["values"][3 + k] = side if bbox else 0
        if not bbox:
            out["inside"] = box
        steps.append(out)
    return steps


# ---- 6. Transforms ----


def factor(word, low, high):
    """Uniform as torch's uniform_: 24 bits, the product in binary64, the result in binary32."""
    low, high = np.float32(low), np.float32(high)
    return (unit(word) * np.float64(high - low) + np.float64(low)).astype(np.float32)


def unit(word):
    return (word >> np.uint64(8)).astype(np.float64) * 2.0**-24


def pair(size):
    """(width, height)."""
    return (size, size) if isinstance(size, int) else (size[1], size[0])


def tries(samples, block, width, height, area_px, share, ratio, erases=False):
    """(left, top, width, height) of the first of ten tries that fits, [n][4], and whether one did."""
    low, high = map(math.log, ratio)
    ratios = np.array([round(math.exp(low + (high - low) * (k + 0.5) / 4096) * 2**36) * 2.0**-36 for k in range(4096)])
    box, found = np.zeros((len(width), 4), np.int64), np.zeros(len(width), bool)
    for t in range(10):
        words = samples.words(block + t)
        area, shape = area_px * (share[0] + (share[1] - share[0]) * unit(words[0])), ratios[choose(words[1], 4096)]
        w, h = np.rint(np.sqrt(area * shape)), np.rint(np.sqrt(area / shape))
        if erases:  # whose ratio is height to width, and which leave something of the image
            w, h = h, w
        fits = (w >= 1) & (h >= 1) & (w <= width - erases) & (h <= height - erases) & ~found
        w, h = np.where(fits, w, 1).astype(np.int64), np.where(fits, h, 1).astype(np.int64)
        new = np.stack([choose(words[3], width - w + 1), choose(words[2], height - h + 1), w, h], 1)
        box, found = np.where(fits[:, None], new, box), found | fits
    return box, found


def overlapping(seed, size, boxes, overlaps, scale, ratio):
    """The crop (left, top, width, height) by the overlap of boxes, 0 for none, 2 where none was found; in binary32."""
    F, low, corners = np.float32, np.float32(scale[0]), (boxes[:, :2], boxes[:, 2:])
    for r in range(64 if len(boxes) else 0):
        least = overlaps[int(choose(philox([0, 0, 0, r], seed)[0][0], len(overlaps)))]
        if least >= 1:
            return 0
        for t in range(40):
            u = [F(unit(word)[0]) for word in philox([1, 0, t, r], seed)]
            sides = [int(F(side) * (low + F(scale[1] - scale[0]) * one)) for side, one in zip(size, u)]
            if min(sides) < 1 or not ratio[0] <= sides[0] / sides[1] <= ratio[1]:
                continue
            first = [int(F(side - own) * one) for side, own, one in zip(size, sides, u[2:])]
            begin, end = np.array(first, F), np.array([a + b for a, b in zip(first, sides)], F)
            centre = F(0.5) * (corners[0] + corners[1])
            there = ((begin < centre) & (centre < end)).all(1)
            common = np.maximum(np.minimum(corners[1], end) - np.maximum(corners[0], begin), 0).prod(1)
            whole = (corners[1] - corners[0]).prod(1) + (end - begin).prod() - common
            if there.any() and (common / whole)[there].max() >= F(least):
                return (*first, *sides)
    return 2 if len(boxes) else 0


class Listed:
    """One list of a one_of: the words that choose it, of the word at `block`."""

    def __init__(self, block, low, high):
        self.block, self.low, self.high = block, low, high

    def chosen(self, samples):
        word = samples.words(self.block)[0].astype(np.int64)
        return (word >= self.low) & (word < self.high)


def flattened(stages):
    """The stages, those in lists of a one_of behind it, each with its Listed or None."""
    seen = 0
    for written in stages:
        yield written, None
        lists = written.get("one_of", [])
        weights = [one.get("weight", 1) for one in lists]
        for i, one in enumerate(lists):
            low, high = (round(sum(weights[:k]) / sum(weights) * 2**32) for k in (i, i + 1))
            for stage in one["stages"]:
                yield stage, Listed(32768 + 256 * (4 * STAGES.index("one_of") + seen), low, high)
        seen += bool(lists)


def ruled(samples, keys, word):
    """Width and height that a resize by another key than `size` makes, not yet rounded down."""
    sides = np.stack([samples.width, samples.height], 1).astype(np.float64)
    by, least, most = keys.get("rounding", "torchvision"), sides.min(1), sides.max(1)
    listed = keys.get("square", keys.get("shortest", 0))
    n = np.array([listed] if isinstance(listed, int) else listed)
    n = n[choose(word, len(n))].astype(np.float64)
    if "square" in keys:
        return np.stack([n, n], 1)
    if "fit" in keys:
        (low, high), f, target = keys.get("scale", [1, 1]), np.float32, np.array(pair(keys["fit"]))
        unit = (word >> np.uint64(8)) / (1 << 24)
        if by == "detectron2":
            return np.rint(sides * (target * (low + (high - low) * unit)[:, None] / sides).min(1)[:, None])
        scale = f(low) + unit.astype(f) * f(high - low)
        return sides.astype(f) * ((target / sides).min(1).astype(f) * scale)[:, None]
    wide, longest = samples.width > samples.height, keys.get("longest")
    if "shortest" not in keys:
        other = longest / most * least + 0.5 if by == "detectron2" else longest * least / most
        return np.where(wide[:, None], np.stack([longest + 0 * other, other], 1), np.stack([other, longest + 0 * n], 1))
    longest = np.inf if longest is None else longest
    if by == "torchvision":
        return sides * np.minimum(n / least, longest / most)[:, None]
    if by == "detr":
        n = np.where(most / least * n > longest, np.rint(np.minimum(longest, 1e9) * least / most), n)
        return np.where(sides == least[:, None], n[:, None], (n * most / least)[:, None])
    longer = n / least * most
    again = np.where(longer > longest, np.minimum(longest, 1e9) / longer, 1)
    return np.where(sides == least[:, None], (n * again)[:, None], (longer * again)[:, None]) + 0.5


def whole(samples):
    """The places of images that stay as they are."""
    zero = 0 * samples.width
    return {
        "crop": np.stack([zero, zero, samples.width, samples.height], 1),
        "beyond": np.zeros(len(zero), bool),
        "resize": np.stack([samples.width, samples.height], 1),
        "filter": zero.copy(),
        "window": np.stack([zero, zero], 1),
        "result": np.stack([samples.width, samples.height], 1),
        "flip": np.zeros((len(zero), 2), bool),
        "flipped_first": np.zeros((len(zero), 2), bool),
    }


def join(places, own, here, resizes, shows, samples):
    """Makes the places of the samples `here` do what `own` does to their results, too. shows: it becomes their crop."""
    part = {key: places[key][here] for key in whole(samples)}
    size = np.where(
        places["first"]["resize"] > 0, places["first"]["result"], np.stack([samples.width, samples.height], 1)
    )
    if resizes:  # what is resized already comes first
        again = np.flatnonzero((part["resize"] != part["crop"][:, 2:]).any(1))
        for key, value in part.items():
            places["first"][key][here[again]] = value[again]
        size[here[again]] = part["result"][again]
        for key in ("crop", "window", "flip", "flipped_first", "beyond"):
            part[key][again] = 0
        part["resize"][again] = part["crop"][again, 2:] = part["result"][again]
    for k in range(2):
        flip, shown = part["flip"][:, k], [(own["crop"][:, k], own["crop"][:, 2 + k])]
        for first, length in shown if resizes else [*shown, (own["window"][:, k], own["result"][:, k])]:
            part["window"][:, k] += np.where(flip, part["result"][:, k] - first - length, first)
            part["result"][:, k] = length
        if resizes or shows:
            part["crop"][:, k] += part["window"][:, k]
            part["crop"][:, 2 + k], part["window"][:, k] = part["result"][:, k], 0
            part["resize"][:, k] = own["resize"][:, k] if resizes else part["result"][:, k]
        if resizes:
            left = own["window"][:, k]
            part["window"][:, k] = np.where(flip, own["resize"][:, k] - left - own["result"][:, k], left)
            part["result"][:, k], part["flipped_first"][:, k] = own["result"][:, k], flip
        part["flip"][:, k] = flip ^ own["flip"][:, k]
    low, high = part["crop"][:, :2], part["crop"][:, :2] + part["crop"][:, 2:]
    part["beyond"] |= own["beyond"] | (low < 0).any(1) | (high > size[here]).any(1)
    part["filter"] = own["filter"]
    for key, value in part.items():
        places[key][here] = value


class Transform:
    def __init__(self, text, load):
        self.stages, policies, self.to_rgb = [], 0, "to_rgb" in text["stages"][0]
        for written, listed in flattened(text["stages"][self.to_rgb :]):
            ((kind, keys),) = written.items()
            block = 32768 + 256 * (4 * STAGES.index(kind) + sum(kind == before for before, *_ in self.stages))
            if kind == "policy":
                keys = {"name": keys} if isinstance(keys, str) else keys
                written_out = "branches" in keys or "phases" in keys
                if not written_out:
                    named, level = load(keys["name"]), keys.get("level")
                    if isinstance(level, (int, float)) and "normal" in str(named.get("level")):  # keeps its deviation
                        keys = {**keys, "level": {**named["level"], "normal": level}}
                    keys = {**named, **keys}
                keys = Policy(keys, 8192 * policies)
                policies += 1
            self.stages.append((kind, keys, block, listed))

    def draw(self, samples):
        """Steps [sample][most], how many each sample has, and the places: a dictionary of arrays."""
        n, width, height, columns = len(samples.ids), samples.width, samples.height, []
        samples = copy.copy(samples)
        samples.channels = 3 if self.to_rgb else samples.channels
        zero = 0 * width
        places = whole(samples)
        places.update(
            overlap=zero.copy(),
            canvas=np.stack([zero, zero], 1),
            noise=np.zeros(n, np.uint64),
            erase=[[] for _ in zero],
            first={**whole(samples), "resize": np.stack([zero, zero], 1)},
        )
        for turn, (kind, keys, block, listed) in enumerate(self.stages):
            inside = copy.copy(samples)
            inside.width, inside.height = width, height
            here = np.flatnonzero(listed.chosen(samples)) if listed else np.arange(n)  # the samples that have it
            inside = inside.at(here)
            own = whole(inside)
            own.update(filter=places["filter"][here], erase=[places["erase"][i] for i in here])
            own.update({key: places[key][here] for key in ("overlap", "canvas", "noise")})
            if kind == "policy":
                steps, counts, _ = keys.draw(inside)
                drawn = [(np.flatnonzero(counts > s), steps[counts > s, s]) for s in range(steps.shape[1])]
            else:
                drawn = list(getattr(self, kind)(inside, keys or {}, block, own) or [])
            columns += [(1024 * turn + s, here[which], steps) for s, (which, steps) in enumerate(drawn)]
            resizes = kind in ("resize", "random_resized_crop")
            if resizes:
                own["result"] = own["resize"].copy()
            elif kind.startswith(("random_", "center_")):
                own["result"][:] = pair(keys["size"])
            for key in ("overlap", "canvas", "noise"):
                places[key][here] = own[key]
            join(places, own, here, resizes, kind == "iou_crop", samples)
            width, height = places["result"].T.copy()
        return (*packed(columns, n), places)

    def after(self, samples, places):
        """The samples as their images are behind these stages."""
        samples = copy.copy(samples)
        samples.width, samples.height = places["result"].T
        samples.channels = 3 if self.to_rgb else samples.channels
        return samples

    def random_resized_crop(self, samples, keys, block, places):
        width, height, ratio = samples.width, samples.height, keys.get("ratio", [0.75, 1.3333333333333333])
        area, filters = width.astype(np.float64) * height, keys.get("filter", ["bilinear"])
        crop, found = tries(samples, block, width, height, area, keys.get("scale", [0.08, 1]), ratio)
        w = np.where(width / height > ratio[1], np.maximum(np.rint(height * ratio[1]), 1), width).astype(np.int64)
        h = np.where(width / height < ratio[0], np.maximum(np.rint(width / ratio[0]), 1), height).astype(np.int64)
        middle = np.stack([(width - w) // 2, (height - h) // 2, w, h], 1)
        places["crop"], places["resize"][:] = np.where(found[:, None], crop, middle), pair(keys["size"])
        filters = np.array([FILTERS.index(f) for f in ([filters] if isinstance(filters, str) else filters)])
        places["filter"] = filters[choose(samples.words(block + 16)[0], len(filters))]

    def resize(self, samples, keys, block, places):
        places["filter"] = 0 * samples.width + FILTERS.index(keys.get("filter", "bilinear"))
        if "size" not in keys:
            places["resize"] = ruled(samples, keys, samples.words(block)[0]).astype(np.int64)
            return
        side, wide = keys["size"], samples.width > samples.height
        if isinstance(side, int):
            longer = side * np.maximum(samples.width, samples.height) // np.minimum(samples.width, samples.height)
            places["resize"] = np.stack([np.where(wide, longer, side), np.where(wide, side, longer)], 1)
        else:
            places["resize"][:] = pair(side)

    def zoom_out(self, samples, keys, block, places):
        words, f = samples.words(block), np.float32
        low, high = keys.get("side", [1, 4])
        unit = [(word >> np.uint64(8)).astype(f) / f(1 << 24) for word in words]
        side, here = f(low) + unit[1] * f(high - low), coin(words[0], keys.get("p", 1))
        for k, length in enumerate((samples.width, samples.height)):
            canvas = (length.astype(f) * side).astype(np.int64)
            first = ((canvas - length).astype(f) * unit[2 + k]).astype(np.int64)
            places["crop"][:, k] = np.where(here, -first, places["crop"][:, k])
            places["crop"][:, 2 + k] = np.where(here, canvas, places["crop"][:, 2 + k])
            places["canvas"][:, k] = np.where(here, first, 0)
        places["resize"], places["result"] = places["crop"][:, 2:].copy(), places["crop"][:, 2:].copy()
        places["beyond"] = here

    def iou_crop(self, samples, keys, block, places):
        here, key, F = coin(samples.words(block)[0], keys.get("p", 1)), samples.words(block + 1), np.float32
        overlaps, scale = keys.get("overlap", [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1]), keys.get("scale", [0.3, 1])
        ratio = keys.get("ratio", [0.5, 2])
        for i in np.flatnonzero(here):
            seed, canvas = [int(word[i]) for word in key[:2]], places["canvas"][i]
            boxes = np.reshape(samples.boxes[i] if samples.boxes is not None else [], (-1, 4)).astype(F)
            boxes += np.tile(canvas, 2).astype(F)
            found = overlapping(seed, [int(side) for side in places["crop"][i, 2:]], boxes, overlaps, scale, ratio)
            places["overlap"][i] = found if isinstance(found, int) else 1
            if not isinstance(found, int):
                places["crop"][i], places["resize"][i], places["result"][i] = found, found[2:], found[2:]

    def center_crop(self, samples, keys, block, places):
        for k, (side, wanted) in enumerate(zip((samples.width, samples.height), pair(keys["size"]))):
            places["window"][:, k] = np.where(side < wanted, -((wanted - side) // 2), np.rint((side - wanted) / 2))

    def random_crop(self, samples, keys, block, places):
        padding, words = keys.get("padding", 0), samples.words(block)[1::-1]
        for k, (side, wanted) in enumerate(zip((samples.width, samples.height), pair(keys["size"]))):
            places["window"][:, k] = choose(words[k], np.maximum(side + 2 * padding - wanted, 0) + 1) - padding

    def size_crop(self, samples, keys, block, places):
        words, (low, high) = samples.words(block), keys["sides"]
        for k, length in enumerate((samples.width, samples.height)):
            most = np.minimum(length, high)
            least = np.minimum(low, most)
            places["result"][:, k] = least + choose(words[k], most - least + 1)
            places["window"][:, k] += choose(words[3 - k], length - places["result"][:, k] + 1)

    def fixed_crop(self, samples, keys, block, places):
        word, f = samples.words(block)[0] >> np.uint64(8), np.float32
        for k, (length, wanted) in enumerate(zip((samples.width, samples.height), pair(keys["size"]))):
            over = np.maximum(length - wanted, 0)
            half = np.rint(over * (word / (1 << 24))), np.trunc(over.astype(f) * (word.astype(f) / f(1 << 24)))
            places["window"][:, k] += half[keys.get("rounding") != "detectron2"].astype(np.int64)
            places["result"][:, k] = wanted

    def pad(self, samples, keys, block, places):
        multiple = keys.get("multiple")
        for k, length in enumerate((samples.width, samples.height)):
            size = -(-length // multiple) * multiple if multiple else np.maximum(length, pair(keys["size"])[k])
            places["window"][:, k] -= (size - length) // 2 if keys.get("at") == "centre" else 0
            places["result"][:, k] = size

    def flip(self, samples, keys, block, places):
        for k, (word, key) in enumerate(zip(samples.words(block), ("horizontal", "vertical"))):
            places["flip"][:, k] = coin(word, keys.get(key, 0))

    def jitter(self, samples, keys, block, places):
        words, factors, rows = samples.words(block + 1), samples.words(block + 2), np.arange(len(samples.ids))
        order = np.tile(np.arange(4), (len(rows), 1))
        for i in range(3):  # Fisher-Yates
            j = i + choose(words[i], 4 - i)
            order[rows, i], order[rows, j] = order[rows, j], order[rows, i]
        here = coin(samples.words(block)[0], keys.get("p", 1))
        for i in range(4):
            for which, key in enumerate(("brightness", "contrast", "saturation", "hue")):
                neutral, given = int(key != "hue"), keys.get(key)
                if isinstance(given, (int, float)):
                    given = [max(neutral - given, neutral - 1), neutral + given]
                if given and given != [neutral, neutral]:
                    drawn = np.flatnonzero(here & (order[:, i] == which))
                    op = "color" if key == "saturation" else key
                    yield drawn, one_step(op, factor(factors[which], *given)[drawn])

    def photometric(self, samples, keys, block, places):
        coins, factors, last = (samples.words(block + k) for k in range(3))
        standard = [0.875, 1.125], [0.5, 1.5], [0.5, 1.5], [-0.05, 0.05]
        ops, names = ("brightness", "contrast", "color", "hue"), ("brightness", "contrast", "saturation", "hue")
        p, second = keys.get("p", 0.5), coin(last[0], 0.5)
        for i, which in enumerate((0, 1, 2, 3, 1)):
            there = second == (i == 1) if which == 1 else True
            drawn = np.flatnonzero(coin(coins[which], p) & there)
            yield drawn, one_step(ops[which], factor(factors[which], *keys.get(names[which], standard[which]))[drawn])
        order = choose(last[2], 6)
        drawn = np.flatnonzero(coin(last[1], keys.get("channels", p)) & (order > 0))
        yield drawn, one_step("permute", order[drawn].astype(np.float64))

    def grayscale(self, samples, keys, block, places):
        here = np.flatnonzero(coin(samples.words(block)[0], keys.get("p", 1)))
        yield here, one_step("grayscale", 0.0 * here)

    def blur(self, samples, keys, block, places):
        words, size = samples.words(block), keys.get("kernel_size")
        here = np.flatnonzero(coin(words[0], keys.get("p", 1)))
        value = factor(words[1], *keys["sigma" if size else "radius"])[here]
        out = one_step("kernel_blur" if size else "gaussian_blur", value)
        out["values"][:, 1] = size or 0
        yield here, out

    def erase(self, samples, keys, block, places):
        boxes, first, noise = keys.get("boxes", 1), samples.words(block), samples.words(block + 1)
        least, most = (boxes, boxes) if isinstance(boxes, int) else boxes
        here, count = coin(first[0], keys.get("p", 1)), least + choose(first[1], most - least + 1)
        places["noise"] = np.where(here, noise[1] << np.uint64(32) | noise[0], np.uint64(0))
        for b in range(most):
            area = samples.width.astype(np.float64) * samples.height / count
            box, found = tries(
                samples,
                block + 2 + 16 * b,
                samples.width,
                samples.height,
                area,
                keys.get("area", [0.02, 0.33]),
                keys.get("ratio", [0.3, 3.3]),
                erases=True,
            )
            for i in np.flatnonzero(here & found & (b < count)):
                places["erase"][i].append(box[i].tolist())

    def output(self, *_):
        """Draws nothing, like mix, which draws by batch."""

    mix = one_of = output


# ---- 7. Numbers that change with the epoch ----


def number_in(kind, points, epoch):
    """The number of a schedule, {kind: points}, in an epoch."""
    begun = [(e, x) for e, x in points if e <= epoch] or points[:1]
    later, (e0, x0) = points[len(begun) :], begun[-1]
    if kind == "from" or not later or epoch <= e0:
        return x0
    e1, x1 = later[0]
    if kind == "ramp":
        number = x0 + (x1 - x0) * float(epoch - e0) / (e1 - e0)
    else:
        share = (1 - math.cos((epoch - e0) / (e1 - e0) * math.pi)) / 2
        number = x0 + (x1 - x0) * (round(share * 2**36) * 2.0**-36)
    return int(number) if number == math.floor(number) else number


def plain(text, epoch):
    """What a text, or a part of one, means in an epoch."""
    if isinstance(text, list):
        return [plain(part, epoch) for part in text]
    if not isinstance(text, dict):
        return text
    kind = next(iter(text), None)
    if len(text) == 1 and kind in ("from", "ramp", "cosine") and isinstance(text[kind], list):
        return number_in(kind, text[kind], epoch)
    if "phases" in text and "stages" in text["phases"][0]:
        stages = [phase["stages"] for phase in text["phases"] if phase["from"] <= epoch][-1]
        text = {**{key: value for key, value in text.items() if key != "phases"}, "stages": stages}
    return {key: plain(part, epoch) for key, part in text.items() if key != "epochs"}


class Scheduled:
    def __init__(self, text, load):
        self.text, self.load = text, load

    def draw(self, samples):
        return read(plain(self.text, samples.epoch), self.load).draw(samples)


class Views:
    """The views of a text: {name: (count, number, its transform)}."""

    def __init__(self, text, load):
        head = {key: value for key, value in text.items() if key not in ("views", "stages")}
        self.shared = read({**head, "stages": text["stages"]}, load) if "stages" in text else None
        self.views = {
            view["name"]: (
                view.get("count", 1),
                view.get("number", place),
                read({**head, "stages": view["stages"]}, load),
            )
            for place, view in enumerate(text["views"])
        }

    def draw(self, samples):
        """For each view what each of its results draws: {name: [(steps, counts, places), ...]}; "": shared stages."""
        made = {}
        if self.shared:
            own = copy.copy(samples)
            own.view = 256 * samples.view + 16 * 15
            made[""] = [self.shared.draw(own)]
            samples = self.shared.after(samples, made[""][0][2])
        for name, (count, number, transform) in self.views.items():
            made[name] = []
            for j in range(count):
                own = copy.copy(samples)
                own.view = 256 * samples.view + 16 * number + j
                made[name].append(transform.draw(own))
        return made


def read(text, load):
    if plain(text, 0) != text:
        return Scheduled(text, load)
    if "views" in text:
        return Views(text, load)
    return Transform(text, load) if "stages" in text else Policy(text)
