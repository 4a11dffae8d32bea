# SPDX-License-Identifier: Apache-2.0
"""From files to the network's input: motley.torch.Prefetcher over encoded images."""

import io
import pathlib
import queue
import re
import threading
import warnings

import numpy as np
import PIL.Image
import pytest

import motley

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
from conftest import cuda, refused  # noqa: E402
from torchvision.datasets import ImageFolder  # noqa: E402
from torchvision.io import ImageReadMode, decode_image  # noqa: E402

from motley.torch import Indexed, Prefetcher, Transform, decode, list_images, read_file  # noqa: E402
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
    return torch.utils.data.DataLoader(dataset, batch_size=4, collate_fn=list_images, **settings)


@pytest.mark.parametrize("workers", [0, 2])
def test_files_are_decoded_and_transformed(folder, workers):
    loader = loader_of(Indexed(folder), shuffle=True, num_workers=workers)
    seen = {}
    for images, labels, ids in Prefetcher(loader, Transform(TEXT, seed=4), "cpu", ids=2):
        assert images.dtype == torch.float32 and images.shape[1:] == (3, 24, 24)
        for image, label, i in zip(images, labels, ids.tolist()):
            assert int(label) == folder.targets[i]
            seen[i] = image
    assert sorted(seen) == list(range(10))
    transform = motley.Transform(TEXT, seed=4)
    for i, (file, _) in enumerate(folder):
        wanted = transform(decode_image(file, mode=ImageReadMode.RGB), sample_ids=i)
        assert torch.equal(seen[i], wanted)


def test_files_become_views(folder):
    large, small = TEXT.split("stages:")[1], "    [{random_resized_crop: {size: 9}}, {output: {}}]\n"
    views = f"motley: 1\nname: v\nviews:\n- name: large\n  stages:{large}- name: small\n  count: 2\n  stages:\n{small}"
    for made, _, ids in Prefetcher(loader_of(Indexed(folder)), views, "cpu", ids=2):
        for i, large in zip(ids.tolist(), made["large"]):
            wanted = motley.MultiView(views)(decode_image(folder[i][0], mode=ImageReadMode.RGB), sample_ids=i)
            assert torch.equal(large, wanted["large"])
        assert [tuple(batch.shape) for batch in made["small"]] == 2 * [(len(ids), 3, 9, 9)]


def test_bytes_are_files_too(folder):
    files = [bytes(folder[i][0].numpy()) for i in range(4)]
    (images, labels), = Prefetcher([(files, torch.arange(4))], Transform(TEXT), "cpu")  # fmt: skip
    assert images.shape == (4, 3, 24, 24) and labels.tolist() == [0, 1, 2, 3]


def broken_batch(folder):
    files = [folder[i][0] for i in range(4)]
    files[1], files[2] = files[1][:40], torch.empty(0, dtype=torch.uint8)
    return {
        "files": files,
        "labels": torch.arange(4),
        "path": ["a.jpg", "b.jpg", "c.jpg", "d.jpg"],
        "id": torch.arange(4),
    }


def test_broken_files_are_named(folder):
    settings = dict(images="files", ids="id")
    with pytest.raises(motley.FileError, match=r"^b\.jpg: cannot be decoded: "):
        list(Prefetcher([broken_batch(folder)], Transform(TEXT), "cpu", names="path", **settings))
    with pytest.raises(motley.FileError, match="^image 1, sample 1: cannot be decoded"):
        list(Prefetcher([broken_batch(folder)], Transform(TEXT), "cpu", **settings))


