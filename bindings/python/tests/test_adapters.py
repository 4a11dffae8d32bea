# SPDX-License-Identifier: Apache-2.0
"""The adapters, each in the loader that it is for: a sample gets what the core package gives its id, in any batch or
worker. And the examples, which have to run as they are."""

import gc
import io
import pathlib
import runpy
import sys

import numpy as np
import pytest
from conftest import DEVICES, output_of, refused
from PIL import Image

import motley
from motley.adapters.columns import Augment
from motley.adapters.webdataset import Augment as WebAugment
from motley.adapters.webdataset import id_of

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples/python"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def arrays(count=16, height=20, width=24, seed=1):
    return np.random.default_rng(seed).integers(0, 256, (count, height, width, 3), np.uint8)


def wanted(images, ids, epoch=0, policy="rand_augment", seed=7):
    return motley.Transform(policy, seed=seed, epoch=epoch)(images, sample_ids=ids)


def same(got, want):
    return len(got) == len(want) and all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(got, want))


TRANSFORM = """motley: 1
name: small
stages:
  - random_resized_crop: {size: [16, 20]}
  - flip: {horizontal: 0.5}
  - policy: rand_augment
  - output: {mean: 0.5, std: 0.25}
"""


def ragged():
    return [a[: 5 + i] for i, a in enumerate(arrays())]


def transformed(images, ids, epoch=0, **settings):
    return motley.Transform(TRANSFORM, seed=7, **settings)(list(images), sample_ids=ids, epoch=epoch)


# ---- dicts of columns ----


@pytest.mark.parametrize("kind", ["array", "pictures", "ragged", "objects"])
def test_columns(kind):
    images = {
        "array": arrays(),
        "pictures": [Image.fromarray(a) for a in arrays()],
        "ragged": [a[: 5 + i] for i, a in enumerate(arrays())],
    }
    images["objects"] = np.empty(16, object)
    images["objects"][:] = images["ragged"]
    images = images[kind]
    ids = np.arange(16)[::-1] * 3
    now = [0]
    augment = Augment("rand_augment", image="pixels", ids="where", seed=7, epoch=lambda: now[0])
    batch = {"pixels": images, "where": ids, "label": list("abcdefghijklmnop")}
    for epoch in (0, 5):
        now[0] = epoch
        out = augment(batch)
        assert out["label"] is batch["label"] and out["where"] is ids
        assert same(out["pixels"], wanted(list(images) if kind == "objects" else images, ids, epoch))
    assert batch["pixels"] is images
    split = [
        Augment("rand_augment", image="pixels", ids="where", seed=7, epoch=5)(
            {"pixels": images[i : i + 3], "where": ids[i : i + 3]}
        )["pixels"]
        for i in range(0, 16, 3)
    ]
    assert same([image for part in split for image in part], out["pixels"])


def test_columns_without_ids_follow_what_seeds_the_process():
    import random

    torch = pytest.importorskip("torch")
    augment, batch = Augment("trivial_augment_wide"), {"image": arrays()}

    def twice():
        torch.manual_seed(3)
        random.seed(3)
        return [augment(batch)["image"] for _ in range(2)]

    first, second = twice()
    assert not np.array_equal(first, second) and same(twice(), [first, second])


def test_columns_are_transformed():
    transform, ids = motley.Transform(TRANSFORM, seed=7), np.arange(16)[::-1] * 3
    augment = Augment(transform, ids="where", epoch=2)
    out = augment({"image": ragged(), "where": ids, "label": 3})
    assert out["label"] == 3 and out["image"].shape == (16, 3, 16, 20)
    assert np.array_equal(out["image"], transformed(ragged(), ids, 2)) and out["image"].dtype == np.float32
    assert "small" in repr(augment)
    refused("seed is 3, but the Transform that is given has seed=7", Augment, transform, seed=3)


