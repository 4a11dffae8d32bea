# SPDX-License-Identifier: Apache-2.0
"""Which samples of the data set the drop-in transforms draw for."""

from __future__ import annotations

import contextvars
import sys
import threading
from typing import TYPE_CHECKING

from . import epochs
from ._arrays import KINDS
from ._native import ArgumentError, epoch_given, view_given, whole
from .processes import process_key, rank_key

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeVar

    from ._types import Ids

    _Ids = TypeVar("_Ids", bound=Any)

_block = contextvars.ContextVar("motley.samples", default=None)


class _Drawn(threading.local):
    """A tensor for each thread that drawn numbers are written to: a new one costs three times the draw."""

    tensor = None


_drawn = _Drawn()


def torch_seed():
    """The number that torch.randint(1 << 62, ()) draws."""
    if _drawn.tensor is None:
        torch = sys.modules["torch"]
        with torch.inference_mode(False):  # else it could not be written to outside of inference mode
            _drawn.tensor = torch.empty((), dtype=torch.int64, device="cpu")
    return _drawn.tensor.random_(0, 1 << 62).item()


class samples:
    """In its body, the transforms of motley.torchvision and motley.timm draw for these samples:

        with motley.samples(index, epoch=3):
            image = transform(image)             # the same for (seed, epoch, index) in any worker, rank or resumed run

    Also after motley.torchvision.take_over(). Each thread and task has its own block; blocks nest.

    Args:
        ids: The whole number of the sample in its data set; or, for a batch, one for each image along its first axis.
        epoch: Samples get new draws in each epoch. None: that of the DataLoader's pass that is being read, elsewhere 0.
        view: And in each view of an epoch, for samples that are read several times.
    """

    def __init__(self, ids: Ids, *, epoch: int | None = None, view: int = 0) -> None:
        if isinstance(ids, (bool, str, bytes)) or not (hasattr(ids, "__index__") or hasattr(ids, "__len__")):
            raise ArgumentError(f"ids is {ids!r}, want a whole number, or one for each image")
        self.ids = ids.__index__() if getattr(ids, "ndim", 0) == 0 and hasattr(ids, "__index__") else ids
        if epoch is None:
            loading = epochs.current()
            epoch = 0 if loading is None else loading.epoch
            if loading is not None:
                loading.drawn = 1
        self.rest = {"epoch": epoch_given(epoch), "view": view_given(view)}
        self._tokens = []

    def __enter__(self) -> samples:
        self._tokens.append(_block.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _block.reset(self._tokens.pop())


def draws_by_id(transform):
    """Whether a transform's next call draws by a sample id: in a block, or by its own seed and number of calls."""
    return _block.get() is not None or vars(transform).get("_seed") is not None


def samples_of(transform, fresh_seed):
    """seed, sample ids and further arguments for a stage, of a transform's next call: as the block around it says; or
    by the transform's own seed and number of calls; or by a seed that `fresh_seed` draws, different in each rank."""
    block, own = _block.get(), vars(transform).get("_seed")
    if block is not None:
        epochs.note(type(transform).__name__, own or 0, block.ids, **block.rest)
        return own or 0, block.ids, block.rest
    if own is None:
        return fresh_seed() ^ rank_key(), 0, {}
    count = vars(transform).get("_calls", 0)
    vars(transform)["_calls"] = count + 1
    return own ^ process_key(None), count, {}


def group_ids(ids: _Ids, counts: int | Sequence[int]) -> _Ids:
    """The ids of images in groups that are to draw alike, such as the frames of a clip or a stereo pair: each id as
    often as its group has images.

        ids = motley.group_ids(indices, 16)                    # of clips [N, 16, C, H, W]
        clips = stage(clips.flatten(0, 1), sample_ids=ids).unflatten(0, (-1, 16))

    Images of one id draw the same operations at the same levels. Where they differ in size, values that are relative to
    it differ as well. Operations that use an image's statistics (equalize, auto_contrast, contrast) take each
    image's own, as torchvision's do on a video.

    Args:
        ids: Of the groups: a list, or an array or tensor [N] or [N, 2] (an id and a view), which gives one of its kind.
        counts: How many images a group has: a number, or one for each group.
    """
    if hasattr(counts, "__index__") and getattr(counts, "ndim", 0) == 0:
        counts = [counts] * len(ids)
    elif len(counts) != len(ids):
        raise ArgumentError(f"counts has {len(counts)} numbers, there are {len(ids)} ids")
    counts = [whole("counts", count, 0, (1 << 31) - 1, "from 0, of images in each group") for count in counts]
    places = [place for place, count in enumerate(counts) for _ in range(count)]
    if not hasattr(ids, "ndim"):
        return [ids[place] for place in places]
    if KINDS[type(ids)] is None:  # JAX's arrays take no list
        import numpy

        return ids[numpy.array(places, int)]
    return ids[places]
