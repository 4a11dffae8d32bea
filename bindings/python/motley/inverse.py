# SPDX-License-Identifier: Apache-2.0
"""The way back: what a network says of augmented images, moved to the images that they were made of.

One rule serves all, that of motley/follow.h: a warp is a matrix from the result to its source, and pixel i covers
i..i + 1. A point of the result moves by that matrix; a pixel of the source shows what is where its centre went."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ._core import ffi, lib
from ._arrays import as_dtype, has_floats, name_of, plain
from ._images import images_of
from ._movers import Images, Moves, module_of, placed, stacked
from .draws import Drawn, _channels_of, _is_one
from .follow import Image
from ._rows import FORMATS, corners_of
from ._native import ArgumentError, UnsupportedError, checked, one_of
from .policy import Policy
from .transform import Transform

if TYPE_CHECKING:
    from ._types import Array, PolicyLike

# An array for the one image or for a batch, or a list with one for each.
Values = TypeVar("Values", bound="Array | Sequence[Array]")


class Inverse:
    """From augmented images back to their sources: predictions of test-time augmentation, pseudo-labels, saliency.

        views, draws = transform(images, return_draws=True)
        back = motley.Inverse(draws, transform)
        logits, valid = back.images(model(views), interpolation="bilinear")    # [N, classes, H, W] and [N, H, W]
        boxes = back.boxes(detected)

    Crops, resizing, windows, flips and warps are undone; what changes colours moves nothing. Of a batch every method
    takes an array with one entry for each image, or a list of them, and returns the same; of one image its own.

    Args:
        draws: As the transform returned them: of one image, or the list of a batch.
        transform: What drew them: a motley.Transform or motley.Policy, or what makes one.
        size: (height, width) of the sources, or a list with that of each image. None: as the draws say, which know it
            until they are stored as text.

    Raises:
        UnsupportedError: What was drawn has no inverse: the images are mixed, or moved in a part of them only, or by a
            custom operation.
        ArgumentError: The draws are not of this transform, or their size is unknown or another one.
    """

    def __init__(
        self,
        draws: Mapping[str, Any] | Sequence[Any],
        transform: PolicyLike,
        size: Sequence[int] | Sequence[Sequence[int]] | None = None,
    ) -> None:
        policy = Policy(transform)
        if not isinstance(draws, (Mapping, Sequence)) or isinstance(draws, str):
            shape = f" of shape {tuple(draws.shape)}" if hasattr(draws, "shape") else ""
            raise ArgumentError(
                f"draws are a {type(draws).__name__}{shape}, want what a call with return_draws=True returned"
            )
        self.single = isinstance(draws, Mapping) or (_is_one(draws) and not policy.whole)
        given = [draws] if self.single else list(draws)
        for i, draw in enumerate(given):
            _refuse(i, draw)
        self.sizes = [_size_of(i, draw, size, len(given)) for i, draw in enumerate(given)]
        steps = [draw["steps"] if isinstance(draw, Mapping) else draw for draw in given]
        self._drawn = Drawn.read(given, [(w, h) for h, w in self.sizes], _channels_of(steps), policy)
        self._results = self._drawn.result_sizes
        self.matrices = self._drawn.matrices()
        """Of each image ((a, b, c), (d, e, f)): (x, y) of the result was at (a x + b y + c, d x + e y + f)."""
        self._grids: list[Any] = [None] * len(given)
        self._transform = Transform(policy)
        self._interpolations = [{step.get("interpolation", "nearest") for step in own} or {"nearest"} for own in steps]

    # ---- numbers ----

    def points(self, points: Values) -> Values:
        """Where points of the results, [..., 2] for each image, x and y in pixels, are in the sources. They may lie
        outside of them."""
        return self._each("points", points, self._points)

    def boxes(self, boxes: Values, format: Literal["xyxy", "xywh", "cxcywh"] = "xyxy") -> Values:
        """Boxes of the results, [..., 4] for each image in pixels, as boxes of the sources: exact after crops, resizing
        and flips, else the least upright box around each. They may reach past the image."""
        one_of("format", format, FORMATS)
        return self._each("boxes", boxes, lambda i, name, value: self._boxes(i, name, value, format))

    def _points(self, i: int, name: str, value: Any) -> Any:
        value, library = _rows(name, value, 2)
        return self._moved(i, library, value)

    def _boxes(self, i: int, name: str, value: Any, form: str) -> Any:
        value, library = _rows(name, value, 4)
        left, top, right, bottom = corners_of(value, FORMATS[form])
        corners = library.stack([library.stack((x, y), -1) for x in (left, right) for y in (top, bottom)], -2)
        corners = self._moved(i, library, corners)
        low, high = library.amin(corners, -2), library.amax(corners, -2)
        first, second = {"xyxy": (low, high), "xywh": (low, high - low), "cxcywh": ((low + high) / 2, high - low)}[form]
        return library.stack((first[..., 0], first[..., 1], second[..., 0], second[..., 1]), -1)

    def _moved(self, i: int, library: Any, points: Any) -> Any:
        (a, b, c), (d, e, f) = self.matrices[i]
        x, y = points[..., 0], points[..., 1]
        return library.stack((a * x + b * y + c, d * x + e * y + f), -1)

    # ---- pixels ----

    def images(
        self, images: Values, *, interpolation: Literal["nearest", "bilinear"] = "nearest", fill: float = 0
    ) -> tuple[Values, Values]:
        """Masks, logits or heat maps of the results as those of the sources, and which of their pixels are valid.

        Args:
            images: [..., h, w] for each image, of any dtype; h and w may be smaller than the result, as a network's
                outputs often are.
            interpolation: "nearest", or "bilinear" for floats.
            fill: The value of pixels that the result does not show.

        Returns:
            (images, valid): [..., H, W] of the sources' sizes and bool [H, W], True where the result shows the pixel:
            it was not cropped away, moved outside or erased, and no fill is in its place. Of a batch one array where
            all sources have one size, else a list.
        """
        one_of("interpolation", interpolation, ("nearest", "bilinear"))
        parts = self._parts("images", images)
        moved: list[tuple[Any, Any]] = [self._image(*part, interpolation, fill) for part in parts]
        if self.single:
            return moved[0]
        alike = bool(moved) and len(set(self.sizes)) == 1
        results: list[Any] = [[pair[k] for pair in moved] for k in (0, 1)]
        result, valid = map(stacked, results) if alike else results
        return result, valid

    def _image(self, i: int, name: str, value: Any, interpolation: str, fill: float) -> tuple[Any, Any]:
        library = _library(name, value)
        if interpolation == "bilinear" and not has_floats(value):
            raise ArgumentError(f"{name} is of dtype {value.dtype}: want floats for 'bilinear', or 'nearest'")
        if value.ndim < 2 or 0 in value.shape[-2:]:
            raise ArgumentError(f"{name} has shape {tuple(value.shape)}, want [..., h, w]")
        (height, width), (h, w) = self._results[i], value.shape[-2:]
        if abs(w * height - h * width) > max(width, height):
            raise ArgumentError(
                f"{name} has shape {tuple(value.shape)}, the result is {height} high and {width} wide: want "
                "[..., h, w] of its form"
            )
        points, valid = (placed(array, value) for array in self._grid(i))
        x, y = points[..., 0] * (w / width), points[..., 1] * (h / height)
        if interpolation == "nearest":
            moved = value[..., _place(library, y, h), _place(library, x, w)]
        else:
            rows, columns = (_weighted(library, at, most, value) for at, most in ((y - 0.5, h), (x - 0.5, w)))
            moved = sum(v * u * value[..., row, column] for row, v in rows for column, u in columns)
        return library.where(valid, moved, library.full_like(moved[..., :1, :1], fill)), valid

    def _grid(self, i: Any) -> Any:
        """Where the centre of each pixel of source i is in the result, [H, W, 2], and whether it is shown there."""
        if self._grids[i] is None:
            import numpy

            height, width = self.sizes[i]
            points = numpy.empty((height, width, 2))
            points[..., 0], points[..., 1] = numpy.arange(width) + 0.5, (numpy.arange(height) + 0.5)[:, None]
            flags = numpy.empty((height, width), "uint8")
            offsets, one = ffi.new("size_t[]", [0, height * width]), self._drawn.taken([i])
            c = ffi.new("motley_followed *", {"points_count": height * width, "point_offsets": offsets})
            c.points, c.flags = ffi.from_buffer(points), ffi.from_buffer("uint8_t[]", flags)
            checked(lib.motley_follow, one.c, c)
            bits = lib.MOTLEY_POINT_INSIDE | lib.MOTLEY_POINT_UNERASED
            shown = self._shown(one, self._interpolations[i])
            hidden = ~shown[_pixels(points, shown.shape)]  # of a place on a border, the pixel before it may be the one
            points[hidden] = numpy.nextafter(points[hidden], -numpy.inf)
            self._grids[i] = points, ((flags & bits) == bits) & shown[_pixels(points, shown.shape)]
        return self._grids[i]

    def _shown(self, draws: Any, interpolations: Any) -> Any:
        """Which pixels of a result show the source and no fill: those to which all of a white one goes."""
        import numpy

        (size,) = zip(draws.widths, draws.heights)
        white = numpy.full(size[::-1], 255, "uint8")
        moves = Moves(self._transform, images_of(white, "hw"), given=draws)
        moved = [Images("the source", white, moves, Image(name, erase=True)).moved() for name in interpolations]
        return numpy.all([image == 255 for image in moved], axis=0)

    # ---- a batch ----

    def _parts(self, name: str, values: Any) -> list[tuple[int, str, Any]]:
        """(number, name, value) of what belongs to each image."""
        if self.single:
            return [(0, name, values)]
        if not hasattr(values, "__len__") or len(values) != len(self.sizes):
            given = f"{len(values)} entries" if hasattr(values, "__len__") else f"type {type(values).__name__}"
            raise ArgumentError(f"{name} has {given}, the draws are of {len(self.sizes)} images")
        return [(i, f"{name}[{i}]", value) for i, value in enumerate(values)]

    def _each(self, name: str, values: Values, move: Callable[[int, str, Any], Any]) -> Values:
        moved: Any = [move(*part) for part in self._parts(name, values)]
        if self.single:
            moved = moved[0]
        elif moved and not isinstance(values, (list, tuple)):
            moved = stacked(moved)
        result: Values = moved
        return result

    def __repr__(self) -> str:
        return f"Inverse of the draws of {'one image' if self.single else f'{len(self.sizes)} images'}"


def _refuse(i: Any, draw: Any) -> None:
    """Refuses what has no inverse, or is no draw."""
    steps = draw.get("steps") if isinstance(draw, Mapping) else draw
    if not isinstance(steps, (list, tuple)) or not all(isinstance(step, Mapping) for step in steps):
        raise ArgumentError(f"draws of image {i} are {draw!r:.80}, want what a call with return_draws=True returned")
    if isinstance(draw, Mapping) and draw.get("mix", {}).get("kind", "none") != "none":
        raise UnsupportedError(f"image {i} is mixed with another one, which has no inverse")
    for step in steps:
        if "inside" in step:
            raise UnsupportedError(f"image {i}: '{step['op']}' works in a part of the image, which has no inverse")


def _size_of(i: Any, draw: Any, size: Any, count: int) -> Any:
    """(height, width) of image i's source."""
    if size is None:
        known = getattr(draw, "size", None) or (draw.get("size") if isinstance(draw, Mapping) else None)
        if known is None:
            raise ArgumentError(f"draws of image {i} were stored without a size: want size=(height, width)")
        return known[1], known[0]
    sizes = [size] * count if len(size) == 2 and all(hasattr(side, "__index__") for side in size) else size
    if len(sizes) != count:
        raise ArgumentError(f"size has {len(sizes)} entries, the draws are of {count} images")
    height, width = sizes[i]
    return int(height), int(width)


