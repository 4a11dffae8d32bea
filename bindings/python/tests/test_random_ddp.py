# SPDX-License-Identifier: Apache-2.0
"""Distributed data parallel: the union of what R ranks augment is what one process gives, for any R, also when a run
goes on in the middle of an epoch."""

import json
import os
import pathlib
import runpy
import socket
import sys

import pytest
from conftest import output_of

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)

pytestmark = pytest.mark.slow

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "examples/python/ddp.py"
ENVIRONMENT = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}


def as_rank(rank, ranks, port):
    """The environment that torchrun would give a rank."""
    return {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(ranks),
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
    }


def run_group(forked, arguments, ranks, names=()):
    """Runs a script on a process group; what rank 0 printed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environments = [{"CUDA_VISIBLE_DEVICES": "", **as_rank(rank, ranks, port)} for rank in range(ranks)]
    return forked(*((arguments, environment) for environment in environments), names=names)[0]


def example_run(forked, folder, ranks, *options):
    """The example's lines: an epoch, a sample id and the digest of its pixels."""
    file = folder / "digests"
    assert f"samples on {ranks} ranks" in run_group(forked, [SCRIPT, "--digests", file, *options], ranks)
    return digests(file)


@pytest.fixture(scope="module")
def one_process(forked, tmp_path_factory):
    return example_run(forked, tmp_path_factory.mktemp("ddp"), 1)


def digests(file):
    return [tuple(line.split()) for line in file.read_text().splitlines()]


def test_one_rank_draws_every_sample_differently_in_each_epoch(one_process):
    assert sorted((int(epoch), int(i)) for epoch, i, _ in one_process) == [(e, i) for e in range(2) for i in range(96)]
    seen = {(epoch, i): digest for epoch, i, digest in one_process}
    assert sum(seen["0", str(i)] == seen["1", str(i)] for i in range(96)) < 10


@pytest.mark.parametrize("ranks", [2, 3])
def test_union_of_ranks_is_one_process(one_process, forked, tmp_path, ranks):
    assert example_run(forked, tmp_path, ranks) == one_process


def test_resumed_in_the_middle_of_an_epoch(one_process, forked, tmp_path):
    """Two ranks that had done two batches of eight each before epoch 1 broke off: the rest comes out as it would."""
    left = example_run(forked, tmp_path, 2, "--start-epoch", "1", "--start-batch", "2")
    assert len(left) == 96 - 2 * 2 * 8 and set(left) < set(one_process)


def test_no_thread_of_the_group_is_left(forked, tmp_path):
    """One that lets go of a tensor while Python ends wants the GIL, does not get it, and the process aborts."""
    after = tmp_path / "after.py"
    after.write_text(
        f"import pathlib, runpy; runpy.run_path({str(SCRIPT)!r}, run_name='__main__')\n"
        "print('threads', *(p.read_text().strip() for p in pathlib.Path('/proc/self/task').glob('*/comm')))"
    )
    printed = run_group(forked, [after], 1)
    threads = printed.rpartition("threads ")[2]
    assert threads and "gloo" not in threads, printed


TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
NO_TORCHRUN = torch.__version__.startswith("1.") and sys.version_info >= (3, 11)  # it does not start there


# ---- launchers, and how they start workers ----

