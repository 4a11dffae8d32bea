# SPDX-License-Identifier: Apache-2.0
"""The adapters, each in the loader that it is for: a sample gets what the core package gives its id, in any batch or
worker. And the examples, which have to run as they are."""

import gc
import io
import pathlib
import runpy

import numpy as np
import pytest
from conftest import DEVICES, refused
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


def objects():
    column = np.empty(16, object)
    column[:] = ragged()
    return column


IMAGES = {"array": arrays, "pictures": lambda: [*map(Image.fromarray, arrays())], "ragged": ragged, "objects": objects}


@pytest.mark.parametrize("kind", IMAGES)
def test_columns(kind):
    images, ids, now = IMAGES[kind](), np.arange(16)[::-1] * 3, [0]
    augment = Augment("rand_augment", image="pixels", ids="where", seed=7, epoch=lambda: now[0])
    batch = {"pixels": images, "where": ids, "label": list("abcdefghijklmnop")}
    for now[0] in 0, 5:
        out = augment(batch)
        assert out["label"] is batch["label"] and out["where"] is ids and batch["pixels"] is images
        assert same(out["pixels"], wanted(list(images) if kind == "objects" else images, ids, now[0]))
    parts = [{"pixels": images[i : i + 3], "where": ids[i : i + 3]} for i in range(0, 16, 3)]
    assert same([image for part in parts for image in augment(part)["pixels"]], out["pixels"])


def test_columns_are_transformed():
    transform, ids = motley.Transform(TRANSFORM, seed=7), np.arange(16)[::-1] * 3
    out = Augment(transform, ids="where", epoch=2)({"image": ragged(), "where": ids, "label": 3})
    assert out["label"] == 3 and out["image"].shape == (16, 3, 16, 20)
    assert np.array_equal(out["image"], transformed(ragged(), ids, 2)) and out["image"].dtype == np.float32
    refused("seed is 3, but the Transform that is given has seed=7", Augment, transform, seed=3)


def test_columns_of_no_images():
    assert Augment("rand_augment")({"image": []}) == {"image": []}


WRONG_COLUMNS = [
    ({}, {"pixels": [], "id": []}, "has no column 'image' for the images, it has 'pixels', 'id'"),
    ({"ids": "id", "epoch": 0}, {"image": []}, "has no column 'id' for the sample ids, it has 'image'"),
    ({"ids": True, "epoch": 0}, {"image": [], 1: []}, "no column True for the sample ids"),
    ({"ids": "id"}, {}, "ids is 'id', but no epoch is given"),
    ({}, [], "the batch is a list, want a dictionary of columns"),
]


@pytest.mark.parametrize("how, batch, message", WRONG_COLUMNS)
def test_wrong_columns(how, batch, message):
    refused(message, lambda: Augment("rand_augment", **how)(batch))


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
    refused("there is 'large' already, which is also the name", Augment(VIEWS), {"image": ragged(), "large": ids})


def test_webdataset_samples_of_views():
    sample = {"__key__": "a", "png": arrays(1)[0], "cls": 3}
    out = WebAugment(motley.Transform(VIEWS, seed=7), epoch=2)(sample)
    made = motley.Transform(VIEWS, seed=7)(sample["png"], sample_ids=id_of("a"), epoch=2)
    assert list(out) == ["__key__", "cls", "large", "small"] and np.array_equal(out["large"], made["large"])
    assert np.array_equal(out["small"], np.stack(made["small"]))
    refused("there is 'large' already, which is also the name of a view", WebAugment(VIEWS), {**sample, "large": 1})


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
def test_without_ids_a_seed_counts_and_torch_seeds(module):
    torch = pytest.importorskip("torch")
    Augment = __import__(f"motley.adapters.{module}", fromlist=["Augment"]).Augment
    key, image = ("image", arrays()) if module == "columns" else ("png", arrays()[0])

    def made(*policy, **seed):
        torch.manual_seed(3)
        augment = Augment(*policy or ("trivial_augment_wide",), **seed)
        assert "trivial_augment_wide" in repr(augment) and f"seed={augment.transform.seed}" in repr(augment)
        return [augment({key: image})[key] for _ in range(8)]

    assert same(made(seed=7), made(seed=7)) and same(made(), made())  # by torch.manual_seed
    assert not same(made(seed=7), made(seed=8)) and not same(made(), made(seed=0))
    assert same(made(motley.Transform("trivial_augment_wide", seed=7)), made(seed=7))
    assert len({image.tobytes() for image in made()}) > 4


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
    refused(r"the sample is a tuple, want .* before to_tuple\(\)", WebAugment("rand_augment"), (b"file", 2))
    picture = Image.fromarray(arrays(1)[0])
    for key in {}, {"__key__": 7}:
        refused("no text as its '__key__'", WebAugment("rand_augment", epoch=0), {**key, "jpg": picture})
    assert WebAugment("rand_augment", image="view")({"__key__": "a", "view": picture})["view"].size == picture.size