def test_columns_of_no_images():
    assert Augment("rand_augment")({"image": []}) == {"image": []}
    refused(
        "has no column 'image' for the images, it has 'pixels', 'id'", Augment("rand_augment"), {"pixels": [], "id": []}
    )
    refused(
        "has no column 'id' for the sample ids, it has 'image'",
        Augment("rand_augment", ids="id", epoch=0),
        {"image": []},
    )
    refused("ids is 'id', but no epoch is given", Augment, "rand_augment", ids="id")
    refused("no column True for the sample ids", Augment("rand_augment", ids=True, epoch=0), {"image": [], 1: []})
    refused("the batch is a list, want a dictionary of columns", Augment("rand_augment"), [arrays()])


VIEWS = """motley: 1
name: pair
views:
  - {name: large, stages: [{random_resized_crop: {size: 8}}, {output: {}}]}
  - {name: small, count: 2, stages: [{random_resized_crop: {size: 4}}]}
"""


def test_columns_of_views():
    ids = np.arange(16)[::-1] * 3
    out = Augment(motley.Transform(VIEWS, seed=7), ids="where", epoch=2)({"image": ragged(), "where": ids})
    made = motley.Transform(VIEWS, seed=7)(ragged(), sample_ids=ids, epoch=2)
    assert list(out) == ["where", "large", "small"] and np.array_equal(out["large"], made["large"])
    assert np.array_equal(out["small"][:, 1], made["small"][1]) and out["small"].shape == (16, 2, 4, 4, 3)
    pictures = Augment(VIEWS, ids="where", epoch=2)({"image": list(map(Image.fromarray, ragged())), "where": ids})
    assert len(pictures["small"]) == 16 and pictures["small"][3][1].size == (4, 4)
    with pytest.raises(motley.ArgumentError, match="the batch has a column 'large' already"):
        Augment(VIEWS)({"image": ragged(), "large": ids})


def test_webdataset_samples_of_views():
    sample = {"__key__": "a", "png": arrays(1)[0], "cls": 3}
    out = WebAugment(motley.Transform(VIEWS, seed=7), epoch=2)(sample)
    made = motley.Transform(VIEWS, seed=7)(sample["png"], sample_ids=id_of("a"), epoch=2)
    assert list(out) == ["__key__", "cls", "large", "small"] and np.array_equal(out["large"], made["large"])
    assert np.array_equal(out["small"], np.stack(made["small"]))


# ---- loaders ----


def hugging_face(pictures):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(image=datasets.Image(), id=datasets.Value("int64"))
    return datasets.Dataset.from_dict({"image": pictures, "id": list(range(16))}, features=features)


def test_hugging_face():
    pictures = [Image.fromarray(a) for a in ragged()]
    dataset = hugging_face(pictures)
    for epoch in (0, 1):
        dataset.set_transform(Augment("rand_augment", ids="id", seed=7, epoch=epoch))
        want = wanted(pictures, range(16), epoch)
        assert same(dataset[:]["image"], want) and same([dataset[11]["image"]], want[11:12])
        shuffled = dataset.shuffle(seed=1)[:]
        assert same(shuffled["image"], [want[i] for i in shuffled["id"]])
    dataset.set_transform(Augment(motley.Transform(TRANSFORM, seed=7), ids="id", epoch=0))
    want = transformed(pictures, range(16))
    assert np.array_equal(dataset[:]["image"], want) and np.array_equal(dataset[11]["image"], want[11])


@pytest.mark.slow
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
        files = ray.data.from_items([{"image": a, "id": i} for i, a in enumerate(ragged())])
        made = files.map_batches(
            Augment,
            fn_constructor_args=[motley.Transform(TRANSFORM, seed=7)],
            concurrency=1,
            fn_constructor_kwargs={"ids": "id", "epoch": 0},
            batch_size=5,
        )
        rows = {row["id"]: row["image"] for row in made.iter_rows()}
        assert same([rows[i] for i in range(16)], transformed(ragged(), range(16)))
    finally:
        ray.shutdown()


class Apart:
    """A transform without ids in Hugging Face's map."""

    def __init__(self):
        self.transform = motley.Transform("trivial_augment_wide", seed=7)

    def __call__(self, batch):
        return {"image": self.transform(batch["image"])}


