# SPDX-License-Identifier: Apache-2.0
"""Distributed data parallel: the union of what R ranks augment is what one process gives, for any R, also when a run
goes on in the middle of an epoch."""
import os
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "examples/python/ddp.py"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("ddp"), {}

    def run(ranks, *options):
        """The example's lines: an epoch, a sample id and the digest of its pixels."""
        if (ranks, *options) not in made:
            out = folder / f"{len(made)}"
            command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks),
                       SCRIPT, "--digests", out, *options]
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120,
                                  env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"})
            assert done.returncode == 0, done.stderr[-4000:]
            assert f"samples on {ranks} ranks" in done.stdout
            made[ranks, *options] = [tuple(line.split()) for line in out.read_text().splitlines()]
        return made[ranks, *options]
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
