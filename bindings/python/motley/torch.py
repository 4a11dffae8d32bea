# SPDX-License-Identifier: Apache-2.0
"""Motley in a PyTorch training loop: a stage for batches, a prefetcher around a loader, and what runs in its workers.

    stage = motley.torch.Stage(motley.RandAugment(2, 9), mean=MEAN, std=STD, dtype=torch.bfloat16).cuda()
    for images, labels in motley.torch.Prefetcher(loader, stage):    # a loader of u8 batches
        train(images, labels)

Draws     With sample ids a draw depends on (seed, epoch, sample id) and on nothing else: not on workers, ranks, batch
          size, shuffling or where a run was resumed. `Indexed` gives a data set's samples their ids, and set_epoch()
          the epoch; until it changes, a sample draws the same again. Without ids a stage counts its samples, and
          the counter is part of its state_dict(); ranks then need the `rank` that sets them apart."""
import functools
from collections.abc import Mapping
from typing import List, Optional

import torch

import motley
from motley import contexts
from motley._core import ffi
from motley.adapters import policy_of
from motley.images import images_of
from motley.stage import Call, ids_of, process_key

__all__ = ["Stage", "Prefetcher", "Indexed", "Augmented", "MotleyCollate"]

_DTYPES = torch.uint8, torch.float32, torch.float16, torch.bfloat16
_NO_AUGMENTATION = "motley: 1\nname: none\nbranches: [identity]\n"


# ---- the stage ----

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


# ---- the prefetcher ----

def _map_tensors(function, batch):
    """`batch` with its tensors replaced: tensors in tuples, named tuples, lists and mappings, nested."""
    if isinstance(batch, torch.Tensor):
        return function(batch)
    if isinstance(batch, Mapping):
        return {key: _map_tensors(function, value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_map_tensors(function, value) for value in batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(_map_tensors(function, value) for value in batch)
    return batch


def _replaced(batch, key, value):
    """`batch` with item `key` replaced; the batch itself stays as it is."""
    if isinstance(batch, Mapping):
        return {**batch, key: value}
    items = list(batch)
    items[key] = value
    return type(batch)(*items) if hasattr(batch, "_fields") else type(batch)(items)


class Prefetcher:
    """A loader whose next batch is copied, augmented and normalised on a stream of its own while the model trains.

    loader   anything iterable that yields batches: tuples, lists or dicts with a uint8 batch of images in them. Pin
             its memory (pin_memory=True), or copies do not overlap. What it yields it must not write into again.
    stage    a Stage, or another callable of the images, on `device`
    device   where batches are wanted; the default is the current CUDA device, or the CPU where there is none
    images   index or key of the images in a batch
    ids      index or key of their sample ids, or None; the ids stay on the CPU

    The batch that is handed over is ready for the current stream, and its memory is not reused before that stream is
    done with it. Each pass over the loader is the next epoch, unless set_epoch() says which. len() is the loader's."""

    def __init__(self, loader, stage, device=None, *, images=0, ids=None):
        self.loader, self.stage, self.images, self.ids = loader, stage, images, ids
        self.device = torch.device(device if device is not None else "cuda" if torch.cuda.is_available() else "cpu")
        self.stream = torch.cuda.Stream(self.device) if self.device.type == "cuda" else None
        self.begun = False

    def __len__(self):
        return len(self.loader)

    def set_epoch(self, epoch):
        """The epoch of the next pass, for the draws and for the loader's sampler."""
        self._set_stage_epoch(epoch)
        sampler = getattr(self.loader, "sampler", None)
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(epoch)
        self.begun = False

    def _set_stage_epoch(self, epoch):
        if self.stream:  # a pass that was broken off may have left work behind, which reads the epoch
            torch.cuda.current_stream(self.device).wait_stream(self.stream)
        if hasattr(self.stage, "set_epoch"):
            self.stage.set_epoch(epoch)

    def __iter__(self):
        if self.begun and hasattr(self.stage, "epoch"):
            self._set_stage_epoch(self.stage.epoch + 1)
        self.begun = True
        if not self.stream:
            for batch in self.loader:
                yield self._prepare(batch)
            return
        self.stream.wait_stream(torch.cuda.current_stream(self.device))  # what the stage reads may just be written
        ahead = None
        for batch in self.loader:
            prepared = self._prepare_aside(batch)
            if ahead:
                yield self._hand_over(*ahead)
            ahead = prepared
        if ahead:
            yield self._hand_over(*ahead)

    def _prepare(self, batch):
        ids = batch[self.ids] if self.ids is not None else None
        batch = _map_tensors(lambda t: t.to(self.device, non_blocking=True), batch)
        if ids is None:
            return _replaced(batch, self.images, self.stage(batch[self.images]))
        return _replaced(_replaced(batch, self.ids, ids), self.images, self.stage(batch[self.images], ids))

    def _prepare_aside(self, batch):
        current = torch.cuda.current_stream(self.device)

        def lend(tensor):  # what lies on the device already was made on the current stream, and is used on ours
            if tensor.is_cuda:
                lend.any = True
                tensor.record_stream(self.stream)
            return tensor
        lend.any = False
        _map_tensors(lend, batch)
        if lend.any:
            self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            return self._prepare(batch), self.stream.record_event()

    def _hand_over(self, batch, ready):
        current = torch.cuda.current_stream(self.device)
        current.wait_event(ready)
        _map_tensors(lambda t: t.record_stream(current) if t.is_cuda else None, batch)
        return batch


# ---- what runs in a loader's workers ----

class Indexed(torch.utils.data.Dataset):
    """A data set whose samples carry their index as their last item (of a dict: under 'sample_id')."""

    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, i):
        sample = self.dataset[i]
        return {**sample, "sample_id": i} if isinstance(sample, Mapping) else (*sample, i)


class Augmented(torch.utils.data.Dataset):
    """A data set whose images are augmented one by one where they are read, sample i with the draws of id i.

    images   index or key of the image in a sample: a PIL image, or a uint8 tensor or array that motley takes"""

    def __init__(self, dataset, policy, *, seed=0, images=0):
        self.dataset, self.stage, self.images = dataset, motley.Stage(policy_of(policy), seed=seed), images
        self.epoch = torch.zeros(1, dtype=torch.int64).share_memory_()

    def set_epoch(self, epoch):
        """To be called before each pass over the loader, as DistributedSampler's; workers see it at once."""
        self.epoch.fill_(epoch)

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, i):
        sample = self.dataset[i]
        image = self.stage(sample[self.images], epoch=int(self.epoch), sample_ids=i)
        return _replaced(sample, self.images, image)