@pytest.mark.slow
@pytest.mark.parametrize("augment", [Apart(), Augment("trivial_augment_wide")])
def test_processes_of_hugging_face_draw_differently(augment):
    """Its processes are of another multiprocessing, which pickles by dill, and have one state of torch's generator."""
    datasets, torch = pytest.importorskip("datasets"), pytest.importorskip("torch")
    torch.manual_seed(3)
    one = Image.fromarray(arrays()[0])
    columns = datasets.Features({"image": datasets.Image()})
    dataset = datasets.Dataset.from_dict({"image": [one] * 16}, features=columns)
    made = dataset.map(augment, batched=True, num_proc=2, load_from_cache_file=False, new_fingerprint="of this test")
    images = [np.asarray(image) for image in made["image"][:]]
    assert not same(images[:8], images[8:])


@pytest.mark.parametrize("module", ["columns", "webdataset"])
def test_a_seed_counts_without_ids(module):
    torch = pytest.importorskip("torch")
    Augment = __import__(f"motley.adapters.{module}", fromlist=["Augment"]).Augment
    key, image = ("image", arrays()) if module == "columns" else ("png", arrays()[0])

    def made(*policy, **seed):
        torch.manual_seed(3)
        augment = Augment(*policy or ("trivial_augment_wide",), **seed)
        return [augment({key: image})[key] for _ in range(8)]

    assert same(made(seed=7), made(seed=7)) and same(made(), made())  # by torch.manual_seed
    assert not same(made(seed=7), made(seed=8)) and not same(made(), made(seed=0))
    assert same(made(motley.Transform("trivial_augment_wide", seed=7)), made(seed=7))
    assert "trivial_augment_wide" in repr(Augment("trivial_augment_wide", seed=7)) and "seed=7" in repr(
        Augment("trivial_augment_wide", seed=7)
    )


@pytest.fixture
def shards(tmp_path):
    """16 pictures in two shards, as a WebDataset."""
    webdataset = pytest.importorskip("webdataset")
    for s in range(2):
        with webdataset.TarWriter(str(tmp_path / f"{s}.tar")) as shard:
            for i in range(s, 16, 2):
                data = io.BytesIO()
                Image.fromarray(arrays()[i]).save(data, "PNG")
                shard.write({"__key__": f"picture{i:03}", "png": data.getvalue(), "cls": i})
    return webdataset.WebDataset(str(tmp_path / "{0..1}.tar"), shardshuffle=False)


def pictures_of(shards, augment):
    return shards.decode("pil").map(augment).to_tuple("png", "cls")


@pytest.mark.parametrize("workers", [0, 2])
def test_webdataset(shards, workers):
    torch = pytest.importorskip("torch")
    ids = [id_of(f"picture{i:03}") for i in range(16)]
    assert len(set(ids)) == 16 and id_of("picture000") == 7541879786988426863
    for epoch in (0, 2):
        dataset = pictures_of(shards, WebAugment("rand_augment", seed=7, epoch=lambda epoch=epoch: epoch))
        loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=workers)
        got = {int(label): np.asarray(image) for image, label in loader}
        want = wanted([Image.fromarray(a) for a in arrays()], ids, epoch)
        assert same([got[i] for i in range(16)], want)


def test_webdataset_transforms(shards):
    dataset = pictures_of(shards, WebAugment(motley.Transform(TRANSFORM, seed=7), epoch=3))
    got = {int(label): image for image, label in dataset}
    ids = [id_of(f"picture{i:03}") for i in range(16)]
    assert same([got[i] for i in range(16)], transformed([Image.fromarray(a) for a in arrays()], ids, 3))


