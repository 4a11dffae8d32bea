# SPDX-License-Identifier: Apache-2.0
"""What sets this process apart from others that draw with the same seed: its rank among those of a distributed run, and
its place among a loader's workers."""

import functools
import os
import sys

from . import _native, epochs

# Launchers' names for a process's rank and for how many ranks there are: torchrun (also Accelerate, DeepSpeed, Ray
# Train), Open MPI, PMIx, MPICH and Intel MPI, MVAPICH, Slurm, Flux.
LAUNCHERS = {
    "RANK": "WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK": "OMPI_COMM_WORLD_SIZE",
    "PMIX_RANK": "PMIX_SIZE",
    "PMI_RANK": "PMI_SIZE",
    "MV2_COMM_WORLD_RANK": "MV2_COMM_WORLD_SIZE",
    "SLURM_PROCID": "SLURM_NTASKS",
    "FLUX_TASK_RANK": "FLUX_JOB_SIZE",
}

_parents_rank = None  # of the process that spawned this one, when it had one
_keys = {}  # a rank that was given, or None -> process_key; "rank" -> rank_key
_settled = False  # whether _keys[None] is of the process group's rank


def mixed(text):
    """64 bits out of a text: FNV-1a, then scattered."""
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return scattered(h)


def scattered(h):
    """64 bits that look random: another number for each; 0 for 0."""
    h = (h ^ h >> 31) * 0x7FB5D329728EA185 & 0xFFFFFFFFFFFFFFFF
    return h ^ h >> 27


@functools.lru_cache(maxsize=None)
def stream_key(stream):
    """A number that is mixed into a seed, another for each stream; 0 for stream 0."""
    return scattered(stream * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)


def _group_is_there():
    """Whether torch.distributed has a process group. Asked in every call without ids, so it replaces itself."""
    global _group_is_there
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available():
        return False
    _group_is_there = distributed.is_initialized
    return _group_is_there()


def _number(name):
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else None


def rank_of_run():
    """This process's rank: torch.distributed's, else that of the process that spawned this one, else the launcher's;
    0 where nothing says. It is looked up when something is drawn, as process groups begin later than stages do."""
    if _group_is_there():
        return sys.modules["torch.distributed"].get_rank()
    if _parents_rank is not None:
        return _parents_rank
    for name in LAUNCHERS:
        rank = _number(name)
        if rank is not None:
            return rank
    node = _number("NODE_RANK") or _number("GROUP_RANK") or 0  # Lightning's own launcher says no more
    return node << 16 | (_number("LOCAL_RANK") or 0)


def world_of_run():
    """The number of ranks; 1 if nothing says how many."""
    if _group_is_there():
        return sys.modules["torch.distributed"].get_world_size()
    return max([1, rank_of_run() + 1] + [_number(name) or 1 for name in LAUNCHERS.values()])


def process_key(rank):
    """A number that is mixed into the seed of samples without ids; 0 in a single process. rank: None to look it up."""
    key = _keys.get(rank)
    if key is not None and (rank is not None or _settled or not _group_is_there()):
        return key
    return _find_key(rank)


def _find_key(rank):
    global _settled
    if rank is None:
        _settled = _group_is_there()
    name = _native.process_name()
    number = rank_of_run() if rank is None else rank
    key = _keys[rank] = mixed(f"{name} {number}") if name or number else 0
    if rank is None:
        _keys["rank"] = mixed(f" {number}") if number else 0
    return key


def rank_key():
    """A number that makes ranks draw differently whose processes already do; 0 in rank 0."""
    process_key(None)  # which looks the rank up
    return _keys["rank"]


class Lineage:
    """Passes its parent's rank, and the loader that it is to read for, to a spawned process: it is pickled with the
    process's arguments."""

    def __reduce__(self):
        if not _native.spawning():
            return Lineage, ()
        return _inherit, (rank_of_run(), epochs.current())


def _inherit(rank, loading):
    global _parents_rank
    _parents_rank = rank
    _keys.clear()
    epochs.inherit(loading)
    return Lineage()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keys.clear)