class MotleyCollate:
    """A collate_fn that stacks a batch's images and augments them in one call, on the worker's core.

    stage    a motley.torch.Stage, whose result is the batch's images
    images   index or key of the image in a sample: PIL images or uint8 arrays [H, W, C] of one size, or uint8 tensors
             [C, H, W]
    ids      index or key of the sample id, or None: each batch takes new ids from the worker's generator, which torch
             seeds anew in each epoch
    collate  of everything else"""

    def __init__(self, stage, *, images=0, ids=None, collate=torch.utils.data.default_collate):
        if not isinstance(stage, Stage):
            raise TypeError(f"stage is a {type(stage).__module__}.{type(stage).__qualname__}, want a motley.torch.Stage")
        self.stage, self.images, self.ids, self.collate = stage, images, ids, collate

    def set_epoch(self, epoch):
        self.stage.set_epoch(epoch)

    def __call__(self, samples):
        images = self._stack([sample[self.images] for sample in samples])
        batch = self.collate([_replaced(sample, self.images, 0) for sample in samples])
        if self.ids is not None:
            ids = torch.as_tensor(batch[self.ids])
        else:
            ids = torch.randint(1 << 62, (1,)) + torch.arange(len(images))
        return _replaced(batch, self.images, self.stage(images, ids))

    @staticmethod
    def _stack(images):
        if isinstance(images[0], torch.Tensor):
            return torch.stack(images)
        import numpy
        arrays = [numpy.asarray(image) for image in images]
        sizes = sorted({array.shape for array in arrays})
        if len(sizes) > 1:
            raise ValueError(f"images of a batch have shapes {sizes[0]} and {sizes[1]}, want one size: resize or crop "
                             "them before, or augment them one by one with motley.torch.Augmented")
        batch = torch.from_numpy(numpy.stack(arrays))
        return (batch[..., None] if batch.dim() == 3 else batch).permute(0, 3, 1, 2)
