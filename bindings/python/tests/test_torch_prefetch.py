# SPDX-License-Identifier: Apache-2.0
"""motley.torch.Prefetcher, over encoded images and over batches."""

import collections
import contextlib
import io
import itertools
import pathlib
import queue
import re
import threading
import zlib
import warnings

import numpy as np
import PIL.Image
import pytest

import motley

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
from conftest import DEVICES, cuda, refused  # noqa: E402
from test_torch_module import MEAN, STD, augmented, pictures  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402
from torchvision.datasets import ImageFolder  # noqa: E402
from torchvision.io import ImageReadMode, decode_image  # noqa: E402

from motley.torch import Indexed, Prefetcher, Sampler, Transform, decode, list_images, read_file  # noqa: E402
from motley.torch.decode import decoded  # noqa: E402
from motley.torch.prefetch import without  # noqa: E402

TEXT = """motley: 1
name: small
stages:
  - random_resized_crop: {size: 24}
  - flip: {horizontal: 0.5}
  - output: {mean: 0.5, std: 0.25}
"""


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(2)
    for i in range(10):
        image = PIL.Image.fromarray(random.integers(0, 256, (40 + i, 60 - i, 3), np.uint8))
        place = tmp_path / f"class{i % 2}"
        place.mkdir(exist_ok=True)
        if i == 4:
            image.save(place / f"{i}.png")
        else:
            (image.convert("L") if i == 7 else image).save(place / f"{i}.jpg", quality=90)
    return ImageFolder(tmp_path, loader=read_file)


def loader_of(dataset, **settings):
    if isinstance(dataset, Indexed):
        settings["sampler"] = Sampler(dataset if settings.pop("shuffle", False) else range(len(dataset)))
    return torch.utils.data.DataLoader(dataset, batch_size=4, collate_fn=list_images, **settings)


@pytest.mark.parametrize("workers", [0, 2])
def test_files_are_decoded_and_transformed(folder, workers):
    loader = loader_of(Indexed(folder), shuffle=True, num_workers=workers)
    seen = {}
    for images, labels, ids in Prefetcher(loader, Transform(TEXT, seed=4), "cpu", ids=2):
        assert images.dtype == torch.float32 and images.shape[1:] == (3, 24, 24)
        for image, label, i in zip(images, labels, ids[:, 0].tolist()):
            assert int(label) == folder.targets[i]
            seen[i] = image
    assert sorted(seen) == list(range(10))
    transform = motley.Transform(TEXT, seed=4)
    for i, (file, _) in enumerate(folder):
        wanted = transform(decode_image(file, mode=ImageReadMode.RGB), sample_ids=i, epoch=0)
        assert torch.equal(seen[i], wanted)


def test_bytes_are_files_too(folder):
    files = [bytes(folder[i][0].numpy()) for i in range(4)]
    (images, labels), = Prefetcher([(files, torch.arange(4))], Transform(TEXT), "cpu")  # fmt: skip
    assert images.shape == (4, 3, 24, 24) and labels.tolist() == [0, 1, 2, 3]


def broken_batch(folder):
    files = [folder[i][0] for i in range(4)]
    files[1], files[2] = files[1][:40], torch.empty(0, dtype=torch.uint8)
    names = ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
    return {"files": files, "labels": torch.arange(4), "path": names, "id": torch.arange(4)}


def test_broken_files_are_named(folder):
    settings = dict(images="files", ids="id")
    with pytest.raises(motley.FileError, match=r"^b\.jpg: cannot be decoded: "):
        list(Prefetcher([broken_batch(folder)], Transform(TEXT), "cpu", names="path", **settings))
    with pytest.raises(motley.FileError, match="^image 1, sample 1: cannot be decoded"):
        list(Prefetcher([broken_batch(folder)], Transform(TEXT), "cpu", **settings))


