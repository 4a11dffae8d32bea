# SPDX-License-Identifier: Apache-2.0
"""Detection: torchvision's Faster R-CNN on images that RandAugment changes, boxes and all.

The transform is torchvision's v2, fused: crop, flip and RandAugment are one call. torchvision's own RandAugment refuses
boxes."""

from __future__ import annotations

from typing import Any

import torch
from torchvision import tv_tensors
from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn
from torchvision.transforms import v2

import motley.torchvision

SIDE = 96
augment = motley.torchvision.v2.Compose(
    [
        v2.RandomResizedCrop(SIDE, scale=(0.5, 1.0)),
        v2.RandomHorizontalFlip(),
        v2.RandAugment(num_ops=2, magnitude=9, fill={tv_tensors.Image: 114, "others": 0}),
        v2.SanitizeBoundingBoxes(min_size=4),  # drops boxes that left the image, with their labels
        v2.ToDtype(torch.float32, scale=True),
    ]
)


class Rectangles(torch.utils.data.Dataset[Any]):
    """Images with one to three rectangles each, red ones of class 1 and green ones of class 2."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        random = torch.Generator().manual_seed(index)
        image = torch.randint(60, (3, SIDE, SIDE), generator=random, dtype=torch.uint8)
        boxes, labels = [], []
        for _ in range(1 + index % 3):
            left, top = torch.randint(SIDE - 40, (2,), generator=random).tolist()
            width, height = torch.randint(16, 40, (2,), generator=random).tolist()
            label = int(torch.randint(1, 3, (), generator=random))
            image[label - 1, top : top + height, left : left + width] = 230
            boxes.append([left, top, left + width, top + height])
            labels.append(label)
        canvas = (SIDE, SIDE)
        target = {
            "boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=canvas, dtype=torch.float32),
            "labels": torch.tensor(labels),
        }
        return augment(tv_tensors.Image(image), target)


def main(epochs: int = 1) -> None:
    torch.manual_seed(0)
    model = fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=3, min_size=SIDE)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    dataset = Rectangles()
    loader = torch.utils.data.DataLoader(dataset, 2, shuffle=True, collate_fn=lambda batch: tuple(zip(*batch)))
    for epoch in range(epochs):
        for images, targets in loader:
            losses = model(list(images), list(targets))
            loss = torch.stack(list(losses.values())).sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            boxes = sum(len(target["boxes"]) for target in targets)
            print(f"epoch {epoch}: {boxes} boxes, loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
