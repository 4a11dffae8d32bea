# SPDX-License-Identifier: Apache-2.0
"""Detection from files: a small FCOS of torchvision's, trained twice and measured, in about a minute on one core.

Once the augmentation is torchvision's v2, fused: one line more in a script. Once it is a recipe's file, D-FINE's with
its closing epochs, drawn by sample id: the same whatever the workers, and when a run is resumed."""

from __future__ import annotations

import json
import pathlib
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import torch
from PIL import Image, ImageDraw
from torch import nn
from torchvision import tv_tensors
from torchvision.models.detection import FCOS
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.ops import box_iou
from torchvision.transforms import v2

import motley
import motley.torch
import motley.torchvision

SIDE, COLOURS = 96, ("", "#d03030", "#3050d0")  # class 0 is the background
Target = dict[str, torch.Tensor]


def write_files(folder: pathlib.Path, count: int, seed: int) -> pathlib.Path:
    """Pictures with one to three rectangles, red ones of class 1 and blue ones of class 2, and where they are."""
    chance, found = random.Random(seed), {}
    folder.mkdir(parents=True)
    for i in range(count):
        width, height = chance.randint(80, 128), chance.randint(80, 128)
        image = Image.frombytes("L", (width, height), chance.randbytes(width * height)).convert("RGB")
        boxes, labels = [], []
        for _ in range(chance.randint(1, 3)):
            w, h = chance.randint(20, 44), chance.randint(20, 44)
            left, top = chance.randint(0, width - w), chance.randint(0, height - h)
            boxes.append([left, top, left + w, top + h])
            labels.append(chance.randint(1, 2))
            ImageDraw.Draw(image).rectangle((left, top, left + w - 1, top + h - 1), COLOURS[labels[-1]])
        name = f"{i:04}.{'jpg' if i % 2 else 'png'}"
        image.save(folder / name)
        found[name] = {"boxes": boxes, "labels": labels}
    (folder / "boxes.json").write_text(json.dumps(found))
    return folder


class Files(torch.utils.data.Dataset[Any]):
    def __init__(self, folder: pathlib.Path, augment: Callable[[Any, Target, int], Any]) -> None:
        self.folder, self.augment = folder, augment
        self.found = list(json.loads((folder / "boxes.json").read_text()).items())

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, index: int) -> Any:
        name, target = self.found[index]
        image = Image.open(self.folder / name).convert("RGB")
        boxes = torch.tensor(target["boxes"], dtype=torch.float32)
        return self.augment(image, {"boxes": boxes, "labels": torch.tensor(target["labels"])}, index)


def fused() -> Callable[[Any, Target, int], Any]:
    """A preset as torchvision's references have them, fused."""
    train = motley.torchvision.fuse(
        v2.Compose(
            [
                v2.RandomPhotometricDistort(),
                v2.RandomZoomOut(fill={tv_tensors.Mask: 0, "others": 114}, side_range=(1.0, 2.0)),
                v2.RandomIoUCrop(),
                v2.RandomShortestSize((64, 80, 96, 112), 160),
                v2.RandomHorizontalFlip(),
                v2.ToImage(),
                v2.ToDtype(torch.float32, scale=True),
                v2.SanitizeBoundingBoxes(),
                v2.ToPureTensor(),
            ]
        )
    )

    def augment(image: Image.Image, target: Target, index: int) -> Any:
        canvas = image.height, image.width
        boxes = tv_tensors.BoundingBoxes(target["boxes"], format="XYXY", canvas_size=canvas)
        return train(image, {**target, "boxes": boxes})

    return augment


def by_file(path: pathlib.Path, epochs: int) -> Callable[[Any, Target, int], Any]:
    """D-FINE's recipe, for smaller pictures and a shorter run, as a file."""
    recipe = motley.Policy("dfine_n").as_dict()
    for phase in recipe["phases"]:
        next(stage for stage in phase["stages"] if "resize" in stage)["resize"]["size"] = [SIDE, SIDE]
    path.write_text(motley.Policy(recipe).scaled(epochs).show())
    boxes = motley.follow.Boxes(rule="torchvision", min_side=1, min_area=1)
    follow = motley.Follow(motley.Transform(path, seed=1), {"boxes": boxes})

    def augment(image: Image.Image, target: Target, index: int) -> Any:
        sample = follow({"image": image, **target}, sample_ids=index)
        return torch.from_numpy(sample.pop("image")), sample

    return augment


def plain(image: Image.Image, target: Target, index: int) -> Any:
    return v2.functional.to_dtype(v2.functional.pil_to_tensor(image), torch.float32, scale=True), target


def detector() -> FCOS:
    widths, layers = (3, 32, 64, 64), []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Conv2d(before, after, 3, 2, 1), nn.GroupNorm(8, after), nn.ReLU()]
    backbone: Any = nn.Sequential(*layers)
    backbone.out_channels = widths[-1]
    anchors = AnchorGenerator(((8,),), ((1.0,),))
    return FCOS(backbone, len(COLOURS), min_size=SIDE, max_size=160, anchor_generator=anchors)


def average_precision(found: Sequence[Target], wanted: Sequence[Target], label: int) -> float:
    """The area under precision over recall, of boxes that overlap one of their class by half or more."""
    scored, total = [], 0
    for mine, theirs in zip(found, wanted):
        own, open_ = mine["labels"] == label, theirs["boxes"][theirs["labels"] == label]
        total += len(open_)
        taken = [False] * len(open_)
        overlaps = box_iou(mine["boxes"][own], open_)
        for score, row in zip(mine["scores"][own].tolist(), overlaps):  # the best scores come first
            nearest = int(row.argmax()) if len(open_) else 0
            hit = len(open_) > 0 and float(row[nearest]) >= 0.5 and not taken[nearest]
            if hit:
                taken[nearest] = True
            scored.append((score, hit))
    hits, precisions = 0, list[float]()  # at each box that was found
    for i, (_, hit) in enumerate(sorted(scored, key=lambda entry: -entry[0]), 1):
        hits += hit
        precisions += [hits / i] * hit
    best = area = 0.0
    for precision in reversed(precisions):  # the best at this recall or a higher one
        best = max(best, precision)
        area += best / total
    return area


def train(name: str, files: Files, tests: Files, epochs: int) -> float:
    """The mean over classes of the average precision, after so many epochs."""
    torch.manual_seed(0)
    model = detector()
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3)
    sampler = motley.torch.Sampler(torch.utils.data.RandomSampler(files))
    loader = torch.utils.data.DataLoader(files, 8, sampler=sampler, collate_fn=lambda batch: tuple(zip(*batch)))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, epochs * len(loader))
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        total = 0.0
        for images, targets in loader:
            loss = torch.stack(list(model(list(images), list(targets)).values())).sum()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        print(f"{name}, epoch {epoch}: loss {total / len(loader):.3f}")
    model.eval()
    with torch.no_grad():
        pairs = [(model([image])[0], target) for image, target, *_ in (tests[i] for i in range(len(tests)))]
    found, wanted = zip(*pairs)
    return sum(average_precision(found, wanted, label) for label in range(1, len(COLOURS))) / (len(COLOURS) - 1)


def main(epochs: int = 12, count: int = 96) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = write_files(folder / "train", count, 1)
        tests = Files(write_files(folder / "test", count // 3, 2), plain)
        for name, augment in ("fused", fused()), ("recipe", by_file(folder / "recipe.yaml", epochs)):
            precision = train(name, Files(files, augment), tests, epochs)
            print(f"{name}: average precision {precision:.2f} at an overlap of 0.5")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