def _library(name: str, value: Any) -> Any:
    """NumPy, torch or CuPy, of whose kind a value is."""
    library = module_of(value)
    if library is None or library.__name__ not in ("torch", "numpy", "cupy"):
        raise ArgumentError(f"{name} is a {type(value).__name__}, want a NumPy, torch or CuPy array")
    return library


def _rows(name: str, value: Any, width: int) -> tuple[Any, Any]:
    """A value of rows of so many numbers, as floats, and its library."""
    if isinstance(value, (list, tuple)):
        import numpy

        try:
            value = numpy.array(value or numpy.zeros((0, width)), "float64")
        except (TypeError, ValueError):
            raise ArgumentError(f"{name} is {value!r:.60}, want an array or rows of {width} numbers") from None
    library, value = _library(name, value), plain(value)
    if value.ndim < 1 or value.shape[-1] != width:
        raise ArgumentError(f"{name} has shape {tuple(value.shape)}, want [..., {width}]")
    return value if has_floats(value) else as_dtype(value, "float64"), library


def _place(library: Any, at: Any, most: Any) -> Any:
    """The pixel that a position is in, or the nearest one."""
    return as_dtype(library.floor(at).clip(0, most - 1), "int64")


def _pixels(points: Any, size: Any) -> Any:
    """(row, column) of the pixels that points are in."""
    return tuple(_place(module_of(points), points[..., 1 - axis], size[axis]) for axis in (0, 1))


def _weighted(library: Any, at: Any, most: Any, like: Any) -> Any:
    """The two pixels beside a position, with their weights."""
    low = library.floor(at)
    share = as_dtype(at - low, name_of(like.dtype))
    return (_place(library, low, most), 1 - share), (_place(library, low + 1, most), share)