def test_webdataset_files_to_the_prefetcher(shards):
    """The recipe of doc/loaders.md: files as they are in the shards, decoded where the transform runs."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchvision")
    import motley.torch

    files = shards.to_tuple("png", "cls", "__key__").map(lambda sample: (sample[0], int(sample[1]), id_of(sample[2])))
    loader = torch.utils.data.DataLoader(files, 6, collate_fn=motley.torch.list_images)
    batches = motley.torch.Prefetcher(loader, motley.torch.Transform(TRANSFORM, seed=7, epoch=0), "cpu", ids=2)
    got = {int(label): image for images, labels, _ in batches for image, label in zip(images, labels)}
    ids = [id_of(f"picture{i:03}") for i in range(16)]
    want = transformed([torch.from_numpy(a).permute(2, 0, 1) for a in arrays()], ids)
    assert same([got[i] for i in range(16)], want)


def test_webdataset_names_what_is_missing():
    with pytest.raises(KeyError, match="'a7' has no jpg or jpeg or png or webp or ppm, only tiff, cls"):
        WebAugment("rand_augment")({"__key__": "a7", "tiff": 1, "cls": 2})
    with pytest.raises(motley.ArgumentError, match=r"sample 'a7': jpg is not decoded, want decode\('pil'\)"):
        WebAugment("rand_augment")({"__key__": "a7", "jpg": b"file"})
    with pytest.raises(motley.ArgumentError, match=r"the sample is a tuple, want .* before to_tuple\(\)"):
        WebAugment("rand_augment")((b"file", 2))
    picture = Image.fromarray(arrays(1)[0])
    for key in {}, {"__key__": 7}:
        refused("no text as its '__key__'", WebAugment("rand_augment", epoch=0), {**key, "jpg": picture})
    assert WebAugment("rand_augment", image="view")({"__key__": "a", "view": picture})["view"].size == picture.size


# ---- DALI ----


@pytest.fixture(autouse=True)
def no_pipeline_is_left(request):
    """A DataLoader worker that is forked while an old DALI pipeline waits for the garbage collector, and collects it,
    waits forever for the pipeline's threads, which it does not have."""
    yield
    if "dali" in request.node.name:
        gc.collect()


def dali_operator(operator):
    """Skips where DALI, or this one of its operators, is not there."""
    pytest.importorskip("nvidia.dali")
    from motley.adapters import dali

    if operator == "python":
        pytest.importorskip("torch")
    elif dali.why_not_native():
        pytest.skip(dali.why_not_native())
    return dali