def test_broken_files_are_left_out(folder):
    how = dict(images="files", ids="id", names="path", broken="skip")
    prefetcher = Prefetcher([broken_batch(folder)], Transform(TEXT, seed=1, epoch=0), "cpu", **how)
    with pytest.warns(UserWarning) as warned:
        (batch,) = prefetcher
    assert [str(w.message).split(":")[0] for w in warned if w.category is UserWarning] == ["b.jpg", "c.jpg"]
    assert batch["labels"].tolist() == batch["id"].tolist() == [0, 3] and batch["path"] == ["a.jpg", "d.jpg"]
    wanted = motley.Transform(TEXT, seed=1)(decode_image(folder[3][0], ImageReadMode.RGB), sample_ids=3, epoch=0)
    assert torch.equal(batch["files"][1], wanted)
    nothing = [([torch.zeros(9, dtype=torch.uint8)], torch.arange(1))]
    with pytest.warns(UserWarning), pytest.raises(motley.FileError, match="image 0 and all others of its batch"):
        list(Prefetcher(nothing, Transform(TEXT), "cpu", broken="skip"))
    refused("broken is 'ignore', want 'raise', 'skip'", Prefetcher, [], Transform(TEXT), "cpu", broken="ignore")
    refused(
        "transform is a motley.Follow, .* want a MotleyCollate", Prefetcher, [], motley.Follow("rand_augment"), "cpu"
    )


def test_labels_are_left_out_by_the_caller(folder):
    """Labels may lie on the GPU, ready for the caller's stream: the thread that decodes must not touch them."""
    threads = []

    class Labels:
        shape = (4,)

        def __len__(self):
            return 4

        def __getitem__(self, kept):
            threads.append(threading.get_ident())
            return ["abcd"[i] for i in kept]

    batch = {**broken_batch(folder), "labels": Labels()}
    prefetcher = Prefetcher([batch, broken_batch(folder)], Transform(TEXT), "cpu", images="files", broken="skip")
    with pytest.warns(UserWarning):
        first = next(iter(prefetcher))
    assert first["labels"] == ["a", "d"] and set(threads) == {threading.get_ident()}


def test_the_page_trains(folder, tmp_path, monkeypatch):
    """doc/python.md's page on files, with a small model and a small data set in the place of ImageNet."""
    page = (pathlib.Path(__file__).resolve().parents[3] / "doc/python.md").read_text(encoding="utf-8")
    page = page[page.index("## From JPEG files") :]
    file, script = (re.search(f"```{kind}\n(.*?)```", page, re.S).group(1) for kind in ("yaml", "python"))
    small = {'ImageFolder("train"': f'ImageFolder("{tmp_path}"', " 256,": " 4,", "num_workers=2": "num_workers=0"}
    small.update({"resnet50()": "mobilenet_v3_small(num_classes=2)", "range(90)": "range(2)"})
    for there, here in small.items():
        assert script.count(there) == 1, there
        script = script.replace(there, here)
    monkeypatch.chdir(tmp_path)
    pathlib.Path("train.yaml").write_text(file.replace("224", "32"), encoding="utf-8")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    result = {}
    exec(script, result)
    assert result["images"].shape == (4, 3, 32, 32) and torch.isfinite(result["loss"]) and result["epoch"] == 1


def encoded(kind, *images, **settings):
    """The bytes of a file of these frames."""
    buffer = io.BytesIO()
    first, *rest = [PIL.Image.fromarray(image) if isinstance(image, np.ndarray) else image for image in images]
    first.save(buffer, kind, save_all=bool(rest), append_images=rest, **settings)
    return buffer.getvalue()


def frames(count):
    return [PIL.Image.new("RGB", (8, 8), (90 * i, 7, 7)) for i in range(count)]


PICTURE = encoded("PNG", np.zeros((8, 8, 3), np.uint8))
WRONG = {
    "truncated": (encoded("JPEG", PIL.Image.new("RGB", (90, 90)))[:-9], "Image is incomplete or truncated"),
    "16 bits": (encoded("PNG", np.zeros((8, 8), np.uint16)), "its values are torch.uint16, want 8 bits a channel"),
    "frames": (encoded("GIF", *frames(3)), "it has 3 frames, want one image"),
    "frames of PNG": (encoded("PNG", *frames(2)), "it has 2 frames, want one image"),
    "text": (b"hello", ""),
}


