# SPDX-License-Identifier: Apache-2.0
"""Lightning: batches are augmented in training, and validation's are not; by a Sampler a resumed run goes on. Ranks are
test_random_ddp.py's."""

import pytest
from conftest import DEVICES

lightning, torch = pytest.importorskip("lightning"), pytest.importorskip("torch")
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset  # noqa: E402

import motley.torch  # noqa: E402
from motley.torch import Augmented, Sampler, Transform  # noqa: E402

COUNT, MEAN, STD = 24, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def pictures():
    generator = torch.Generator().manual_seed(1)
    return torch.randint(256, (COUNT, 3, 20, 24), generator=generator, dtype=torch.uint8)


def data():
    return TensorDataset(pictures(), torch.arange(COUNT))


def wanted(ids, epoch=0):
    return motley.Transform("trivial_augment_wide", seed=7)(pictures()[ids], sample_ids=ids, epoch=epoch)


class Model(lightning.LightningModule):
    """Keeps what it sees: (epoch, whether it trains, the batch's items)."""

    def __init__(self):
        super().__init__()
        self.weight, self.seen = torch.nn.Parameter(torch.zeros(1)), []

    def training_step(self, batch, _):
        self.seen.append((self.current_epoch, self.trainer.training, *(t.cpu() for t in batch)))
        return self.weight.sum()

    validation_step = training_step

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Augmenting(Model):
    """As doc/loaders.md has it."""

    def __init__(self, transform):
        super().__init__()
        self.augment = transform

    def on_after_batch_transfer(self, batch, _):
        return [self.augment(batch[0]), batch[1]]


def trainer(device="cpu", **options):
    off = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    options = {"max_epochs": 2, **dict.fromkeys(off, False), "num_sanity_val_steps": 0, **options}
    return lightning.Trainer(accelerator="gpu" if device == "cuda" else "cpu", devices=1, **options)


def fit(module, *loaders, device="cpu", **options):
    trainer(device, **options).fit(module, *loaders)
    return module


@pytest.mark.parametrize("device", DEVICES)
def test_batches_are_augmented_in_training_and_normalised_always(device):
    transform = Transform("trivial_augment_wide", mean=MEAN, std=STD, dtype=torch.float32, seed=7)
    model = fit(Augmenting(transform), DataLoader(data(), 5), DataLoader(data(), 5), device=device)
    assert [(epoch, training) for epoch, training, *_ in model.seen] == [
        (epoch, training) for epoch in (0, 1) for training in (True, False) for _ in range(5)
    ]
    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (MEAN, STD))
    counted = motley.Transform("trivial_augment_wide", seed=7)  # whose samples without ids go on in the second epoch
    for _, training, batch, ids in model.seen:
        u8 = counted(pictures()[ids]) if training else pictures()[ids]
        assert torch.equal(batch, (u8.float() / 255 - mean) / std)
    assert model.state_dict()["augment._extra_state"].tolist() == [1, 7, 2 * COUNT, -1]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("sampled", [False, True])
def test_a_resumed_run_has_its_epoch(tmp_path, sampled, workers):
    """Lightning tells the Sampler, but begins the first pass of a resumed run before: the script says its epoch."""

    def trained(epochs, start=0, **how):
        dataset, model = Augmented(data(), "trivial_augment_wide", seed=7), Model()
        sampler = Sampler(DistributedSampler(dataset, num_replicas=1, rank=0) if sampled else dataset, start)
        one = trainer(max_epochs=epochs)
        one.fit(model, DataLoader(dataset, 6, sampler=sampler, num_workers=workers), **how)
        return one, model.seen

    first, seen = trained(2)
    first.save_checkpoint(tmp_path / "two.ckpt")
    _, later = trained(4, 2, ckpt_path=tmp_path / "two.ckpt")
    assert [epoch for epoch, *_ in seen + later] == [epoch for epoch in range(4) for _ in range(4)]
    for epoch, _, images, ids in seen + later:
        assert torch.equal(images, wanted(ids, epoch)), epoch
