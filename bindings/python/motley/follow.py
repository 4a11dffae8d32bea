# SPDX-License-Identifier: Apache-2.0
"""Masks, boxes and points that move with their images: samples as dictionaries, one or a batch of them.

One rule serves all. A warp of an image is a matrix; a mask is warped by the same matrix, nearest, and a point moves by
its inverse. Pixel i covers i..i + 1 (see motley/follow.h), so that nothing is half a pixel off, even under flips."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar, Unpack, cast, overload

from ._arrays import KINDS, Pillow, finished, plain, taken
from ._calls import replayed
from ._movers import Images, Moves, Planes, move
from ._native import ArgumentError, UnsupportedError, known_keywords, one_of, whole
from .draws import Drawn
from ._images import images_of
from .policy import fill_bytes, interpolation_number
from ._rows import CONVENTIONS, FORMATS as FORMATS, LIMITS, BoxRows, PointRows
from ._random import Once, split_ids, view_as
from .transform import Transform

if TYPE_CHECKING:
    from ._types import Drawing, DrawSettings, Ids, Interpolation, Levels, OneView, PolicyLike

Sample = TypeVar("Sample", bound="Mapping[Any, Any] | Sequence[Mapping[Any, Any]]")

OTHERS_FORMATS = {
    "coco": "'xywh', which is the same",
    "pascal_voc": "'xyxy', which is the same",
    "yolo": "'cxcywh', and boxes in pixels: multiplied by the image's width and height",
    "albumentations": "'xyxy', and boxes in pixels: multiplied by the image's width and height",
}
OF_IMAGES = "size", "orig_size", "image_id"  # by their usual keys: as long as two boxes, or one


# ---- what follows, and how ----


@dataclasses.dataclass(frozen=True)
class Mask:
    """A mask, label map or depth map: an element comes from where the image's pixel came from, nearest, with Pillow's
    bytes. Whatever the image's layout it is [H, W], or [N, H, W] or a list for the N instances of an image; a batch has
    one axis more in front, or is a list. Elements are bool, integers or floats of up to 64 bits. PIL masks have mode 1,
    L, P, I, I;16 or F.

    Args:
        fill: The value of pixels that come from outside the image, such as 255 for a loss to ignore.
        erase: Whether operations that erase part of the image (cutout) write `fill` to the mask, too.
    """

    fill: float = 0
    erase: bool = False


@dataclasses.dataclass(frozen=True)
class Image:
    """Another image of the sample, uint8 with any number of channels, in the layout of the image: only its pixels move.

    Args:
        interpolation: "nearest", "bilinear" or "bicubic".
        fill, erase: As a Mask's; fill is a number, or one for each channel.
        alpha: As motley.Transform's, of this image.
    """

    interpolation: Interpolation = "nearest"
    fill: int | Sequence[int] = 0
    erase: bool = False
    alpha: bool = False

    def __post_init__(self) -> None:
        interpolation_number(self.interpolation)
        fill_bytes(self.fill)


@dataclasses.dataclass(frozen=True)
class Boxes:
    """Boxes [n, 4] in pixels of the image, whose left edge is 0 and right edge its width; of a batch a list of them.
    Parts beyond the image's edge are cut off. Integers become float32.

    Args:
        format: "xyxy" (left, top, right, bottom), "xywh" (left, top, width, height) or "cxcywh" (centre, width,
            height).
        rule: "polygon": the corners' polygon is clipped to the image after each step, and boxed at the end.
            "torchvision": a box around the box after each step, as torchvision's kernels do, which is wider.
        drop: Whether boxes without area in the image are left out. False: they stay, with no width or height.
        outside: What happens to boxes that lie outside their image from the start: "error", or "drop".
        min_area: In pixels; boxes with less are dropped, too.
        min_side: In pixels; boxes with a shorter side are dropped, too.
        min_visibility: 0 to 1; boxes with a smaller share of their area left in the image are dropped, too.
        before_resize: Whether boxes that min_area and min_side do not keep before a resize are dropped, too, as recipes
            do that sanitize boxes before they resize images.
        label_fields: Keys of entries that have one element per box. The elements of dropped boxes are removed, also
            from entries that follow by themselves, and from boxes that share an entry. A sample must have them all.
            None: "labels", if the sample has it; other entries that have one element per box are then refused.
        visibility: A key under which to store the share of each kept box's area that is left, 0 to 1.
    """

    format: Literal["xyxy", "xywh", "cxcywh"] = "xyxy"
    rule: Literal["polygon", "torchvision"] = "polygon"
    drop: bool = True
    min_area: float = 0
    min_side: float = 0
    min_visibility: float = 0
    before_resize: bool = False
    label_fields: Sequence[Hashable] | None = None
    visibility: Hashable = None
    outside: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        if isinstance(self.format, str) and self.format in OTHERS_FORMATS:
            raise ArgumentError(f"format is {self.format!r}, want {OTHERS_FORMATS[self.format]}")
        one_of("format", self.format, tuple(FORMATS))
        one_of("rule", self.rule, ("polygon", "torchvision"))
        if one_of("outside", self.outside, ("error", "drop")) == "drop" and not self.drop:
            raise ArgumentError("outside is 'drop', but drop is False: want drop=True, or outside='error'")
        if isinstance(self.label_fields, str) or not hasattr(self.label_fields or (), "__iter__"):
            raise ArgumentError(f"label_fields is {self.label_fields!r}, want a tuple of keys")
        for name in LIMITS:
            value, most = getattr(self, name), 1 if name == "min_visibility" else sys.float_info.max
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
                raise ArgumentError(f"{name} is {value!r}, want a number of 0 {'to 1' if most == 1 else 'or more'}")
            if value and not self.drop:
                raise ArgumentError(f"{name} is {value}, but drop is False: want drop=True, or no limit")
        if self.before_resize and not self.min_area and not self.min_side:
            raise ArgumentError("before_resize is True, but there is no limit: want min_area or min_side")

    def _fields_in(self, sample: Mapping[Any, Any]) -> Sequence[Any]:
        """The label_fields of a sample."""
        if self.label_fields is None:
            return [field for field in ("labels",) if field in sample]
        for field in self.label_fields:
            if field not in sample:
                raise ArgumentError(
                    f"label_fields has {field!r}, which the sample has not: it has {', '.join(map(repr, sample))}"
                )
        return self.label_fields


@dataclasses.dataclass(frozen=True)
class Points:
    """Points in pixels of the image: [..., 2], or [..., 3] with COCO's visibility, which becomes 0 where the point has
    left the image and at most 1 where it was erased, and says 0 of points that are not annotated, wherever they are; of
    a batch a list of them. Nothing is clamped, and no point is left out. Integers become float32.

    Args:
        convention: "continuous": the first pixel's centre is (0.5, 0.5), as for boxes; "index": it is (0, 0).
        pairs: Pairs of places along the axis before the last, such as left and right eye, which change places where the
            image is mirrored. Every image that has points has to have these, mirrored or not.
        inside: A key under which to store whether each point was in the image before the first step and after every
            step.
    """

    convention: Literal["continuous", "index"] = "continuous"
    pairs: Sequence[tuple[int, int]] = ()
    inside: Hashable = None

    def __post_init__(self) -> None:
        one_of("convention", self.convention, tuple(CONVENTIONS))
        pairs: Any = self.pairs.tolist() if hasattr(self.pairs, "tolist") else self.pairs
        object.__setattr__(self, "pairs", pairs)
        for pair in pairs if hasattr(pairs, "__iter__") else [pairs]:
            two = hasattr(pair, "__len__") and len(pair) == 2
            if not two:
                raise ArgumentError(f"pairs has {pair!r}, want two places from 0")
            for place in pair:
                whole("a place of pairs", place, 0, (1 << 31) - 1, "from 0")
        places = [place for pair in set(map(frozenset, pairs)) for place in pair]
        if len(set(places)) < len(places):
            raise ArgumentError(f"pairs is {pairs!r}, want no place in two pairs")


Kind = Mask | Image | Boxes | Points
MOVERS: dict[type, Any] = {Mask: Planes, Image: Images, Boxes: BoxRows, Points: PointRows}
BY_NAME: dict[str, Kind] = {
    "mask": Mask(), "masks": Mask(), "boxes": Boxes(), "bboxes": Boxes(), "points": Points(), "keypoints": Points(),
}  # fmt: skip


class Follow:
    """Augments samples that are dictionaries: the image, and the entries that must move with it.

        from motley.follow import Boxes, Mask

        follow = motley.Follow("rand_augment", {"mask": Mask(fill=255), "boxes": Boxes("xywh")})
        sample = follow({"image": image, "mask": mask, "boxes": boxes, "labels": labels, "name": "a.png"})

    Call it with one sample, with a dictionary whose image is a batch, or with a list of samples. Arrays are NumPy's,
    torch's or CuPy's, masks also PIL's, boxes and points also JAX's or lists of rows. The results are of the same kind,
    and other entries stay as they are. torchvision's tv_tensors keep their types. Masks on CUDA are processed there, on
    the current stream, and so are boxes and points that are CUDA tensors where the image is; nothing waits for the
    device, unless boxes are dropped: which of them, the host has to know. Other boxes and points are processed in host
    memory. A crop by boxes to a known size is drawn where they are.

    The draws are the transform's for the same samples, so that an image gets the same bytes with and without followers.
    A policy that works in boxes (`tf_auto_augment_detection_v0` to `v3`) takes those of the sample's one Boxes entry.

    Args:
        transform: A motley.Transform, or what makes one: a policy, a built-in's name, a path or a text. Its other
            arguments (normalize, views, seed and so on) apply to the image. With a policy that has stages everything is
            cropped and resized like the image, and a list of masks becomes one array; it must not mix images.
        following: A Mask, Image, Boxes or Points by key; all keys must be present. None: whichever of mask, masks,
            boxes, bboxes, points and keypoints are present, each with the defaults of its kind; another entry that may
            have to move is then refused.
        image: The key of the image.
    """

    def __init__(
        self,
        transform: Transform | PolicyLike,
        following: Mapping[Any, Kind] | None = None,
        *,
        image: Hashable = "image",
        **unknown: NoReturn,
    ) -> None:
        known_keywords("Follow", unknown, ("transform", "following", "image"))
        self.transform = transform if isinstance(transform, Transform) else Transform(transform)
        if self.transform.mixes:
            raise UnsupportedError(f"{self.transform!r} mixes images: nothing can follow it")
        self.image = image
        following = self.transform.follow if following is None else following
        if self.transform.follow not in (None, following):
            raise ArgumentError("following is given, and the transform has another follow=: want it in one of them")
        if following is not None and not isinstance(following, Mapping):
            raise ArgumentError(
                f"following is a {type(following).__name__}, want a dictionary such as "
                "{'mask': motley.follow.Mask()}, or None for the entries of known names"
            )
        self.following = None if following is None else dict(following)
        known = {self.image, "labels", *(self.following or ())}
        for key, kind in (self.following or {}).items():
            if not isinstance(kind, (Mask, Image, Boxes, Points)):
                raise ArgumentError(
                    f"following[{key!r}] is {kind!r}, want a motley.follow.Mask, Image, Boxes or Points"
                )
            known.update(getattr(kind, "label_fields", None) or ())
            stored = _stored(kind)
            if stored is not None and stored in known:
                raise ArgumentError(f"following[{key!r}] stores in {stored!r}, which is in use: want a key of its own")
            known.add(stored)

    @overload
    def __call__(self, sample: Sample, *, return_draws: Literal[False] = False, **rest: Unpack[OneView]) -> Sample: ...
    @overload
    def __call__(
        self, sample: Sample, *, return_draws: Literal[True], **rest: Unpack[OneView]
    ) -> tuple[Sample, list[Any]]: ...
    @overload
    def __call__(
        self, sample: Any, *, views: int, return_draws: bool = False, **rest: Unpack[DrawSettings]
    ) -> tuple[Any, ...]: ...
    def __call__(
        self,
        sample: Any,
        *,
        sample_ids: Ids | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        view: Ids = 0,
        views: int | None = None,
        levels: Levels | None = None,
        return_draws: bool = False,
        **unknown: NoReturn,
    ) -> Any:
        """The sample with its image augmented and what follows it moved. The other arguments, with `levels`, are a
        Transform's; several views are a tuple of samples."""
        known_keywords("Follow", unknown, self.__call__.__kwdefaults__)
        views = self.transform.views if views is None else whole("views", views, 1, 65536, "from 1")
        if views == 1:
            return self._view(sample, (sample_ids, view, epoch, seed), return_draws, levels)
        which = sample_ids, view, epoch, seed
        return self.transform._in_views(views, which, lambda each: self._view(sample, each, return_draws, levels))

    def _view(self, sample: Any, which: Any, return_draws: bool, levels: Levels | None) -> Any:
        if self.transform.policy_now.varies:
            return self._varied(sample, which, return_draws, levels)
        if isinstance(sample, (list, tuple)):
            return _several(sample, self._view, which, return_draws, levels, draws=return_draws)
        following, transform = self._following(sample), self.transform
        source = images_of(sample[self.image], transform.layout, transform.policy.to_rgb)
        moves = Moves(transform, source, which, levels)
        return self._moved(sample, following, moves, return_draws)

    def _varied(self, sample: Any, which: Any, return_draws: bool, levels: Levels | None) -> Any:
        """The sample by what the policy is in the epoch; of one with views, by each view's own policy."""
        transform = self.transform
        policy, which = transform._in_epoch(transform.policy_now, which)
        if not policy.views:
            return self._with(transform._of(policy))._view(sample, which, return_draws, levels)
        ids, reads, epoch = split_ids(*which[:3])
        if ids is None:
            ids = Once(transform)
        else:
            epoch, _ = transform._epoch_by_id(epoch)
        takes, results, draws = transform._takes(levels, policy), {}, {}
        for name, (times, number, own) in sorted(transform._views_of(policy).items(), key=lambda view: view[0] != ""):
            made = []
            for j in range(times):
                view = ids, view_as(reads, 256, 16 * number + j), epoch, which[3]
                given = levels if takes and own.policy.takes_levels else None
                made.append(self._with(own)._view(sample, view, return_draws, given))
            if return_draws:
                made, drawn = map(list, zip(*made))
                draws[name] = drawn[0] if times == 1 else tuple(drawn)
            if not name:
                sample = made[0]  # of which the others are made
            else:
                results[name] = made[0] if times == 1 else tuple(made)
        return (results, draws) if return_draws else results

    def _with(self, transform: Transform) -> Follow:
        """The same for another transform."""
        return Follow(transform, self.following, image=self.image)

    def replay(self, sample: Sample, draws: Drawing) -> Sample:
        """The sample, moved by recorded draws: the same image and the same of everything that follows it.

        Args:
            sample: As of a call, with images of the sizes that the draws were made for.
            draws: What a call with `return_draws=True` returned, as of Transform.replay.

        Raises:
            ArgumentError: The draws are of another policy or for another size.
        """
        policy, _ = self.transform._in_epoch(self.transform.policy, (None, 0, None, None))
        if policy is not self.transform.policy:
            return self._with(self.transform._of(policy)).replay(sample, draws)
        views = self.transform._views_of(policy)
        if views:
            own = {name: (count, number, self._with(one)) for name, (count, number, one) in views.items()}
            every: Any = replayed(sample, draws, own)
            return cast("Sample", every)
        if isinstance(sample, (list, tuple)):
            several: Sample = _several(sample, self.replay, draws)
            return several
        following, transform = self._following(sample), self.transform
        source = images_of(sample[self.image], transform.layout, transform.policy.to_rgb)  # type: ignore[call-overload]
        given: Any = [draws] if source.single else draws
        drawn = Drawn.read(given, source.sizes(), transform._channels(source), transform.policy)
        moved: Sample = self._moved(sample, following, Moves(transform, source, given=drawn))
        return moved

    def _moved(self, sample: Any, following: Mapping[Any, Kind], moves: Moves, return_draws: bool = False) -> Any:
        movers: dict[Any, Any] = {}
        for of_boxes in True, False:  # by which images are drawn before planes ask how large results are
            for key, kind in following.items():
                if isinstance(kind, Boxes) is of_boxes:
                    movers[key] = MOVERS[type(kind)](f"sample[{key!r}]", sample[key], moves, kind)
            if of_boxes and self.transform.policy_now.takes_boxes and moves.given is None:
                moves.draw_by(
                    self._one_of([mover for mover in movers.values() if isinstance(mover, BoxRows)]), return_draws
                )
        image = move(moves, sample[self.image], movers.values(), return_draws)
        image, draws = image if return_draws else (image, None)
        moved = {self.image: image}
        for key, kind in following.items():
            moved[key] = movers[key].moved()
            if _stored(kind) is not None:
                moved[_stored(kind)] = movers[key].found_out()
        for group in _groups(sample, following):
            self._drop(sample, moved, group, following, moves, movers)
        return ({**sample, **moved}, draws) if return_draws else {**sample, **moved}

    def _one_of(self, boxes: Sequence[BoxRows]) -> BoxRows:
        """The sample's boxes, for a policy that works in them."""
        if len(boxes) != 1:
            raise ArgumentError(
                f"policy '{self.transform.policy.name}' draws by the boxes of an image, and {len(boxes)} entries of "
                "the sample are followed as boxes: want one"
            )
        return boxes[0]

    def _drop(
        self, sample: Any, moved: dict[Any, Any], group: Sequence[Any], following: Mapping[Any, Kind], moves: Moves,
        movers: Mapping[Any, Any],
    ) -> None:  # fmt: skip
        """Removes the elements that any Boxes of the group drops from all of its entries."""
        boxes = {key: kind for key in group if isinstance(kind := following.get(key), Boxes)}
        if not boxes:
            return
        first, *_ = boxes
        counts: list[int] = movers[first].counts
        values = {key: moved[key] if key in moved else sample[key] for key in group}
        parts = {key: moves.parts(f"sample[{key!r}]", value) for key, value in values.items()}
        for key in group:
            if key not in (first, boxes[first].visibility):
                _check_elements(key, parts[key], counts, moves.single)
        dropping = [key for key, kind in boxes.items() if kind.drop]
        if not dropping:
            return
        stored = set(map(_stored, following.values()))
        for key in group if not moves.single else ():
            given = values[key] if key not in sample or key in stored else sample[key]
            if not isinstance(given, (list, tuple)):
                raise ArgumentError(
                    f"sample[{key!r}] is one array of shape {tuple(given.shape)}, from which what belongs to dropped "
                    "boxes cannot be taken: want a list with an entry for each image, or Boxes(drop=False)"
                )
            values[key] = given
        if any(boxes[key].label_fields is None for key in dropping) and any(counts):
            _refuse_others(sample, {self.image, *group}, moves.single, counts)
        kept = [[some for some in each if some is not None] for each in zip(*(movers[key].kept() for key in dropping))]
        keep = [[*map(all, zip(*each))] if each else None for each in kept]  # of each image; None: all of them
        for key in group:
            moved[key] = moves.joined([*map(_selected, parts[key], keep)], values[key])

    def _following(self, sample: Any) -> Mapping[Any, Kind]:
        """What follows, once it is sure that boxes and points are in the frame of the image's pixels."""
        following = self.following_in(sample)
        if any(isinstance(kind, (Boxes, Points)) for kind in following.values()):
            images = sample[self.image]
            for image in images if isinstance(images, (list, tuple)) else [images]:
                if KINDS[type(image)] is Pillow and image.info.get("exif") and image.getexif().get(0x0112, 1) != 1:
                    raise ArgumentError(
                        f"sample[{self.image!r}] is a PIL image with an EXIF orientation, and boxes and points may be "
                        "in the file's frame or in the turned image's: want it turned by PIL.ImageOps.exif_transpose, "
                        "or without the tag"
                    )
        return following

    def following_in(self, sample: Mapping[Any, Any]) -> Mapping[Any, Kind]:
        """What follows the image of this sample: a Mask, Image, Boxes or Points by key."""
        if not isinstance(sample, Mapping):
            raise ArgumentError(f"the sample is a {type(sample).__name__}, want a dictionary or a list of them")
        for key in (self.image, *(self.following or ())):
            if key not in sample:
                raise ArgumentError(f"the sample has no {key!r}, it has {', '.join(map(repr, sample)) or 'nothing'}")
        if self.following is not None:
            return self.following
        following: dict[Any, Kind] = {key: kind for key, kind in BY_NAME.items() if key in sample and key != self.image}
        batch = isinstance(sample[self.image], (list, tuple)) or getattr(sample[self.image], "ndim", 0) > 3
        known = {self.image, *itertools.chain.from_iterable(_groups(sample, following))}
        for key in sample:
            if key not in known and _may_follow(sample[key], 2 + batch):
                inner = sample[key][0] if isinstance(sample[key], (list, tuple)) else sample[key]
                nested = "; or its entries in the sample itself" * isinstance(inner, Mapping)
                raise ArgumentError(
                    f"sample[{key!r}] may have to move with the image, and is not known to follow it: known are "
                    f"{', '.join(BY_NAME)}; want following= with everything that moves, such as "
                    f"{{{key!r}: motley.follow.Mask()}}, or without {key!r} if it stays{nested}"
                )
        return following

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch, as Transform.set_epoch."""
        self.transform.set_epoch(epoch)

    def __repr__(self) -> str:
        return f"Follow({self.transform!r}, {self.following!r}, image={self.image!r})"


def _several(samples: Sequence[Any], call: Callable[..., Any], *arguments: Any, draws: bool = False) -> Any:
    """`call` on a list of samples, as one batch whose entries are lists. draws: it returns draws, too."""
    for i, sample in enumerate(samples):
        if not isinstance(sample, Mapping):
            raise ArgumentError(
                f"entry {i} of the {type(samples).__name__} of samples is a {type(sample).__name__}, want a dictionary "
                "such as {'image': image, 'mask': mask}"
            )
        if set(sample) != set(samples[0]):
            raise ArgumentError(
                f"sample {i} of the list has {', '.join(map(repr, sample))}, "
                f"sample 0 {', '.join(map(repr, samples[0]))}"
            )
    if not samples:
        return (samples, []) if draws else samples
    result = call({key: [sample[key] for sample in samples] for key in samples[0]}, *arguments)
    batch, drawn = result if draws else (result, None)
    moved = type(samples)({key: batch[key][i] for key in batch} for i in range(len(samples)))  # type: ignore[call-arg]
    return (moved, drawn) if draws else moved


def _may_follow(value: Any, axes: int) -> bool:
    """Whether an entry looks like a mask, boxes or points: pictures, or numbers of so many axes; or holds such ones."""
    if isinstance(value, Mapping):
        return any(_may_follow(entry, axes) for entry in value.values())
    if isinstance(value, (list, tuple)):
        return any(_may_follow(part, axes - 1) for part in value)
    if isinstance(value, (int, float)):
        return axes < 1
    return bool(hasattr(value, "getbands") or getattr(value, "ndim", -1) >= max(axes, 0))


def _stored(kind: Kind) -> Any:
    """The key under which a kind stores what it has found out, or None."""
    return getattr(kind, "visibility", getattr(kind, "inside", None))


def _groups(sample: Mapping[Any, Any], following: Mapping[Any, Kind]) -> list[list[Any]]:
    """The keys of entries that lose elements together, as label_fields connect them."""
    groups: list[list[Any]] = []
    for key, kind in following.items():
        fields = kind._fields_in(sample) if isinstance(kind, Boxes) else ()
        group = [key, *({_stored(kind)} - {None}), *fields]
        for other in [other for other in groups if not {*group}.isdisjoint(other)]:
            groups.remove(other)
            group = [*other, *group]
        groups.append([*dict.fromkeys(group)])
    return groups


def _check_elements(key: Any, parts: Iterable[Any], counts: Iterable[int], single: bool) -> None:
    """Refuses what has not an element for each box."""
    for i, (part, count) in enumerate(zip(parts, counts)):
        where = "" if single else f" of image {i}"
        if not hasattr(part, "__len__") or not getattr(part, "ndim", 1) or isinstance(part, (str, Mapping)):
            raise ArgumentError(f"sample[{key!r}]{where} is {part!r:.40}, want an entry for each box")
        if len(part) != count:
            raise ArgumentError(f"sample[{key!r}]{where} has {len(part)} entries, there are {count} boxes")


def _refuse_others(sample: Mapping[Any, Any], known: set[Any], single: bool, counts: Sequence[int]) -> None:
    """Boxes may be dropped: no entry may be left that has an element for each of them."""
    for other, value in sample.items():
        parts = [value] if single else value
        if other in known or other in OF_IMAGES or not _is_listed(value) or len(parts) != len(counts):
            continue
        if all(_is_listed(part) and len(part) == count for part, count in zip(parts, counts)):
            raise ArgumentError(
                f"boxes may be dropped, and sample[{other!r}] has one element for each box: want {other!r} in "
                f"label_fields of the Boxes, so that it loses the same elements; or label_fields without it, which "
                "says that it does not belong to the boxes"
            )


def _is_listed(value: Any) -> bool:
    """Whether a value may have an element for each box."""
    return isinstance(value, (list, tuple)) or (
        KINDS[type(value)] is not None and getattr(value, "ndim", 0) > 0 and not hasattr(value, "getbands")
    )


def _selected(value: Any, keep: Sequence[bool] | None) -> Any:
    """The entries of `value` that `keep` says True for; None: all of them."""
    if keep is None:
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(entry for entry, good in zip(value, keep) if good)
    result = taken(plain(value), [place for place, good in enumerate(keep) if good])
    return result if KINDS[type(value)] is None else finished(result, value)
