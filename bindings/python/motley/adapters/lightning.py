# SPDX-License-Identifier: Apache-2.0
"""Lightning: batches are augmented where they arrive on the device.

class Model(Augments, lightning.LightningModule):      # or Augments, lightning.LightningDataModule
    def __init__(self):
        super().__init__()
        self.augments(motley.torch.Transform('rand_augment', mean=MEAN, std=STD, dtype=torch.float32))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

import motley.torch
from motley.adapters import refuse_mixing, refuse_views
from motley.torch.data import item, replaced


class Augments:
    """A mixin; list it before LightningModule or LightningDataModule. During training, a batch's images run through the
    transform with the trainer's epoch. During validation, test and prediction the transform is in eval(), where it does
    what draws nothing: normalising, casting, layout, resizing, cropping the centre. Its state is in checkpoints."""

    if TYPE_CHECKING:
        trainer: Any  # of the class beside it
    _motley_epoch: int | None = None

    def augments(
        self,
        transform: motley.torch.Transform,
        *,
        evaluation: motley.torch.Transform | None = None,
        images: int | str = 0,
        ids: int | str | None = None,
    ) -> None:
        """Says what the images of a batch run through.

        Args:
            transform: A motley.torch.Transform.
            evaluation: The same for validation, test and prediction; None: `transform` in eval(). One that crops at
                random wants one, such as motley.torch.Transform("torchvision_eval").
            images: Where in a batch they are, an index or a key: a tensor, or a list for a transform.
            ids: Where their sample ids are, or None; batches that are not trained on need have none.
        """
        refuse_mixing(transform)
        refuse_views(transform, "Lightning's hook")
        self.motley_transform, self.motley_evaluation = transform, evaluation  # to a LightningModule submodules
        self._motley_images, self._motley_ids_at = images, ids

    def on_before_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        beside: Any = super()
        batch = beside.on_before_batch_transfer(batch, dataloader_idx)
        with_ids = self._motley_ids_at is not None and self.trainer.training  # wanted on the CPU, where they still are
        self._motley_ids = item(batch, self._motley_ids_at, "sample ids") if with_ids else None
        return batch

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        beside: Any = super()
        batch = beside.on_after_batch_transfer(batch, dataloader_idx)
        transform, at = self.motley_transform, self._motley_images
        images = item(batch, at, "images")
        if not self.trainer.training and self.motley_evaluation is not None:
            transform = self.motley_evaluation
        transform.train(self.trainer.training)
        first = images[0] if isinstance(images, (list, tuple)) else images
        if isinstance(first, torch.Tensor):
            transform.to(first.device)
        if self.trainer.training and self._motley_epoch != self.trainer.current_epoch:
            # In the first pass a transform that a checkpoint has restored to this epoch keeps its place in it.
            if self._motley_epoch is not None or transform.epoch != self.trainer.current_epoch:
                transform.set_epoch(self.trainer.current_epoch)
            self._motley_epoch = self.trainer.current_epoch
        return replaced(batch, at, transform(images, sample_ids=self._motley_ids))

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        beside: Any = super()
        state = beside.state_dict(*args, **kwargs)
        if not isinstance(self, torch.nn.Module):
            state["motley_transform"] = self.motley_transform.state_dict()
        return state

    def load_state_dict(self, state: Any, *args: Any, **kwargs: Any) -> Any:
        beside: Any = super()
        if isinstance(self, torch.nn.Module):
            return beside.load_state_dict(state, *args, **kwargs)
        self.motley_transform.load_state_dict(state["motley_transform"])
        return beside.load_state_dict({key: value for key, value in state.items() if key != "motley_transform"})
