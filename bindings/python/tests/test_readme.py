# SPDX-License-Identifier: Apache-2.0
"""README.md is short, and its lines run as they stand: the Python, the policy file and the commands. So do the programs
of doc/loaders.md and doc/migrate.md."""

import ast
import importlib.util
import pathlib
import re
import subprocess
import sys

import numpy as np
import PIL.Image
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
USE = README[README.index("## Use") :]


def blocks(kind, page=USE):
    return re.findall(rf"^```{kind}\n(.*?)^```$", page, re.M | re.S)


def programs():
    """Blocks of the pages that import what they use."""
    for name in ("loaders", "migrate"):
        page = (ROOT / "doc" / f"{name}.md").read_text(encoding="utf-8")
        for title, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", page, re.M | re.S):
            for block in blocks("python", text):
                if re.match(r"import .*\bmotley\b", block):
                    yield pytest.param(block, id=title)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the lines read: photos, a data set, and the README's own policy."""
    (tmp_path / "photos").mkdir()
    (tmp_path / "train" / "class0").mkdir(parents=True)
    for i in range(3):
        image = PIL.Image.fromarray(np.full((240, 250 + i, 3), 40 * i, np.uint8))
        image.save(tmp_path / "photos" / f"{i}.jpg")
        image.save(tmp_path / "train" / "class0" / f"{i}.jpg")
    (policy,) = blocks("yaml")
    (tmp_path / "train.yaml").write_text(policy, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_first_two_commands():
    """A stranger's first command shows pictures, and the second runs every test."""
    commands = re.search(r"^```sh\n(.*?)^```$", README, re.M | re.S)[1].splitlines()
    assert [line.split()[0] for line in commands] == ["scripts/try.sh", "scripts/test.sh"]


def test_it_is_a_screen_and_a_half():
    assert len(README.splitlines()) <= 95


def test_the_commands_run(folder, command):
    (lines,) = blocks("sh")
    done = subprocess.run(
        ["sh", "-e"], input=lines.replace("motley ", f"{command} "), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "page.html").stat().st_size and len(list((folder / "augmented").iterdir())) == 24


@pytest.mark.parametrize("block", blocks("python"), ids=["torchvision", "timm", "batches", "files"])
def test_the_python_runs(folder, block):
    for module in ("torch", "torchvision", "timm"):
        if re.search(rf"\b{module}\b", block):
            pytest.importorskip(module)
    names = {}
    exec(block, names)
    if "train" in names:
        image = names["train"](PIL.Image.open("photos/0.jpg"))
        assert image.shape == (3, 224, 224)
    elif "loader" in names:
        assert len(names["labels"]) == len(names["images"]) == 3
    else:
        assert names["images"].shape == (64, 3, 224, 224) and names["images"].is_floating_point()


@pytest.mark.parametrize("program", list(programs()))
def test_programs_of_the_pages_run(program, tmp_path):
    nodes = list(ast.walk(ast.parse(program)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    for name in names:
        if importlib.util.find_spec(name.split(".")[0]) is None:  # not imported: they do not all fit into one process
            pytest.skip(f"there is no {name}")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


# ---- the two lines of each loader ----

LOADERS = (ROOT / "doc" / "loaders.md").read_text(encoding="utf-8")


def lines_of(loader):
    """The row of a loader in doc/loaders.md, and what the page has above: its lines of Python."""
    (row,) = re.findall(rf"^\| {loader} \| (.*) \|$", LOADERS, re.M)
    return [*blocks("python", LOADERS)[:1], *re.findall("`([^`]+)`", row)]


def files_of(folder):
    """Images of several sizes and modes."""
    folder.mkdir()
    for i, (mode, kind) in enumerate([("RGB", "jpg"), ("L", "jpg"), ("CMYK", "jpg"), ("P", "png")] * 2):
        picture = PIL.Image.fromarray(np.random.default_rng(i).integers(0, 256, (40 + i, 60, 3), np.uint8))
        picture.convert(mode).save(folder / f"{i}.{kind}")
    return sorted(folder.iterdir())


def hugging_face(folder):
    datasets = pytest.importorskip("datasets")
    files = files_of(folder / "files")
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
    data = {"image": list(map(str, files)), "label": list(range(len(files)))}
    return {"dataset": datasets.Dataset.from_dict(data, features=features)}


def web_dataset(folder):
    webdataset = pytest.importorskip("webdataset")
    with webdataset.TarWriter(str(folder / "0.tar")) as shard:
        for i, file in enumerate(files_of(folder / "files")):
            shard.write({"__key__": f"{i}", "jpg": file.read_bytes(), "cls": i})

    def dataset(urls):
        return webdataset.WebDataset(urls, shardshuffle=False)

    return {"WebDataset": dataset, "urls": str(folder / "0.tar")}


def image_folder(folder):
    datasets = pytest.importorskip("torchvision.datasets")
    (folder / "root").mkdir()
    files_of(folder / "root" / "class0")
    return {"ImageFolder": datasets.ImageFolder, "root": str(folder / "root")}


MADE = {"Hugging Face": hugging_face, "WebDataset": web_dataset,
        "DataLoader, image by image in the workers": image_folder}  # fmt: skip


@pytest.mark.parametrize("loader", MADE)
def test_the_two_lines_of_a_loader_train(loader, tmp_path):
    """On images of several sizes and modes, through a DataLoader with default_collate."""
    torch = pytest.importorskip("torch")
    import motley.torch

    names = {"motley": motley, **MADE[loader](tmp_path)}
    for line in lines_of(loader):
        exec(line, names)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 9, 9), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    optimizer, count = torch.optim.SGD(model.parameters(), lr=0.1), 0
    for batch in torch.utils.data.DataLoader(names["dataset"], 4):
        images, labels = batch.values() if isinstance(batch, dict) else batch
        assert images.shape == (4, 3, 224, 224) and images.dtype == torch.float32
        loss = torch.nn.functional.cross_entropy(model(images), labels % 8)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count += len(images)
    assert count == 8


def test_no_page_edits_yaml_by_replacing_text():
    pages = [ROOT / "README.md", *(ROOT / "doc").rglob("*.md"), *(ROOT / "examples").rglob("*.py")]
    edited = [page.name for page in pages if re.search(r"\.replace\([^)]*(stages|branches)", page.read_text("utf-8"))]
    assert len(pages) > 20 and not edited
