# SPDX-License-Identifier: Apache-2.0
"""Lightning: batches are augmented where they arrive on the device.

    class Model(Augments, lightning.LightningModule):      # or Augments, lightning.LightningDataModule
        def __init__(self):
            super().__init__()
            self.augments(motley.torch.Stage('rand_augment', mean=MEAN, std=STD, dtype=torch.float32))
"""


class Augments:
    """A mixin, to stand before LightningModule or LightningDataModule. While the trainer trains, a batch's images run
    through the stage, with the trainer's epoch; while it validates, tests or predicts, they are only normalised, cast
    and laid out."""

    def augments(self, stage, *, images=0, ids=None):
        """stage: a motley.torch.Stage. images, ids: where in a batch these are, an index or a key; ids may be None."""
        self._motley = stage, images, ids

    def on_before_batch_transfer(self, batch, dataloader_idx):
        batch = super().on_before_batch_transfer(batch, dataloader_idx)
        ids = self._motley[2]
        self._motley_ids = None if ids is None else batch[ids]  # wanted on the CPU, where they still are
        return batch

    def on_after_batch_transfer(self, batch, dataloader_idx):
        from motley.torch.batches import replaced
        batch = super().on_after_batch_transfer(batch, dataloader_idx)
        stage, images, _ = self._motley
        stage.to(batch[images].device).train(self.trainer.training)
        if self._motley_epoch != self.trainer.current_epoch:
            self._motley_epoch = self.trainer.current_epoch
            stage.set_epoch(self._motley_epoch)
        return replaced(batch, images, stage(batch[images], self._motley_ids))

    _motley_epoch = None
