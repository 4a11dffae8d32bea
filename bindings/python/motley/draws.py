# SPDX-License-Identifier: Apache-2.0
"""Draws of samples, in the library's form and as plain data: the objects that `motley draw` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._core import ffi, lib
from ._native import ArgumentError, PolicyError, UnsupportedError, checked, for_each, text_from, text_of


if TYPE_CHECKING:
    from .policy import Policy

    Size = tuple[int, int]
    Row = tuple[float, float, float]


class _Origin:
    """What draws know as long as they are not stored as text: the policy and the size, (width, height), they are of."""

    policy: str | None = None
    size: tuple[int, int] | None = None


class Steps(_Origin, list[Any]):
    """The steps of an image."""


class TransformDraw(_Origin, dict[str, Any]):
    """An image's draw of a policy with stages."""


class Drawn:
    """The draws of a batch as a motley_drawn, `c`. sizes: [(width, height)]; max_steps: the most that an image has;
    transform: whose draws these are, None of a policy; kernels: the weights of each step that is a kernel blur."""

    __slots__ = ("c", "steps", "counts", "max_steps", "widths", "heights", "places", "transform", "kernels")

    def __init__(self, sizes: Sequence[Size], max_steps: int, transform: Policy | None = None) -> None:
        count = len(sizes)
        self.max_steps, self.transform, self.kernels = max(max_steps, 1), transform, ffi.NULL
        self.steps, self.counts = ffi.new("motley_step[]", count * self.max_steps), ffi.new("int32_t[]", count)
        self.widths = ffi.new("int32_t[]", [width for width, _ in sizes])
        self.heights = ffi.new("int32_t[]", [height for _, height in sizes])
        self.places = ffi.NULL if transform is None else ffi.new("motley_place[]", count)
        self.c = c = ffi.new("motley_drawn *")
        c.count, c.max_steps, c.steps, c.step_counts = count, self.max_steps, self.steps, self.counts
        c.widths, c.heights, c.places = self.widths, self.heights, self.places

    def __len__(self) -> int:
        count: int = self.c.count
        return count

    def place(self, i: int) -> Any:
        """Where image i's pixels come from, as the library takes it; NULL of a policy."""
        return ffi.NULL if self.transform is None else self.places + i

    @property
    def structs(self) -> Any:
        """What the library takes of a transform's draws."""
        return self.places, self.steps, self.counts

    @classmethod
    def of(
        cls, source: Policy, samples: Any, sizes: Sequence[Size], channels: int, boxes: tuple[Any, Any] | None = None
    ) -> Drawn:
        """What these samples draw of a policy or transform; no pixels are touched. boxes: their address and offsets,
        where a policy takes them."""
        self = cls(sizes, source.max_steps, transform_in(source))
        images = len(self), self.widths, self.heights, channels
        if boxes_given(source, boxes) and boxes and sizes:
            samples.boxes, samples.box_offsets = boxes
            most_boxes = max(boxes[1][i + 1] - boxes[1][i] for i in range(len(sizes)))
            steps = source.max_steps * (max(most_boxes, 1) if source._steps_by_boxes else 1)
            self = cls(sizes, steps, transform_in(source))
        checked(lib.motley_draw, source._handle, samples, *images, *self.structs)
        return self

    @classmethod
    def read(cls, draws: Sequence[Any], sizes: Sequence[Size], channels: int, source: Policy | None = None) -> Drawn:
        """What `plain` returned, read back: for each image the list of its steps, or the object that `motley apply
        --draws` wrote. They have to be for these sizes, and of that policy or transform, as far as they say."""
        transform = transform_in(source)
        if not _is_listed(draws):
            raise ArgumentError(f"draws is {draws!r:.60}, want the list that return_draws gave")
        for_each("draws", len(draws), len(sizes), "entries")
        name = None if source is None else source.name
        for i, (draw, size) in enumerate(zip(draws, sizes)):
            check_origin(i, draw, size, name)
        if transform is None:
            draws = [draw["steps"] if isinstance(draw, dict) and "steps" in draw else draw for draw in draws]
        for i, draw in enumerate(draws):
            if transform is not None and not isinstance(draw, dict):
                raise ArgumentError(f"draws of image {i} are {draw!r}, want the object that return_draws gave")
            if transform is None and not (
                isinstance(draw, (list, tuple)) and all(isinstance(step, dict) for step in draw)
            ):
                raise ArgumentError(f"draws of image {i} are {draw!r}, want the list of its steps")
        self = cls(sizes, transform.max_steps if transform else max(map(len, draws), default=0), transform)
        sample, error = ffi.new("uint64_t *"), ffi.new("motley_error *")
        for i, draw in enumerate(draws):
            try:
                text = json.dumps({"sample": i, **(draw if transform else {"steps": draw})}).encode()
            except TypeError as wrong:
                raise ArgumentError(f"draws of image {i}: {wrong}") from None
            steps = self.steps + i * self.max_steps, self.max_steps, self.counts + i
            if lib.motley_draw_read(text, len(text), channels, sample, self.place(i), *steps, error):
                raise PolicyError(f"draws of image {i}: {text_of(error.message)}")
        return self

    @property
    def result_sizes(self) -> list[tuple[int, int]]:
        """(height, width) of each image's result."""
        if self.transform is None:
            return list(zip(self.heights, self.widths))
        return [(self.places[i].result_height, self.places[i].result_width) for i in range(len(self))]

    def matrices(self) -> list[tuple[Row, Row]]:
        """Of each image ((a, b, c), (d, e, f)), as of matrices()."""
        numbers = ffi.new("double[][2][3]", len(self))
        checked(lib.motley_follow, self.c, ffi.new("motley_followed *", {"matrices": ffi.cast("double *", numbers)}))
        return [(tuple(first), tuple(second)) for first, second in numbers]

    def plain(self, source: Policy, channels: int) -> list[Steps | TransformDraw]:
        """For each image the list of its steps, each with the keys that `motley draw` prints; of a transform the object
        that `motley draw` prints."""
        drawn = []
        for i in range(len(self)):
            steps = self.steps + i * self.max_steps, self.counts[i], channels
            read = json.loads(text_from(lib.motley_draw_json, source._handle, i, self.place(i), *steps))
            del read["sample"]
            made = Steps(read["steps"]) if self.transform is None else TransformDraw(read)
            made.policy, made.size = source.name, (self.widths[i], self.heights[i])
            drawn.append(made)
        return drawn

    def taken(self, places: Sequence[int], max_steps: int | None = None) -> Drawn:
        """Those of the images at these places, in their order, as a copy."""
        sizes = [(self.widths[place], self.heights[place]) for place in places]
        made = Drawn(sizes, max_steps or self.max_steps, self.transform)
        step = ffi.sizeof("motley_step")
        for i, place in enumerate(places):
            made.counts[i] = self.counts[place]
            first = self.steps + place * self.max_steps
            ffi.memmove(made.steps + i * made.max_steps, first, self.counts[place] * step)
            if self.transform is not None:
                made.places[i] = self.places[place]
        return made