def dali_pipe(operator, device, make, count=16, batch_size=8, sizes="many", **options):
    """A pipeline over pictures (of different sizes), their ids and their ids / 5, of which `make` makes its output."""
    dali_operator(operator)
    from nvidia.dali import fn, pipeline_def

    pictures = [a[: 5 + i] if sizes == "many" else a for i, a in enumerate(arrays(count))]

    def sample(info):
        i = info.idx_in_epoch % count
        return pictures[i], np.int64(i), np.array([i // 5], np.uint8)

    @pipeline_def(
        batch_size=batch_size,
        num_threads=2,
        device_id=0 if device == "cuda" else None,
        prefetch_queue_depth=1,
        **options,
    )
    def pipeline():
        images, ids, fifths = fn.external_source(sample, num_outputs=3, batch=False)
        return make(images.gpu() if device == "cuda" else images, ids, fifths), ids, fifths

    pipe = pipeline()
    pipe.build()
    return pipe, pictures


def dali_run(pipe, device, batches=2):
    """The next images of a pipeline, by their ids."""
    got = {}
    for _ in range(batches):
        images, ids, _ = pipe.run()
        images = images.as_cpu() if device == "cuda" else images
        got.update({int(ids.at(i)): np.array(images.at(i)) for i in range(len(ids))})
    return [got[i] for i in sorted(got)]


def plain_policy(**options):
    return dict(policy="rand_augment", seed=7, **options)


OPERATORS = ["native", "python"]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("sizes", ["many", "one"])
def test_dali(device, operator, sizes):
    dali, epoch = dali_operator(operator), [0]
    pipe, pictures = dali_pipe(
        operator,
        device,
        lambda images, ids, _: dali.augment(images, ids, epoch=lambda: epoch[0], operator=operator, **plain_policy()),
        sizes=sizes,
    )
    first, again = dali_run(pipe, device), dali_run(pipe, device)
    assert same(first, wanted(pictures, range(16))) and same(again, first)
    epoch[0] = 3
    dali_run(pipe, device)  # a batch may have been asked for before
    assert same(dali_run(pipe, device), wanted(pictures, range(16), 3))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "settings",
    [{}, {"dtype": "float16", "output_layout": "hwc"}, {"dtype": "uint8"}],
    ids=lambda s: "-".join(s.values()) or "as-it-says",
)
def test_dali_transforms(device, operator, settings):
    dali, epoch = dali_operator(operator), [0]
    transform = motley.Transform(TRANSFORM, seed=7, **settings)
    pipe, pictures = dali_pipe(
        operator,
        device,
        lambda images, ids, _: dali.augment(images, ids, epoch=lambda: epoch[0], operator=operator, policy=transform),
    )
    got = dali_run(pipe, device)
    want = transformed(pictures, range(16), **settings)
    assert got[0].dtype == want.dtype and same(got, want)
    epoch[0] = 3
    dali_run(pipe, device)
    assert same(dali_run(pipe, device), transformed(pictures, range(16), 3, **settings))


def test_dali_transforms_by_the_operators_own_name():
    dali_operator("native")
    from nvidia.dali import fn

    pipe, pictures = dali_pipe(
        "native", "cpu", lambda images, ids, _: fn.motley.augment(images, ids, transform=TRANSFORM, seed=7, epoch=2)
    )
    assert same(dali_run(pipe, "cpu"), transformed(pictures, range(16), 2))


@pytest.mark.parametrize("operator", OPERATORS)
def test_dali_transforms_that_keep_sizes(operator):
    dali = dali_operator(operator)
    kept = [line for line in TRANSFORM.splitlines() if "crop" not in line and "output" not in line]
    transform = motley.Transform("\n".join(kept), seed=7)
    pipe, pictures = dali_pipe(
        operator, "cpu", lambda images, ids, _: dali.augment(images, ids, epoch=0, operator=operator, policy=transform)
    )
    assert same(dali_run(pipe, "cpu"), transform(pictures, sample_ids=range(16), epoch=0))


SHARED = VIEWS.replace("views:", "stages: [{jitter: {brightness: 0.8}}]\nviews:")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("text", [VIEWS, SHARED], ids=["apart", "shared"])
def test_dali_views(device, operator, text):
    dali = dali_operator(operator)
    multi = motley.Transform(text, seed=7, dtype="float16")
    for name, j in (("large", None), ("small", 0), ("small", 1)):
        pipe, pictures = dali_pipe(
            operator,
            device,
            lambda images, ids, _, name=name, j=j: (lambda made: made[name] if j is None else made[name][j])(
                dali.augment(images, ids, epoch=3, operator=operator, policy=multi)
            ),
        )
        wanted = motley.Transform(text, seed=7, dtype="float16")(pictures, sample_ids=range(16), epoch=3)[name]
        assert same(dali_run(pipe, device), wanted if j is None else wanted[j])


@pytest.mark.parametrize("device, operator", [("cpu", "native"), *((device, "python") for device in DEVICES)])
@pytest.mark.parametrize("kind", ["node", "number", "by epochs"])
def test_dali_levels(device, operator, kind):
    dali = dali_operator(operator)
    from nvidia.dali import fn, types

    given = motley.Policy.of("rand_augment").change(level="given")

    def make(images, ids, fifths):
        levels = 0.5 if kind == "number" else fn.cast(ids, dtype=types.FLOAT) / 16.0
        epoch = fifths if kind == "by epochs" else 3
        return dali.augment(
            images, ids, policy=motley.Transform(given, seed=7), epoch=epoch, levels=levels, operator=operator
        )

    pipe, pictures = dali_pipe(operator, device, make)
    levels = [0.5 if kind == "number" else i / 16 for i in range(16)]
    wanted = [
        motley.Transform(given, seed=7)(
            [picture], sample_ids=[i], levels=[level], epoch=i // 5 if kind == "by epochs" else 3
        )[0]
        for i, (picture, level) in enumerate(zip(pictures, levels))
    ]
    assert same(dali_run(pipe, device), wanted)


def test_dali_refuses_levels_and_schedules():
    dali = dali_operator("python")
    with pytest.raises(motley.ArgumentError, match="no step of policy 'rand_augment' has the level `given`"):
        dali.augment(None, policy="rand_augment", levels=0.5)
    with pytest.raises(motley.UnsupportedError, match="'mobileone_train' changes with the epoch"):
        dali.augment(None, policy="mobileone_train")


def test_dali_refuses_transforms_that_it_cannot_run():
    dali = dali_operator("native")
    mixes = motley.Transform(TRANSFORM + "  - mix: {mixup: 0.2, classes: 4}\n")
    with pytest.raises(motley.UnsupportedError, match="'small' mixes images"):
        dali.augment(None, policy=mixes)
    with pytest.raises(motley.UnsupportedError, match="bfloat16"):
        dali.augment(None, policy=motley.Transform(TRANSFORM, dtype="bfloat16"))
    from nvidia.dali import fn

    for arguments, sentence in (
        ({}, "want one of policy and transform"),
        ({"transform": mixes.policy.show()}, "'small' mixes images"),
        ({"transform": TRANSFORM.replace("size", "sise")}, "sise"),
        ({"transform": TRANSFORM, "output_layout": "WHC"}, "output_layout is WHC"),
    ):
        with pytest.raises(Exception, match=sentence):
            pipe, _ = dali_pipe("native", "cpu", lambda images, ids, _, a=arguments: fn.motley.augment(images, **a))
            dali_run(pipe, "cpu")


def test_dali_warns_where_the_native_operator_does_not_load(tmp_path, monkeypatch):
    """One that was built for another DALI: the Python operator is taken, and a sentence says so."""
    dali = dali_operator("python")
    dali.why_not_native.cache_clear()
    monkeypatch.setattr(dali, "LIBRARY", tmp_path / "libdali_motley.so")
    dali.LIBRARY.write_bytes(b"of another release")
    try:
        with pytest.warns(RuntimeWarning, match="built for another DALI than this one.*; the Python operator is used"):
            pipe, pictures = dali_pipe(
                "python", "cpu", lambda images, ids, _: dali.augment(images, ids, epoch=0, **plain_policy())
            )
        assert same(dali_run(pipe, "cpu"), wanted(pictures, range(16)))
        with pytest.raises(motley.UnsupportedError, match="built for another DALI"):
            dali_pipe(
                "python",
                "cpu",
                lambda images, ids, _: dali.augment(images, ids, epoch=0, operator="native", **plain_policy()),
            )
    finally:
        dali.why_not_native.cache_clear()


@pytest.mark.parametrize("operator", OPERATORS)
def test_dali_takes_a_transform(operator):
    dali, transform = dali_operator(operator), motley.Transform("rand_augment", seed=7)

    def made(images, ids, epoch):
        return dali.augment(images, ids, policy=transform, epoch=epoch, operator=operator)

    pipe, pictures = dali_pipe(operator, "cpu", lambda images, ids, _: made(images, ids, 2))
    assert same(dali_run(pipe, "cpu"), transform(pictures, sample_ids=range(16), epoch=2))
    with pytest.raises(motley.ArgumentError, match="epoch is True, want a whole number"):
        dali_pipe(operator, "cpu", lambda images, ids, _: made(images, ids, True))


def test_dali_wants_an_epoch_with_ids():
    dali = dali_operator("python")
    with pytest.raises(motley.ArgumentError, match="ids are given, but no epoch"):
        dali_pipe(
            "python", "cpu", lambda images, ids, _: dali.augment(images, ids, operator="python", **plain_policy())
        )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("sizes", ["many", "one"])
def test_dali_batch_of_many_epochs(device, operator, sizes):
    dali = dali_operator(operator)
    pipe, pictures = dali_pipe(
        operator,
        device,
        lambda images, ids, fifths: dali.augment(images, ids, epoch=fifths, operator=operator, **plain_policy()),
        sizes=sizes,
    )
    want = [wanted(pictures[i : i + 1], [i], i // 5)[0] for i in range(16)]
    assert same(dali_run(pipe, device), want) and not same(want, wanted(pictures, range(16)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("operator", OPERATORS)
def test_dali_without_ids(device, operator):
    import random

    dali, torch = dali_operator(operator), pytest.importorskip("torch")

    def passes(**seed):
        random.seed(1)
        torch.manual_seed(1)
        pipe, pictures = dali_pipe(
            operator, device, lambda images, *_: dali.augment(images, policy="rand_augment", operator=operator, **seed)
        )
        return [dali_run(pipe, device) for _ in range(2)], [a.shape for a in pictures]

    (first, second), shapes = passes()
    assert not same(first, second) and [a.shape for a in first] == shapes
    assert same(passes()[0][0], first) and not same(passes(seed=7)[0][0], first)


@pytest.mark.parametrize("device", DEVICES)
def test_dali_native_operator_by_its_own_name(device):
    """Without the adapter: a built-in's name, the pipeline's seed, samples counted, a checkpoint in between."""
    dali_operator("native")
    from nvidia.dali import fn

    policy, options = "trivial_augment_wide", dict(seed=5, enable_checkpointing=True)

    def make(images, *_):
        return fn.motley.augment(images, policy=policy, seed=9)

    pipe, pictures = dali_pipe("native", device, make, **options)
    first, state, second = dali_run(pipe, device), pipe.checkpoint(), dali_run(pipe, device)
    assert same(first, wanted(pictures, range(16), policy=policy, seed=9))
    assert same(second, wanted(pictures, range(16, 32), policy=policy, seed=9))
    resumed, _ = dali_pipe("native", device, make, checkpoint=state, **options)
    assert same(dali_run(resumed, device), second)

    def of_pipeline(seed):
        return dali_run(
            dali_pipe("native", device, lambda images, *_: fn.motley.augment(images, policy=policy), seed=seed)[0],
            device,
        )

    assert same(of_pipeline(5), of_pipeline(5)) and not same(of_pipeline(5), of_pipeline(6))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("number", ["INT32", "UINT8", "UINT64", "INT16"])
def test_dali_native_ids_of_any_type(device, number):
    dali = dali_operator("native")
    from nvidia.dali import fn, types

    pipe, pictures = dali_pipe(
        "native",
        device,
        lambda images, ids, _: dali.augment(
            images, fn.cast(ids, dtype=getattr(types, number)), epoch=lambda: 0, **plain_policy()
        ),
    )
    assert same(dali_run(pipe, device), wanted(pictures, range(16)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "case, kind, sentence",
    [
        ("policy", ValueError, "no policy 'rand_augmen' is built in"),
        ("text", ValueError, r"<policy>:\d+:\d+: error: "),
        ("epoch", ValueError, "epoch is 1073741824, want under 2\\^30"),
        ("negative", ValueError, "epoch is -1, want 0 to 2\\^30 - 1"),
        ("ids", TypeError, "ids is of type float, want whole numbers"),
        ("several", ValueError, "ids of sample 0 has 2 numbers, want one"),
        ("view", ValueError, "view is 65536, want at most 65535"),
        ("images", TypeError, "the images are of type float, want uint8"),
        ("channels", ValueError, "channels is 15, want 1 to 4"),
        ("empty", ValueError, "sample 0 is 24x0 pixels, want at least one each way"),
    ],
)
def test_dali_native_says_what_is_wrong(device, case, kind, sentence):
    dali_operator("native")
    from nvidia.dali import fn, types

    def make(images, ids, _):
        if case == "images":
            images = fn.cast(images, dtype=types.FLOAT)
        if case == "channels":
            images = fn.cat(images, images, images, images, images, axis=2)
        if case == "empty":
            images = images[:0]
        if case == "ids":
            ids = fn.cast(ids, dtype=types.FLOAT)
        if case == "several":
            ids = fn.stack(ids, ids)
        return fn.motley.augment(
            images,
            ids,
            policy={"policy": "rand_augmen", "text": "name: a\nsteps: 1\n"}.get(case, "rand_augment"),
            epoch={"epoch": 1 << 30, "negative": -1}.get(case, 0),
            view=65536 if case == "view" else 0,
        )

    with pytest.raises(kind, match=sentence):
        dali_run(dali_pipe("native", device, make)[0], device)


def test_dali_chooses_its_operator(monkeypatch, tmp_path):
    dali = dali_operator("native")
    from nvidia.dali import fn, pipeline_def

    chosen = []
    for name in OPERATORS:
        monkeypatch.setattr(dali, name, lambda stage, images, *_, name=name: chosen.append(name) or images)

    def choose(**options):
        @pipeline_def(batch_size=1, num_threads=1, device_id=None)
        def pipeline():
            return dali.augment(fn.constant(idata=0), **options)

        pipeline()
        return chosen.pop()

    motley.custom_op("nothing_in_dali")(lambda indices, images, values: None)
    custom = "motley: 1\nname: custom\nfill: 0\nbranches:\n  - {op: nothing_in_dali}\n"
    assert choose(policy=custom) == "python"
    assert choose(**plain_policy()) == "native" and choose(operator="python", **plain_policy()) == "python"
    with pytest.raises(ValueError, match="operator is 'c', want 'native', 'python' or None"):
        choose(operator="c", **plain_policy())
    dali.why_not_native.cache_clear()
    monkeypatch.setattr(dali, "LIBRARY", tmp_path / "libdali_motley.so")
    try:
        assert choose(**plain_policy()) == "python"
        with pytest.raises(RuntimeError, match="was not built: its build option `dali` was not set"):
            choose(operator="native", **plain_policy())
        dali.why_not_native.cache_clear()
        dali.LIBRARY.write_text("not a library")
        with pytest.warns(RuntimeWarning, match="for another DALI.*; the Python operator is used"):
            assert choose(**plain_policy()) == "python"
    finally:
        dali.why_not_native.cache_clear()


# ---- the examples ----

RUN = {  # the packages that an example needs, and what it prints
    "ada_augment.py": ("torch", "step 60: loss "),
    "class_curriculum.py": ("numpy", "levels of the classes: "),
    "dino.py": ("torch.compiler", "step 3: 10 views of 8 images, loss "),
    "dali_pipeline.py": ("nvidia.dali torch", "7: (31, 32, 3) mean"),
    "dataloader.py": ("torch", "4 batches, the same in all three places"),
    "detection.py": ("torchvision.tv_tensors", " boxes, loss "),
    "segmentation.py": ("torchvision", "of the pixels came in from outside, loss"),
    "video_clips.py": ("torch", "frames of a clip draw alike: True"),
    "ffcv_loader.py": ("ffcv torch", "epoch 1: means"),
    "huggingface.py": ("datasets", "epoch 1: 32x24 mean"),
    "lightning_module.py": ("lightning", "loss "),
    "torchvision_script.py": ("torchvision", "augmented by torchvision"),
    "test_time.py": ("torch", "from 8 views"),
    "webdataset_shards.py": ("webdataset torchvision", "images (16, 3, 32, 32)"),
}
ELSEWHERE = {"custom_cutout.py": "test_custom.py", "ddp.py": "test_random_ddp.py", "ray_data.py": "test_ray_data"}


def test_every_example_is_tested():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*RUN, *ELSEWHERE}


@pytest.mark.slow
# Each in a process of its own, as users run them.
@pytest.mark.parametrize("name", sorted(RUN))
def test_example_runs(name):
    needs, prints = RUN[name]
    for package in needs.split():
        pytest.importorskip(package)
    assert prints in output_of(sys.executable, EXAMPLES / name, timeout=300)
