# SPDX-License-Identifier: Apache-2.0
"""A torchvision training script that knows nothing of Motley. One line behind `augment` makes all of it one call:

    augment = motley.torchvision.fuse(augment)

(Or leave the script as it is, and put `import motley.torchvision; motley.torchvision.take_over()` at its top.)"""

import torch
from torchvision import transforms
from torchvision.datasets import FakeData

augment = transforms.Compose(
    [
        transforms.RandomHorizontalFlip(),
        transforms.RandAugment(num_ops=2, magnitude=9),
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ]
)

if __name__ == "__main__":
    torch.manual_seed(0)
    dataset = FakeData(64, image_size=(3, 32, 32), num_classes=10, transform=augment)
    loader = torch.utils.data.DataLoader(dataset, batch_size=16, num_workers=2)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, 2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 15 * 15, 10)
    )
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        print(f"loss {loss.item():.3f}, mean of the images {images.mean().item():+.4f}")
    print(f"augmented by {type(augment).__module__}")