def test_broken_files_are_left_out(folder):
    prefetcher = Prefetcher(
        [broken_batch(folder)], Transform(TEXT, seed=1), "cpu", images="files", ids="id", names="path", broken="skip"
    )
    with pytest.warns(UserWarning) as warned:
        (batch,) = prefetcher
    assert [str(w.message).split(":")[0] for w in warned if w.category is UserWarning] == ["b.jpg", "c.jpg"]
    assert batch["labels"].tolist() == batch["id"].tolist() == [0, 3] and batch["path"] == ["a.jpg", "d.jpg"]
    wanted = motley.Transform(TEXT, seed=1)(decode_image(folder[3][0], ImageReadMode.RGB), sample_ids=3)
    assert torch.equal(batch["files"][1], wanted)
    nothing = [([torch.zeros(9, dtype=torch.uint8)], torch.arange(1))]
    with pytest.warns(UserWarning), pytest.raises(motley.FileError, match="image 0 and all others of its batch"):
        list(Prefetcher(nothing, Transform(TEXT), "cpu", broken="skip"))
    refused("broken is 'ignore', want 'raise', 'skip'", Prefetcher, [], Transform(TEXT), "cpu", broken="ignore")


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
    assert result["transform"].epoch == 1


def jpeg(array):
    buffer = io.BytesIO()
    PIL.Image.fromarray(array).save(buffer, "JPEG", quality=95)
    return bytearray(buffer.getvalue())


def png(array):
    buffer = io.BytesIO()
    PIL.Image.fromarray(array).save(buffer, "PNG")
    return buffer.getvalue()


def gif(frames):
    buffer = io.BytesIO()
    first, *rest = [PIL.Image.new("L", (8, 8), 90 * i) for i in range(frames)]
    first.save(buffer, "GIF", save_all=True, append_images=rest)
    return buffer.getvalue()


def half_a_jpeg():
    buffer = io.BytesIO()
    PIL.Image.new("RGB", (90, 90)).save(buffer, "JPEG")
    return buffer.getvalue()[:-9]


@pytest.mark.parametrize(
    "file, why",
    [
        (half_a_jpeg(), "Image is incomplete or truncated"),
        (png(np.zeros((8, 8), np.uint16)), "its values are torch.uint16, want 8 bits a channel"),
        (gif(3), "it has 3 frames, want one image"),
        (b"hello", ""),
    ],
    ids=["truncated", "16 bits", "frames", "text"],
)
def test_what_is_wrong_with_a_file_is_said(file, why):
    if why.startswith("its") and not hasattr(torch, "uint16"):
        pytest.skip("this torchvision makes bytes of 16 bits")
    if why.startswith("it has") and not hasattr(torchvision.io, "decode_gif"):
        pytest.skip("this torchvision reads no GIF")
    batch = ([file, png(np.zeros((8, 8, 3), np.uint8))], ["bad", "good"])
    with pytest.raises(motley.FileError, match=f"^bad: cannot be decoded: {why}"):
        list(Prefetcher([batch], Transform(TEXT), "cpu", names=1))
    with pytest.warns(UserWarning, match="bad: left out"):
        ((images, names),) = Prefetcher([batch], Transform(TEXT), "cpu", names=1, broken="skip")
    assert len(images) == 1 and names == ["good"]


def test_broken_files_take_the_lists_of_their_samples_along():
    good = torch.from_numpy(np.frombuffer(png(np.zeros((8, 8, 3), np.uint8)), np.uint8).copy())
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
    file = png(np.zeros((8, 8, 3), np.uint8))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        thread = threading.Thread(target=decoded, args=([file], torch.device("cpu"), str))
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


@pytest.mark.parametrize("start", ["fork", "spawn"])
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
    assert [(len(images), i) for images, i in Prefetcher(loader, Transform(TEXT), "cpu")] == [
        (2, 0),
        (1, 1),
        (2, 2),
        (2, 3),
        (1, 4),
    ]


@cuda
def test_a_slow_stage_reads_images_that_the_decoder_does_not_overwrite():
    files = [torch.frombuffer(jpeg(np.full((64, 64, 3), 8 * i, np.uint8)), dtype=torch.uint8) for i in range(32)]

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
    buffer = io.BytesIO()
    PIL.Image.new("CMYK", (30, 20)).save(buffer, "JPEG")
    ((images,),) = Prefetcher([([buffer.getvalue(), folder[0][0]],)], Transform(TEXT), "cuda")
    assert images.shape == (2, 3, 24, 24)
