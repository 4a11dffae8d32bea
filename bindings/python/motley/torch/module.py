# SPDX-License-Identifier: Apache-2.0
"""motley.Transform as an nn.Module, and its call on a tensor as one operator of torch where torch compiles."""

import functools
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, List, NoReturn, Optional, Unpack

import numpy
import torch

import motley
from motley._arrays import Torch, name_of
from motley._images import Captured, axes_of, new_array
from motley._random import MASK, WANTED, Once, Source, split_ids, view_as

if TYPE_CHECKING:
    from motley import Policy
    from motley._types import Ids, Layout, PolicyLike, Settings

_is_compiling = torch.compiler.is_compiling if hasattr(torch, "compiler") else lambda: False
_HAS_OPERATORS = hasattr(torch.library, "custom_op")  # torch 2.4 and later
_FAKES = (torch._subclasses.FakeTensor,) if _HAS_OPERATORS else ()  # what torch.export calls a model with
_call, _run = motley.Transform.__call__, motley.Transform._run  # super() would look them up in each call
HWC = "hwc", "nhwc"
OF_CALLS = "seed", "generator", "epoch", "layout", "views", "follow"  # settings that a call passes to the operator
_FORMATS = {None: torch.preserve_format, "chw": torch.contiguous_format, "channels_last": torch.channels_last}


