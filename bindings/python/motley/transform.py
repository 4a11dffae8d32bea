# SPDX-License-Identifier: Apache-2.0
"""Transforms: a policy made callable; images in, augmented images or a network's input out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar, Unpack, overload

from . import _arrays as arrays
from . import _images as images
from . import _mixed as mix
from . import _native
from ._core import ffi, lib
from ._arrays import KINDS
from ._calls import Look, ViewTargets, call_of, look_once, replayed
from ._native import ArgumentError, eagerly, known_keywords, layout_given, normalize_given
from ._native import epoch_given, output_layout_given, per_channel, range_given, size_given
from ._native import threads_given, whole
from .draws import Drawn, recorded, same_boxes
from .policy import Policy
from ._sized import prepare_drawn
from ._random import MASK, Once, Sampled, levels_of, levels_on_host, levels_without_use, split_ids

if TYPE_CHECKING:
    from .follow import Kind
    from ._types import Array, CallSettings, Drawing, DtypeLike, Generator, Ids, Labels, Layout, Levels, Numbers
    from ._types import PolicyLike, Range

T = TypeVar("T")
F = TypeVar("F", bound="Callable[..., None]")
NULL = ffi.NULL
EMPTY: tuple[Any, ...] = ()

SAME = {"normalize": ("mean", "std"), "memory_format": ("output_layout",)}  # arguments that set others


def keeping(init: F) -> F:
    """__init__ of a Transform, which keeps the settings of one that is given as its policy."""
    allowed: dict[str, Any] = init.__kwdefaults__  # type: ignore[assignment]

    @functools.wraps(init)
    def __init__(self: Any, policy: Any, **settings: Any) -> None:
        known_keywords(type(self).__name__, settings.keys() - allowed.keys(), ["policy", *allowed])
        own = policy._kept() if isinstance(policy, Transform) else {}
        for name, value in settings.items():
            for same in SAME.get(name, (name,)):
                if same in own and own[same] != value:
                    raise ArgumentError(
                        f"{name} is {value!r}, but the {type(policy).__name__} that is given has {same}="
                        f"{own[same]!r}, which is kept: want it in one of them"
                    )
        init(self, policy, **{**own, **settings})

    return __init__  # type: ignore[return-value]


class Transform(Sampled):
    """Runs a policy on images, each with its own draws.

        augment = motley.Transform("rand_augment", seed=7)          # or motley.rand_augment(2, 9, seed=7)
        batch = augment(batch, sample_ids=ids, epoch=3)

        train = motley.Transform("torchvision_train", seed=7)       # a policy with stages: crop, flip, policy, output
        batch = train(images)               # a list of tensors, arrays or PIL images: float32 [N, 3, 224, 224]

    Call it with a batch, a single image or a list of images. The result of a policy that is drawn is of the same kind,
    newly made. What a policy with stages makes is of the library of what was given: of torch tensors a tensor, of
    arrays an array; of PIL images a NumPy array, or PIL images where it has no stage `output`. A list becomes one batch
    where all images come out in one size, else a list. Images of a list have one number of channels, unless the first
    stage is `to_rgb`, which takes grey and RGBA among RGB.

    CUDA tensors are worked on in the current stream of torch, and nothing waits. motley.torch.Transform is
    the same as an nn.Module.

    Random numbers: without `sample_ids` each call draws anew, by a word from torch's generator (Python's `random` where
    torch is not imported), so that `torch.manual_seed` repeats a run; ranks, workers and other processes differ. With
    `sample_ids` (a dataset's indices) and an epoch a draw depends on (policy, seed, epoch, sample id, view) and on
    nothing else: an image draws the same in any batch, worker, rank or resumed run.

    Views: a sample that is read several times in an epoch gets a separate draw for each view. `view` numbers them, and
    `views=2` makes two at once, as contrastive training wants.

    Args:
        policy: A motley.Policy, a built-in's name, a path or a policy's text; or another transform, whose settings are
            kept and cannot be contradicted by other arguments.
        seed: What draws by id depend on, beside the id; a call can be given another. None: 0. A transform that has a
            seed also draws by it without ids, for one sample after the other: state_dict() has the count.
        generator: A torch.Generator or a NumPy one, from which calls without ids take their word.
        epoch: Of draws by id; set_epoch() sets another, and a call can be given one, or ids that carry it.
        layout: "chw" ("nchw"), "hwc" ("nhwc") or "hw", the axes of arrays. None: torch tensors are chw, other arrays
            hwc, arrays of two axes hw. A further axis in front is the batch's. Strides do not matter: torch's
            channels_last is chw.
        normalize: (mean, std): the result is (u8 / 255 - mean) / std, in the same pass over the pixels; of uint16 and
            float32 (x - mean) / std, in the data's units. In place of what a stage `output` says.
        mean: The mean of `normalize` by itself: a number or one per channel, of uint8 on the 0..1 scale.
        std: The standard deviation of `normalize` by itself.
        dtype: Of the result: "float16", "bfloat16", "float32" (the default if it is normalised) or "uint8" (else); in
            place of what a stage `output` says. None: uint16 and float32 that are not normalised stay what they are.
        output_layout: Of the result: "chw", "hwc" or "channels_last" (chw, with hwc in memory). None: as the images
            are, or as a stage `output` says.
        memory_format: The same in torch's words: torch.contiguous_format, channels_last or preserve_format.
        threads: Of CPU work; they start with the first call of several images. None: one for each processor that this
            thread may run on (its affinity, and the quota of its cgroup), but no more than torch.get_num_threads() or,
            without torch, OMP_NUM_THREADS says, when the thread first works; in a process that multiprocessing
            started, such as a DataLoader's worker, one.
        views: How many views a call makes of each image; a call can be given another number.
        clip_frames: How many images in a row are the frames of a clip, with equal sample_ids: operations that use an
            image's statistics (equalize, auto_contrast, contrast) then use those of the whole clip, so that its
            brightness does not flicker. 0: each image its own. Not with counter, since the host draws then.
        alpha: Whether the last of 2 or 4 channels of arrays is alpha. False: they are bands, each of which is worked on
            as a grey image. PIL images of modes LA and RGBA have alpha.
        range: Of uint16 and float32: (low, high), the numbers that stand for a byte's 0 and 255, or a pair for each
            band, such as (0, 4095) of 12 bits. None: (0, 65535), and (0, 1).
        clamp: Whether operations that compute components clamp them to the range. False: of standardised data, with a
            range in which most of it lies, such as (-3, 3).
        fill_value: What warps and cutout fill uint16 and float32 with, in the data's units: a number or one per
            channel. None: what the policy says, on the scale of the range.
        check: Whether the first batch of uint16 or float32 is looked at (at most 65,536 of its values, a millisecond),
            and a warning says so where more than 1 % lie outside of the range. Of tensors on CUDA a later call says so.
        follow: What moves with the images, a motley.follow.Mask, Image, Boxes or Points by key: calls, replay() and
            loaders then take samples that are dictionaries, as a motley.Follow of the transform does.
        counter: An array of two int64, the epoch of draws by id and the number of the next sample without one, to count
            in. In memory of the CUDA device that the images are on it is read when the work runs, so that a CUDA graph
            makes new draws each time it is replayed.
    """

    policy: Policy
    _now: tuple[Policy, int, Policy] | None = None  # a policy with schedules, an epoch, and what it is in it

    @keeping
    def __init__(
        self,
        policy: PolicyLike,
        *,
        seed: int | None = None,
        generator: Generator | None = None,
        epoch: int | None = None,
        layout: Layout | None = None,
        threads: int | None = None,
        normalize: tuple[Numbers, Numbers] | None = None,
        mean: Numbers | None = None,
        std: Numbers | None = None,
        dtype: DtypeLike | None = None,
        output_layout: Literal["chw", "hwc", "channels_last"] | None = None,
        memory_format: object = None,
        views: int = 1,
        clip_frames: int = 0,
        alpha: bool = False,
        range: Range | None = None,
        clamp: bool = True,
        fill_value: Numbers | None = None,
        check: bool = True,
        follow: Mapping[Any, Kind] | None = None,
        counter: Array | None = None,
    ) -> None:
        self.policy = Policy(policy)
        self._begin(seed, generator, epoch, counter)
        self.views = whole("views", views, 1, 65536, "from 1")
        self.clip_frames = whole("clip_frames", clip_frames, 0, 65536, "from 0 to 65536")
        self.layout, self.threads, self.alpha = layout_given(layout), threads_given(threads), bool(alpha)
        self.output_layout = output_layout_given(output_layout, memory_format)
        self.mean, self.std = normalize_given(normalize, mean, std)
        self._dtype = None if dtype is None else arrays.dtype_name(dtype)
        if self.mean is not None and self._dtype == "uint8":
            given = "mean and std are" if normalize is None else "normalize is"
            raise ArgumentError(f"{given} given, but dtype is uint8: want float32, float16 or bfloat16")
        self.range, self.clamp, self.check = range_given(range), bool(clamp), bool(check)
        self._looks: list[Any] = [self.check]  # until the first batch has come, to this transform or to one made of it
        self.fill_value = None if fill_value is None else per_channel("fill_value", fill_value)
        # Whether the result is another array than the augmented bytes: normalised, cast or in another layout.
        written = self._dtype_out != "uint8" or self.output_layout is not None
        changed = self.mean is not None or written or self.clip_frames or self._dtype
        if self.policy.only_mixes and changed:
            raise ArgumentError(f"mean, dtype, output_layout or clip_frames is given, but policy '{self.policy.name}' "
                                "mixes images as they come: want none of them")  # fmt: skip
        self.fused = written and not self.policy.whole  # else a stage does it
        # Part of a kept call's key. A str, because Python keeps a str's hash.
        flavour = self.threads, self.mean, self.std, self._dtype, self.output_layout, self.clip_frames, self.alpha
        self._flavour = repr((*flavour, self.range, self.clamp, self.fill_value))
        self.follow = follow
        if follow is not None:
            self.follow = self._follower().following

    @property
    def dtype(self) -> object:
        """That was given; of a module, the torch.dtype of its results."""
        return self._dtype

    @property
    def mixes(self) -> bool:
        """Whether it mixes images, so that calls want labels and return targets."""
        return self.policy.mixes

    @property
    def size(self) -> tuple[int, int] | None:
        """(height, width) of what comes out; None: each image keeps its own."""
        return self.policy.size

    @property
    def policy_now(self) -> Policy:
        """The policy, or in eval() what is left of it where nothing is drawn."""
        return self.policy if self.training else self.policy.still

    def __call__(
        self,
        batch: object,
        *by_position: NoReturn,
        sample_ids: Ids | None = None,
        view: Ids = 0,
        epoch: int | None = None,
        seed: int | None = None,
        views: int | None = None,
        labels: Labels | None = None,
        classes: int | None = None,
        partners: Sequence[int] | None = None,
        levels: Levels | None = None,
        out: object | None = None,
        layout: str | None = None,
        return_draws: bool = False,
        **unknown: NoReturn,
    ) -> Any:
        """The images, augmented.

        Args:
            batch: An array of images, one image, or a list of images of one kind: uint8, or uint16 and float32 of up to
                1,024 bands.
            sample_ids: A whole number for each image (for one image: the number), with an epoch; None: the call draws
                anew. What a motley.torch.Sampler hands out carries epoch and view: an Index, a list of them, or an
                array [N, 3] of ids, views and epochs; an array [N, 2] has ids and views.
            view: Which view of the samples this is, from 0: a number, or one for each image.
            epoch: Of draws by id, in place of the transform's.
            seed: Of draws by id, in place of the transform's.
            views: How many views to make, in place of the transform's; more than one: the result is a tuple of that
                many, views view * views, view * views + 1, ... of each sample. Samples without ids are counted once.
            labels: Of a policy that mixes images: a whole number for each, an array [N, classes] of soft targets, or
                for detection a list of dictionaries, as motley.mix() has them.
            classes: How many there are, where the policy's `mix` does not say.
            partners: Of a policy that only mixes: the index of each image's partner, in place of the rule's.
            levels: Of a policy whose steps have the level `given`: how strongly each image is augmented, from 0 (the
                weakest; NaN and what is below count as 0) to 1 (the strongest): a list, an array or tensor of any
                dtype, or one number for all. With images on a CUDA device, float32 on the same device is read where
                it is, when the work runs: nothing waits, and a replayed CUDA graph reads what is there then.
            out: Where to write, and what the call returns: an array of the result's shape and dtype. `out=batch`
                works in place.
            layout: In place of the transform's.
            return_draws: Return draws as well, last: for each image the list of its steps, as `motley draw` prints
                them; of a policy with stages the object that `motley draw` prints. With levels on a device it waits
                for them.

        Returns:
            The images; of a policy that mixes them (images, targets).

        Raises:
            ArgumentError: Images, ids or labels that the policy cannot take; nothing is written.
        """
        if by_position:
            raise TypeError(
                f"{type(self).__name__} was called with {1 + len(by_position)} arguments by position, want one, the "
                "images; sample_ids and all others are keywords"
            )
        if unknown:
            known_keywords(type(self).__name__, unknown, Transform.__call__.__kwdefaults__)
        layout, mixing = layout or self.layout, self._mixing(labels, classes, partners)
        views = self.views if views is None else whole("views", views, 1, 65536, "from 1")
        if self.follow is not None:
            self._refuse_places(out=out)
            which = {"sample_ids": sample_ids, "view": view, "epoch": epoch, "seed": seed}
            return self._follower()(batch, **which, views=views, levels=levels, return_draws=return_draws)
        if views == 1:
            return self._run(batch, out, layout, (sample_ids, view, epoch, seed), return_draws, levels, mixing=mixing)
        if out is not None:
            raise ArgumentError(f"out is given, but views is {views}: want one view for one place to write to")
        run = functools.partial(self._run, batch, None, layout, return_draws=return_draws, levels=levels, mixing=mixing)
        return self._in_views(views, (sample_ids, view, epoch, seed), run)

    def _follower(self) -> Any:
        """What moves samples."""
        from .follow import Follow

        return Follow(self)

    def _refuse_places(self, **given: Any) -> None:
        for name, value in given.items():
            if value is not None:
                raise ArgumentError(f"{name} is given, but the transform has follow=, and returns new samples")

    def _mixing(self, labels: Any, classes: int | None, partners: Any = None) -> tuple[Any, Any, Any] | None:
        """Labels, classes and partners of a call; None: the policy does not mix images."""
        if not self.policy.mixes and (labels is not None or classes is not None):
            what = "labels are" if labels is not None else "classes is"
            raise ArgumentError(f"{what} given, but policy '{self.policy.name}' has no stage 'mix'")
        if partners is not None and not self.policy.only_mixes:
            raise ArgumentError(f"partners are given, but '{self.policy.name}' has not 'mix' as its only stage")
        return (labels, classes, partners) if self.policy.mixes else None

    @overload
    def apply_(self, batch: T, *, return_draws: Literal[False] = False, **rest: Unpack[CallSettings]) -> T: ...
    @overload
    def apply_(self, batch: T, *, return_draws: Literal[True], **rest: Unpack[CallSettings]) -> tuple[T, list[Any]]: ...
    def apply_(
        self,
        batch: Any,
        *,
        sample_ids: Ids | None = None,
        view: Ids = 0,
        epoch: int | None = None,
        seed: int | None = None,
        views: int | None = None,
        labels: Labels | None = None,
        classes: int | None = None,
        levels: Levels | None = None,
        layout: str | None = None,
        return_draws: bool = False,
        **unknown: NoReturn,
    ) -> Any:
        """The same in place: the batch is overwritten, and returned. Not of a policy with stages, whose result has
        another size or type, unless it mixes images as they come."""
        if unknown:
            known_keywords("apply_", unknown, Transform.apply_.__kwdefaults__)
        if self.follow is not None:
            self._refuse_places(batch=batch)
        if (self.views if views is None else views) != 1:
            raise ArgumentError(f"views is {views or self.views}, want 1 in place: there is one place to write to")
        mixing = self._mixing(labels, classes)
        layout, which = layout or self.layout, (sample_ids, view, epoch, seed)
        return self._run(batch, batch, layout, which, return_draws, levels, mixing=mixing)

    def draw(
        self,
        count: int = 1,
        *,
        size: tuple[int, int] = (224, 224),
        channels: int = 3,
        sample_ids: Ids | None = None,
        view: Ids = 0,
        epoch: int | None = None,
        seed: int | None = None,
        boxes: Sequence[Sequence[float]] | None = None,
        levels: Levels | None = None,
        **unknown: NoReturn,
    ) -> list[Any]:
        """The draws of `count` samples (or of `sample_ids`) without any pixels, as a call with return_draws would
        return them; of a transform with a seed the next samples, none of which is counted. Mixing takes them for one
        batch.

        Args:
            count: How many, where there are no sample_ids.
            size: (height, width) of the images, which matter to values that are relative to them.
            channels: Of the images; as many numbers has a fill. Of 2 or 4, the last is taken for alpha; more are bands.
            sample_ids: As in a call, like view, epoch and seed.
            boxes: Of each image, for a policy that works in them: rows of left, top, right and bottom in pixels.
            levels: As in a call; those on a device are copied, which waits for them.
        """
        known_keywords("draw", unknown, ("count", *(Transform.draw.__kwdefaults__ or ())))
        policy, (ids, *which) = self._in_epoch(self.policy_now, (sample_ids, view, epoch, seed))
        if ids is None:
            count, ids = whole("count", count, 0, (1 << 31) - 1, "from 0"), Once(self, counted=False)
        else:
            ids = ids if hasattr(ids, "__len__") and getattr(ids, "ndim", None) != 0 else [ids]
            count = len(ids)
        samples, _keep = self._samples(count, (ids, *which))
        size, channels = size_given(size), whole("channels", channels, 1, lib.MOTLEY_MAX_BANDS, "from 1 to 1024")
        samples.bands, channels = channels > 4, min(channels, 4)
        if self._takes(levels, policy):
            _held, samples.levels = levels_on_host(levels, count)
        boxes = None if boxes is None else same_boxes(boxes, count)
        sizes, channels = [size[::-1]] * count, 3 if policy.to_rgb else channels
        draws: list[Any] = recorded(policy, samples, sizes, channels, boxes)
        if policy.mixes and self.training:
            mixed = mix.alone(policy, samples, count, (policy.size or size)[::-1], boxes)
            for draw, one in zip(draws, mixed):
                draw["mix"] = one
        return draws

    def replay(
        self,
        batch: object,
        draws: Drawing,
        *,
        labels: Labels | None = None,
        classes: int | None = None,
        epoch: int | None = None,
        out: object | None = None,
        layout: Layout | None = None,
    ) -> Any:
        """The images, augmented by recorded draws: the same bytes again.

        Args:
            batch: Images of the sizes and channels that the draws were made for.
            draws: What a call with `return_draws=True` or `draw` returned, perhaps stored as JSON in between: for
                each image the list of its steps, or the object that `motley apply --draws` or, of a policy with stages,
                `motley draw` wrote; for one image its one.
            labels: As of a call, like classes, out and layout.
            epoch: Of a policy whose numbers change with it: when the draws were made.

        Raises:
            PolicyError: What was given are no draws.
            ArgumentError: The draws have operations that this policy does not draw, do not suit the images, or say that
                they are of another policy or for another size; nothing is written.
        """
        if self.follow is not None:
            self._refuse_places(out=out, labels=labels)
            return self._follower().replay(batch, draws)
        which, mixing = (None, 0, epoch, None), self._mixing(labels, classes)
        return self._run(batch, out, layout or self.layout, which, given=draws, mixing=mixing)

    def by_view(self, epoch: int = 0) -> dict[str, tuple[int, int, Transform]]:
        """Of each view how many results it makes, its number and a transform that makes them: result j of a sample's
        read r has view 256 r + 16 number + j. Under "", last, is what makes the pictures that all views share, if
        anything does. Empty without views."""
        return self._views_of(self.policy_now.at(epoch))

    def _views_of(self, policy: Policy) -> dict[str, tuple[int, int, Transform]]:
        views = policy.views.items()
        return {name: (count, number, self._of(own, not name)) for name, (count, number, own) in views}

    def _kept(self) -> dict[str, Any]:
        """The settings that say anything."""
        names = [name for name in SETTINGS if name not in SAME and name != "counter"]
        values = {name: getattr(self, "_dtype" if name == "dtype" else name) for name in names}
        return {name: value for name, value in values.items() if value != SETTINGS[name]}

    def __repr__(self) -> str:
        settings = {"policy": self.policy, **self._kept()}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in settings.items())})"

    # ---- how a call goes ----

    def _takes(self, levels: Any, policy: Policy | None = None) -> bool:
        """Whether a call takes these levels; by what is left of the policy in eval() nothing is drawn."""
        if levels is not None and not self.policy.takes_levels:
            raise levels_without_use(self.policy)
        return levels is not None and (policy or self.policy_now).takes_levels

    def _of(self, policy: Policy, shared: bool = False) -> Transform:
        """The transform of a policy in place of this one's, which is one of its views or epochs, or left of it in
        eval(). It has the same settings and counts in the same place. shared: it makes the pictures that views
        share."""
        transform: Transform = self._same()
        transform.policy, transform.training = policy, True
        if shared:
            transform._dtype = transform.output_layout = None
            transform._flavour = f"shared {self._flavour}"
        return transform

    def _in_epoch(self, policy: Policy, which: Any) -> tuple[Policy, Any]:
        """What the policy is in the epoch of a call, and its samples, which say that epoch."""
        if not policy.scheduled:
            return policy, which
        ids, view, epoch = split_ids(*which[:3])
        if epoch is None and self.epoch is None and (ids is None or ids.__class__ is Once or not self.training):
            raise ArgumentError(f"policy '{self.policy.name}' changes with the epoch, and none is said: want epoch= or "
                                "set_epoch(), or the ids of a motley.torch.Sampler, which carry it")  # fmt: skip
        if epoch is None:
            epoch = self._epoch_by_id(None)[0] if self.training else self.epoch
        now = self._now
        if now is None or now[0] is not policy or now[1] != epoch:
            plain = policy.at(epoch)
            self._now = now = policy, epoch, now[2] if now and now[2] == plain else plain
        return now[2], (ids, view, epoch, which[3])

    def _run(
        self,
        batch: Any,
        out: Any,
        layout: Any,
        which: Any = (None, 0, None, None),
        return_draws: bool = False,
        levels: Any = None,
        followed: Any = NULL,
        given: Any = None,
        mixing: Any = None,
        boxes: Any = None,
    ) -> Any:
        """A call. which: its samples; followed: a motley_followed, what moves with the images; given: recorded draws in
        place of samples; mixing: labels and classes of a policy that mixes images; boxes: where those lie by which a
        device draws, and their offsets."""
        if _native.compiling():  # as outside_graphs() does it, in a third of the time
            return eagerly()(self._run, batch, out, layout, which, return_draws, levels, followed, given, mixing, boxes)
        policy = self.policy if self.training or given is not None else self.policy.still
        if policy.varies:
            policy, which = self._in_epoch(policy, which)
            if given is not None and policy.views:
                return replayed(batch, given, self._views_of(policy), out, layout=layout)
        what = () if given.__class__ is Drawn and not policy.whole else policy._what
        takes = levels is not None and self._takes(levels, policy)
        follows, more = followed is not NULL, EMPTY
        set_params = follows or given is not None or mixing is not None or boxes is not None
        if policy.draws_sizes:
            made, numbers, _keep, given = prepare_drawn(self, batch, out, layout, policy, which, given)
        else:
            made = self._prepare(batch, out, layout, policy, what)
        call, _, pixels, written, result = made
        source, target = call.keep
        if given is None and not policy.draws_sizes:
            on_host = return_draws or mixing is not None or policy.on_host or (self.clip_frames > 1 and policy.whole)
            numbers, _keep = self._numbers(call.count, which, call.caller[1], on_host)
        elif given is not None:
            numbers = 0, 0, 0, 0, 0, 0, 0
            given = [given] if call.single and given.__class__ is not Drawn else given
        try:
            if given is not None:
                drawn = given if given.__class__ is Drawn else Drawn.read(given, call.sizes, call.channels, policy)
                call.give(drawn)
            if policy.custom_ops:
                _native.local.caller = call.caller
            if follows:
                call.c.params.followed = followed
            if boxes is not None:
                call.c.device_boxes, call.c.device_offsets = boxes
            if takes:
                _held, call.c.levels = levels_of(levels, call.count, call.caller[1], source)
            if mixing is not None:
                like = images.source_of(batch, layout) if source is None else source
                mixed, targets = mix.begun(call, policy, self.training, given, mixing, numbers, batch, like, target)
            stream = call.stream()
            status = lib.run_call(call.c, pixels, written, stream, *numbers)
            if status:
                call.failed(policy, status)
            if mixing is not None:
                more = targets()
            if return_draws:
                draws = call.recorded(policy, levels if takes else None)
                if mixing is not None and policy.mixes:
                    for draw, one in zip(draws, mixed()):
                        draw["mix"] = one
                more = *more, draws
        except (OverflowError, TypeError):
            epoch_given(numbers[1])
            whole("sample_ids", numbers[2], 0, MASK, "from 0 to 2^64 - 1")
            raise
        finally:
            if set_params:
                lib.forget(call.c)
            if takes:
                call.c.levels = 0
        if stream:  # a graph captures no default stream
            self._captured.keep(call.caller, call, batch, out, levels, mixing)
        if numbers[6] and which[0] is None:
            self._add(call.count)
        result = call.result(batch, result)
        return (result, *more) if more else result

    def _prepare(
        self, batch: Any, out: Any, layout: Layout | None, policy: Policy | None, what: tuple[Any, ...]
    ) -> Any:
        """The call for `batch` that does `what`, as Call has it, with results as `policy` makes them; what has to live
        until it has run; the addresses of what is read and written; what is written to, None if the call decides it."""
        kind, pixels, in_place = KINDS[type(batch)], None, out is batch
        into = kind if in_place or out is None else KINDS[type(out)]
        try:
            if kind is not None and into is not None:
                pixels = kind.pointer(batch)
            if pixels is not None:  # the same call on other pixels costs little
                key = kind.key(batch, in_place, layout, self._flavour, what)
                if out is not None and not in_place:
                    key = key, into.key(out, True)
        except RuntimeError:  # a sparse or nested tensor has no strides
            raise arrays.unreadable(batch) from None
        if pixels is None:
            return self._prepare_once(batch, out, layout, policy, what)
        call = _native.local.calls.get(key)
        if call is None:
            dense = batch if in_place else arrays.dense(batch)
            if dense is not batch:
                return self._prepare_once(dense, out, layout, policy, what)
            source = self._source_for(batch, layout, out, policy)
            target = self._target(source, batch, out, layout, policy)
            call = call_of(policy)(self, source, target, what)
            if target.buffer is not None:  # a PIL image in several blocks of memory, as the next one will be
                return call, source, pixels, target.pointer, out
            call.for_any_pixels(source, target, out is None)
            if type(self._looks[0]) is not Look:  # a call that is kept does not come here again
                _native.keep(_native.local.calls, key, call)
        if in_place:
            return call, None, pixels, pixels, out
        result = call.like(batch) if out is None else out
        return call, None, pixels, call.written(result), result

    def _prepare_once(
        self, batch: Any, out: Any, layout: Layout | None, policy: Policy | None, what: tuple[Any, ...]
    ) -> Any:
        key, into = None, KINDS[type(out)]
        sized = policy is not None and (policy.size or policy.views)
        if batch.__class__ is list and batch and (out is None or into) and sized:
            written = None if out is None else into.key(out, True)
            key = "list", batch[0].__class__, len(batch), layout, self._flavour, what, written
            call = _native.local.calls.get(key)
            if call is not None and call.takes_list(batch):
                result = call.like(batch[0]) if out is None else out
                return call, None, arrays.address(call.listed[1]), call.written(result), result
        source = self._source_for(batch, layout, out, policy)
        target = self._target(source, batch, out, layout, policy)
        call = call_of(policy)(self, source, target, what)
        plain = type(target) is images.Batch or (type(target) is ViewTargets and target.buffer is None)
        looks = type(self._looks[0]) is Look
        if key is not None and source.by is not None and plain and not source.finish_for() and not looks:
            call.for_lists(key, source, target, out is None)
            out = target.array if out is None else out
        return call, source, source.pointer, target.pointer, out

    def _source_for(self, batch: Any, layout: Layout | None, out: Any, policy: Policy | None) -> Any:
        """The images to read."""
        to_rgb = policy is not None and policy.to_rgb
        source = images.source_of(batch, layout, out, to_rgb)
        if self.alpha:
            source.take_alpha(to_rgb)
        if self._looks[0] and source.dtype in arrays.WIDE and source.count:
            look_once(self, source, policy)
        return source

    def _of_alpha(self, alpha: bool) -> Transform:
        """The same for arrays with or without alpha."""
        if alpha == self.alpha:
            return self
        made: Transform = self._same()
        made.alpha, made._flavour = alpha, f"{self._flavour}, alpha {alpha}"
        return made

    def _channels(self, source: Any) -> int:
        """How many channels the steps for these images know."""
        return min(source.channels, 4) if source.count and not self._makes_rgb(source, self.policy) else 3

    def _makes_rgb(self, source: Any, policy: Policy) -> bool:
        """Whether images come out as RGB. Bands are none and stay what they are."""
        return policy.to_rgb and not (source.count and source.has_bands)

    def _target(self, source: Any, batch: Any, out: Any, layout: Layout | None, policy: Policy | None) -> Any:
        """What to write to."""
        if policy is not None and policy.views:
            return self._target_of_views(source, batch, out, policy)
        if policy is not None and policy.whole and not policy.only_mixes:
            return self._target_of_stages(source, batch, out, policy)
        dtype = own = images.own_dtype(source)
        if policy is not None and policy.only_mixes:
            mix.check_images(source)
        else:
            dtype = self._written(None, own)
        if out is None:
            return source.output(dtype, self.output_layout) if self.fused else source.output()
        if out is batch:
            if self.fused:
                raise ArgumentError("a transform with normalize, dtype or output_layout cannot work in place")
            source.require_writable()
            return source
        return images.given_target(out, source, layout, dtype)

    def _target_of_views(self, source: Any, batch: Any, out: Any, policy: Policy) -> ViewTargets:
        views, out = policy.views, {} if out is None else out
        if not isinstance(out, dict) or not out.keys() <= views.keys() - {""}:
            found = ", ".join(map(str, out)) if isinstance(out, dict) else f"a {type(out).__name__}"
            raise ArgumentError(f"out is {found}, want a dictionary of {', '.join(filter(None, views))}")
        shared, last = views.get(""), []
        if shared:
            last = [self._target_of_stages(source, batch, None, shared[2], shared=True)]
            last[0].alpha = source.alpha
        targets = [
            self._target_of_stages(last[0] if last else source, batch, out.get(name), own, count)
            for name, (count, _, own) in views.items() if name
        ]  # fmt: skip
        return ViewTargets(views, targets + last)

    def _target_of_stages(
        self, source: Any, batch: Any, out: Any, policy: Policy, times: int = 1, shared: bool = False,
        sizes: list[tuple[int, int]] | None = None,
    ) -> Any:  # fmt: skip
        """What a policy with stages writes to. times: how often each image comes out; shared: the pictures of which
        views are made; sizes: of the results, (height, width), where they are drawn."""
        if out is batch:
            raise ArgumentError(
                f"policy '{policy.name}' has stages, which cannot work in place: their result has another size or type"
            )
        assert policy._made  # as it has stages
        own = images.own_dtype(source)
        dtype, layout = (own, None) if shared else (self._written(policy, own), self.output_layout)
        pictures = dtype == own and not policy.has_output and layout is None and (shared or self.mean is None)
        if policy.has_output:
            layout = layout or policy._made[1]
        if policy.size:
            sizes = [policy.size] * (max(source.count, 1) if pictures else 1)
        elif sizes is None:
            sizes = policy.result_sizes(source.sizes() or [source.size[::-1]])
        channels = 3 if self._makes_rgb(source, policy) else 0
        return images.target_of(source, sizes, out, dtype, layout, pictures, True, channels, times, policy.lists)

    @property
    def _dtype_out(self) -> str:
        return self._written(self.policy, "uint8")

    def _written(self, policy: Policy | None, own: str) -> str:
        """The dtype of the results of images of dtype `own`."""
        if self._dtype == "uint8" and own != "uint8":
            raise ArgumentError(f"dtype is uint8, but the images are {own}: want float32, float16 or bfloat16, or none")
        said = self._dtype or (policy._made[0] if policy and policy._made else "uint8")
        return said if said != "uint8" else own if self.mean is None else "float32"


# Of the constructor, with the values that say nothing.
SETTINGS: dict[str, Any] = vars(Transform.__init__)["__wrapped__"].__kwdefaults__
