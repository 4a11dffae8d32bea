# SPDX-License-Identifier: Apache-2.0
"""A loader whose next batch is made while the model trains, out of images or of files that it decodes."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import torch

import motley
from motley.adapters import check_labels, transform_of
from motley._native import epoch_given, one_of, whole
from motley._random import Sampled, split_ids
from motley.torch.data import augmented, item, like, map_items, map_tensors, passed_on, replaced
from motley.torch.decode import decoded, file_tensor
from motley.torch.module import Transform

if TYPE_CHECKING:
    from motley._types import PolicyLike

Lent = deque[tuple[list[torch.Tensor], list[torch.cuda.Event]]]  # images, and the event that follows their last use
QUEUES = "CUDA_DEVICE_MAX_CONNECTIONS"
ENOUGH = 18  # nvJPEG decodes on 14 streams, torchvision hands over on one, a Prefetcher has two, and the model one
TOO_LATE = (
    f"CUDA began before {QUEUES} was set, so that decoding and the model wait for each other: want "
    "motley.torch.ask_for_queues() at the top of the script, before anything uses CUDA (as model.cuda() does), or "
    f"{QUEUES}=32 in the environment"
)
TOO_FEW = (
    f"{QUEUES} is %s, so that decoding and the model wait for each other: want {QUEUES}=32 in the environment, or none "
    "and motley.torch.ask_for_queues() at the top of the script"
)
_told: set[str] = set()


def ask_for_queues() -> None:
    """Asks CUDA for 32 hardware queues, the most: with its default of 8, decoding on the GPU and the model wait for
    each other, a tenth of a step's time.

        import motley.torch
        motley.torch.ask_for_queues()       # at the top of a script, before anything uses CUDA

    It sets the environment variable CUDA_DEVICE_MAX_CONNECTIONS, which CUDA reads when it begins, unless it is set. If
    CUDA has begun, or the variable is set to too few, that is said once. Importing motley changes no environment, so a
    script says this itself; a Prefetcher for a CUDA device asks, too, but is often made after the model."""
    _tell(_without_queues(), 2)


def _without_queues() -> str | None:
    """Asks for the queues, and says why there will be too few."""
    given = os.environ.get(QUEUES)
    if given is not None:
        return None if given.isdecimal() and int(given) >= ENOUGH else TOO_FEW % given
    if torch.cuda.is_initialized():
        return TOO_LATE
    os.environ[QUEUES] = "32"
    return None


def _tell(why: str | None, level: int) -> None:
    """Warns once in a process. level: how many callers up the line is that has to change."""
    if why is not None and why not in _told:
        _told.add(why)
        warnings.warn(why, stacklevel=level + 1)


class Prefetcher:
    """A loader whose next batch is copied, augmented and normalised on a separate stream while the model trains.

    Encoded images, a list of bytes or of one-dimensional uint8 tensors as motley.torch.read_file gives them, are
    decoded first, one batch ahead in a thread: on a CUDA device by torchvision's decoder, which is nvJPEG, and on the
    CPU if it does not support a file. As they have different sizes, the policy then has to have stages, which bring
    them to one. (nvJPEG's pixels differ from Pillow's by up to 19 levels, because it interpolates chroma in another
    way. Everything after decoding is exact.)

    A batch that is handed over is ready for the current stream, and its memory is not reused before that stream has
    finished with it. set_epoch() is that of the transform and of the loader's sampler. len() is the loader's.

    So that decoding runs beside the model, a script that decodes on the GPU begins with motley.torch.ask_for_queues().
    A Prefetcher for a CUDA device calls it, too; where that is too late, or the variable that it sets is set to too few
    queues, the first batch of encoded images warns.

    state_dict() is for checkpoints: it has the number of samples that a transform with a seed has drawn for, without
    ids, and the state of a loader that has one (torchdata's StatefulDataLoader), both as of the batches that were
    handed over: the transform and the loader themselves count what was read ahead.

    Args:
        loader: Anything iterable that yields batches: tuples, lists or dicts with a uint8 batch of images in them. Pin
            its memory (pin_memory=True), or copies do not overlap. It must not write to a batch after yielding it.
        transform: A motley.torch.Transform on `device`, a motley.Transform, or another callable of the images; or a
            motley.Policy, a name or a path. With a policy that has views a dictionary of batches takes the
            images' place.
        device: Where batches are wanted; the default is the current CUDA device, or the CPU where there is none.
        images: Index or key of the images in a batch.
        ids: Index or key of their sample ids, or None: each batch draws anew. The ids stay on the CPU.
        labels: Index or key of their labels, which a transform that mixes images (its policy has a `mix`)
            turns into targets; elsewhere None. They must still be on the CPU, or each batch waits for them; the
            "masks" of targets of detection are mixed on the device, as the images are.
        names: Index or key of their files' names, or None: for messages.
        broken: What to do with a file that cannot be decoded: "raise" FileError, or "skip" it with a warning, which
            shortens the batch.
    """

    def __init__(
        self,
        loader: Iterable[Any],
        transform: Callable[..., Any] | PolicyLike,
        device: torch.device | str | int | None = None,
        *,
        images: int | str = 0,
        ids: int | str | None = None,
        labels: int | str | None = None,
        names: int | str | None = None,
        broken: str = "raise",
    ) -> None:
        self.device = torch.device(device if device is not None else "cuda" if torch.cuda.is_available() else "cpu")
        if isinstance(transform, (str, os.PathLike, motley.Policy, Mapping)):
            transform = transform_of(transform, None, mixing=True, module=Transform).to(self.device)
        if isinstance(transform, motley.Follow) or getattr(transform, "follow", None) is not None:
            raise motley.ArgumentError(
                "transform is a motley.Follow, or has follow=, and works on samples: want a MotleyCollate of it in "
                "the loader"
            )
        self.transform: Any = transform
        self.loader, self.images, self.ids = loader, images, ids
        check_labels(self.transform, labels)
        self.labels, self.names, self.broken = labels, names, one_of("broken", broken, ("raise", "skip"))
        on_cuda = self.device.type == "cuda"
        self._why_slow = _without_queues() if on_cuda else None
        self.stream: Any = torch.cuda.Stream(self.device) if on_cuda else None
        self._decoder: Any = torch.cuda.Stream(self.device) if on_cuda else None
        self._states: deque[Any] = deque()  # of the loader, behind each batch that was read and not handed over
        self._state: Any = None  # and behind the last that was
        self._count: int | None = None  # of the transform's samples, as of the batches that were handed over

    def __len__(self) -> int:
        return len(self.loader)  # type: ignore[arg-type]

    def set_epoch(self, epoch: int) -> None:
        """The epoch of the transform's draws by id, and of the loader's sampler."""
        epoch = epoch_given(epoch)
        if self.stream:  # a pass that was broken off may have left work behind, which reads the epoch
            torch.cuda.current_stream(self.device).wait_stream(self.stream)
        sampler: Any = getattr(self.loader, "sampler", None)
        for owner in self.transform, sampler:
            if hasattr(owner, "set_epoch"):
                owner.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        state = {"count": self._counted() if self._count is None else self._count}
        return state if self._state is None else {**state, "loader": self._state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        wanted = {"count", "loader"} if hasattr(self.loader, "load_state_dict") else {"count"}
        if not {"count"} <= set(state) <= wanted:
            has = ", ".join(sorted(map(str, state))) or "no entries"
            raise motley.ArgumentError(f"the state has {has}, want count")
        self._count, self._state = whole("count", state["count"], 0, (1 << 63) - 1, "from 0"), state.get("loader")
        if isinstance(self.transform, Sampled):
            self.transform._words.count = self._count
        if self._state is not None:
            self.loader.load_state_dict(self._state)  # type: ignore[attr-defined]

    def _counted(self) -> Any:
        return self.transform._words.count if isinstance(self.transform, Sampled) else 0

    def _state_of_loader(self) -> Any:
        try:
            return self.loader.state_dict()  # type: ignore[attr-defined]
        except AttributeError:  # also of Accelerate's loaders around one that has none
            return None

    def __iter__(self) -> Iterator[Any]:
        self._states.clear()  # of a pass that was broken off
        with contextlib.closing(self._pass()) as batches:
            for batch, self._count in batches:
                self._state = self._states.popleft()
                yield batch
        self._state = self._state_of_loader()

    def _pass(self) -> Generator[tuple[Any, Any], None, None]:
        """Yields the batches, and the transform's count behind each."""
        if not self.stream:
            for batch, images, _ in self._decoding(deque()):
                yield self._prepare(batch, images), self._counted()
            return
        self.stream.wait_stream(torch.cuda.current_stream(self.device))  # what the transform reads may just be written
        ahead = None
        # Decoded images that the transform may still read, and the event that follows it: the decoder writes at once to
        # memory that it gets. (record_stream on each image costs 5 % of a ResNet-50's rate: an event for each of them.)
        lent: Lent = deque()
        try:
            with contextlib.closing(self._decoding(lent)) as batches:
                for batch, images, decoded_by in batches:
                    if images is not None:
                        lent.append((images, []))
                    prepared = self._prepare_aside(batch, images, decoded_by)
                    if images is not None:
                        lent[-1][1].append(prepared[1])
                    if ahead:
                        yield self._hand_over(*ahead)
                    ahead = prepared
                if ahead:
                    yield self._hand_over(*ahead)
        finally:
            for images, _ in lent:
                for image in images:
                    image.record_stream(self.stream)

    def _decoding(self, lent: Lent) -> Generator[tuple[Any, Any, Any], None, None]:
        """Yields (batch, images, event) for each of the loader's batches. If its images were encoded, `images` are the
        decoded ones, the batch has 0 in their place, and the event follows their decoding; otherwise both are None.

        The next batch is decoded in a thread while the caller works on this one: torchvision's decoder waits until the
        GPU is done, which takes long where a model keeps it busy, and lets other threads run meanwhile. The thread also
        frees the images in `lent` that are no longer read, so that the caller's thread need not."""
        with ThreadPoolExecutor(1) as thread:
            ahead = None
            for batch in self.loader:
                self._states.append(self._state_of_loader())
                encoded = is_encoded(item(batch, self.images, "images"))
                if encoded:
                    _tell(self._why_slow, 4)
                decoding = thread.submit(self._decode_aside, batch, lent) if encoded else None
                if ahead:
                    yield self._with_decoded(*ahead)
                ahead = decoding and (batch, decoding)
                if not decoding:
                    yield batch, None, None
            if ahead:
                yield self._with_decoded(*ahead)

    def _decode_aside(self, batch: Any, lent: Lent) -> tuple[list[torch.Tensor], list[int], Any]:
        if not self.stream:
            return *self._decode(batch), None
        while lent and lent[0][1] and lent[0][1][0].query():
            lent.popleft()
        with torch.cuda.stream(self._decoder):  # where the images' memory comes from
            return *self._decode(batch), self._decoder.record_event()

    def _with_decoded(self, batch: Any, decoding: Any) -> tuple[Any, Any, Any]:
        """What _decoding() yields of a batch.

        What is left out with broken files is left out here and not in the thread: labels that lie on the GPU are ready
        for the caller's stream, which the decoder's does not wait for."""
        images, kept, decoded_by = decoding.result()
        count = len(batch[self.images])
        batch = replaced(batch, self.images, 0)
        if len(kept) < count:
            batch = without(batch, count, kept)
        return batch, images, decoded_by

    def _prepare(self, batch: Any, images: Any) -> Any:
        ids = None if self.ids is None else item(batch, self.ids, "sample ids")  # wanted on the CPU, as labels are
        labels: Any = None if self.labels is None else item(batch, self.labels, "labels")
        if self.device.type == "cuda" and images is None and hasattr(self.transform, "policy"):
            refuse_what_stays(batch[self.images])
        batch = self._moved(batch)
        if is_targets(labels):
            masks = (target.get("masks") for target in batch[self.labels])
            labels = like(labels, [t if own is None else {**t, "masks": own} for t, own in zip(labels, masks)])
        how = {}
        if ids is not None:
            batch, how = replaced(batch, self.ids, ids), {"sample_ids": ids}
        images = batch[self.images] if images is None else images
        batch = augmented(batch, self.transform, (self.images, self.labels), images, labels, **how)
        return batch if labels is None else replaced(batch, self.labels, self._moved(batch[self.labels]))

    def _moved(self, batch: Any) -> Any:
        return map_tensors(lambda tensor: tensor.to(self.device, non_blocking=True), batch)

    def _decode(self, batch: Any) -> tuple[list[torch.Tensor], list[int]]:
        names = None if self.names is None else item(batch, self.names, "names")
        ids = None if self.ids is None else split_ids(item(batch, self.ids, "sample ids"), 0, None)[0]

        def name_of(i: int) -> str:
            if names is not None:
                return str(names[i])
            return f"image {i}" + ("" if ids is None else f", sample {ids[i]}")

        images, kept = decoded(batch[self.images], self.device, name_of, self.broken)
        if not kept:
            raise motley.FileError(f"{name_of(0)} and all others of its batch cannot be decoded")
        return images, kept

    def _prepare_aside(self, batch: Any, images: Any, decoded_by: Any) -> tuple[Any, Any, Any]:
        current = torch.cuda.current_stream(self.device)

        lent = []  # data already on the device was made on the current stream, and is used on ours
        map_tensors(lambda tensor: lent.append(tensor) if tensor.is_cuda else None, batch)
        for tensor in lent:
            tensor.record_stream(self.stream)
        if lent:
            self.stream.wait_stream(current)
        if decoded_by is not None:
            self.stream.wait_event(decoded_by)
        with torch.cuda.stream(self.stream):
            return self._prepare(batch, images), self.stream.record_event(), self._counted()

    def _hand_over(self, batch: Any, ready: Any, count: Any) -> tuple[Any, Any]:
        current = torch.cuda.current_stream(self.device)
        current.wait_event(ready)
        map_tensors(lambda t: t.record_stream(current) if t.is_cuda else None, batch)
        return batch, count

    def __repr__(self) -> str:
        of = f"{self.loader!r}, {self.transform!r}, {self.device}"
        return f"Prefetcher({of}, images={self.images!r}, ids={self.ids!r})"


# ---- files ----


def read_file(path: str | os.PathLike[str]) -> torch.Tensor:
    """The bytes of a file, not decoded: a loader for torchvision's ImageFolder where the Prefetcher decodes the images.
    (torchvision.io.read_file does the same, but warns from torchvision 0.29 on.)"""
    with open(path, "rb") as file:
        return file_tensor(file.read())


def list_images(samples: Sequence[Any]) -> Any:
    """A collate_fn that keeps the first item of each sample (an image of any size, or a file's bytes) in a list.

    DataLoader(dataset, collate_fn=motley.torch.list_images) of ImageFolder(root, loader=motley.torch.read_file)"""
    rest = torch.utils.data.default_collate([tuple(sample)[1:] for sample in samples])
    return passed_on([sample[0] for sample in samples]), *rest


def is_encoded(images: Any) -> bool:
    """Whether these are the bytes of files: a list of bytes or of uint8 tensors of one axis."""
    if isinstance(images, torch.Tensor) and images.dim() == 2 and images.dtype == torch.uint8:
        raise motley.ArgumentError(
            f"the images are one tensor of shape {tuple(images.shape)}, as a loader stacks files of equal length: want "
            "a list of their bytes, collate_fn=motley.torch.list_images"
        )
    return isinstance(images, (list, tuple)) and len(images) > 0 and all(map(_is_file, images))


def _is_file(image: Any) -> Any:
    if isinstance(image, torch.Tensor):
        return image.dim() == 1 and image.dtype == torch.uint8
    return isinstance(image, (bytes, bytearray, memoryview))


def is_targets(labels: Any) -> bool:
    """Whether labels are targets of detection, a dictionary for each image."""
    return isinstance(labels, (list, tuple)) and len(labels) > 0 and all(isinstance(one, Mapping) for one in labels)


def refuse_what_stays(images: Any) -> None:
    """Images for a CUDA device that are no tensors would be augmented on the CPU, and stay there."""
    for image in images if isinstance(images, (list, tuple)) else [images]:
        if not isinstance(image, torch.Tensor):
            kind = f"{type(image).__module__}.{type(image).__qualname__}"
            raise motley.ArgumentError(
                f"the images are a {kind}, which stays on the CPU: want tensors, as torch's default_collate makes "
                "them, files (motley.torch.read_file), or device='cpu'"
            )


def without(batch: Any, count: int, kept: Sequence[int]) -> Any:
    """A batch of `count` samples reduced to those that are kept: each array, and each list with an entry per sample."""
    return map_items(lambda item: _column(item, count, kept), batch)


def _column(item: Any, count: int, kept: Sequence[int]) -> Any:
    if not _has_rows(item, count):
        return map_items(lambda part: _column(part, count, kept), item)
    if not isinstance(item, (tuple, list)):
        return item[list(kept)]
    if all(_has_rows(part, count) for part in item):  # as many columns as samples, such as [ids, labels] of two
        return map_items(lambda part: _column(part, count, kept), item)
    return like(item, (item[i] for i in kept))


def _has_rows(item: Any, count: int) -> bool:
    """Whether this is an array, a list or a tuple with an entry for each of `count` samples."""
    if isinstance(item, (tuple, list)):
        return not hasattr(item, "_fields") and len(item) == count
    return len(getattr(item, "shape", ())) > 0 and len(item) == count