class Transform(motley.Transform, torch.nn.Module):
    """motley.Transform as an nn.Module, which a model can hold: the same arguments, the same call.

        augment = motley.torch.Transform("rand_augment", mean=MEAN, std=STD).cuda()
        batch = augment(batch)          # uint8 [N, C, H, W]: float32 [N, C, H, W]

        train = motley.torch.Transform("torchvision_train", memory_format=torch.channels_last)
        batch = train(images)   # a list of uint8 tensors [C, H, W], PIL images or arrays: [N, 3, H, W]

    In eval() nothing is drawn; normalising, casting, layout and the number of views stay. Of a policy with stages
    resize, center_crop, output and a grayscale that is always done remain, and labels come back as they are; one that
    crops at random cannot go without draws and raises UnsupportedError: evaluation wants another transform, such as
    "torchvision_eval". Views that crop at random are the middle of the image then.

    state_dict() has the seed with the number of samples that were drawn by it, and the epoch. A buffer, `counter`,
    takes their place where a CUDA graph is captured, whose work reads it when it runs, so that each replay makes new
    draws, and where torch compiles. torch.compile takes a call on a tensor as one operator, with fullgraph=True, too;
    at a call with a list, labels, out or return_draws, or of a transform with a generator, its graph breaks. With
    layout="nhwc", as decoders write batches, the result of a policy that is drawn is still [N, C, H, W]. What a policy
    with stages makes of PIL images is a tensor, too.

    Args:
        policy: As motley.Transform's, like all other arguments.
    """

    counter: torch.Tensor

    def __init__(self, policy: "PolicyLike", **settings: "Unpack[Settings]") -> None:
        torch.nn.Module.__init__(self)
        super().__init__(policy, **settings)
        own = self.__dict__.pop("counter")
        # On the CPU whatever the default device is.
        self.register_buffer("counter", torch.zeros(2, dtype=torch.int64, device="cpu") if own is None else own)
        if self._epoch is not None:
            self.counter[0] = self._epoch
        if self.output_layout == "hwc":
            raise motley.ArgumentError(
                "output_layout is 'hwc', want 'chw' or 'channels_last': the result is [N, C, H, W]"
            )
        if self.layout == "hw":
            raise motley.ArgumentError("layout is 'hw', want 'nchw' or 'nhwc'")
        self._whole = self.policy.whole
        self._mixes, self._levels, self._scheduled = self.policy.mixes, self.policy.takes_levels, self.policy.scheduled
        self._named = [(name, count) for name, (count, *_) in self.policy.at(0).views.items() if name]
        like = {name: value for name, value in self._kept().items() if name not in OF_CALLS}
        self._text = json.dumps({"policy": self.policy.show(), **like})  # what the operator does

    __repr__ = torch.nn.Module.__repr__
    state_dict, load_state_dict = torch.nn.Module.state_dict, torch.nn.Module.load_state_dict

    @property
    def dtype(self) -> torch.dtype:
        return getattr(torch, self._dtype_out)

    @property
    def memory_format(self) -> torch.memory_format:
        return _FORMATS[self.output_layout]

    def forward(
        self,
        images: object,
        *by_position: "NoReturn",
        sample_ids: "Ids | None" = None,
        view: "Ids" = 0,
        out: object = None,
        layout: "Layout | None" = None,
        **options: Any,
    ) -> Any:
        """As motley.Transform's call."""
        compiling = _is_compiling() and type(images) is torch.Tensor or type(images) in _FAKES
        seed = options.get("seed")
        wrong = by_position or (sample_ids is None and "seed" in options)  # as the call says
        wrong = wrong or not (seed is None or (isinstance(seed, int) and seed >= 0))
        takes = out is None and not self._mixes and self.generator is None and not options.keys() - OPERATED
        takes = takes and self.follow is None
        takes = takes and not (self._scheduled and getattr(sample_ids, "ndim", 1) == 2)  # whose epoch nobody knows yet
        if compiling and takes and not wrong:
            made = self._operated(images, layout or self.layout or "chw", sample_ids, view, **options)
            return made[0] if len(made) == 1 else tuple(made)
        how: dict[str, Any] = {"sample_ids": sample_ids, "view": view, "out": out, "layout": layout}
        return _call(self, images, *by_position, **how, **options)

    if not TYPE_CHECKING:  # checkers take motley.Transform's signatures
        __call__ = torch.nn.Module.__call__

    def _run(self, batch: Any, out: Any, layout: Any, *rest: Any, **how: Any) -> Any:
        if self._whole:
            return of_torch(_run(self, batch, out, layout, *rest, **how))
        if layout in HWC:
            batch, layout = _seen_as_chw(batch, layout, out)
        return _run(self, batch, out, layout, *rest, **how)

    def _operated(
        self,
        images: torch.Tensor,
        layout: str,
        ids: Any,
        view: Any,
        *,
        epoch: Any = None,
        seed: Any = None,
        views: Optional[int] = None,
        levels: Any = None,
    ) -> "list[Any]":
        """The views of the images, each by the operator."""
        if not self._whole:
            images, layout = _seen_as_chw(images, layout, None)
        views = self.views if views is None else views
        ids, levels = _as_tensor(ids), _as_tensor(levels) if self.training or not self._levels else None
        carries = ids is not None and ids.dim() == 2
        epoch = self._epoch if epoch is None and self._scheduled and self._epoch is not None else epoch
        known = epoch is not None or self._epoch is not None or self._counts or (carries and ids.shape[1] == 3)
        if self.training and not known and (ids is not None or self._scheduled):
            raise motley.ArgumentError(WANTED)
        reads = None if isinstance(view, int) else _as_tensor(view)
        read = view if reads is None else 0
        seed = self.seed if seed is None else seed
        settings = self._text, layout, self.training, None if seed is None else _signed(seed), epoch
        counter = self.counter.to(images.device)
        single = images.dim() == len(layout.removeprefix("n"))
        made: list[Any] = []
        for k in range(views):
            results = _augment(images, counter, ids, levels, reads, read, views, k, *settings)
            made.append(self._by_name(results, single) if self._named else results[0])
        if ids is None and self.training:
            self.counter[1].add_(1 if single else images.shape[0])
        return made

    def _by_name(self, results: "list[torch.Tensor]", single: bool) -> "dict[str, Any]":
        """The results of views by their names, as calls return them. Those of a view are one tensor here."""
        made: dict[str, Any] = {}
        for (name, count), result in zip(self._named, results):
            made[name] = result if count == 1 else tuple(result.unbind() if single else result.chunk(count))
        return made

    # ---- state ----

    def _same(self) -> "Transform":
        made: Transform = super()._same()
        made.__dict__["_buffers"] = dict(self._buffers)  # where the counter is
        return made

    def get_extra_state(self) -> torch.Tensor:
        """What state_dict() has beside the counter: whether there is a seed, it, its count, and the epoch or -1."""
        epoch = -1 if self._epoch is None else self._epoch
        numbers = [self.seed is not None, _signed(self.seed or 0), self._words.count, epoch]
        return torch.tensor(numbers, dtype=torch.int64)

    def set_extra_state(self, state: torch.Tensor) -> None:
        seeded, seed, count, epoch = map(int, state)
        if seeded:
            self._words = Source(seed & MASK, None, count)
        if epoch >= 0:
            self.set_epoch(epoch)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in {"policy": self.policy, **self._kept()}.items())


def _seen_as_chw(images: Any, layout: Any, out: Any) -> "tuple[Any, Any]":
    """images, layout: of an hwc tensor, unless it is changed in place, a chw view."""
    if layout in HWC and out is not images and isinstance(images, torch.Tensor) and images.dim() in (3, 4):
        return images.movedim(-1, -3), "chw"
    return images, layout