def recorded(
    policy: Policy, samples: Any, sizes: Sequence[Size], channels: int, boxes: tuple[Any, Any] | None = None
) -> Any:
    """What these samples draw of images of these sizes, as plain data: a list with the draw of each. Of a policy with
    views by their names such a list, or a tuple with one for each result; under "" the draws of what views share."""
    if not policy.views:
        return Drawn.of(policy, samples, sizes, channels, boxes).plain(policy, channels)
    reads = [samples.views[i] if samples.views else samples.view for i in range(len(sizes))]
    draws = {}
    for name, (count, number, own) in sorted(policy.views.items(), key=lambda view: view[0] != ""):
        known, results = channels if samples.bands or not own.to_rgb else 3, []
        for j in range(count):
            words = ffi.new("uint32_t[]", [256 * read + 16 * number + j for read in reads])
            of_result = ffi.new("motley_samples *", samples[0])
            of_result.views = words
            results.append(Drawn.of(own, of_result, sizes, known).plain(own, known))
        draws[name] = results[0] if count == 1 else tuple(results)
        if not name:
            channels, sizes = known, [own.size[::-1]] * len(sizes) if own.size else sizes
    return draws


def transform_in(policy: Policy | None) -> Policy | None:
    """`policy` where it has stages, else None."""
    return policy if policy is not None and policy.whole else None


