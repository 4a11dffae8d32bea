# SPDX-License-Identifier: Apache-2.0
"""Distributed data parallel: the union of what R ranks augment is what one process gives, for any R, also when a run
goes on in the middle of an epoch."""
import json
import os
import pathlib
import socket
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "examples/python/ddp.py"
ENVIRONMENT = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}


def as_rank(rank, ranks, port):
    """The environment that torchrun would give a rank."""
    return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks), "RANK": str(rank),
            "LOCAL_RANK": str(rank)}


OPTIMISER = ["torch._dynamo"] if hasattr(torch, "compile") else []  # what the first optimiser imports

# Imports once what takes seconds, and runs each rank in a fork; a group has ended before the next one starts.
FORK = """
import importlib, json, os, runpy, signal, sys
for name in sys.argv[2:]:
    importlib.import_module(name)
for arguments, ranks, printed in json.loads(sys.argv[1]):
    children = set()
    for environment in ranks:
        child = os.fork()
        if child == 0:
            os.environ.update(environment)
            sys.argv = arguments
            if environment["RANK"] == "0":
                os.dup2(os.open(printed, os.O_WRONLY | os.O_CREAT), 1)
            runpy.run_path(arguments[0], run_name="__main__")
            sys.exit()
        children.add(child)
    while children:
        child, status = os.wait()
        children.remove(child)
        if status:
            for child in children:  # they wait for the rank that ended
                os.kill(child, signal.SIGKILL)
            sys.exit(f"{arguments}: a rank ended with {os.waitstatus_to_exitcode(status)}")
"""


def run_groups(folder, groups, *modules):
    """Runs scripts on process groups; a group is the script's arguments and the number of ranks. What rank 0 printed.
    `modules` are imported only once."""
    jobs = []
    for number, (arguments, ranks) in enumerate(groups):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        jobs.append(([str(word) for word in arguments], [as_rank(rank, ranks, port) for rank in range(ranks)],
                     str(folder / f"printed{number}")))
    done = subprocess.run([sys.executable, "-c", FORK, json.dumps(jobs), "motley.torch", *modules], env=ENVIRONMENT,
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return [pathlib.Path(printed).read_text() for _, _, printed in jobs]


def example_runs(folder, kinds):
    """The example's lines (an epoch, a sample id and the digest of its pixels) by its ranks and first epoch."""
    files = [folder / f"digests{number}" for number in range(len(kinds))]
    said = run_groups(folder, [([SCRIPT, "--digests", file, *options], ranks)
                               for file, ((ranks, _), options) in zip(files, kinds.items())], *OPTIMISER)
    assert all(f"samples on {ranks} ranks" in text for (ranks, _), text in zip(kinds, said)), said
    return {kind: digests(file) for kind, file in zip(kinds, files)}


@pytest.fixture(scope="module")
def one_process(tmp_path_factory):
    return example_runs(tmp_path_factory.mktemp("ddp"), {(1, 0): []})[1, 0]


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    return example_runs(tmp_path_factory.mktemp("ddp"), {(2, 0): [], (3, 0): [],
                                                         (2, 1): ["--start-epoch", "1", "--start-batch", "2"]})


def digests(file):
    return [tuple(line.split()) for line in file.read_text().splitlines()]


def test_one_rank_draws_every_sample_differently_in_each_epoch(one_process):
    assert sorted((int(epoch), int(i)) for epoch, i, _ in one_process) == [(e, i) for e in range(2) for i in range(96)]
    seen = {(epoch, i): digest for epoch, i, digest in one_process}
    assert sum(seen["0", str(i)] == seen["1", str(i)] for i in range(96)) < 10


@pytest.mark.parametrize("ranks", [2, 3])
def test_union_of_ranks_is_one_process(one_process, groups, ranks):
    assert groups[ranks, 0] == one_process


def test_resumed_in_the_middle_of_an_epoch(one_process, groups):
    """Two ranks that had done two batches of eight each before epoch 1 broke off: the rest comes out as it would."""
    left = groups[2, 1]
    assert len(left) == 96 - 2 * 2 * 8 and set(left) < set(one_process)


def test_no_thread_of_the_group_is_left():
    """One that lets go of a tensor while Python ends wants the GIL, does not get it, and the process aborts."""
    after = (f"import pathlib, runpy; runpy.run_path({str(SCRIPT)!r}, run_name='__main__');"
             "print('threads', *(p.read_text().strip() for p in pathlib.Path('/proc/self/task').glob('*/comm')))")
    done = subprocess.run([sys.executable, "-c", after], env={**ENVIRONMENT, **as_rank(0, 1, 0)}, capture_output=True,
                          text=True, timeout=300)
    threads = done.stdout.rpartition("threads ")[2]
    assert done.returncode == 0 and threads and "gloo" not in threads, done


@pytest.mark.skipif(torch.__version__.startswith("1.") and sys.version_info >= (3, 11),
                    reason=f"torchrun of torch {torch.__version__} does not start on Python 3.11")
def test_torchrun(one_process, tmp_path):
    done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2",
                           str(SCRIPT), "--digests", str(tmp_path / "digests")], env=ENVIRONMENT, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == 0 and "samples on 2 ranks" in done.stdout, done
    assert digests(tmp_path / "digests") == one_process


