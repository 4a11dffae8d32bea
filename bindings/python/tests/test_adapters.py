# SPDX-License-Identifier: Apache-2.0
"""The adapters, each in the loader that it is for: a sample gets what the core package gives its id, in any batch or
worker. And the examples, which have to run as they are."""
import io
import pathlib
import runpy

import numpy as np
import pytest
from conftest import DEVICES
from PIL import Image

import motley

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples/python"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def arrays(count=16, height=20, width=24, seed=1):
    return np.random.default_rng(seed).integers(0, 256, (count, height, width, 3), np.uint8)


def wanted(images, ids, epoch=0, policy="rand_augment", seed=7):
    return motley.Stage(policy, seed=seed, epoch=epoch)(images, sample_ids=ids)


def same(got, want):
    return len(got) == len(want) and all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(got, want))


# ---- dicts of columns ----

@pytest.mark.parametrize("kind", ["array", "pictures", "ragged", "objects"])
def test_columns(kind):
    from motley.adapters.columns import Augment
    images = {"array": arrays(), "pictures": [Image.fromarray(a) for a in arrays()],
              "ragged": [a[:5 + i] for i, a in enumerate(arrays())]}
    images["objects"] = np.empty(16, object)
    images["objects"][:] = images["ragged"]
    images = images[kind]
    ids = np.arange(16)[::-1] * 3
    augment = Augment("rand_augment", image="pixels", ids="where", seed=7)
    batch = {"pixels": images, "where": ids, "label": list("abcdefghijklmnop")}
    for epoch in (0, 5):
        augment.set_epoch(epoch)
        out = augment(batch)
        assert out["label"] is batch["label"] and out["where"] is ids
        assert same(out["pixels"], wanted(list(images) if kind == "objects" else images, ids, epoch))
    assert batch["pixels"] is images
    split = [Augment("rand_augment", image="pixels", ids="where", seed=7, epoch=5)(
        {"pixels": images[i:i + 3], "where": ids[i:i + 3]})["pixels"] for i in range(0, 16, 3)]
    assert same([image for part in split for image in part], out["pixels"])


def test_columns_without_ids_follow_what_seeds_the_process():
    import random
    torch = pytest.importorskip("torch")
    from motley.adapters.columns import Augment
    augment, batch = Augment("trivial_augment_wide"), {"image": arrays()}

    def twice():
        torch.manual_seed(3)
        random.seed(3)
        return [augment(batch)["image"] for _ in range(2)]
    first, second = twice()
    assert not np.array_equal(first, second) and same(twice(), [first, second])


def test_columns_of_no_images():
    from motley.adapters.columns import Augment
    assert Augment("rand_augment")({"image": []}) == {"image": []}
    with pytest.raises(KeyError):
        Augment("rand_augment")({"pixels": []})


# ---- loaders ----

def test_hugging_face():
    datasets = pytest.importorskip("datasets")
    from motley.adapters.columns import Augment
    pictures = [Image.fromarray(a[:5 + i]) for i, a in enumerate(arrays())]
    columns = {"image": pictures, "id": list(range(16))}
    dataset = datasets.Dataset.from_dict(columns, features=datasets.Features(
        image=datasets.Image(), id=datasets.Value("int64")))
    augment = Augment("rand_augment", ids="id", seed=7)
    dataset.set_transform(augment)
    for epoch in (0, 1):
        augment.set_epoch(epoch)
        want = wanted(pictures, range(16), epoch)
        assert same(dataset[:]["image"], want) and same([dataset[11]["image"]], want[11:12])
        shuffled = dataset.shuffle(seed=1)[:]
        assert same(shuffled["image"], [want[i] for i in shuffled["id"]])


def test_ray_data(capsys):
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    try:
        example = runpy.run_path(str(EXAMPLES / "ray_data.py"), run_name="__main__")
        assert "128 images of 2 epochs" in capsys.readouterr().out
        for epoch in range(2):  # the union of two workers' is what one process gives
            rows = [example["seen"][epoch, i] for i in range(64)]
            assert same(rows, wanted(example["pictures"], range(64), epoch))
        rows = {}
        for batch in example["epoch_of"](example["dataset"], 1, workers=1).iter_batches(batch_size=7):
            rows.update(zip(batch["id"].tolist(), batch["image"]))
        assert same([rows[i] for i in range(64)], wanted(example["pictures"], range(64), 1))
    finally:
        ray.shutdown()