def boxes_given(policy: Policy, boxes: tuple[Any, Any] | None) -> bool:
    """Whether this policy takes boxes; refuses to go without."""
    if policy.takes_boxes and boxes is None:
        raise UnsupportedError(
            f"policy '{policy.name}' draws by the boxes of an image: want them, as in motley.Follow's samples"
        )
    return bool(policy.takes_boxes)


def same_boxes(boxes: Sequence[Sequence[float]], count: int) -> tuple[Any, Any]:
    """The same boxes, rows of left, top, right and bottom, for each of `count` images, as Drawn.of takes them."""
    try:
        rows = [[] if isinstance(row, (str, bytes)) else [*map(float, row)] for row in boxes]
    except (TypeError, ValueError):
        rows = [[]]
    if any(len(row) != 4 for row in rows):
        raise ArgumentError(f"boxes is {boxes!r:.60}, want rows of left, top, right and bottom")
    numbers = [number for row in rows for number in row]
    offsets = [i * len(numbers) // 4 for i in range(count + 1)]
    return ffi.new("double[]", numbers * count), ffi.new("size_t[]", offsets)


def check_origin(i: int, draw: object, size: Size, name: str | None) -> None:
    """Refuses the draw of image i when it says that it is of another policy or transform than `name`, or for another
    size, (width, height). name: None takes any."""
    recorded = draw if isinstance(draw, dict) else {}
    origin, drawn_for = (recorded.get(key, getattr(draw, key, None)) for key in ("policy", "size"))
    if drawn_for is not None and tuple(drawn_for) != tuple(size):
        raise ArgumentError(
            f"draws of image {i} were made for {drawn_for[0]} x {drawn_for[1]} pixels, the image has "
            f"{size[0]} x {size[1]}"
        )
    if name is not None and origin not in (None, name):
        raise ArgumentError(f"draws of image {i} are of policy {origin!r}, want those of {name!r}")


def matrices(draws: Sequence[Any], size: Sequence[int] | Sequence[Sequence[int]]) -> list[Any]:
    """The 2x3 matrix of each image, [[a, b, c], [d, e, f]]: what is at (x, y) in the result was at
    (a x + b y + c, d x + e y + f), in pixels from the image's corner, so that the first pixel's centre is (0.5, 0.5).

    Args:
        draws: As a transform returns them: a list of steps for each image; for one image its list, which gives one
            matrix.
        size: (height, width) of the images, or a list with that of each.
    """
    if not _is_listed(draws) or not hasattr(size, "__len__"):
        wanted = "the draws that a transform returns, and (height, width) or a list of these"
        raise ArgumentError(f"draws is {draws!r:.60} and size {size!r:.60}, want {wanted}")
    single = _is_one(draws)
    every = [draws] if single else draws
    sizes: Any = [size] * len(every) if size and hasattr(size[0], "__index__") else size
    channels = _channels_of(every)
    drawn = Drawn.read(every, [(width, height) for height, width in sizes], channels)
    found = [[list(row) for row in matrix] for matrix in drawn.matrices()]
    return found[0] if single else found


def _is_listed(draws: Any) -> bool:
    """Whether this is a list of any kind, and no array."""
    listed = hasattr(draws, "__len__") and hasattr(draws, "__iter__") and not hasattr(draws, "shape")
    return listed and not isinstance(draws, (str, Mapping))


def _is_one(draws: Sequence[Any]) -> bool:
    """Whether these are the steps of one image, not of a batch. An image may have no steps; a batch has images."""
    return all(isinstance(step, dict) for step in draws)


def _channels_of(draws: Sequence[Sequence[dict[str, Any]]]) -> int:
    """The number of components of the fills."""
    return next((len(step["fill"]) for steps in draws for step in steps if "fill" in step), 3)
