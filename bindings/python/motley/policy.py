# SPDX-License-Identifier: Apache-2.0
"""Policies: how a sample's sequence of operations is drawn, as immutable data."""

from __future__ import annotations

import math
import os
from html import escape
from typing import TYPE_CHECKING

from . import custom
from ._core import ffi, lib
from .errors import ArgumentError, FileError, PolicyError, check, made_by, text_from, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._types import Fill, Interpolations, Level, PolicyLike

INTERPOLATIONS = tuple(text_of(lib.motley_interpolation_name(i)) for i in range(lib.MOTLEY_BICUBIC + 1))

AUGMIX_FORMS = ("sum", "blends", "one_sum")  # by motley_augmix_form


@ffi.def_extern()
def on_problem(user, problem):
    ffi.from_handle(user).append((problem.line, problem.column, text_of(problem.message)))


PILLOWS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}  # PIL.Image.Resampling


def filter_number(what, given, names):
    """The place among `names` of a filter: given by its name, by an enum of Pillow's or torchvision's, or by Pillow's
    number. torchvision's nearest-exact is Pillow's nearest."""
    value = getattr(given, "value", given)
    name = PILLOWS.get(value) if isinstance(value, int) and not isinstance(value, bool) else str(value).lower()
    name = "nearest" if name == "nearest-exact" else name
    if name not in names:
        raise ArgumentError(f"{what} is {given!r}, want one of {', '.join(names)}")
    return names.index(name)


def interpolation_number(given):
    """motley_interpolation's number of a warp's filter."""
    return filter_number("interpolation", given, INTERPOLATIONS)


def fill_bytes(fill):
    """Four bytes of a fill: of one number for every channel, or of 3 or 4 for RGB or RGBA."""
    try:
        numbers = [fill] * 4 if not hasattr(fill, "__len__") else list(fill)
        if len(numbers) == 1:
            numbers *= 4
        if len(numbers) == 3:
            numbers.append(255)
        if len(numbers) != 4 or any(n != int(n) for n in numbers):
            raise ValueError
        return bytes(int(n) for n in numbers)
    except (TypeError, ValueError):
        raise ArgumentError(f"fill is {fill!r}, want a whole number 0 to 255, or 3 or 4 of them") from None


