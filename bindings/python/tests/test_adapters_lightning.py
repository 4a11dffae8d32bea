# SPDX-License-Identifier: Apache-2.0
"""Lightning: batches are augmented in training, by sample id and epoch, and validation's are not."""

import os
import sys

import pytest
from conftest import DEVICES, output_of

lightning, torch = pytest.importorskip("lightning"), pytest.importorskip("torch")
from torch.utils.data import DataLoader, Dataset, DistributedSampler, TensorDataset  # noqa: E402

import motley.torch  # noqa: E402
from motley.adapters.lightning import Augments  # noqa: E402
from motley.torch import Augmented, Indexed, Sampler, Transform, list_images  # noqa: E402

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


class Augmenting(Augments, Model):
    def __init__(self, transform=None, **how):
        super().__init__()
        self.augments(transform or Transform("trivial_augment_wide", seed=7), **how)


def trainer(device="cpu", **options):
    off = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    options = {"max_epochs": 2, **dict.fromkeys(off, False), "num_sanity_val_steps": 0, **options}
    return lightning.Trainer(accelerator="gpu" if device == "cuda" else "cpu", devices=1, **options)


def fit(module, *loaders, device="cpu", **options):
    trainer(device, **options).fit(module, *loaders)
    return module


@pytest.mark.parametrize("device", DEVICES)
def test_batches_are_augmented_and_normalised(device):
    transform = Transform("trivial_augment_wide", mean=MEAN, std=STD, dtype=torch.float32, seed=7)
    model = fit(Augmenting(transform, ids=1), DataLoader(data(), 5, True), DataLoader(data(), 5), device=device)
    assert [(epoch, training) for epoch, training, *_ in model.seen] == [
        (epoch, training) for epoch in (0, 1) for training in (True, False) for _ in range(5)
    ]
    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (MEAN, STD))
    for epoch, training, batch, ids in model.seen:
        u8 = wanted(ids, epoch) if training else pictures()[ids]
        assert torch.equal(batch, (u8.float() / 255 - mean) / std)


