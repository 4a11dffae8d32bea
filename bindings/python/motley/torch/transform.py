# SPDX-License-Identifier: Apache-2.0
"""A whole transform as a module of torch: decoded images of any sizes in, the network's input out."""

import copy

import torch

import motley
from motley.checks import rank_given, seed_given, whole
from motley.epochs import Repeats
from motley.processes import Lineage
from motley.torch.stage import Stage


class Transform(Stage):
    """A motley.Transform as a module: decoded images of any sizes become one tensor of the network's input.

        transform = motley.torch.Transform("torchvision_train", memory_format=torch.channels_last)
        batch = transform(images, ids)       # a list of uint8 tensors [C, H, W], PIL images or arrays: [N, 3, 224, 224]

    It goes wherever a motley.torch.Stage goes: into MotleyCollate, Prefetcher and Augmented. train() and eval() change
    nothing, as an evaluation has a transform of its own ("torchvision_eval"). torch.compile runs it as it is.

    Args:
        transform: A built-in's name, a path, a text, or a motley.Transform, whose own settings then count.
        dtype: torch.float32, float16, bfloat16 or uint8, in place of the file's.
        memory_format: torch.contiguous_format or torch.channels_last, in place of the file's layout.
        seed, rank, views: As Stage's.
        threads: Of CPU work, as motley.Stage's.
    """

    def __init__(self, transform, *, dtype=None, memory_format=None, seed=0, rank=None, views=1, threads=None):
        torch.nn.Module.__init__(self)
        if not isinstance(transform, motley.Transform):
            transform = motley.Transform(
                transform, seed=seed, dtype=dtype, memory_format=memory_format, threads=threads
            )
        elif dtype is not None or memory_format is not None or seed or threads is not None:
            raise motley.ArgumentError(
                "a motley.Transform is given, and settings beside it: want them in the one or the other"
            )
        self.transform = copy.copy(transform)
        self.seed = (seed_given(transform.seed) + (1 << 63)) % (1 << 64) - (1 << 63)  # as Stage, whose state it has
        self.rank, self.views = (
            rank_given(rank if rank is not None else transform.rank),
            whole("views", views, 1, 65536, "from 1"),
        )
        self._begun, self._repeats, self._lineage = False, Repeats(motley.Stage.ADVICE), Lineage()
        self.register_buffer("counter", torch.zeros(2, dtype=torch.int64).share_memory_())

    def forward(self, images, sample_ids=None, view=0, *, out=None, return_draws=False):
        """Transforms images: a list of any sizes, a batch, or one image.

        Args:
            images: Tensors, PIL images or arrays; uint8.
            sample_ids, view, out, return_draws: As of motley.Stage.

        Returns:
            A tensor on the images' device; with return_draws, beside it what motley.Transform returns.
        """
        epoch, first = self.counter.tolist()
        transform = self.transform
        transform.epoch, transform.next_sample = epoch, first
        transform.seed, transform.rank, transform._repeats = seed_given(self.seed), self.rank, self._repeats
        result = transform(
            images, sample_ids=sample_ids, view=view, views=self.views, out=out, return_draws=return_draws
        )
        if sample_ids is None:
            self.counter[1] += transform.next_sample - first
        if self.views != 1:
            return tuple(_of_torch(each, return_draws) for each in result)
        return _of_torch(result, return_draws)

    def replay(self, images, draws, *, out=None):
        """As motley.Transform's; the result is a tensor."""
        return _of_torch(self.transform.replay(images, draws, out=out), False)

    def extra_repr(self):
        return ", ".join(
            [
                repr(self.transform),
                *(
                    f"{name}={getattr(self, name)}"
                    for name, default in (("rank", None), ("views", 1))
                    if getattr(self, name) != default
                ),
            ]
        )


def _of_torch(result, with_draws):
    """NumPy's arrays, which PIL images become, as tensors; PIL images stay some where no stage makes numbers of them."""
    made, *draws = result if with_draws else (result,)
    made = torch.from_numpy(made) if hasattr(made, "dtype") and not isinstance(made, torch.Tensor) else made
    return (made, *draws) if with_draws else made