class Policy:
    """How a sample's sequence of operations is drawn. Immutable; pickled and compared by its content.

    Policy(text) is Policy.parse(text). The format is doc/policy-format.md's."""

    __slots__ = ("_handle", "max_steps", "takes_boxes", "custom_ops", "__weakref__")

    max_steps: int
    takes_boxes: bool
    custom_ops: Sequence[custom.CustomOp]

    def __init__(self, text: str) -> None:
        data = text.encode()
        self._take(*_read(data, lib.motley_policy_parse, data, len(data)))

    def _take(self, handle, custom_ops=()):
        self._handle = ffi.gc(handle, lib.motley_policy_destroy)
        self.max_steps = lib.motley_policy_max_steps(handle)
        self.takes_boxes = bool(lib.motley_policy_takes_boxes(handle))  # it works inside them: motley.Follow has them
        self.custom_ops = custom_ops  # which the policy calls, and so have to live as long

    @classmethod
    def _of(cls, handle, custom_ops=()):
        policy = cls.__new__(cls)
        policy._take(handle, custom_ops)
        return policy

    @classmethod
    def parse(cls, text: str) -> Policy:
        """Reads a policy from a text. PolicyError has every mistake with its line and column."""
        return cls(text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Reads a policy from a file."""
        path = os.fspath(path)
        try:
            with open(path, "rb") as file:
                text = file.read()
        except OSError:
            text = b""  # the library says what is wrong
        return cls._of(*_read(text, lib.motley_policy_load, os.fsencode(path), name=path))

    @classmethod
    def builtin(cls, name: str) -> Policy:
        """The built-in policy of that name; Policy.names() lists them."""
        return cls._of(made_by("motley_policy", lib.motley_policy_builtin, name.encode()))

    @classmethod
    def of(cls, policy: PolicyLike) -> Policy:
        """A Policy of a Policy, of what has one (a stage), a built-in's name, a path or a policy's text, by the
        library's rule: a text has several lines or begins with '{'; a path has a '/', ends in .yaml, .yml or .json, or
        is that of a file."""
        policy = getattr(policy, "policy", None) or policy  # a Transform or a Mix has none
        if isinstance(policy, cls):
            return policy
        if isinstance(policy, os.PathLike):
            return cls.load(policy)
        if not isinstance(policy, str):
            raise ArgumentError(f"policy is a {type(policy).__name__}, want a motley.Policy, a name, a path or a text")
        if "\0" in policy:
            raise ArgumentError(f"policy is {policy!r}, want a name, a path or a text, which have no NUL")
        makers = {lib.MOTLEY_POLICY_BUILTIN: cls.builtin, lib.MOTLEY_POLICY_FILE: cls.load}
        return makers.get(lib.motley_policy_source_of(policy.encode()), cls.parse)(policy)

    @staticmethod
    def names() -> list[str]:
        """The names of the built-in policies."""
        return [text_of(lib.motley_policy_builtin_name(i)) for i in range(lib.motley_policy_builtin_count())]

    def show(self) -> str:
        """The policy as canonical text, which parses back to an equal policy."""
        return text_from(lib.motley_policy_print, self._handle)

    def change(
        self,
        *,
        repeat: int | None = None,
        level: Level | None = None,
        bins: int | None = None,
        top: float | None = None,
        p: float | None = None,
        interpolation: Interpolations | None = None,
        fill: Fill | None = None,
        name: str | None = None,
        title: str | None = None,
        ops: Mapping[str, Mapping[str, float]] | None = None,
        branches: Sequence[Mapping[str, Any]] | None = None,
        augmix: Mapping[str, Any] | None = None,
    ) -> Policy:
        """A new policy that is this one with changes, in the words of doc/policy-format.md.

        Args:
            repeat: Ops (branches) per sample.
            level: Level of every step that has levels. A number is a fixed level, or the mean where a level is normal;
                "uniform", {"uniform": [low, high]} and {"normal": mean, "std": deviation} are drawn.
            bins: Number of levels, 0 to bins - 1.
            top: The top level, of levels that are real numbers.
            p: Probability of every step.
            interpolation: A name, or several to draw from.
            fill: A number, or one per channel.
            name, title: What the policy is called.
            ops: New numbers for entries under `ops`: {"rotate": {"low": 0, "span": 20}}, also "base", "min" and "max".
            branches: A list in place of all branches, in the form of `Policy.branches`.
            augmix: How several draws are mixed, in the form of `Policy.augmix`; {} mixes no more.
        """
        changes = ffi.new("motley_policy_changes *")
        keep = []  # what `changes` points to
        if repeat is not None:
            if repeat < 1:
                raise ArgumentError(f"repeat is {repeat}, want 1 or more")
            changes.repeat = repeat
        if isinstance(level, (str, dict)):
            changes.levels = _level_struct({"level": level})
        elif level is not None:
            changes.set_level, changes.level = 1, level
        if bins is not None:
            if bins < 2:
                raise ArgumentError(f"bins is {bins}, want 2 or more")
            changes.bins = bins
        if top is not None:
            if not top > 0:
                raise ArgumentError(f"top is {top}, want more than 0")
            changes.top = top
        if p is not None:
            changes.set_p, changes.p = 1, p
        if interpolation is not None:
            several = interpolation if isinstance(interpolation, (list, tuple)) else [interpolation]
            for each in several:
                changes.interpolations |= 1 << interpolation_number(each)
        if fill is not None:
            changes.set_fill = 1
            changes.fill = list(fill_bytes(fill))
        if name is not None:
            changes.name = _text(name, keep)
        if title is not None:
            changes.title = _text(title, keep)
        if ops:
            changes.ranges, changes.ranges_count = _range_structs({**self.ops}, ops, keep), len(ops)
        if branches is not None:
            if not branches:
                raise ArgumentError("branches is empty, want at least one")
            changes.branches, changes.branches_count = _branch_structs(branches, keep), len(branches)
        if augmix is not None:
            changes.set_augmix, changes.augmix = 1, _augmix_struct(augmix)
        made = made_by("motley_policy", lib.motley_policy_change, self._handle, changes)
        return Policy._of(made, self.custom_ops)

    @property
    def ops(self) -> dict[str, dict[str, float]]:
        """What a level means to each op that has one: {"rotate": {"low": 0.0, "span": 30.0, "base": 0.0}}."""
        found, range_ = {}, ffi.new("motley_policy_range *")
        while lib.motley_policy_range_get(self._handle, len(found), range_):
            numbers = {"low": range_.low, "span": range_.span, "base": range_.base}
            limits = {"min": range_.minimum, "max": range_.maximum}
            numbers.update((key, value) for key, value in limits.items() if not math.isinf(value))
            found[text_of(range_.name)] = numbers
        return found

    @property
    def branches(self) -> list[dict[str, Any]]:
        """What a sample chooses from: [{"weight": 1.0, "steps": [{"op": "rotate", "p": 1.0, "level": 9.0}]}].

        A branch of a later phase also has "from", the epoch that the phase begins at."""
        found, branch, step = [], ffi.new("motley_policy_branch *"), ffi.new("motley_policy_step *")
        while lib.motley_policy_branch_get(self._handle, len(found), branch):
            plain = {"from": branch.first_epoch} if branch.first_epoch else {}
            steps = []
            while lib.motley_policy_step_get(self._handle, len(found), len(steps), step):
                steps.append({"op": text_of(step.op), "p": step.p, **_level_data(step.level)})
            found.append({**plain, "weight": branch.weight, "steps": steps})
        return found

    @property
    def augmix(self) -> dict[str, Any]:
        """How several draws are mixed: {"width": 3, "alpha": 1.0, "form": "sum"}; {} where they are not."""
        mix = lib.motley_policy_augmix(self._handle)
        return {"width": mix.width, "alpha": mix.alpha, "form": AUGMIX_FORMS[mix.form]} if mix.width else {}

    @property
    def name(self) -> str:
        return text_of(lib.motley_policy_name(self._handle))

    @property
    def title(self) -> str:
        return text_of(lib.motley_policy_title(self._handle))

    @property
    def profile(self) -> str:
        """Whose conventions it follows."""
        return text_of(lib.motley_policy_profile(self._handle))

    @property
    def paper(self) -> str:
        return text_of(lib.motley_policy_paper(self._handle))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return bool(lib.motley_policy_equal(self._handle, other._handle))

    def __hash__(self) -> int:
        return hash(self.show())

    def __reduce__(self):
        return Policy, (self.show(),)

    def __str__(self):
        return self.show()

    def _repr_html_(self) -> str:
        """For notebooks."""
        return as_html(self, self.show())

    def __repr__(self):
        """Its name, and what sets it apart from the built-in policy of that name."""
        if self.name not in Policy.names():
            return f"<motley.Policy {self.name}>"
        base = Policy.builtin(self.name).show().splitlines()
        other = [line.strip() for line in self.show().splitlines() if line not in base]
        more = f", and {len(other) - 6} lines more" if len(other) > 6 else ""
        return f"<motley.Policy {self.name}{': ' if other else ''}{', '.join(other[:6])}{more}>"


# ---- parts of policies: plain data in the format's words, and the library's structs ----


def _text(text, keep):
    keep.append(ffi.new("char[]", text.encode()))
    return keep[-1]


def _augmix_struct(augmix):
    """(width, alpha, form)"""
    unknown = set(augmix) - {"width", "alpha", "form"}
    form = augmix.get("form", "sum")
    if unknown:
        raise ArgumentError(f"augmix has {sorted(unknown)[0]!r}, want width, alpha or form")
    if form not in AUGMIX_FORMS:
        raise ArgumentError(f"the form of augmix is {form!r}, want one of {', '.join(AUGMIX_FORMS)}")
    return augmix.get("width", 3 if augmix else 0), augmix.get("alpha", 1), AUGMIX_FORMS.index(form)


def _level_data(level):
    """The "level" or "value" of a step."""
    kind, a, b = level.kind, level.a, level.b
    if kind == lib.MOTLEY_LEVEL_NONE:
        return {}
    if kind == lib.MOTLEY_LEVEL_VALUE:
        return {"value": a}
    if kind == lib.MOTLEY_LEVEL_FIXED:
        return {"level": a}
    if kind == lib.MOTLEY_LEVEL_UNIFORM:
        return {"level": "uniform"}
    return {"level": {"uniform": [a, b]} if kind == lib.MOTLEY_LEVEL_RANGE else {"normal": a, "std": b}}


def _level_struct(step):
    """The inverse: (kind, a, b)."""
    if "value" in step:
        return lib.MOTLEY_LEVEL_VALUE, step["value"], 0
    level = step.get("level")
    if level is None:
        return lib.MOTLEY_LEVEL_NONE, 0, 0
    if level == "uniform":
        return lib.MOTLEY_LEVEL_UNIFORM, 0, 0
    try:
        if not isinstance(level, dict):
            return lib.MOTLEY_LEVEL_FIXED, float(level), 0
        if set(level) == {"uniform"}:
            return lib.MOTLEY_LEVEL_RANGE, *map(float, level["uniform"])
        mean, std = float(level["normal"]), float(level["std"])
        return (lib.MOTLEY_LEVEL_NORMAL, mean, std) if std else (lib.MOTLEY_LEVEL_FIXED, mean, 0)
    except (KeyError, TypeError, ValueError):
        raise ArgumentError(
            f"level is {level!r}, want a number, 'uniform', {{'uniform': [low, high]}} or "
            "{'normal': mean, 'std': deviation}"
        ) from None


def _range_structs(now, ops, keep):
    ranges = ffi.new("motley_policy_range[]", len(ops))
    keep.append(ranges)
    for range_, (name, numbers) in zip(ranges, ops.items()):
        unknown = set(numbers) - {"low", "span", "base", "min", "max"}
        if unknown:
            raise ArgumentError(f"op '{name}' has {sorted(unknown)[0]!r}, want low, span, base, min or max")
        numbers = {"low": 0, "span": 0, "base": 0, "min": -math.inf, "max": math.inf, **now.get(name, {}), **numbers}
        range_.name = _text(name, keep)
        range_.low, range_.span, range_.base = numbers["low"], numbers["span"], numbers["base"]
        range_.minimum, range_.maximum = numbers["min"], numbers["max"]
    return ranges


def _branch_structs(branches, keep):
    structs = ffi.new("motley_policy_branch[]", len(branches))
    keep.append(structs)
    for struct, branch in zip(structs, branches):
        steps = ffi.new("motley_policy_step[]", len(branch["steps"]))
        keep.append(steps)
        for to, step in zip(steps, branch["steps"]):
            to.op, to.p, to.level = _text(step["op"], keep), step.get("p", 1), _level_struct(step)
        struct.first_epoch, struct.weight = branch.get("from", 0), branch.get("weight", 1)
        struct.steps, struct.steps_count = steps, len(steps)
    return structs


def as_html(shown, text):
    """What a notebook shows of an object: itself, and a policy's or transform's text to open. `motley preview` writes a
    page with pictures and frequencies."""
    return f"<details><summary><code>{escape(repr(shown))}</code></summary><pre>{escape(text)}</pre></details>"


def _read(text, call, *arguments, name="<policy>"):
    """The policy handle that `call` makes and its text's custom operations; raises one exception with every problem."""
    named = custom.named_in(text)
    handle = read("motley_policy **", call, *arguments, name=name, custom_ops=named)
    kept = set()  # of those in the text, the ones that it names as operations
    while (row := lib.motley_policy_op(handle, lib.motley_op_count() + len(kept))) != ffi.NULL:
        kept.add(text_of(row.name))
    return handle, [op for op in named if op.name in kept]


def read(kind, call, *arguments, name, custom_ops=()):
    """What `call` reads out of a text, a pointer of that kind, or raises one exception that lists every problem."""
    problems = []
    ops = ffi.new("motley_custom_op[]", len(custom_ops))
    for op, made in zip(ops, custom_ops):
        made.fill(op)
    user = ffi.new_handle(problems)
    params, handle, error = (ffi.new(each) for each in ("motley_parse_params *", kind, "motley_error *"))
    params.report, params.user = lib.on_problem, user
    params.custom_ops, params.custom_ops_count = ops, len(custom_ops)
    status = call(*arguments, params, handle, error)
    if status == lib.MOTLEY_ERR_POLICY:
        problems = problems or [(error.line, error.column, text_of(error.message))]
        raise PolicyError(
            "\n".join(f"{name}:{line}:{column}: error: {text}" for line, column, text in problems), problems
        )
    if status == lib.MOTLEY_ERR_IO:
        raise FileError(text_of(error.message))
    check(status, error)
    return handle[0]
