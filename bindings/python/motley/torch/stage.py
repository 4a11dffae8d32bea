# SPDX-License-Identifier: Apache-2.0
"""A policy for batches of images, as an nn.Module and as one operator of torch."""
import functools
from typing import List, Optional

import torch

import motley
from motley import contexts
from motley._core import ffi
from motley.adapters import policy_of
from motley.arrays import Torch, dtype_name
from motley.checks import (
    epoch_given, normalize_given, output_layout_given, rank_given, seed_given, view_given, whole)
from motley.epochs import Repeats
from motley.images import PASS_BYTES, images_of, refuse_followers
from motley.processes import Lineage, process_key
from motley.stage import CALLS_KEPT, Call, ids_of

_is_compiling = torch.compiler.is_compiling if hasattr(torch, "compiler") else lambda: False
_DTYPES = torch.uint8, torch.float32, torch.float16, torch.bfloat16
_NO_AUGMENTATION = "motley: 1\nname: none\nbranches: [identity]\n"


def _empty(images, dtype, channels_last):
    return torch.empty(images.shape, dtype=dtype, device=images.device,
                       memory_format=torch.channels_last if channels_last else torch.contiguous_format)


_policy = functools.lru_cache(maxsize=64)(motley.Policy)  # by its text, which is what an operator can be given


def _augment(images: torch.Tensor, counter: torch.Tensor, ids: Optional[torch.Tensor], policy: str, seed: int,
             rank: Optional[int], dtype: torch.dtype, channels_last: bool, mean: List[float], std: List[float],
             view: int = 0, views: Optional[torch.Tensor] = None) -> torch.Tensor:
    out = _empty(images, dtype, channels_last)
    key = ("motley.torch", images.shape, images.stride(), images.device, dtype, channels_last, *mean, *std)
    calls = contexts.local.calls
    call = calls.get(key)
    if call is None:
        if len(calls) >= CALLS_KEPT:
            calls.clear()
        plain = dtype == torch.uint8
        like = motley.Stage(_policy(policy), normalize=(mean, std) if mean else None, dtype=None if plain else dtype)
        call = calls[key] = Call(like, images_of(images, "chw"), images_of(out, "chw"))
        call.keep = None  # these pixels are this call's
    epoch = first = 0
    if images.is_cuda:  # read on the device when the work runs: a CUDA graph draws anew each time it is replayed
        call.c.params.counter = ffi.cast("uint64_t *", counter.data_ptr())
    else:
        epoch, first = counter.tolist()
    if ids is None:
        keep, address, signed, seed = None, 0, False, seed ^ process_key(rank)
    else:
        keep, address, signed = ids_of(ids, len(images))
    call.run(_policy(policy), images.data_ptr(), out.data_ptr(), seed & 0xFFFFFFFFFFFFFFFF, epoch, first, address, signed,
             view if views is None else views.data_ptr(), ffi.NULL)
    del keep  # the ids lived until here
    return out


if hasattr(torch.library, "custom_op"):  # torch 2.4 and later: an operator that torch.compile sees as one call
    _augment = torch.library.custom_op("motley::augment", _augment, mutates_args=())

    @_augment.register_fake
    def _(images, counter, ids, policy, seed, rank, dtype, channels_last, mean, std, view=0, views=None):
        return _empty(images, dtype, channels_last)


def _id_and_view(ids):
    if ids.shape[1] != 2:
        raise motley.ArgumentError(f"sample_ids has shape {tuple(ids.shape)}, want [N], or [N, 2]: an id and a view each")
    return ids[:, 0].contiguous(), ids[:, 1].contiguous()


def _like(out, images):
    """`out` as what the images were: a tv_tensors.Image stays one."""
    finish = None if type(images) is torch.Tensor else Torch.finish_for(type(images))
    return finish(out, images) if finish else out