def shards(folder, count):
    webdataset = pytest.importorskip("webdataset")
    for s in range(2):
        with webdataset.TarWriter(str(folder / f"{s}.tar")) as shard:
            for i in range(s, count, 2):
                data = io.BytesIO()
                Image.fromarray(arrays()[i]).save(data, "PNG")
                shard.write({"__key__": f"picture{i:03}", "png": data.getvalue(), "cls": i})
    return webdataset


@pytest.mark.parametrize("workers", [0, 2])
def test_webdataset(tmp_path, workers):
    webdataset = shards(tmp_path, 16)
    torch = pytest.importorskip("torch")
    from motley.adapters.webdataset import Augment, id_of
    ids = [id_of(f"picture{i:03}") for i in range(16)]
    assert len(set(ids)) == 16 and id_of("picture000") == 7541879786988426863
    for epoch in (0, 2):
        dataset = webdataset.WebDataset(str(tmp_path / "{0..1}.tar"), shardshuffle=False).decode("pil").map(
            Augment("rand_augment", seed=7, epoch=lambda epoch=epoch: epoch)).to_tuple("png", "cls")
        loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=workers)
        got = {int(label): np.asarray(image) for image, label in loader}
        want = wanted([Image.fromarray(a) for a in arrays()], ids, epoch)
        assert same([got[i] for i in range(16)], want)


def test_webdataset_names_what_is_missing():
    from motley.adapters.webdataset import Augment
    with pytest.raises(KeyError, match="'a7' has no jpg or jpeg or png or webp or ppm, only tiff, cls"):
        Augment("rand_augment")({"__key__": "a7", "tiff": 1, "cls": 2})
    picture = Image.fromarray(arrays(1)[0])
    assert Augment("rand_augment", image="view")({"__key__": "a", "view": picture})["view"].size == picture.size


@pytest.mark.parametrize("device", DEVICES)
def test_lightning(device):
    lightning, torch = pytest.importorskip("lightning"), pytest.importorskip("torch")
    import motley.torch
    from motley.adapters.lightning import Augments
    images = torch.from_numpy(arrays()).permute(0, 3, 1, 2)
    seen = []

    class Model(Augments, lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))
            self.augments(motley.torch.Stage("rand_augment", mean=MEAN, std=STD, dtype=torch.float32, seed=7), ids=1)

        def training_step(self, batch, _):
            seen.append((self.current_epoch, True, *(t.cpu() for t in batch)))
            return self.weight.sum()

        def validation_step(self, batch, _):
            seen.append((self.current_epoch, False, *(t.cpu() for t in batch)))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    def loader(shuffle):
        return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, torch.arange(16)), 5, shuffle)
    lightning.Trainer(max_epochs=2, accelerator="gpu" if device == "cuda" else "cpu", devices=1, logger=False,
                      enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                      num_sanity_val_steps=0).fit(Model(), loader(True), loader(False))
    assert [(epoch, training) for epoch, training, _, _ in seen] == 4 * [(0, True)] + 4 * [(0, False)] + 4 * [
        (1, True)] + 4 * [(1, False)]
    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (MEAN, STD))
    for epoch, training, batch, ids in seen:
        u8 = wanted(images[ids], ids, epoch) if training else images[ids]
        assert torch.equal(batch, (u8.float() / 255 - mean) / std)


