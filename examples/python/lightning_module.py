# SPDX-License-Identifier: Apache-2.0
"""Lightning: the module's batches are augmented on its device, and only normalised while it validates."""

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

import motley.torch

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.augment = motley.torch.Transform("rand_augment", mean=MEAN, std=STD, dtype=torch.float32)
        self.model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 10))

    def on_after_batch_transfer(self, batch: list[torch.Tensor], dataloader_idx: int) -> list[torch.Tensor]:
        images, labels = batch
        return [self.augment(images), labels]  # in eval(), where Lightning validates, only normalised

    def training_step(self, batch: list[torch.Tensor], batch_idx: int) -> torch.Tensor:
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.model(images), labels)

    def validation_step(self, batch: list[torch.Tensor], batch_idx: int) -> None:
        images, labels = batch
        self.log("loss", torch.nn.functional.cross_entropy(self.model(images), labels))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)


if __name__ == "__main__":
    pictures = torch.randint(256, (64, 3, 32, 32), dtype=torch.uint8)
    loader = DataLoader(TensorDataset(pictures, torch.arange(64) % 10), batch_size=16)
    trainer = lightning.Trainer(
        max_epochs=2, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False
    )
    trainer.fit(Classifier(), loader, loader)
    print(f"loss {trainer.callback_metrics['loss'].item():.3f}")
