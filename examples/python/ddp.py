# SPDX-License-Identifier: Apache-2.0
"""Distributed training with torchrun: what a sample gets does not depend on how many ranks there are.

    torchrun --nproc_per_node 2 examples/python/ddp.py
    torchrun --nproc_per_node 2 examples/python/ddp.py --start-epoch 1 --start-batch 2     # as after a crash

--digests FILE writes what every sample of every epoch looked like, one line each, to compare runs."""

import argparse
import hashlib
import os

import torch
import torch.distributed as dist
import torch.distributed.nn  # before the process group is there: its functions' defaults would keep it, and its threads
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import motley.torch

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--start-epoch", type=int, default=0)
    parser.add_argument("--start-batch", type=int, default=0, help="batches of the first epoch that are done already")
    parser.add_argument("--digests")
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    torch.set_num_threads(1)

    pictures = torch.randint(256, (96, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    dataset = motley.torch.Indexed(TensorDataset(pictures, torch.arange(96) % 10))
    augment = motley.torch.Transform("rand_augment", mean=MEAN, std=STD, dtype=torch.float32, seed=7).to(device)
    model = DistributedDataParallel(
        torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, 2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 15 * 15, 10)
        ).to(device)
    )
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    sampler = motley.torch.Sampler(DistributedSampler(dataset))  # whose indices carry their epoch
    lines = []
    loss = torch.zeros(())  # of a run that has nothing left to do
    for epoch in range(args.start_epoch, args.epochs):
        sampler.set_epoch(epoch)
        order = list(sampler)
        if epoch == args.start_epoch:
            order = order[args.start_batch * 8 :]
        batches = motley.torch.Prefetcher(DataLoader(dataset, 8, sampler=order), augment, device, ids=2)
        for images, labels, ids in batches:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            for image, i in zip(images.cpu(), ids[:, 0].tolist()):
                lines.append(f"{epoch} {i} {hashlib.sha256(image.numpy().tobytes()).hexdigest()}\n")
    everyones: list[list[str]] = [[]] * dist.get_world_size()
    dist.all_gather_object(everyones, lines)
    if dist.get_rank() == 0:
        lines = sorted(line for part in everyones for line in part)
        print(f"{len(lines)} samples on {len(everyones)} ranks, last loss {loss.item():.3f}")
        if args.digests:
            with open(args.digests, "w") as out:
                out.writelines(lines)
    del model  # holds on to the process group, as does what DistributedDataParallel imports (see above)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
