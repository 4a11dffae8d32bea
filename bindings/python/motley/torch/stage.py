# SPDX-License-Identifier: Apache-2.0
"""A policy for batches of images, as an nn.Module and as one operator of torch."""
import functools
from typing import List, Optional

import torch

import motley
from motley import contexts
from motley._core import ffi
from motley.adapters import policy_of
from motley.images import images_of
from motley.stage import Call, ids_of, process_key

_DTYPES = torch.uint8, torch.float32, torch.float16, torch.bfloat16
_NO_AUGMENTATION = "motley: 1\nname: none\nbranches: [identity]\n"


def _empty(images, dtype, channels_last):
    return torch.empty(images.shape, dtype=dtype, device=images.device,
                       memory_format=torch.channels_last if channels_last else torch.contiguous_format)


_policy = functools.lru_cache(maxsize=64)(motley.Policy)  # by its text, which is what an operator can be given


def _augment(images: torch.Tensor, counter: torch.Tensor, ids: Optional[torch.Tensor], policy: str, seed: int,
             rank: int, dtype: torch.dtype, channels_last: bool, mean: List[float], std: List[float]) -> torch.Tensor:
    out = _empty(images, dtype, channels_last)
    key = ("motley.torch", images.shape, images.stride(), images.device, dtype, channels_last, *mean, *std)
    calls = contexts.local.calls
    call = calls.get(key)
    if call is None:
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
        keep, address, seed = None, 0, seed ^ process_key(rank)
    else:
        keep, address = ids_of(ids, len(images))
    call.run(_policy(policy), images.data_ptr(), out.data_ptr(), seed & 0xFFFFFFFFFFFFFFFF, epoch, first, address)
    del keep  # the ids lived until here
    return out


if hasattr(torch.library, "custom_op"):  # torch 2.4 and later: an operator that torch.compile sees as one call
    _augment = torch.library.custom_op("motley::augment", _augment, mutates_args=())

    @_augment.register_fake
    def _(images, counter, ids, policy, seed, rank, dtype, channels_last, mean, std):
        return _empty(images, dtype, channels_last)


class Stage(torch.nn.Module):
    """A policy for batches of uint8 images [N, C, H, W] (or one image [C, H, W]) on the CPU or CUDA, normalised, cast
    and laid out in the same pass over the pixels.

    policy         a motley.Policy, what has one (motley.RandAugment(2, 9)), a built-in's name, a path or a text
    mean, std      per channel, on the 0..1 scale: out = (u8 / 255 - mean) / std; both or neither
    dtype          torch.float32, float16, bfloat16; or torch.uint8, the default, which takes no mean and std
    memory_format  of the result: torch.contiguous_format, torch.channels_last, or torch.preserve_format
    layout         'nchw', or 'nhwc' when batches come as decoders write them; the result is [N, C, H, W] always
    seed, rank     as motley.Stage's

    In eval() mode nothing is augmented; normalising, casting and layout stay. The epoch and the number of the next
    sample are a buffer: state_dict() has them. To torch.compile the stage is one operator."""

    def __init__(self, policy, *, mean=None, std=None, dtype=torch.uint8, memory_format=torch.preserve_format,
                 layout="nchw", seed=0, rank=0):
        super().__init__()
        if layout not in ("nchw", "nhwc"):
            raise motley.ArgumentError(f"layout is {layout!r}, want 'nchw' or 'nhwc'")
        if (mean is None) != (std is None):
            raise motley.ArgumentError(f"mean is {mean} and std is {std}, want both or neither")
        if dtype not in _DTYPES:
            raise motley.ArgumentError(f'dtype is {dtype}, want one of {", ".join(map(str, _DTYPES))}')
        if dtype == torch.uint8 and mean is not None:
            raise motley.ArgumentError("mean and std are given, but dtype is torch.uint8: want torch.float32, float16 "
                                       "or bfloat16")
        self.policy = policy_of(policy)
        self._text = {True: self.policy.show(), False: _NO_AUGMENTATION}
        self.mean, self.std = ([] if v is None else [float(x) for x in v] for v in (mean, std))
        self.dtype, self.memory_format, self.layout = dtype, memory_format, layout
        self.seed, self.rank = (seed + (1 << 63)) % (1 << 64) - (1 << 63), rank  # an operator takes signed numbers
        # [epoch, next sample], in shared memory so that a loader's workers see the epoch change, persistent ones too.
        self.register_buffer("counter", torch.zeros(2, dtype=torch.int64).share_memory_())

    @property
    def epoch(self):
        """The current epoch. On CUDA, asking waits for the device."""
        return int(self.counter[0])

    def set_epoch(self, epoch):
        """Begins an epoch: counts samples from 0 again."""
        self.counter.copy_(torch.tensor([epoch, 0]))

    def forward(self, images, sample_ids=None):
        """images: [N, C, H, W] or [C, H, W], uint8. sample_ids: an int64 tensor [N] on the CPU, or None: the next."""
        if images.dtype != torch.uint8 or images.dim() not in (3, 4):
            raise motley.ArgumentError(f"images are {images.dtype} of shape {tuple(images.shape)}, want torch.uint8, "
                                       f"{self.layout.upper()} or one image")
        batch = images if images.dim() == 4 else images.unsqueeze(0)
        if self.layout == "nhwc":
            batch = batch.permute(0, 3, 1, 2)
        counter = self.counter.to(images.device)
        channels_last = self.memory_format == torch.channels_last or (
            self.memory_format == torch.preserve_format and batch.stride(1) == 1 and batch.shape[1] > 1)
        out = _augment(batch, counter, sample_ids, self._text[self.training], self.seed, self.rank, self.dtype,
                       channels_last, self.mean, self.std)
        if sample_ids is None and self.training:
            self.counter[1] += batch.shape[0]
        return out if images.dim() == 4 else out.squeeze(0)

    def extra_repr(self):
        return (f"{self.policy.name}, mean={self.mean}, std={self.std}, dtype={self.dtype}, "
                f"memory_format={self.memory_format}, layout={self.layout}, seed={self.seed}, rank={self.rank}")