@pytest.mark.parametrize("file, why", WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_file_is_said(file, why):
    if why.startswith("its") and not hasattr(torch, "uint16"):
        pytest.skip("this torchvision makes bytes of 16 bits")
    if why.startswith("it has 3") and not hasattr(torchvision.io, "decode_gif"):
        pytest.skip("this torchvision reads no GIF")
    batch = ([file, PICTURE], ["bad", "good"])
    with pytest.raises(motley.FileError, match=f"^bad: cannot be decoded: {why}"):
        list(Prefetcher([batch], Transform(TEXT), "cpu", names=1))
    with pytest.warns(UserWarning, match="bad: left out"):
        ((images, names),) = Prefetcher([batch], Transform(TEXT), "cpu", names=1, broken="skip")
    assert len(images) == 1 and names == ["good"]


def test_a_png_of_one_frame_is_no_animation():
    chunk = b"\0\0\0\x08acTL" + (1).to_bytes(4, "big") + bytes(4)
    file = bytearray(PICTURE)
    file[33:33] = chunk + zlib.crc32(chunk[4:]).to_bytes(4, "big")
    assert decode.frames_of_png(decode.file_tensor(file)) == 1
    for one in encoded("PNG", *frames(1)), bytes(file):
        ((images,),) = Prefetcher([([one],)], Transform(TEXT), "cpu")
        assert len(images) == 1


def test_broken_files_take_the_lists_of_their_samples_along():
    good = torch.from_numpy(np.frombuffer(PICTURE, np.uint8).copy())
    files = [good, torch.zeros(9, dtype=torch.uint8), good]
    boxes, notes = [torch.full((i, 4), i) for i in range(3)], [{"k": i} for i in range(3)]
    batch = (files, boxes, notes, np.arange(3), (torch.arange(3), list("abc")))
    with pytest.warns(UserWarning, match="image 1: left out"):
        ((_, boxes, notes, numbers, (ids, names)),) = Prefetcher([batch], Transform(TEXT), "cpu", broken="skip")
    assert [len(rows) for rows in boxes] == [0, 2] and notes == [{"k": 0}, {"k": 2}] and numbers.tolist() == [0, 2]
    assert ids.tolist() == [0, 2] and names == ["a", "c"]
    columns = [torch.arange(2), torch.arange(2)]  # as many as samples
    assert [column.tolist() for column in without((0, columns), 2, [1])[1]] == [[1], [1]]


def test_decoding_leaves_the_filters_of_other_threads(monkeypatch):
    """A filter is set while another thread decodes, and is gone when that is over."""
    decoding, over = threading.Event(), threading.Event()

    def slow_decode(file):
        decoding.set()
        over.wait(5)
        return decode_image(file)

    monkeypatch.setattr(decode, "cpu_decoder", lambda: slow_decode)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        thread = threading.Thread(target=decoded, args=([PICTURE], torch.device("cpu"), str))
        thread.start()
        decoding.wait(5)
    before = list(warnings.filters)
    over.set()
    thread.join()
    assert warnings.filters == before and decoding.is_set()


def test_decoding_warns_of_nothing(folder):
    """torchvision 0.29 deprecates its decoders in favour of TorchCodec's."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(Prefetcher(loader_of(folder), Transform(TEXT), "cpu"))) == 3


def test_list_images(folder):
    images, labels = list_images([folder[0], folder[1]])
    assert isinstance(images, list) and torch.equal(images[1], folder[1][0]) and labels.tolist() == [0, 0]
    file = folder[0][0]
    assert list_images([(file, 0)])[0][0] is file  # not copied but in workers


class Ragged(torch.utils.data.Dataset):
    """Images of several sizes."""

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return torch.full((3, 2 + i, 4), i, dtype=torch.uint8), i


@pytest.mark.parametrize("start", ["fork", "forkserver"])
def test_workers_pass_a_batch_on_in_one_piece(folder, start):
    """A tensor that is passed on by itself takes a file descriptor in the process that receives it."""
    for data in (folder, Ragged()):
        loader = loader_of(data, num_workers=1, multiprocessing_context=start)
        for k, (images, labels) in enumerate(loader):
            assert type(images) is list and len({image.data_ptr() - image.storage_offset() for image in images}) == 1
            wanted = [data[i] for i in range(4 * k, 4 * k + len(images))]
            assert all(torch.equal(image, sample[0]) for image, sample in zip(images, wanted))
            assert labels.tolist() == [sample[1] for sample in wanted]


def test_the_next_batch_is_decoded_while_this_one_is_worked_on(folder, monkeypatch):
    begun, decoded = queue.Queue(), motley.torch.prefetch.decoded

    def noted(files, *rest):
        begun.put(threading.current_thread())
        return decoded(files, *rest)

    monkeypatch.setattr(motley.torch.prefetch, "decoded", noted)
    batches = iter(Prefetcher(loader_of(folder), Transform(TEXT), "cpu"))
    next(batches)
    threads = [begun.get(timeout=20) for _ in range(2)]
    assert threading.current_thread() not in threads
    assert len(list(batches)) == 2 and begun.qsize() == 1  # of three batches


def test_encoded_and_decoded_batches_keep_their_order(folder):
    files = [folder[i][0] for i in range(4)]
    pictures = torch.zeros(2, 3, 40, 60, dtype=torch.uint8)
    loader = [(pictures, 0), (files[:1], 1), (files[1:3], 2), (pictures, 3), (files[3:], 4)]
    counts = [(len(images), i) for images, i in Prefetcher(loader, Transform(TEXT), "cpu")]
    assert counts == [(2, 0), (1, 1), (2, 2), (2, 3), (1, 4)]


@cuda
def test_a_slow_stage_reads_images_that_the_decoder_does_not_overwrite():
    files = [motley.torch.decode.file_tensor(encoded("JPEG", np.full((64, 64, 3), 8 * i, np.uint8))) for i in range(32)]

    def mean(images):
        torch.cuda._sleep(50_000_000)  # tens of milliseconds
        return torch.stack([image.float().mean() for image in images])

    loader = [([file] * 8, i) for i, file in enumerate(files)]
    for means, i in Prefetcher(loader, mean, "cuda"):
        assert (means - 8 * i).abs().max() < 3, i


@cuda
def test_on_the_gpu(folder):
    loader = loader_of(Indexed(folder), pin_memory=True)
    for images, labels, ids in Prefetcher(loader, Transform(TEXT, seed=4), "cuda", ids=2):
        assert images.is_cuda and labels.is_cuda and not ids.is_cuda and len(images) == len(labels)
    cmyk = encoded("JPEG", PIL.Image.new("CMYK", (30, 20)))
    ((images,),) = Prefetcher([([cmyk, folder[0][0]],)], Transform(TEXT), "cuda")
    assert images.shape == (2, 3, 24, 24)


# ---- batches of images ----

Named = collections.namedtuple("Named", "pixels label where")


def batches(kind, count=5):
    for i in range(count):
        images, ids = pictures(seed=i), torch.arange(12 * i, 12 * i + 12)
        yield {
            "tuple": (images, ids, "note"),
            "list": [images, ids, "note"],
            "named": Named(images, ids, "note"),
            "dict": {"pixels": images, "label": ids, "where": "note"},
        }[kind]


class Loader:
    """Batches without anything else."""

    def __init__(self, kind="tuple", count=5):
        self.kind, self.count = kind, count

    def __len__(self):
        return self.count

    def __iter__(self):
        return batches(self.kind, self.count)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["tuple", "list", "named", "dict"])
def test_prefetcher_gives_the_loaders_batches(device, kind):
    stage = Transform("rand_augment", mean=MEAN, std=STD, dtype=torch.float32, seed=7).to(device)
    mean, std = (torch.tensor(numbers).view(1, 3, 1, 1) for numbers in (MEAN, STD))
    keys = ("pixels", "label", "where") if kind == "dict" else (0, 1, 2)
    prefetcher = Prefetcher(Loader(kind), stage, device, images=keys[0], ids=keys[1])
    assert len(prefetcher) == 5
    for epoch in (0, 1):
        prefetcher.set_epoch(epoch)
        given = list(prefetcher)
        assert len(given) == 5
        for got, batch in zip(given, batches(kind)):
            assert type(got) is type(batch) and got[keys[2]] == "note"
            images, ids = batch[keys[0]], batch[keys[1]]
            assert torch.equal(got[keys[1]], ids)
            assert got[keys[0]].device.type == device
            assert torch.equal(got[keys[0]].cpu(), (augmented(images, ids, epoch=epoch).float() / 255 - mean) / std)


def test_prefetcher_sets_the_epoch_of_both():
    stage, sampler = Transform("rand_augment"), torch.utils.data.DistributedSampler(range(8), num_replicas=1, rank=0)
    prefetcher = Prefetcher(DataLoader(TensorDataset(pictures(8)), sampler=sampler), stage, "cpu")
    prefetcher.set_epoch(5)
    assert sampler.epoch == stage.epoch == 5
    refused("epoch is -1, want a whole number", prefetcher.set_epoch, -1)


def test_prefetcher_orders_its_streams(monkeypatch):
    """Without a GPU: stand-ins for streams record which stream waits for which."""
    log = []

    class Stream:
        def __init__(self, name):
            self.name, self.events = name, 0

        def wait_stream(self, other):
            log.append(f"{self.name} waits for {other.name}")

        def wait_event(self, event):
            log.append(f"{self.name} waits for {event}")

        def record_event(self):
            self.events += 1
            return f"batch {self.events}"

    main = Stream("main")
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: main)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    prefetcher = Prefetcher(Loader(count=3), Transform("rand_augment"), "cpu")
    prefetcher.stream = Stream("side")
    for _ in prefetcher:
        log.append(f"step, {prefetcher.stream.events} prepared")
    assert log == [
        "side waits for main",
        "main waits for batch 1",
        "step, 2 prepared",
        "main waits for batch 2",
        "step, 3 prepared",
        "main waits for batch 3",
        "step, 3 prepared",
    ]
    log.clear()
    prefetcher.set_epoch(1)
    assert log == ["main waits for side"]


def test_prefetcher_passes_errors_on():
    class Broken(Loader):
        def __iter__(self):
            yield from batches("tuple", 1)
            raise KeyError("the loader broke")

    refused("the loader broke", list, Prefetcher(Broken(), Transform("rand_augment"), "cpu"), error=KeyError)
    assert list(Prefetcher([], Transform("rand_augment"), "cpu")) == []


@cuda
def test_prefetched_memory_is_not_reused_too_early():
    """A slow consumer on the current stream, batches of one size, and nobody who waits: every batch must still be
    what it was when it was handed over."""
    stage = Transform("rand_augment", seed=7, epoch=0).cuda()
    loader = [(pictures(64, 3, 64, 64, seed=i).pin_memory(), torch.arange(64 * i, 64 * i + 64)) for i in range(24)]
    sums = []
    for images, _ in Prefetcher(loader, stage, ids=1):
        torch.cuda._sleep(20_000_000)  # about 10 ms
        sums.append(images.double().sum(dim=(1, 2, 3)))
        del images
    for got, (images, ids) in zip(sums, loader):
        assert torch.equal(got.cpu(), augmented(images, ids).double().sum(dim=(1, 2, 3)))


@cuda
def test_prefetcher_waits_for_batches_that_are_on_the_device():
    """A loader that fills CUDA batches on the current stream: the stage must not read them before they are written."""
    stage = Transform("rand_augment", seed=7, epoch=0).cuda()
    host = [(pictures(64, 3, 64, 64, seed=i), torch.arange(64)) for i in range(8)]

    def loader():
        for images, ids in host:
            device = torch.zeros_like(images, device="cuda")
            source = images.cuda()
            torch.cuda._sleep(20_000_000)
            device.copy_(source)
            yield device, ids

    for (images, _), (source, ids) in zip(Prefetcher(loader(), stage, ids=1), host):
        assert torch.equal(images.cpu(), augmented(source, ids))


@cuda
def test_prefetcher_overlaps():
    """The stage's work runs while the consumer's stream is busy."""
    stage = Transform("rand_augment").cuda()
    loader = [(pictures(256, 3, 224, 224).pin_memory(),)] * 4
    prefetcher = Prefetcher(loader, stage)
    list(prefetcher)
    torch.cuda.synchronize()
    it = iter(prefetcher)
    next(it)
    torch.cuda._sleep(400_000_000)  # about 200 ms
    busy = torch.cuda.Event()
    busy.record()
    next(it)
    prefetcher.stream.synchronize()
    assert not busy.query(), "the side stream waited for the consumer"
    torch.cuda.synchronize()


class Kept:
    """A loader that keeps its place, as torchdata's StatefulDataLoader."""

    def __init__(self, encoded):
        self.at, self.encoded = 0, encoded

    def __iter__(self):
        while self.at < 6:
            self.at += 1
            images = pictures()[:2]
            yield (
                [encoded("PNG", image.permute(1, 2, 0).numpy()) for image in images] if self.encoded else images,
                self.at - 1,
            )
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("device", DEVICES)
def test_the_loaders_state_is_that_of_what_was_handed_over(device, encoded):
    def made():
        return Prefetcher(Kept(encoded), Transform(TEXT if encoded else "rand_augment", seed=7).to(device), device)

    def read(prefetcher, count=None):
        return [(images.cpu(), at) for images, at in itertools.islice(prefetcher, count)]

    whole, begun, resumed = made(), made(), made()
    want, first = read(whole), read(begun, 2)
    resumed.load_state_dict(begun.state_dict())
    for (one, i), (other, j) in zip(want, first + read(resumed), strict=True):
        assert torch.equal(one, other) and i == j
    first, last = made(), made()
    read(first, 6)  # of all batches, the end was not asked for
    last.load_state_dict(first.state_dict())
    assert read(last) == [] and len(read(last)) == 6
    begun.load_state_dict(whole.state_dict())  # whose pass is over
    assert [at for _, at in read(begun)] == [*range(6)]
    plain = Prefetcher([], Transform("rand_augment"), "cpu")
    refused("the state has count, loader, want count", plain.load_state_dict, whole.state_dict())


@cuda
def test_epochs_after_a_pass_that_was_broken_off():
    stage = Transform("rand_augment", seed=7).cuda()
    loader = [(pictures(64, 3, 64, 64, seed=i).pin_memory(),) for i in range(3)]
    loader, ids = [(*batch, torch.arange(64)) for batch in loader], torch.arange(64)
    prefetcher = Prefetcher(loader, stage, ids=1)
    for epoch in (3, 4):
        prefetcher.set_epoch(epoch)
        images, _ = next(iter(prefetcher))  # the second batch is on its way when we leave
        core = motley.Transform("rand_augment", seed=7)
        assert torch.equal(images.cpu(), core(loader[0][0], sample_ids=ids, epoch=epoch))
    torch.cuda.synchronize()


# ---- targets of detection ----


def targets(n=4):
    random = torch.Generator().manual_seed(3)
    corners = torch.randint(8, (n, 2, 2), generator=random).float()
    boxes = torch.cat([corners, corners + 6], -1)
    masks = torch.randint(2, (n, 2, 20, 24), dtype=torch.uint8, generator=random)
    return [
        {"boxes": boxes[i], "labels": torch.tensor([1, 2]), "masks": masks[i], "name": f"{i}.jpg"} for i in range(n)
    ]


def test_masks_of_targets_are_mixed_where_the_images_are():
    """Boxes stay in host memory, where they are read; what comes out is on the device, too."""
    seen = []

    def mix(images, labels):
        seen.extend(labels)
        return images, [dict(target) for target in labels]

    (_, made), = Prefetcher([(pictures(4), targets())], mix, "meta", labels=1)  # fmt: skip
    for target, one in zip(seen, made):
        assert target["masks"].is_meta and not target["boxes"].is_meta and not target["labels"].is_meta
        assert one["boxes"].is_meta and one["labels"].is_meta and one["name"] == target["name"]
    with_others = [{name: value for name, value in target.items() if name != "masks"} for target in targets()]
    (_, made), = Prefetcher([(pictures(4), motley.Targets(with_others, "xyxy"))], mix, "meta", labels=1)  # fmt: skip
    assert made[0]["boxes"].is_meta and not seen[4]["boxes"].is_meta


@cuda
def test_instances_are_pasted_by_a_prefetcher():
    mix = motley.mix(instances=True, grow=2, seed=3)
    labels = motley.Targets(targets(), "xyxy")
    images, made = mix(pictures(4), labels=labels, sample_ids=range(4), epoch=1)
    loader = [(pictures(4), labels, torch.arange(4))]
    mix.set_epoch(1)
    (found, results, _), = Prefetcher(loader, mix, "cuda", labels=1, ids=2)  # fmt: skip
    assert torch.equal(found.cpu(), images)
    for one, wanted in zip(results, made):
        for name in "boxes", "labels", "masks":
            assert one[name].is_cuda and torch.equal(one[name].cpu(), wanted[name])