# ---- DALI ----


@pytest.fixture
def dali():
    """The adapter, with DALI's operator loaded. A DataLoader worker that is forked while an old DALI pipeline waits for
    the garbage collector, and collects it, waits forever for the pipeline's threads, which it does not have."""
    pytest.importorskip("nvidia.dali")
    from motley.adapters import dali

    try:
        dali.load()
    except motley.UnsupportedError as missing:
        pytest.skip(str(missing))
    yield dali
    gc.collect()


def dali_pipe(device, make, count=16, batch_size=8, sizes="many", **options):
    """A pipeline over pictures (of different sizes), their ids and their ids / 5, of which `make` makes its output."""
    from nvidia.dali import fn, pipeline_def

    pictures = [a[: 5 + i] if sizes == "many" else a for i, a in enumerate(arrays(count))]

    def sample(info):
        i = info.idx_in_epoch % count
        return pictures[i], np.int64(i), np.array([i // 5], np.uint8)

    place = {"device_id": 0 if device == "cuda" else None, "prefetch_queue_depth": 1}

    @pipeline_def(batch_size=batch_size, num_threads=2, **place, **options)
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


KEPT = "\n".join(line for line in TRANSFORM.splitlines() if "crop" not in line and "output" not in line)
TRANSFORMS = {
    "a policy": lambda: motley.Transform("rand_augment", seed=7),
    "as it says": lambda: motley.Transform(TRANSFORM, seed=7),
    "float16": lambda: motley.Transform(TRANSFORM, seed=7, dtype="float16", output_layout="hwc"),
    "uint8": lambda: motley.Transform(TRANSFORM, seed=7, dtype="uint8"),
    "sizes that stay": lambda: motley.Transform(KEPT, seed=7),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("sizes", ["many", "one"])
def test_dali(dali, device, name, sizes):
    transform, epoch = TRANSFORMS[name](), [0]

    def make(images, ids, _):
        return dali.augment(images, ids, epoch=lambda: epoch[0], policy=transform)

    pipe, pictures = dali_pipe(device, make, sizes=sizes)
    want = transform(pictures, sample_ids=range(16), epoch=0)
    first, again = dali_run(pipe, device), dali_run(pipe, device)
    assert first[0].dtype == want[0].dtype and same(first, want) and same(again, want)
    epoch[0] = 3
    dali_run(pipe, device)  # a batch may have been asked for before
    assert same(dali_run(pipe, device), transform(pictures, sample_ids=range(16), epoch=3))


SHARED = VIEWS.replace("views:", "stages: [{jitter: {brightness: 0.8}}]\nviews:")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("text", [VIEWS, SHARED], ids=["apart", "shared"])
def test_dali_views(dali, device, text):
    transform = motley.Transform(text, seed=7, dtype="float16")
    for name, j in (("large", None), ("small", 0), ("small", 1)):

        def make(images, ids, _, name=name, j=j):
            nodes = dali.augment(images, ids, epoch=3, policy=transform)[name]
            return nodes if j is None else nodes[j]

        pipe, pictures = dali_pipe(device, make)
        want = transform(pictures, sample_ids=range(16), epoch=3)[name]
        assert same(dali_run(pipe, device), want if j is None else want[j])


@pytest.mark.parametrize("kind", ["node", "number", "by epochs"])
def test_dali_levels(dali, kind):
    from nvidia.dali import fn, types

    transform = motley.Transform(motley.Policy("rand_augment").change(level="given"), seed=7)
    levels = [0.5 if kind == "number" else i / 16 for i in range(16)]
    epochs = [i // 5 if kind == "by epochs" else 3 for i in range(16)]

    def make(images, ids, fifths):
        given = 0.5 if kind == "number" else fn.cast(ids, dtype=types.FLOAT) / 16.0
        return dali.augment(images, ids, policy=transform, epoch=fifths if kind == "by epochs" else 3, levels=given)

    pipe, pictures = dali_pipe("cpu", make)
    want = [
        transform(picture, sample_ids=i, levels=level, epoch=epoch)
        for i, (picture, level, epoch) in enumerate(zip(pictures, levels, epochs))
    ]
    assert same(dali_run(pipe, "cpu"), want)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("sizes", ["many", "one"])
def test_dali_batch_of_many_epochs(dali, device, sizes):
    def make(images, ids, fifths):
        return dali.augment(images, ids, epoch=fifths, policy="rand_augment", seed=7)

    pipe, pictures = dali_pipe(device, make, sizes=sizes)
    want = [wanted(pictures[i : i + 1], [i], i // 5)[0] for i in range(16)]
    assert same(dali_run(pipe, device), want) and not same(want, wanted(pictures, range(16)))


@pytest.mark.parametrize("device", DEVICES)
def test_dali_without_ids(dali, device):
    torch = pytest.importorskip("torch")

    def passes(**seed):
        torch.manual_seed(1)
        pipe, pictures = dali_pipe(device, lambda images, *_: dali.augment(images, policy="rand_augment", **seed))
        return [dali_run(pipe, device) for _ in range(2)], [a.shape for a in pictures]

    (first, second), shapes = passes()
    assert not same(first, second) and [a.shape for a in first] == shapes
    assert same(passes()[0][0], first) and not same(passes(seed=7)[0][0], first)


GIVEN = motley.Policy("rand_augment").change(level="given")
REFUSED = {  # what the adapter is given, and what it says
    "levels": ({"policy": "rand_augment", "levels": 0.5}, "no step of policy 'rand_augment' has the level `given`"),
    "schedules": ({"policy": "mobileone_train"}, "'mobileone_train' changes with the epoch"),
    "mixing": ({"policy": TRANSFORM + "  - mix: {mixup: 0.2, classes: 4}\n"}, "'small' mixes images"),
    "bfloat16": ({"policy": motley.Transform(TRANSFORM, dtype="bfloat16")}, "makes bfloat16, which DALI lacks"),
    "no epoch": ({"policy": "rand_augment", "ids": 0}, "ids are given, but no epoch"),
    "a wrong epoch": ({"policy": "rand_augment", "epoch": True}, "epoch is True, want a whole number"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_dali_refuses_what_it_cannot_run(dali, case):
    arguments, sentence = REFUSED[case]
    refused(sentence, dali.augment, None, **arguments, error=(motley.ArgumentError, motley.UnsupportedError))


def test_dali_refuses_custom_operations(dali):
    motley.custom_op("nothing_in_dali")(lambda indices, images, values: None)
    with pytest.raises(motley.UnsupportedError, match="'custom' has custom operations, which DALI's operator cannot"):
        dali.augment(None, policy="motley: 1\nname: custom\nfill: 0\nbranches:\n  - {op: nothing_in_dali}\n")


def test_dali_says_why_its_operator_does_not_load(dali, tmp_path, monkeypatch):
    dali.load.cache_clear()
    monkeypatch.setattr(dali, "LIBRARY", tmp_path / "libdali_motley.so")
    with pytest.raises(motley.UnsupportedError, match="was not built: want Motley built with its option `dali`"):
        dali.augment(None, policy="rand_augment")
    dali.LIBRARY.write_bytes(b"of another release")
    with pytest.raises(motley.UnsupportedError, match="was built for another DALI than this one"):
        dali.augment(None, policy="rand_augment")


# By its own name, without the adapter.


@pytest.mark.parametrize("device", DEVICES)
def test_dali_operator_by_its_own_name(dali, device):
    """A built-in's name, the pipeline's seed, samples counted, a checkpoint in between; a transform's text."""
    from nvidia.dali import fn

    policy, options = "trivial_augment_wide", dict(seed=5, enable_checkpointing=True)

    def make(images, *_):
        return fn.motley.augment(images, policy=policy, seed=9)

    pipe, pictures = dali_pipe(device, make, **options)
    first, state, second = dali_run(pipe, device), pipe.checkpoint(), dali_run(pipe, device)
    assert same(first, wanted(pictures, range(16), policy=policy, seed=9))
    assert same(second, wanted(pictures, range(16, 32), policy=policy, seed=9))
    resumed, _ = dali_pipe(device, make, checkpoint=state, **options)
    assert same(dali_run(resumed, device), second)

    def of_pipeline(seed):
        pipe, _ = dali_pipe(device, lambda images, *_: fn.motley.augment(images, policy=policy), seed=seed)
        return dali_run(pipe, device)

    assert same(of_pipeline(5), of_pipeline(5)) and not same(of_pipeline(5), of_pipeline(6))
    how = {"transform": TRANSFORM, "seed": 7, "epoch": 2}
    pipe, _ = dali_pipe(device, lambda images, ids, _: fn.motley.augment(images, ids, **how))
    assert same(dali_run(pipe, device), transformed(pictures, range(16), 2))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("number", ["INT32", "UINT8", "UINT64", "INT16"])
def test_dali_ids_of_any_type(dali, device, number):
    from nvidia.dali import fn, types

    def make(images, ids, _):
        ids = fn.cast(ids, dtype=getattr(types, number))
        return dali.augment(images, ids, epoch=lambda: 0, policy="rand_augment", seed=7)

    pipe, pictures = dali_pipe(device, make)
    assert same(dali_run(pipe, device), wanted(pictures, range(16)))


MIXING = TRANSFORM + "  - mix: {mixup: 0.2, classes: 4}\n"
WRONG = {  # what the operator is given in place of what is right, and what it says
    "policy": ({"policy": "rand_augmen"}, ValueError, "no policy 'rand_augmen' is built in"),
    "text": ({"policy": "name: a\nsteps: 1\n"}, ValueError, r"<policy>:\d+:\d+: error: "),
    "epoch": ({"epoch": 1 << 30}, ValueError, "epoch is 1073741824, want under 2\\^30"),
    "negative": ({"epoch": -1}, ValueError, "epoch is -1, want 0 to 2\\^30 - 1"),
    "view": ({"view": 65536}, ValueError, "view is 65536, want at most 65535"),
    "ids": ({}, TypeError, "ids is of type float, want whole numbers"),
    "several": ({}, ValueError, "ids of sample 0 has 2 numbers, want one"),
    "images": ({}, TypeError, "the images are of type float, want uint8"),
    "empty": ({}, ValueError, "sample 0 is 24x0 pixels, want at least one each way"),
    "nothing": ({"policy": None}, Exception, "want one of policy and transform"),
    "mixing": ({"policy": None, "transform": MIXING}, Exception, "'small' mixes images"),
    "a key": ({"policy": None, "transform": TRANSFORM.replace("size", "sise")}, Exception, "sise"),
    "layout": ({"policy": None, "transform": TRANSFORM, "output_layout": "WHC"}, Exception, "output_layout is WHC"),
    "levels": ({"policy": GIVEN.show(), "levels": 0.5}, Exception, "images are on a GPU: want the images on the CPU"),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", WRONG)
def test_dali_operator_says_what_is_wrong(dali, device, case):
    from nvidia.dali import fn, types

    if case == "levels" and device == "cpu":
        pytest.skip("it takes them there")
    how, kind, sentence = WRONG[case]
    how = {name: value for name, value in {"policy": "rand_augment", "epoch": 0, **how}.items() if value is not None}
    change = {
        "images": lambda images, ids: (fn.cast(images, dtype=types.FLOAT), ids),
        "empty": lambda images, ids: (images[:0], ids),
        "ids": lambda images, ids: (images, fn.cast(ids, dtype=types.FLOAT)),
        "several": lambda images, ids: (images, fn.stack(ids, ids)),
    }.get(case, lambda *inputs: inputs)
    with pytest.raises(kind, match=sentence):
        dali_run(dali_pipe(device, lambda images, ids, _: fn.motley.augment(*change(images, ids), **how))[0], device)


# ---- the examples ----

RUN = {  # the packages that an example needs, what it prints, and arguments that make it short
    "ada_augment.py": ("torch", "step 60: loss "),
    "class_curriculum.py": ("numpy", "levels of the classes: "),
    "dino.py": ("torch.compiler", "step 3: 10 views of 8 images, loss "),
    "dali_pipeline.py": ("nvidia.dali torch", "7: (31, 32, 3) mean"),
    "dataloader.py": ("torch", "4 batches, the same in all three places"),
    "detection.py": ("torchvision.tv_tensors", "recipe: average precision ", 2, 16),
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
def test_example_runs(name, request, forked):
    needs, prints, *short = RUN[name]
    if name == "dali_pipeline.py":
        request.getfixturevalue("dali")  # which skips where its operator was not built
    for package in needs.split():
        pytest.importorskip(package)
    assert prints in forked(([EXAMPLES / name, *short], {}))[0]


def test_the_average_precision_of_an_example():
    """Of three boxes two are found, one of them twice, and one of the other class is not asked for."""
    torch = pytest.importorskip("torchvision.tv_tensors") and pytest.importorskip("torch")
    precision = runpy.run_path(str(EXAMPLES / "detection.py"))["average_precision"]
    boxes = torch.tensor([[0.0, 0, 10, 10], [20, 20, 30, 30], [50, 50, 60, 60]])
    wanted = [
        {"boxes": boxes, "labels": torch.tensor([1, 1, 1])},
        {"boxes": boxes[:0], "labels": torch.tensor([]).long()},
    ]
    found = torch.tensor([[0.0, 0, 10, 11], [1, 0, 10, 10], [20, 21, 30, 31], [50, 50, 60, 60]])
    scores = torch.tensor([0.9, 0.8, 0.7, 0.6])
    nothing = {"boxes": boxes[:1], "labels": torch.tensor([1]), "scores": torch.tensor([0.1])}
    mine = [{"boxes": found, "labels": torch.tensor([1, 1, 1, 2]), "scores": scores}, nothing]
    assert precision(mine, wanted, 1) == pytest.approx((1 + 2 / 3) / 3)
    assert precision(mine[:1], [{"boxes": boxes, "labels": torch.tensor([1, 1, 2])}], 2) == 1