class Stage(torch.nn.Module):
    """A policy for batches of uint8 images [N, C, H, W] (or one image [C, H, W]) on the CPU or CUDA, normalised, cast
    and laid out in the same pass over the pixels.

    policy         a motley.Policy, what has one (motley.RandAugment(2, 9)), a built-in's name, a path or a text
    mean, std      per channel, on the 0..1 scale: out = (u8 / 255 - mean) / std; both or neither. Also as a pair:
                   normalize=(mean, std)
    dtype          torch.float32, float16, bfloat16; or torch.uint8, the default, which takes no mean and std
    memory_format  of the result: torch.contiguous_format, torch.channels_last, or torch.preserve_format, the default.
                   Also in motley.Stage's words: output_layout="chw", "channels_last" or None
    layout         'nchw', or 'nhwc' when batches come as decoders write them; the result is [N, C, H, W] always
    seed, rank     as motley.Stage's
    views          how many views of each image to make; more than one: in training the result is a tuple of them

    In eval() mode nothing is augmented, and there is one view; normalising, casting and layout stay. The epoch and the
    number of the next sample are a buffer: state_dict() has them, and the seed. To torch.compile the stage is one operator."""

    def __init__(self, policy, *, mean=None, std=None, normalize=None, dtype=torch.uint8, memory_format=None,
                 output_layout=None, layout="nchw", seed=0, rank=None, views=1):
        super().__init__()
        layout = {"chw": "nchw", "hwc": "nhwc"}.get(layout, layout)
        if layout not in ("nchw", "nhwc"):
            raise motley.ArgumentError(f"layout is {layout!r}, want 'nchw' or 'nhwc'")
        mean, std = normalize_given(normalize, mean, std)
        output_layout = output_layout_given(output_layout, memory_format)
        if output_layout == "hwc":
            raise motley.ArgumentError("output_layout is 'hwc', want 'chw' or 'channels_last': the result is [N, C, H, W]")
        memory_format = {"chw": torch.contiguous_format, "channels_last": torch.channels_last, None: torch.preserve_format}[
            output_layout]
        if isinstance(dtype, str):
            dtype = getattr(torch, dtype_name(dtype))
        if dtype not in _DTYPES:
            raise motley.ArgumentError(f'dtype is {dtype}, want one of {", ".join(map(str, _DTYPES))}')
        if dtype == torch.uint8 and mean is not None:
            raise motley.ArgumentError("mean and std are given, but dtype is torch.uint8: want torch.float32, float16 "
                                       "or bfloat16")
        self.policy = policy_of(policy)
        self._text = {True: self.policy.show(), False: _NO_AUGMENTATION}
        self.mean, self.std = ([], []) if mean is None else (list(mean), list(std))
        self.dtype, self.memory_format, self.layout = dtype, memory_format, layout
        self.seed = (seed_given(seed) + (1 << 63)) % (1 << 64) - (1 << 63)  # an operator takes signed numbers
        self.rank, self.views = rank_given(rank), whole("views", views, 1, 65536, "from 1")
        self._begun, self._repeats, self._lineage = False, Repeats(motley.Stage.ADVICE), Lineage()
        # [epoch, next sample], in shared memory so that a loader's workers see the epoch change, persistent ones too.
        self.register_buffer("counter", torch.zeros(2, dtype=torch.int64).share_memory_())

    @property
    def epoch(self):
        """The current epoch. On CUDA, asking waits for the device."""
        return int(self.counter[0])

    def set_epoch(self, epoch):
        """Begins an epoch: counts samples from 0 again."""
        self.counter.copy_(torch.tensor([epoch_given(epoch), 0]))
        self._begun = False
        self._repeats.forget()

    def begin_pass(self):
        """A pass over the data begins: the next epoch, unless set_epoch() has just said which. Loaders call it."""
        if self._begun:
            self.set_epoch(self.epoch + 1)
        self._begun = True

    def get_extra_state(self):
        """The seed, which state_dict() has beside the counter."""
        return torch.tensor([self.seed], dtype=torch.int64)

    def set_extra_state(self, state):
        self.seed = int(state[0])

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        state_dict.setdefault(prefix + "_extra_state", self.get_extra_state())  # before it was part of the state
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def forward(self, images, sample_ids=None, view=0, *, out=None, return_draws=False):
        """images       [N, C, H, W] or [C, H, W], uint8
        sample_ids   an int64 tensor [N] on the CPU, or [N, 2] with each image's view beside its id; None: the next
        view         which view of the samples this is: a number, or an int64 tensor [N] on the CPU
        out          a tensor of the result's shape and dtype to write to, and what the call returns; out=images works
                     in place, where nothing is normalised or cast
        return_draws return (images, draws): for each image the list of its steps, as `motley draw` prints them. With
                     it, or with out, the call is no operator of torch.compile, and on CUDA it waits for the counter"""
        batch = self._batch_of(images)
        if out is not None or return_draws:
            return self._written(images, sample_ids, view, out, return_draws)
        counter = self.counter.to(images.device)
        channels_last = self.memory_format == torch.channels_last or (
            self.memory_format == torch.preserve_format and batch.stride(1) == 1 and batch.shape[1] > 1)
        if sample_ids is not None and not isinstance(sample_ids, torch.Tensor):
            sample_ids = torch.tensor([sample_ids] if isinstance(sample_ids, int) else list(sample_ids))
        if sample_ids is not None and sample_ids.dim() == 2:
            sample_ids, view = _id_and_view(sample_ids)
        number, numbers = (0, view.to(torch.int32)) if isinstance(view, torch.Tensor) else (view_given(view), None)
        if sample_ids is not None and self.training and not _is_compiling():
            self._note(sample_ids, number, numbers)
        views = self.views if self.training else 1
        made = []
        for k in range(views):
            out = _augment(batch, counter, sample_ids, self._text[self.training], self.seed, self.rank, self.dtype,
                           channels_last, self.mean, self.std, number * views + k,
                           None if numbers is None else numbers * views + k)
            made.append(_like(out if images.dim() == 4 else out.squeeze(0), images))
        if sample_ids is None and self.training:
            self.counter[1] += batch.shape[0]
        return made[0] if views == 1 else tuple(made)

    def _written(self, images, sample_ids, view, out, return_draws):
        """Of forward(), by motley.Stage."""
        if self.views != 1 and self.training:
            raise motley.ArgumentError(f"out or return_draws is given, but the stage makes {self.views} views: want one")
        epoch, first = self.counter.tolist()
        layout = {torch.contiguous_format: "chw", torch.channels_last: "channels_last", torch.preserve_format: None}[
            self.memory_format]
        stage = motley.Stage(_policy(self._text[self.training]), seed=self.seed, epoch=epoch, rank=self.rank,
                             layout=self.layout, mean=self.mean or None, std=self.std or None,
                             dtype=None if self.dtype == torch.uint8 else self.dtype,
                             output_layout="chw" if self.layout == "nhwc" and out is None and layout is None else layout)
        stage.next_sample, stage._repeats = first, self._repeats
        result = stage(images, sample_ids=sample_ids, view=view, out=out, return_draws=return_draws)
        if sample_ids is None and self.training:
            self.counter[1] += stage.next_sample - first
        return result

    def _batch_of(self, images):
        """The images as a plain tensor [N, C, H, W]."""
        if not isinstance(images, torch.Tensor):
            raise motley.ArgumentError(
                f"images are a {type(images).__module__}.{type(images).__qualname__}, want a torch.uint8 tensor, "
                f"{self.layout.upper()} or one image; motley.Stage takes PIL images, arrays and lists of images")
        if type(images) is not torch.Tensor:
            refuse_followers(type(images))
            images = images.as_subclass(torch.Tensor)
        if images.layout != torch.strided or images.is_nested:
            raise motley.ArgumentError("images are a sparse or nested tensor, want a dense one")
        if images.dtype != torch.uint8 or images.dim() not in (3, 4):
            hint = f": {PASS_BYTES}" if images.is_floating_point() else ""
            raise motley.ArgumentError(f"images are {images.dtype} of shape {tuple(images.shape)}, want torch.uint8, "
                                       f"{self.layout.upper()} or one image{hint}")
        batch = images if images.dim() == 4 else images.unsqueeze(0)
        if 0 in batch.stride():  # expanded
            batch = batch.contiguous()
        return batch.permute(0, 3, 1, 2) if self.layout == "nhwc" else batch

    def _note(self, ids, view, views):
        """Warns when the samples of an epoch come again."""
        repeats = self._repeats
        if not repeats.seen or ids.is_cuda or ids.dtype != torch.int64:
            return
        counter = self.counter
        if counter.is_cuda:  # to ask for the epoch would be to wait: set_epoch() forgets what came before it
            epoch = 0
        else:
            epoch = ffi.cast("int64_t *", counter.data_ptr())[0]
        ids = ids.contiguous()
        repeats.note(self.seed, epoch, len(ids), ids.data_ptr(), view if views is None else views.data_ptr())

    def extra_repr(self):
        settings = {"mean": [], "std": [], "dtype": torch.uint8, "memory_format": torch.preserve_format, "layout": "nchw",
                    "seed": 0, "rank": None, "views": 1}
        return ", ".join([repr(self.policy), *(f"{name}={getattr(self, name)}" for name, default in settings.items()
                                               if getattr(self, name) != default)])