def of_torch(result: object) -> Any:
    """NumPy arrays, which PIL images become, as tensors. Without an output stage PIL images stay PIL images."""
    if isinstance(result, tuple):  # with targets, with draws, of several views
        return tuple(map(of_torch, result))
    if isinstance(result, dict):
        return {name: of_torch(part) for name, part in result.items()}
    return torch.from_numpy(result) if isinstance(result, numpy.ndarray) else result


# ---- torch.compile ----


OPERATED = {"epoch", "seed", "views", "levels"}  # what a call may have beside ids, view and layout


def _as_tensor(numbers: Any) -> Optional[torch.Tensor]:
    """Ids, views or levels as a call takes them, as an operator takes them."""
    if numbers is None or isinstance(numbers, torch.Tensor):
        return numbers
    return torch.as_tensor(list(numbers) if isinstance(numbers, range) else numbers)


def _signed(number: int) -> int:
    """64 bits as an operator takes them."""
    return number - (1 << 64) if number >= 1 << 63 else number


@functools.lru_cache(maxsize=64)
def _transform_of(text: str, training: bool) -> motley.Transform:
    """The transform that an operator's settings describe."""
    settings = json.loads(text)
    made = motley.Transform(settings.pop("policy"), **settings)
    made.training = training
    return made


def _augment(images: torch.Tensor, counter: torch.Tensor, ids: Optional[torch.Tensor], levels: Optional[torch.Tensor],
             reads: Optional[torch.Tensor], read: int, views: int, number: int, transform: str, layout: str,
             training: bool, seed: Optional[int], epoch: Optional[int]) -> List[torch.Tensor]:  # fmt: skip
    """View `number` of `views` that each read has; reads: of each image, else `read` of all."""
    made = _transform_of(transform, training)._same()
    made.counter, made._captured = counter, Captured()  # whose graph has its memory
    made._words = Source(None if seed is None else seed & MASK)
    made._counts = ids is not None or seed is not None  # else only in a graph, as calls that are not compiled
    which, view, epoch = split_ids(ids, read if reads is None else reads, epoch)
    which = Once(made, counted=False) if ids is None else which  # who calls counts
    result = made._run(images, None, layout, (which, view_as(view, views, number), epoch, None), False, levels)
    single = images.dim() == len(layout.removeprefix("n"))
    return [_joined(own, single) for own in result.values()] if isinstance(result, dict) else [result]


def _joined(results: Any, single: bool) -> torch.Tensor:
    """The one tensor that the results of a view are, one behind the other."""
    if isinstance(results, torch.Tensor):
        return results
    base = results[0]._base
    if (
        base is not None
        and not single
        and (base.shape[1:], base.stride()) == (results[0].shape[1:], results[0].stride())
    ):
        return base
    return torch.stack(results) if single else torch.cat(results)


def _sizes(
    transform: motley.Transform, epoch: Optional[int], size: Any
) -> "Iterator[tuple[Policy, bool, tuple[int, int], int]]":
    """Of each view, or of the one result: its policy, whether it is RGB, its size, and how many there are of an image.
    size: of the images."""
    policy = transform.policy.at(epoch or 0)
    shared = policy.views.get("", (1, 0, policy))[2]
    for name, (count, _, own) in policy.views.items() or [("", (1, 0, policy))]:
        if name or own is policy:
            yield own, own.to_rgb or shared.to_rgb, own.size or shared.size or size, count


if _HAS_OPERATORS:
    _augment = torch.library.custom_op("motley::augment", _augment, mutates_args=())

    @_augment.register_fake  # type: ignore
    def _(images: Any, counter: Any, ids: Any, levels: Any, reads: Any, read: Any, views: Any, number: Any,
          transform: Any, layout: Any, training: Any, seed: Any, epoch: Any) -> List[torch.Tensor]:  # fmt: skip
        made = _transform_of(transform, training)
        if made.output_layout is None and not made.policy.whole:
            return [torch.empty_like(images, dtype=getattr(torch, made._written(None, name_of(images.dtype))))]
        layout, (n, c, h, w) = axes_of(images.shape, layout, "chw")
        results = []
        for policy, rgb, size, count in _sizes(made, epoch, (images.shape[h], images.shape[w])):
            lead = () if n is None else (images.shape[n],)
            lead = lead if count == 1 else (count * (lead or (1,))[0],)
            channels = 3 if rgb else 1 if c is None else images.shape[c]
            written = made.output_layout or (policy._made[1] if policy._made and policy.has_output else layout)
            written = "chw" if written == "hw" and channels > 1 else written
            dtype = made._written(policy, name_of(images.dtype))
            results.append(new_array(images, Torch, lead, channels, size, dtype, written))
        return results
