# SPDX-License-Identifier: Apache-2.0
"""Policies, as immutable data: how operations are drawn for a sample, or the whole way from decoded images to a
network's input, a list of stages."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _native, custom
from ._core import ffi, lib
from ._arrays import DTYPE_NAMES
from ._native import (
    ArgumentError,
    PolicyError,
    UnsupportedError,
    check,
    checked,
    epoch_given,
    made_by,
    text_from,
    text_of,
)

if TYPE_CHECKING:
    from ._types import Fill, PolicyLike

INTERPOLATIONS = tuple(text_of(lib.motley_interpolation_name(i)) for i in range(lib.MOTLEY_BICUBIC + 1))


@ffi.def_extern()
def on_problem(user: Any, problem: Any) -> None:
    ffi.from_handle(user).append((problem.line, problem.column, text_of(problem.message)))


PILLOWS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}  # PIL.Image.Resampling


def filter_number(what: str, given: object, names: Sequence[str]) -> int:
    """The place among `names` of a filter: given by its name, by an enum of Pillow's or torchvision's, or by Pillow's
    number. torchvision's nearest-exact is Pillow's nearest."""
    value = getattr(given, "value", given)
    name = PILLOWS.get(value, "") if isinstance(value, int) and not isinstance(value, bool) else str(value).lower()
    name = "nearest" if name == "nearest-exact" else name
    if name not in names:
        raise ArgumentError(f"{what} is {given!r}, want one of {', '.join(names)}")
    return names.index(name)


def interpolation_number(given: object) -> int:
    """motley_interpolation's number of a warp's filter."""
    return filter_number("interpolation", given, INTERPOLATIONS)


def fill_bytes(fill: Fill) -> bytes:
    """Four bytes of a fill: of one number for every channel, or of 3 or 4 for RGB or RGBA."""
    try:
        given: Any = fill
        numbers = [given] * 4 if not hasattr(given, "__len__") else list(given)
        if len(numbers) == 1:
            numbers *= 4
        if len(numbers) == 3:
            numbers.append(255)
        if len(numbers) != 4 or any(n != int(n) or isinstance(n, bool) for n in numbers):
            raise ValueError
        return bytes(int(n) for n in numbers)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"fill is {fill!r}, want a whole number 0 to 255, or 3 or 4 of them") from None


class Policy:
    """What a policy file says. Immutable; printed, pickled and compared by its content. motley.Transform runs it.

    A policy is drawn, a choice of branches; or it has `stages`, the whole way from decoded images of any sizes to a
    network's input, such as crop, flip, a drawn policy, output. The format is doc/policy-format.md's.

        base = motley.Policy("rand_augment")                            # a built-in policy
        mine = motley.Policy(base.as_dict() | {"bins": 11})
        train = motley.Policy({"stages": [{"random_resized_crop": {"size": 224}}, {"policy": "rand_augment"}]})

    Args:
        policy: A built-in's name, a path, a text (YAML or JSON), JSON's dictionaries and lists, such as `as_dict()`
            returns, or what has a policy (a motley.Transform). A string is, by the library's rule, a text if it has
            several lines or begins with '{'; a path if it has a '/', ends in .yaml, .yml or .json, or is that of a
            file; else a name. An os.PathLike is a path. In a dictionary "motley" is 1 and "name" is "policy" unless it
            has them.

    Attributes:
        whole: Whether it has stages.
        name, title, paper: What the text says, or "".
        profile: Whose conventions it follows.
        size: (height, width) of what comes out; None: images come out in sizes of their own, see `result_sizes`.
        draws_sizes: Whether sizes depend on what an image draws.
        mixes: Whether its last stage mixes images, so that calls want labels and return targets.
        takes_boxes: Whether it works in the boxes of an image, or crops by them: motley.Follow has them.
        takes_levels: Whether its steps have the level `given`, so that calls want `levels`.
        max_steps: The most steps that one image can draw.
        custom_ops: The custom operations that it names.
    """

    def __new__(cls, policy: PolicyLike) -> Policy:
        own = getattr(policy, "policy", None)
        policy = own if isinstance(own, Policy) else policy
        if isinstance(policy, Policy):
            return policy
        if isinstance(policy, Mapping):
            return cls._of(*_parsed(_as_json({"motley": 1, "name": "policy", **policy}).encode()))
        if isinstance(policy, os.PathLike):
            return cls._of(*_opened(os.fspath(policy)))
        if not isinstance(policy, str):
            way = ""
            if hasattr(policy, "not_taken"):
                way = "; its .transform is one"
            elif type(policy).__module__.split(".")[0] in ("torchvision", "timm", "motley"):
                way = "; motley.torchvision.fuse(...).transform is what it makes of torchvision's and timm's"
            wanted = "a motley.Policy, a name, a path, a text or a dictionary"
            raise ArgumentError(f"policy is a {type(policy).__name__}, want {wanted}{way}")
        if "\0" in policy:
            raise ArgumentError(f"policy is {policy!r}, want a name, a path or a text, which have no NUL")
        source = lib.motley_policy_source_of(policy.encode())
        if source == lib.MOTLEY_POLICY_BUILTIN:
            return cls._of(made_by("motley_policy", lib.motley_policy_builtin, policy.encode()))
        return cls._of(*(_opened(policy) if source == lib.MOTLEY_POLICY_FILE else _parsed(policy.encode())))

    @classmethod
    def _of(cls, handle: Any, custom_ops: Sequence[custom.CustomOp] = ()) -> Policy:
        policy = object.__new__(cls)
        policy._take(handle, custom_ops)
        return policy

    def _take(self, handle: Any, custom_ops: Sequence[custom.CustomOp]) -> None:
        self._handle = ffi.gc(handle, lib.motley_policy_destroy)
        info = lib.motley_policy_describe(handle)
        self.whole, self.custom_ops = bool(info.stages), custom_ops  # which have to live as long
        self._still: Policy | None = None
        self._views: dict[str, tuple[int, int, Policy]] | None = None if info.views else {}
        self.size: tuple[int, int] | None = (info.height, info.width) if info.width else None
        self._made = (DTYPE_NAMES[info.dtype], ("hwc", "chw")[info.layout]) if self.whole else None
        self.mixes, self.only_mixes = bool(info.mix), bool(info.mix) and info.stages == 1
        self._mix = info.mix, info.classes or None, info.smoothing
        self.scheduled, self.epochs = bool(info.scheduled), int(info.epochs) or None
        self.max_steps, self.takes_boxes = int(info.max_steps), bool(info.takes_boxes)
        self._steps_by_boxes = bool(info.takes_boxes & 1)  # an image draws steps for each of its boxes
        self.takes_levels = bool(info.takes_levels)
        self.name, self.title, self.profile, self.paper = map(
            text_of, (info.name, info.title, info.profile, info.paper)
        )
        self._what = "policy", self._handle  # as _calls.Call takes it
        mix = lib.motley_mix_describe(info.mix)
        self.pastes = int(mix.pastes)  # the most objects that are pasted into an image; of instances there is no limit
        self.instances = bool(mix.instances)
        self.sizes_batches = mix.sizes_count > 0  # by the first sample's id
        self.draws_sizes = bool(info.draws_sizes) or self.sizes_batches
        self.lists = bool(info.draws_sizes) and not info.width  # of results of their own sizes
        self.varies = self.scheduled or info.views > 0
        self.on_host = bool(custom_ops) or info.views > 0 or self.draws_sizes
        readers = [self.views[""]] if "" in self.views else self.views.values()
        self.to_rgb: bool = all(own.to_rgb for *_, own in readers) if info.views else bool(info.to_rgb)
        self.has_output = bool(info.has_output)

    def result_sizes(self, sizes: Sequence[tuple[int, int]], samples: Any = ffi.NULL) -> list[tuple[int, int]]:
        """(height, width) of what comes out of images of these sizes, (width, height). samples: motley_samples in C, of
        a policy that draws sizes or has schedules."""
        widths, heights = (ffi.new("int32_t[]", [size[k] for size in sizes]) for k in (0, 1))
        numbers = len(sizes), widths, heights, widths, heights
        checked(lib.motley_policy_result_sizes, self._handle, samples, *numbers)
        return list(zip(heights, widths))

    @staticmethod
    def names() -> list[str]:
        """The names of the built-in policies: those that are drawn, then those that have stages."""
        names: list[str] = []
        while (row := lib.motley_policy_builtin_get(len(names))) != NULL:
            names.append(text_of(row.name))
        return names

    def show(self) -> str:
        """The policy as canonical text, which parses back to an equal policy."""
        return text_from(lib.motley_policy_print, self._handle, lib.MOTLEY_PRINT_TEXT)

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON's dictionaries and lists, with the keys of the file. Policy(...) takes them back."""
        data: dict[str, Any] = json.loads(text_from(lib.motley_policy_print, self._handle, lib.MOTLEY_PRINT_JSON))
        return data

    def at(self, epoch: int) -> Policy:
        """What a policy whose numbers change with the epoch is in one: a policy with these numbers put in. Of others,
        the policy itself."""
        epoch = epoch_given(epoch)
        if not self.scheduled:
            return self
        return Policy._of(made_by("motley_policy", lib.motley_policy_at, self._handle, epoch))

    def scaled(self, epochs: int) -> Policy:
        """A policy with schedules, made `epochs` long: all epochs of the file are multiplied alike, and rounded."""
        if not self.scheduled:
            raise ArgumentError(f"policy '{self.name}' has no numbers that change with the epoch")
        epochs = _native.whole("epochs", epochs, 1, (1 << 30) - 1, "from 1 to 2^30 - 1")
        return Policy._of(made_by("motley_policy", lib.motley_policy_scale, self._handle, epochs))

    @property
    def views(self) -> dict[str, tuple[int, int, Policy]]:
        """By the name of each view how many results it has, its number, and its own policy; empty without views. Stages
        that all views share come last, under the name ""."""
        if self._views is None:
            self._views = {}
            while (view := lib.motley_policy_view(self._handle, len(self._views))) != NULL:
                own = Policy(text_from(lib.motley_policy_print, view.policy, lib.MOTLEY_PRINT_TEXT))
                self._views[text_of(view.name)] = view.count, view.number, own
        return self._views

    @property
    def still(self) -> Policy:
        """What is left of it where nothing is drawn, in eval(): resize, center_crop, output and a grayscale that is
        always done; of a drawn policy nothing; of views, which have no other way to be evaluated, the middle of the
        image in place of a random crop. Images that are mixed as they come stay as they are.

        Raises:
            UnsupportedError: It cannot go without draws, since it crops at random.
        """
        if self._still is None:
            self._still = self if self.only_mixes else self._without_draws() if self.whole else NO_AUGMENTATION
        return self._still

    def _without_draws(self) -> Policy:
        data = self.as_dict()
        for part in [part for phase in data.get("phases", [data]) for part in (phase, *phase.get("views", ()))]:
            if "stages" in part:
                part["stages"] = self._still_stages(part["stages"]) or [{"policy": NO_AUGMENTATION.as_dict()}]
        return Policy(data)

    def _still_stages(self, stages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        left = []
        for stage in stages:
            ((kind, how),) = stage.items()
            if kind in ("random_resized_crop", "random_crop"):
                if not self.views:
                    name = "timm_eval" if self.profile == "timm" else "torchvision_eval"
                    raise UnsupportedError(
                        f"policy '{self.name}' cannot go without draws, in eval(): its stage '{kind}' crops at random. "
                        f"Want another transform for evaluation, such as motley.torch.Transform('{name}')"
                    )
                left.append(_middle(kind, how))
            elif kind in STILL or (kind == "grayscale" and how.get("p", 1) == 1):
                left.append(stage)
        return left

    def change(self, **keys: object) -> Policy:
        """A new policy with other values for keys at the top of its text, such as repeat, level, bins, interpolation or
        name: `policy.change(level="given", repeat=3)`. None takes a key away. What lies deeper is edited in
        `as_dict()`, of which `motley.Policy` makes a policy again."""
        for name in keys.keys() & WORDS.keys():
            raise ArgumentError(f"unknown key {name!r} in the policy, did you mean {WORDS[name]!r}?")
        data = {**self.as_dict(), **keys}
        changed = self._edited(data)
        if (level := keys.get("level")) is None:
            return changed
        try:
            self._edited({**data, "level": None})
        except ArgumentError:  # steps lack a level now
            return changed
        raise ArgumentError(f"level is {level!r}, which no step takes: each has its own; edit as_dict()")

    def _edited(self, data: dict[str, Any]) -> Policy:
        text = _as_json({key: value for key, value in data.items() if value is not None}).encode()
        known = {op.name for op in self.custom_ops}
        ops = [*self.custom_ops, *(op for op in custom.named_in(text) if op.name not in known)]
        try:
            return Policy._of(*_parsed(text, custom_ops=ops))
        except PolicyError as error:
            said = dict.fromkeys(re.sub(r"^'(\w+)' is ", r"\1 is ", problem) for _, _, problem in error.problems)
            raise ArgumentError("; ".join(said)) from None  # of one that many steps have, once

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return bool(lib.motley_policy_equal(self._handle, other._handle))

    def __hash__(self) -> int:
        return hash(self.show())

    def __reduce__(self) -> tuple[type[Policy], tuple[str]]:
        return Policy, (self.show(),)

    def __str__(self) -> str:
        return self.show()

    def __repr__(self) -> str:
        """Its name, and what sets it apart from the built-in policy of that name."""
        if self.name not in Policy.names():
            return f"<motley.Policy {self.name}>"
        base = Policy(self.name).show().splitlines()
        other = [line.strip() for line in self.show().splitlines() if line not in base]
        more = f", and {len(other) - 6} lines more" if len(other) > 6 else ""
        return f"<motley.Policy {self.name}{': ' if other else ''}{', '.join(other[:6])}{more}>"


def _middle(kind: str, how: dict[str, Any]) -> dict[str, Any]:
    """The stage that takes the middle of an image where another crops at random: a square of the shorter side (of the
    result's ratio), resized, or as much as a random_crop takes."""
    size = how["size"]
    if kind == "random_crop":
        return {"center_crop": {"size": size}}
    ratio = size[1] / size[0] if isinstance(size, list) else 1
    return {kind: {**how, "scale": [1, 1], "ratio": [ratio, ratio]}}


def _as_json(data: Any) -> str:
    return json.dumps(data, default=lambda number: number.item())


NULL = ffi.NULL
WORDS = {"magnitude": "level", "num_ops": "repeat", "num_magnitude_bins": "bins"}  # torchvision's
STILL = "to_rgb", "resize", "center_crop", "output"  # stages that draw nothing


def _opened(path: str | bytes) -> Any:
    """As _parsed, of a file."""
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        text = b""  # the library says what is wrong
    return _parsed(text, os.fsdecode(path))


def _parsed(text: bytes, path: str | None = None, custom_ops: Sequence[custom.CustomOp] | None = None) -> Any:
    """The handle of a policy's text, or of the file that has it, and its custom operations; raises one exception with
    every problem."""
    named = custom.named_in(text) if custom_ops is None else custom_ops
    problems: list[tuple[int, int, str]] = []
    ops = ffi.new("motley_custom_op[]", len(named))
    for op, made in zip(ops, named):
        made.fill(op)
    user = ffi.new_handle(problems)
    params, handle, error = map(ffi.new, ("motley_parse_params *", "motley_policy **", "motley_error *"))
    params.report, params.user = lib.on_problem, user
    params.custom_ops, params.custom_ops_count = ops, len(named)
    if path is None:
        status = lib.motley_policy_parse(text, len(text), params, handle, error)
    else:
        file = os.fsencode(path)
        named_so = lib.motley_policy_source_of(file) == lib.MOTLEY_POLICY_FILE  # else it is called like a built-in
        status = lib.motley_policy_open(file if named_so else b"./" + file, params, handle, error)
    if status == lib.MOTLEY_ERR_POLICY:
        problems = problems or [(error.line, error.column, text_of(error.message))]
        said = "\n".join(f"{path or '<policy>'}:{line}:{column}: error: {why}" for line, column, why in problems)
        own = next((name for name in custom.registered if f"unknown operation '{name}'" in said), None)
        if own is not None:
            said += f"; '{own}' is a custom operation: want a policy without stages"
        raise PolicyError(said, problems)
    check(status, error)
    kept: set[str] = set()  # of those in the text, the ones that it names as operations
    while (row := lib.motley_policy_op(handle[0], lib.motley_op_count() + len(kept))) != NULL:
        kept.add(text_of(row.name))
    return handle[0], [op for op in named if op.name in kept]


NO_AUGMENTATION = Policy("motley: 1\nname: none\nbranches: [identity]\n")