# ---- samplers that repeat their indices ----

REPEATED = """
import hashlib, itertools, sys
import numpy
import torch
import torch.distributed as dist
sys.path.insert(0, TESTS)
import motley.torch
from torch.utils.data import DataLoader
kind, first, done = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dist.init_process_group("gloo")
images = torch.from_numpy(numpy.random.default_rng(1).integers(0, 256, (512, 3, 8, 9), numpy.uint8))
dataset = motley.torch.Augmented(motley.torch.Indexed(images), "trivial_augment_wide", seed=7)
if kind == "timm":
    from timm.data.distributed_sampler import RepeatAugSampler
    sampler = RepeatAugSampler(range(512), num_repeats=3)           # rank and world size are the process group's
else:
    from test_loaders import RASampler
    sampler = RASampler(range(512), dist.get_world_size(), dist.get_rank())
views = motley.torch.Views(sampler)


class Rest:
    # a sampler that goes on where a run broke off
    def __init__(self, done):
        self.done = done
    def __iter__(self):
        return itertools.islice(iter(views), self.done, None)


lines = []
if first:
    dataset.set_epoch(first)
for epoch in range(first, 2):
    views.set_epoch(epoch)
    order = [(int(i), i.view) for i in Rest(done)]
    loader = DataLoader(dataset, 8, sampler=Rest(done), num_workers=2)
    seen = [image for batch, _ in loader for image in batch]
    assert len(seen) == len(order) > 0
    stage = motley.Transform("trivial_augment_wide", seed=7, epoch=epoch)
    for image, (i, view) in zip(seen, order):
        assert torch.equal(image, stage(images[i], sample_ids=i, view=view)), (epoch, i, view)
        lines.append((epoch, i, view, hashlib.sha256(image.numpy().tobytes()).hexdigest()))
    done = 0
everyones = [None] * dist.get_world_size()
dist.all_gather_object(everyones, lines)
if dist.get_rank() == 0:
    print(*(" ".join(map(str, line)) for part in everyones for line in part), sep="\\n")
dist.destroy_process_group()
"""


def once(printed):
    """{(epoch, index, view): digest} of what all ranks read, each of them once."""
    lines = [line.split() for line in printed.splitlines()]
    seen = {(int(epoch), int(i), int(view)): digest for epoch, i, view, digest in lines}
    assert len(seen) == len(lines), "an index and a view came twice in an epoch"
    return seen