class Uneven(Dataset):
    """Images of many sizes."""

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return pictures()[i][..., : 20 - i // 2], i


@pytest.mark.parametrize("kind", ["still", "evaluation", "crop"])
@pytest.mark.parametrize("device", DEVICES)
def test_policies_with_stages(device, kind):
    """Validation images are not augmented; batches may be lists of images of any sizes."""
    crop = "resize" if kind == "still" else "random_resized_crop"
    text = f"motley: 1\nname: t\nstages:\n  - {crop}: {{size: [16, 12]}}\n  - policy: rand_augment\n  - output: {{}}\n"
    still = motley.Transform("motley: 1\nname: s\nstages:\n  - resize: {size: [16, 12]}\n  - output: {}\n")
    own = {"evaluation": Transform(still)} if kind == "evaluation" else {}
    model = Augmenting(Transform(text, seed=7), ids=1, **own)
    loaders = [DataLoader(Uneven(), 5, shuffle, collate_fn=list_images) for shuffle in (True, False)]
    if kind == "crop":
        with pytest.raises(motley.UnsupportedError, match="'random_resized_crop' crops at random. Want another"):
            fit(model, *loaders, device=device)
        return
    fit(model, *loaders, device=device)
    assert [training for _, training, *_ in model.seen] == 2 * (5 * [True] + 5 * [False])
    whole = motley.Transform(text, seed=7)
    for epoch, training, batch, ids in model.seen:
        given = [Uneven()[i][0] for i in ids]
        assert torch.equal(batch, whole(given, sample_ids=ids, epoch=epoch) if training else still(given))


def test_views_are_refused():
    several = motley.MultiView("dino")
    with pytest.raises(motley.UnsupportedError, match="'dino' has several views .* Lightning's hook has one result"):
        Augments().augments(several)


def test_the_transform_is_in_checkpoints(tmp_path):
    whole = fit(Augmenting(), DataLoader(data(), 6), max_epochs=3)
    assert "motley_transform._extra_state" in whole.state_dict()
    some = trainer(max_epochs=None, max_steps=6)
    some.fit(Augmenting(), DataLoader(data(), 6))
    some.save_checkpoint(tmp_path / "after.ckpt")
    state = torch.load(tmp_path / "after.ckpt", weights_only=False)["state_dict"]
    assert state["motley_transform._extra_state"].tolist() == [1, 7, 36, 1]


def test_validation_needs_no_ids():
    model = fit(Augmenting(ids=2), DataLoader(Indexed(data()), 6), DataLoader(data(), 6))
    trained = [(epoch, images, ids) for epoch, training, images, ids, *_ in model.seen if training]
    assert len(trained) == 8 and all(torch.equal(images, wanted(ids, epoch)) for epoch, images, ids in trained)
    with pytest.raises(motley.ArgumentError, match="a batch has no sample ids at 2: it has 2 items; motley.torch.Ind"):
        fit(Augmenting(ids=2), DataLoader(data(), 6))


def test_data_modules_keep_the_transform():
    class Module(Augments, lightning.LightningDataModule):
        def __init__(self):
            super().__init__()
            self.augments(Transform("trivial_augment_wide", seed=7))

    module, again = Module(), Module()
    module.motley_transform.set_epoch(4)
    again.load_state_dict(module.state_dict())
    assert again.motley_transform.epoch == 4


TWO_RANKS = """
import sys
import lightning, torch
from torch.utils.data import DataLoader, TensorDataset
import motley.torch
from motley.adapters.lightning import Augments

class Model(Augments, lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.weight, self.seen = torch.nn.Parameter(torch.zeros(1)), []
        self.augments(motley.torch.Transform("trivial_augment_wide"))  # as doc/python.md has it: no rank, no ids

    def training_step(self, batch, _):
        self.seen += list(batch[0])
        return self.weight.sum()

    def on_train_end(self):
        torch.save(torch.stack(self.seen), f"{sys.argv[1]}/{self.global_rank}.pt")

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

lightning.seed_everything(1)
same = torch.randint(256, (1, 3, 16, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
loader = DataLoader(TensorDataset(same.expand(64, -1, -1, -1)), batch_size=8)
lightning.Trainer(max_epochs=2, accelerator="cpu", devices=2, strategy="ddp", logger=False, enable_checkpointing=False,
                  enable_progress_bar=False, enable_model_summary=False).fit(Model(), loader)
"""


@pytest.mark.slow
def test_ranks_draw_apart(tmp_path):
    (tmp_path / "train.py").write_text(TWO_RANKS)
    clean = {k: v for k, v in os.environ.items() if "RANK" not in k and k not in ("WORLD_SIZE", "MASTER_PORT")}
    output_of(sys.executable, tmp_path / "train.py", tmp_path, env=clean, timeout=300)
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    assert len(first) == len(second) == 64  # 32 of each epoch
    assert sum(map(torch.equal, first, second)) < 16
    for seen in (first, second):
        assert sum(map(torch.equal, seen[:32], seen[32:])) < 8  # nor is an epoch the other


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("sampled", [False, True])
def test_a_resumed_run_has_its_epoch(tmp_path, sampled, workers):
    """Lightning tells the Sampler, also of a pass that it has begun before."""

    def trained(epochs, **how):
        dataset, model = Augmented(data(), "trivial_augment_wide", seed=7), Model()
        sampler = Sampler(DistributedSampler(dataset, num_replicas=1, rank=0) if sampled else dataset)
        one = trainer(max_epochs=epochs)
        one.fit(model, DataLoader(dataset, 6, sampler=sampler, num_workers=workers), **how)
        return one, model.seen

    first, seen = trained(2)
    first.save_checkpoint(tmp_path / "two.ckpt")
    _, later = trained(4, ckpt_path=tmp_path / "two.ckpt")
    assert [epoch for epoch, *_ in seen + later] == [epoch for epoch in range(4) for _ in range(4)]
    for epoch, _, images, ids in seen + later:
        assert torch.equal(images, wanted(ids, epoch)), epoch