RANKS = '''
import hashlib
import json
import multiprocessing
import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler

import motley.torch

IMAGES = 24
multiprocessing.set_forkserver_preload(["torch"])  # once for all workers of a rank


def picture():
    return (torch.arange(3 * 16 * 16, dtype=torch.int32).reshape(3, 16, 16) * 7 % 251).to(torch.uint8)


def digest(image):
    return hashlib.sha256(image.contiguous().numpy().tobytes()).hexdigest()[:16]


class Pictures(Dataset):
    def __len__(self):
        return IMAGES

    def __getitem__(self, i):
        return picture()


class Read(Dataset):
    """Of a sample: by id, as Augmented draws; and without, by torch's generator and by a seed."""

    def __init__(self):
        self.augmented = motley.torch.Augmented(Pictures(), "trivial_augment_wide", seed=7)
        self.free = [motley.Transform("trivial_augment_wide", seed=seed, layout="chw") for seed in (None, 7)]

    def __len__(self):
        return IMAGES

    def __getitem__(self, i):
        return i, digest(self.augmented[i]), *(digest(transform(picture())) for transform in self.free)


def loader_of(start, persistent, sampler):
    torch.manual_seed(0)
    workers = {} if start is None else {"num_workers": 1, "multiprocessing_context": start,
                                        "persistent_workers": persistent}
    return DataLoader(Read(), 4, sampler=motley.torch.Sampler(sampler), **workers)


def of_sampler(start, persistent):
    """A plain loop, in a process group."""
    sampler = DistributedSampler(range(IMAGES))
    loader = loader_of(start, persistent, sampler)
    for epoch in 3, 4:
        sampler.set_epoch(epoch)  # of the sampler inside, as scripts have it
        for batch in loader:
            yield epoch, batch


def of_accelerate(start, persistent):
    from accelerate import Accelerator

    loader = Accelerator(cpu=True).prepare(loader_of(start, persistent, range(IMAGES)))
    for epoch in 0, 1:
        for batch in loader:
            yield epoch, batch


def of_lightning(start, persistent):
    import lightning

    seen = []

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def training_step(self, batch, _):
            seen.append((self.current_epoch, batch))
            return self.weight.sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    lightning.Trainer(max_epochs=2, accelerator="cpu", devices=2, strategy="ddp", logger=False, barebones=True).fit(
        Model(), loader_of(start, persistent, range(IMAGES)))
    return seen


def rank(number, ranks, folder, starts, launcher):
    distributed = torch.distributed
    if launcher == "spawn":
        distributed.init_process_group("gloo", f"file://{folder}/group", rank=number, world_size=ranks)
    elif launcher == "torchrun":
        distributed.init_process_group("gloo")
    read = {"accelerate": of_accelerate, "lightning": of_lightning}.get(launcher, of_sampler)
    lines = [[start, persistent, epoch, int(i), *digests] for start, persistent in starts
             for epoch, batch in read(start, persistent) for i, *digests in zip(*batch)]
    with open(f"{folder}/rank{distributed.get_rank()}of{distributed.get_world_size()}", "w") as file:
        json.dump(lines, file)
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    launcher, folder, starts = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    if launcher == "spawn":
        torch.multiprocessing.spawn(rank, (2, folder, starts, launcher), nprocs=2)
    else:
        rank(None, None, folder, starts, launcher)
'''

# How workers start, and whether they are persistent; all seven for each launcher where MOTLEY_EVERY_START is set, since
# a worker that is not forked takes seconds to import torch.
STARTS = [
    (None, False),
    *((start, persistent) for start in ("fork", "spawn", "forkserver") for persistent in (False, True)),
]
LAUNCHERS = {
    "spawn": [("fork", False), ("spawn", True), ("forkserver", False)],
    "lightning": [(None, False), ("fork", True)],
    "accelerate": [(None, False), ("fork", True)],
    "torchrun": [(None, False), ("fork", True)],
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_what_two_ranks_read_does_not_depend_on_who_starts_them_and_their_workers(launcher, forked, tmp_path):
    """The union of the ids of an epoch is the data set, each drawn as (seed, epoch, id) says; without ids ranks draw
    apart."""
    import motley

    if launcher in ("accelerate", "lightning"):
        pytest.importorskip(launcher)
    if launcher == "torchrun" and NO_TORCHRUN:
        pytest.skip("torchrun does not start here")
    starts = STARTS if "MOTLEY_EVERY_START" in os.environ else LAUNCHERS[launcher]
    script = tmp_path / "ranks.py"
    script.write_text(RANKS)
    words = [script, launcher, tmp_path, json.dumps(starts)]
    if launcher == "accelerate":
        run_group(forked, words, 2, [launcher])
    elif launcher == "torchrun":
        output_of(*TORCHRUN, *words, env=ENVIRONMENT, timeout=600)
    else:  # which start the ranks by themselves
        forked((words, {"CUDA_VISIBLE_DEVICES": ""}))
    ranks = [json.loads((tmp_path / f"rank{rank}of2").read_text()) for rank in (0, 1)]
    read = runpy.run_path(str(script))
    transform = motley.Transform("trivial_augment_wide", seed=7)
    epochs = sorted({epoch for _, _, epoch, *_ in ranks[0]})
    assert epochs == ([3, 4] if launcher in ("spawn", "torchrun") else [0, 1])
    says = {
        (epoch, i): read["digest"](transform(read["picture"](), sample_ids=i, epoch=epoch))
        for epoch in epochs
        for i in range(read["IMAGES"])
    }
    images = read["IMAGES"]
    for start in map(list, starts):
        both = [[line for line in lines if line[:2] == start] for lines in ranks]
        assert sorted(tuple(line[2:4]) for line in both[0] + both[1]) == sorted(says), start
        wrong = [line for line in both[0] + both[1] if line[4] != says[tuple(line[2:4])]]
        assert not wrong, f"{start}: {len(wrong)} of {len(says)} wrong"
        for free in 5, 6:
            assert sum(one[free] == other[free] for one, other in zip(*both)) < 12, start
            assert len({line[free] for line in both[0] + both[1]}) > images, start
