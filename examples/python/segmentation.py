# SPDX-License-Identifier: Apache-2.0
"""Segmentation: torchvision's LR-ASPP on batches that are augmented and normalised in one pass, their masks with them.

What comes in from outside the image is 255 in the masks, which the loss ignores."""

from __future__ import annotations

import torch
from torchvision.models.segmentation import lraspp_mobilenet_v3_large

import motley
from motley.follow import Mask

SIDE, IGNORE = 64, 255
augment = motley.Transform("trivial_augment_wide", normalize=((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
follow = motley.Follow(augment, {"mask": Mask(fill=IGNORE)})


class Discs(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Bright discs on noise, and where they are."""

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        random = torch.Generator().manual_seed(index)
        image = torch.randint(120, (3, SIDE, SIDE), generator=random, dtype=torch.uint8)
        x, y = torch.randint(16, SIDE - 16, (2, 1, 1), generator=random)
        rows, columns = torch.arange(SIDE).view(-1, 1), torch.arange(SIDE).view(1, -1)
        mask = ((columns - x) ** 2 + (rows - y) ** 2 < 12**2).long()
        image[index % 3][mask == 1] = 220
        return {"image": image, "mask": mask}


def main(epochs: int = 1) -> None:
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=2).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.002)
    loader = torch.utils.data.DataLoader(Discs(), 4, shuffle=True)
    for epoch in range(epochs):
        for batch in loader:
            sample = follow({key: value.to(device) for key, value in batch.items()})
            out = model(sample["image"])["out"]
            loss = torch.nn.functional.cross_entropy(out, sample["mask"], ignore_index=IGNORE)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            ignored = (sample["mask"] == IGNORE).float().mean().item()
            print(f"epoch {epoch}: {ignored:4.0%} of the pixels came in from outside, loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