@pytest.mark.parametrize("kind", ["timm", "torchvision"])
def test_repeated_augmentation_in_a_process_group(kind, tmp_path):
    """Ranks of gloo, each with workers: every repetition of an index is a separate view, whichever worker reads it, and
    a run that goes on in the middle of an epoch reads what the first would have."""
    module = pytest.importorskip("timm.data.distributed_sampler" if kind == "timm" else "motley.torchvision").__name__
    script = tmp_path / "repeated.py"
    script.write_text(REPEATED.replace("TESTS", repr(str(pathlib.Path(__file__).parent))))
    two, one, later = map(once, run_groups(tmp_path, [([script, kind, 0, 0], 2), ([script, kind, 0, 0], 1),
                                                      ([script, kind, 1, 24], 2)], module))
    by_index = {}
    for epoch, i, view in two:
        by_index.setdefault((epoch, i), []).append(view)
    assert max(map(len, by_index.values())) == 3 and {view for _, _, view in two} == {0, 1, 2}
    different = sum(len({two[e, i, view] for view in views}) == 3
                    for (e, i), views in by_index.items() if len(views) == 3)
    assert different > 0.6 * sum(len(views) == 3 for views in by_index.values())
    both = two.keys() & one.keys()
    assert len(both) > 900 and all(two[key] == one[key] for key in both)
    assert len(later) == sum(epoch == 1 for epoch, _, _ in two) - 2 * 24 and later.items() < two.items()


# ---- torch.multiprocessing.spawn ----


class Pictures(torch.utils.data.Dataset):
    """One picture 24 times; a transform, as torchvision's data sets have it."""

    def __init__(self, transform):
        self.transform = transform

    def __len__(self):
        return 24

    def __getitem__(self, i):
        picture = torch.arange(3 * 16 * 16, dtype=torch.int32).reshape(3, 16, 16) * 7 % 251
        return self.transform(picture.to(torch.uint8)), i


STARTS = [("fork", False), ("spawn", True), ("forkserver", False)]


def spawned_rank(rank, ranks, folder):
    """What a rank reads: as it is seeded, and by id, in workers of every kind. The rank stands in no environment."""
    import motley.torch
    from motley.torchvision import transforms

    torch.distributed.init_process_group("gloo", f"file://{folder}/group{ranks}", rank=rank, world_size=ranks)
    seeded, by_id = {}, {}
    for start, persistent in STARTS:
        options = {"num_workers": 1, "multiprocessing_context": start, "persistent_workers": persistent}
        torch.manual_seed(0)
        loader = torch.utils.data.DataLoader(Pictures(transforms.TrivialAugmentWide()), 6, **options)
        seeded[start, persistent] = torch.cat([images for images, _ in loader])
        dataset = motley.torch.Reproducible(Pictures(transforms.TrivialAugmentWide(seed=7)))
        sampler = torch.utils.data.DistributedSampler(dataset)
        loader = torch.utils.data.DataLoader(dataset, 4, sampler=sampler, **options)
        for epoch in (3, 4):
            sampler.set_epoch(epoch)
            for images, ids in loader:
                by_id.update({(start, persistent, epoch, int(i)): image for image, i in zip(images, ids)})
    torch.save((seeded, by_id), f"{folder}/rank{rank}of{ranks}")
    torch.distributed.destroy_process_group()


def test_ranks_of_multiprocessing_spawn(tmp_path, monkeypatch):
    pytest.importorskip("motley.torchvision.transforms")
    import motley

    for name in [name for name in os.environ if "RANK" in name or name == "WORLD_SIZE"]:
        monkeypatch.delenv(name)
    torch.multiprocessing.spawn(spawned_rank, (2, str(tmp_path)), nprocs=2)
    more = {} if torch.__version__ < "2" else {"weights_only": False}
    first, second = (torch.load(tmp_path / f"rank{rank}of2", **more) for rank in (0, 1))
    for kind in STARTS:
        assert sum(map(torch.equal, first[0][kind], second[0][kind])) < 12, kind
    union = {**first[1], **second[1]}
    picture, stage = Pictures(lambda image: image)[0][0], motley.Transform("trivial_augment_wide", seed=7)
    assert len(union) == len(STARTS) * 2 * 24
    for (*_, epoch, i), image in union.items():
        assert torch.equal(image, stage(picture, sample_ids=i, epoch=epoch))