@pytest.mark.parametrize("order", ["SEQUENTIAL", "RANDOM"])
@pytest.mark.parametrize("device", DEVICES)
def test_ffcv(tmp_path, order, device):
    pytest.importorskip("ffcv")
    torch = pytest.importorskip("torch")
    from ffcv.fields import IntField, RGBImageField
    from ffcv.fields.basics import IntDecoder
    from ffcv.fields.rgb_image import SimpleRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import Squeeze, ToDevice, ToTensor, ToTorchImage
    from ffcv.writer import DatasetWriter

    import motley.torch
    from motley.adapters.ffcv import Augment
    pictures, path = arrays(), str(tmp_path / "pictures.beton")
    DatasetWriter(path, {"image": RGBImageField(), "label": IntField()}, num_workers=1).from_indexed_dataset(
        list(zip(pictures, range(16))))
    stage = motley.torch.Stage("rand_augment", mean=MEAN, std=STD, dtype=torch.float32, seed=7).to(device)
    move = [ToDevice(torch.device("cuda"))] if device == "cuda" else []
    loader = Loader(path, batch_size=5, num_workers=1, order=OrderOption[order], drop_last=False, pipelines={
        "image": [SimpleRGBImageDecoder(), ToTensor(), *move, ToTorchImage(), Augment(stage)],
        "label": [IntDecoder(), ToTensor(), Squeeze()]})
    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (MEAN, STD))
    for epoch in (0, 3):
        stage.set_epoch(epoch)
        rows = {}
        for images, labels in loader:
            rows.update(zip(labels.flatten().tolist(), images.cpu().clone()))
        u8 = torch.from_numpy(wanted(pictures, range(16), epoch)).permute(0, 3, 1, 2)
        assert torch.equal(torch.stack([rows[i] for i in range(16)]), (u8.float() / 255 - mean) / std)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("with_ids", [True, False])
def test_dali(device, with_ids):
    dali, torch = pytest.importorskip("nvidia.dali"), pytest.importorskip("torch")
    from nvidia.dali import fn, pipeline_def

    from motley.adapters.dali import augment
    pictures, epoch = [a[:5 + i] for i, a in enumerate(arrays())], [0]

    @pipeline_def(batch_size=8, num_threads=2, device_id=0 if device == "cuda" else None, prefetch_queue_depth=1)
    def pipeline():
        images, ids = fn.external_source(
            lambda sample: (pictures[sample.idx_in_epoch % 16], np.int64(sample.idx_in_epoch % 16)), num_outputs=2,
            batch=False)
        return augment(images.gpu() if device == "cuda" else images, ids if with_ids else None,
                       policy="rand_augment", seed=7, epoch=lambda: epoch[0]), ids
    pipe = pipeline()
    pipe.build()
    passes = []
    torch.manual_seed(1)
    for _ in range(2):
        got = {}
        for _ in range(2):
            images, ids = pipe.run()
            images = images.as_cpu() if device == "cuda" else images
            got.update({int(ids.at(i)): np.array(images.at(i)) for i in range(8)})
        passes.append([got[i] for i in range(16)])
    assert dali.__version__
    if with_ids:
        assert same(passes[0], wanted(pictures, range(16))) and same(passes[1], passes[0])
    else:
        assert not same(passes[0], passes[1])
        assert [a.shape for a in passes[0]] == [a.shape for a in pictures]


# ---- the examples ----

NEEDS = {"dali_pipeline.py": ["nvidia.dali", "torch"], "dataloader.py": ["torch"],
         "ffcv_loader.py": ["ffcv", "torch"], "huggingface.py": ["datasets"], "lightning_module.py": ["lightning"],
         "torchvision_script.py": ["torchvision"],
         "webdataset_shards.py": ["webdataset", "torchvision"]}
ELSEWHERE = {"custom_cutout.py": "test_custom.py", "ddp.py": "test_ddp.py", "ray_data.py": "test_ray_data"}
PRINTS = {"dali_pipeline.py": "7: (31, 32, 3) mean", "dataloader.py": "4 batches, the same in all three places",
          "ffcv_loader.py": "epoch 1: means", "huggingface.py": "epoch 1: 32x24 mean", "lightning_module.py": "loss ",
          "torchvision_script.py": "augmented by torchvision",
          "webdataset_shards.py": "images (16, 3, 32, 32)"}


def test_every_example_is_tested():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*NEEDS, *ELSEWHERE} and set(NEEDS) == set(PRINTS)


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_example_runs(name, capsys):
    for package in NEEDS[name]:
        pytest.importorskip(package)
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert PRINTS[name] in capsys.readouterr().out
