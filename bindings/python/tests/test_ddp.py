# SPDX-License-Identifier: Apache-2.0
"""Distributed data parallel: the union of what R ranks augment is what one process gives, for any R, also when a run
goes on in the middle of an epoch."""
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
    return {**ENVIRONMENT, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks),
            "RANK": str(rank), "LOCAL_RANK": str(rank)}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("ddp"), {}

    def run(ranks, *options, torchrun=False):
        """The example's lines: an epoch, a sample id and the digest of its pixels."""
        key = ranks, *options, torchrun
        if key not in made:
            out = folder / f"{len(made)}"
            script = [str(SCRIPT), "--digests", str(out), *options]
            if torchrun:
                launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks)]
                commands = [([sys.executable, *launch, *script], ENVIRONMENT)]
            else:
                with socket.socket() as free:
                    free.bind(("127.0.0.1", 0))
                    port = free.getsockname()[1]
                commands = [([sys.executable, *script], as_rank(r, ranks, port)) for r in range(ranks)]
            processes = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                         for command, env in commands]
            said = [process.communicate(timeout=120) for process in processes]
            assert [process.returncode for process in processes] == [0] * len(processes), said
            assert any(f"samples on {ranks} ranks" in printed for printed, _ in said)
            made[key] = [tuple(line.split()) for line in out.read_text().splitlines()]
        return made[key]
    return run


def test_one_rank_sees_every_sample_anew_in_each_epoch(run):
    lines = run(1)
    assert sorted((int(epoch), int(i)) for epoch, i, _ in lines) == [(e, i) for e in range(2) for i in range(96)]
    digests = {(epoch, i): digest for epoch, i, digest in lines}
    assert sum(digests["0", str(i)] == digests["1", str(i)] for i in range(96)) < 10


@pytest.mark.parametrize("ranks", [2, 3])
def test_union_of_ranks_is_one_process(run, ranks):
    assert run(ranks) == run(1)


def test_resumed_in_the_middle_of_an_epoch(run):
    """Two ranks that had done two batches of eight each before epoch 1 broke off: what is left comes out as it would."""
    left = run(2, "--start-epoch", "1", "--start-batch", "2")
    assert len(left) == 96 - 2 * 2 * 8 and set(left) < set(run(1))


def test_no_thread_of_the_group_is_left():
    """One that lets go of a tensor while Python ends wants the GIL, does not get it, and the process aborts."""
    after = (f"import pathlib, runpy; runpy.run_path({str(SCRIPT)!r}, run_name='__main__');"
             "print('threads', *(p.read_text().strip() for p in pathlib.Path('/proc/self/task').glob('*/comm')))")
    done = subprocess.run([sys.executable, "-c", after], env=as_rank(0, 1, 0), capture_output=True, text=True,
                          timeout=120)
    threads = done.stdout.rpartition("threads ")[2]
    assert done.returncode == 0 and threads and "gloo" not in threads, done


@pytest.mark.skipif(torch.__version__.startswith("1.") and sys.version_info >= (3, 11),
                    reason=f"torchrun of torch {torch.__version__} does not start on Python 3.11")
def test_torchrun(run):
    assert run(2, torchrun=True) == run(1)


# ---- samplers that repeat their indices ----

REPEATED = """
import hashlib, itertools, sys
import numpy
import torch
import torch.distributed as dist
sys.path.insert(0, TESTS)
import motley.torch
from torch.utils.data import DataLoader
dist.init_process_group("gloo")
images = torch.from_numpy(numpy.random.default_rng(1).integers(0, 256, (512, 3, 8, 9), numpy.uint8))
dataset = motley.torch.Augmented(motley.torch.Indexed(images), "trivial_augment_wide", seed=7)
if KIND == "timm":
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


epoch, done = START
lines = []
if epoch:
    dataset.set_epoch(epoch)
while epoch < 2:
    views.set_epoch(epoch)
    order = [(int(i), i.view) for i in Rest(done)]
    loader = DataLoader(dataset, 8, sampler=Rest(done), num_workers=2)
    seen = [image for batch, _ in loader for image in batch]
    assert len(seen) == len(order) > 0
    for image, (i, view) in zip(seen, order):
        stage = motley.Stage("trivial_augment_wide", seed=7, epoch=epoch)
        assert torch.equal(image, stage(images[i], i, view)), (epoch, i, view)
        lines.append((epoch, i, view, hashlib.sha256(image.numpy().tobytes()).hexdigest()))
    epoch, done = epoch + 1, 0
everyones = [None] * dist.get_world_size()
dist.all_gather_object(everyones, lines)
if dist.get_rank() == 0:
    print(*(" ".join(map(str, line)) for part in everyones for line in part), sep="\\n")
dist.destroy_process_group()
"""


def repeated(kind, ranks, start=(0, 0)):
    """{(epoch, index, view): digest} of what all ranks read, each of them once."""
    script = REPEATED.replace("KIND", repr(kind)).replace("START", repr(start)).replace(
        "TESTS", repr(str(pathlib.Path(__file__).parent)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [subprocess.Popen([sys.executable, "-c", script], env=as_rank(rank, ranks, port), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) for rank in range(ranks)]
    said = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0] * ranks, said
    lines = [line.split() for line in said[0][0].splitlines()]
    seen = {(int(epoch), int(i), int(view)): digest for epoch, i, view, digest in lines}
    assert len(seen) == len(lines), "an index and a view came twice in an epoch"
    return seen


@pytest.mark.parametrize("kind", ["timm", "torchvision"])
def test_repeated_augmentation_in_a_process_group(kind):
    """Ranks of gloo, each with workers: every repetition of an index is a separate view, whichever worker reads it, and
    a run that goes on in the middle of an epoch reads what the first would have."""
    if kind == "timm":
        pytest.importorskip("timm.data.distributed_sampler")
    else:
        pytest.importorskip("motley.torchvision")
    two = repeated(kind, 2)
    by_index = {}
    for epoch, i, view in two:
        by_index.setdefault((epoch, i), []).append(view)
    assert max(map(len, by_index.values())) == 3 and {view for _, _, view in two} == {0, 1, 2}
    different = sum(len({two[e, i, view] for view in views}) == 3 for (e, i), views in by_index.items() if len(views) == 3)
    assert different > 0.6 * sum(len(views) == 3 for views in by_index.values())
    one = repeated(kind, 1)
    both = two.keys() & one.keys()
    assert len(both) > 900 and all(two[key] == one[key] for key in both)
    later = repeated(kind, 2, (1, 24))
    assert len(later) == sum(epoch == 1 for epoch, _, _ in two) - 2 * 24 and later.items() < two.items()
