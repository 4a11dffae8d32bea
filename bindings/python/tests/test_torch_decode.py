# SPDX-License-Identifier: Apache-2.0
"""Which decoder reads a file, and that all that are installed make the same of it."""

import io

import numpy as np
import PIL.Image
import pytest

import motley

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
from conftest import cuda  # noqa: E402

from motley.torch import decode  # noqa: E402

torchcodec = pytest.mark.skipif(decode.cpu_decoder() is decode.torchvision_on_cpu, reason="TorchCodec is not installed")
PIXELS = np.stack(np.broadcast_arrays(*np.ogrid[0:240:8, 0:250:5], 128), -1).astype(np.uint8)  # [30, 50, 3], smooth


def file_of(kind="JPEG", mode="RGB", turned=0, **settings):
    if turned:
        settings["exif"] = PIL.Image.Exif()
        settings["exif"][0x0112] = turned
    buffer = io.BytesIO()
    PIL.Image.fromarray(PIXELS).convert(mode).save(buffer, kind, **settings)
    return buffer.getvalue()


FILES = {
    "jpeg": file_of(),
    "444": file_of(subsampling=0),
    "progressive": file_of(progressive=True),
    "grey": file_of(mode="L"),
    "CMYK": file_of(mode="CMYK"),
    "png": file_of("PNG"),
    "palette": file_of("PNG", "P"),
    "bits": file_of("PNG", "1"),
    "RGBA": file_of("PNG", "RGBA"),
    "LA": file_of("PNG", "LA"),
    "webp": file_of("WEBP"),
    "gif": file_of("GIF"),
    **{
        f"{kind} turned {turned}": file_of(kind, turned=turned) for kind in ("JPEG", "PNG", "WEBP") for turned in (3, 6)
    },
}


def of_one(file):
    ((image,), _) = decode.decoded([file], torch.device("cpu"), str)
    return image


@torchcodec
@pytest.mark.parametrize("name", FILES)
def test_both_decoders_make_the_same_of_a_file(name, monkeypatch):
    image = of_one(FILES[name])
    monkeypatch.setattr(decode, "cpu_decoder", lambda: decode.torchvision_on_cpu)
    assert torch.equal(image, of_one(FILES[name])) and image.shape == (3, 30, 50) and image.dtype == torch.uint8


@torchcodec
@pytest.mark.parametrize("name", ["jpeg", "png", "webp", "gif"])
def test_both_refuse_what_is_cut_off(name, monkeypatch):
    said = []
    for _ in range(2):
        with pytest.raises(motley.FileError, match="^0: cannot be decoded: [^/]*$") as refused:
            decode.decoded([FILES[name][:-40]], torch.device("cpu"), str)
        said.append(str(refused.value))
        monkeypatch.setattr(decode, "cpu_decoder", lambda: decode.torchvision_on_cpu)
    assert name != "jpeg" or said[0].rstrip(".") == said[1]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_file_without_its_orientation(kind):
    """Nothing else changes, and a file that has none is not copied."""
    plain, turned = (decode.file_tensor(file_of(kind, turned=turned)) for turned in (0, 6))
    assert decode.without_orientation(plain) is plain
    bare = decode.without_orientation(turned)
    images = [PIL.Image.open(io.BytesIO(bytes(file.numpy()))) for file in (bare, plain)]
    assert not images[0].getexif() and np.array_equal(*map(np.asarray, images)) and len(bare) < len(turned)


def test_the_orientation_is_found_behind_other_segments():
    """Adobe's and fill bytes; and a file that is cut off anywhere is left to the decoder."""
    file = file_of(turned=6)
    before, exif = file[:2], file[file.index(b"\xff\xe1") :]
    odd = before + b"\xff\xee\x00\x04ab" + b"\xff\xff" + exif
    bare = decode.without_orientation(decode.file_tensor(odd))
    assert b"Exif" not in bytes(bare.numpy()) and bytes(bare[:8].numpy()) == odd[:8]
    for kind in ("JPEG", "PNG", "WEBP"):
        file = file_of(kind, turned=6)
        for length in range(0, 200, 3):
            decode.without_orientation(decode.file_tensor(file[:length]))


@pytest.mark.parametrize("bad", [(), (3,), (0, 6), range(7)])
def test_files_that_a_decoder_does_not_support_are_found_by_halves(bad):
    calls = []

    def decoder(files):
        calls.append(len(files))
        if {*bad} & {*files}:
            raise RuntimeError
        return [10 * file for file in files]

    assert decode.in_halves(decoder, range(7)) == [None if i in bad else 10 * i for i in range(7)]
    assert len(calls) <= 1 + 6 * len(bad) and calls[0] == 7


@torchcodec
def test_torchcodec_on_a_gpu_where_torchvision_has_no_decoder(monkeypatch):
    assert [*decode.device_decoders.__wrapped__()] == ["torchvision", "torchcodec"]
    monkeypatch.delattr(torchvision.io, "decode_jpeg")
    assert [*decode.device_decoders.__wrapped__()] == ["torchcodec"]


@cuda
@pytest.mark.parametrize("name", decode.device_decoders())
def test_files_on_a_gpu(name, monkeypatch):
    """With each decoder, and among files that are no JPEG or broken; the pixels are nearly the CPU's."""
    one = {name: decode.device_decoders.__wrapped__()[name]}
    monkeypatch.setattr(decode, "device_decoders", lambda: one)
    files = [*FILES.values(), b"hello", FILES["jpeg"]]
    with pytest.warns(UserWarning, match=f"^{len(FILES)}: left out, cannot be decoded"):
        images, kept = decode.decoded(files, torch.device("cuda"), str, "skip")
    assert kept == [i for i in range(len(files)) if i != len(FILES)]
    for i, image in zip(kept, images):
        assert image.is_cuda and (image.cpu().int() - of_one(files[i]).int()).abs().max() <= 24, i


@pytest.mark.slow
def test_torchvision_where_torchcodec_is_of_no_use(forked, tmp_path):
    """It has no images yet, or was made for another torch."""
    programs = []
    for wrong in "ImportError('cannot import decode_image')", "RuntimeError('made for torch 9')":
        folder = tmp_path / wrong[:5]
        (folder / "torchcodec").mkdir(parents=True)
        (folder / "torchcodec/__init__.py").write_text("")
        (folder / "torchcodec/decoders.py").write_text(f"raise {wrong}")
        (folder / "program.py").write_text(
            "from motley.torch import decode\nassert decode.cpu_decoder() is decode.torchvision_on_cpu\n"
            "import sys\nassert 'torchcodec' in sys.modules\n"
        )
        programs.append(([folder / "program.py"], {}))
    forked(*programs)
