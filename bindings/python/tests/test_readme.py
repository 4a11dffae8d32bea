# SPDX-License-Identifier: Apache-2.0
"""README.md is short, and its lines run as they stand: the Python, the policy file and the commands. So do the programs
of doc/loaders.md and doc/migrate.md."""

import ast
import importlib.util
import pathlib
import re
import subprocess

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
def test_programs_of_the_pages_run(program, forked, tmp_path):
    nodes = list(ast.walk(ast.parse(program)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    for name in names:
        if importlib.util.find_spec(name.split(".")[0]) is None:  # not imported: they do not all fit into one process
            pytest.skip(f"there is no {name}")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    forked(([tmp_path / "program.py"], {}), folder=tmp_path)


# ---- the ten tasks of doc/python.md ----

TASKS = blocks("python", (ROOT / "doc" / "python.md").read_text(encoding="utf-8"))[0]
TASKS = [task.split("\n", 1) for task in re.findall(r"^# (.*?)(?=^# |\Z)", TASKS, re.M | re.S)]


def photographs(*, channels_first=False):
    images = np.random.default_rng(5).integers(0, 256, (4, 40, 48, 3), np.uint8)
    return images.transpose(0, 3, 1, 2).copy() if channels_first else images


def augmented(task, names):
    """What came out, after the lines ran."""
    import torch

    if task.startswith(("A torchvision", "A timm")):
        return names["train"](PIL.Image.fromarray(photographs()[0])).shape == (3, 224, 224)
    if task.startswith("Hugging Face"):
        made = names["dataset"].transform({"image": names["pictures"], "label": [0, 1, 2]})
        return made["image"].shape == (3, 3, 224, 224) and made["label"] == [0, 1, 2]
    if task.startswith("Lightning"):
        module = type("Module", (), {"augment": names["torch_transform"], "hook": names["on_after_batch_transfer"]})()
        images, labels = module.hook((names["images"], 7), 0)
        still = type(module)()
        still.augment = names["torch_transform"].eval()
        assert torch.equal(still.hook((names["images"], 7), 0)[0], names["images"])
        return labels == 7 and not torch.equal(images, names["images"])
    if task.startswith("Segmentation"):
        return all((one["image"].shape[:2]) == one["mask"].shape for one in map(names["data"].__getitem__, range(4)))
    if task.startswith("Detection"):
        samples = [names["data"][i] for i in range(4)]
        return all(len(one["boxes"]) == len(one["labels"]) for one in samples)
    if task.startswith("Self-supervised"):
        return {name: len(made) for name, made in names["crops"].items()} == {"global_1": 4, "global_2": 4, "local": 8}
    if task.startswith("Test-time"):
        return names["logits"].shape == (4, 5, 40, 48) and names["valid"].shape == (4, 40, 48)
    shape = (4, 3, 40, 48) if task == "NumPy" else (4, 40, 48, 3)
    return names["batch"].shape == shape and names["batch"].dtype == np.float32


@pytest.mark.parametrize("task, lines", TASKS, ids=[task for task, _ in TASKS])
def test_a_task_is_done_by_its_lines(task, lines):
    torch, transforms = pytest.importorskip("torch"), pytest.importorskip("torchvision.transforms")
    pytest.importorskip("timm") if task == "A timm script" else None
    import motley.adapters.columns
    import motley.torch
    import motley.torchvision

    if task == "A timm script":
        import motley.timm
    images, compose = torch.from_numpy(photographs(channels_first=True)), transforms.Compose
    pictures = [PIL.Image.fromarray(image).convert(mode) for image, mode in zip(photographs(), ("RGB", "L", "CMYK"))]
    boxes = np.array([[2.0, 3, 20, 30], [1, 1, 47, 39]])
    samples = [{"image": image, "mask": image[..., 0].copy()} for image in photographs()]
    if task.startswith("Detection"):
        samples = [{"image": image, "boxes": boxes, "labels": [1, 2]} for image in photographs()]
    holder = type("Dataset", (), {"set_transform": lambda self, transform: setattr(self, "transform", transform)})
    names = {
        "motley": motley, "images": images, "pictures": pictures, "ids": range(4), "epoch": 3,
        "train": compose([transforms.RandomResizedCrop(224), transforms.ToTensor()]),
        "torch_transform": motley.torch.Transform("rand_augment"), "transform": motley.Transform("rand_augment"),
        "model": lambda views: torch.zeros(4, 5, *views.shape[2:]), "batch": photographs(),
        "dataset": holder() if task.startswith("Hugging Face") else samples,
    }  # fmt: skip
    exec(lines, names)
    assert len(TASKS) == 10 and augmented(task, names)


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
