# SPDX-License-Identifier: Apache-2.0
"""The library's contexts: one for each thread, device and number of threads, made when first used.

A context serves one thread at a time, so every Python thread has its own, shared by all stages and operations. A forked
child begins with none: the threads of its parent's CPU contexts do not exist there, and CUDA cannot be used there."""

import collections
import os
import sys
import threading

from ._core import ffi, lib
from .errors import UnsupportedError, made_by

MOST_THREADS = 1024
_cuda_used = False  # by Motley, in this process
_cuda_before_fork = False  # by a parent of this process


class Context:
    """A motley_context."""

    __slots__ = ("handle", "process")

    def __init__(self, device, threads):
        self.process = None
        params = ffi.new("motley_context_params *")
        params.backend = lib.MOTLEY_BACKEND_CPU if device is None else lib.MOTLEY_BACKEND_CUDA
        params.device = device or 0
        params.threads = threads if device is None else 0
        self.handle = made_by("motley_context", lib.motley_context_create, params)
        self.process = os.getpid()

    def __del__(self, getpid=os.getpid, destroy=lib.motley_context_destroy):
        # A forked child must not touch its parent's threads and device; torch.compile makes objects without __init__.
        if getattr(self, "process", None) == getpid():
            destroy(self.handle)


class Local(threading.local):
    """The state of one thread."""

    def __init__(self):
        self.contexts = {}  # (device, threads) -> Context
        self.calls = {}  # what a call depends on, but for pixels and samples -> a call that is ready to be repeated
        self.held = collections.deque()  # (whether it is done, a call) of work whose arrays have to live until then
        self.caller = self.raised = None  # of custom operations: (library of the arrays, CUDA device), exception


local = Local()


def default_threads():
    """As many threads as the library gives, but no more than torch uses or, without torch, OMP_NUM_THREADS says; one in
    a multiprocessing worker (a DataLoader's, say), which is one of many."""
    if is_child():
        return 1
    torch = sys.modules.get("torch")
    if hasattr(torch, "get_num_threads"):  # which begins with OMP_NUM_THREADS
        most = torch.get_num_threads()
    else:
        first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()  # of nested regions: a list
        most = int(first) if first.isdecimal() else 0
    return min(lib.motley_default_threads(), most or MOST_THREADS)


def process_name():
    """What distinguishes this process from others that have copies of its stages; empty in a single process."""
    data = sys.modules.get("torch.utils.data")
    worker = data.get_worker_info() if data is not None else None
    if worker is not None:
        return f"worker seed {worker.seed}"
    return sys.modules["multiprocessing.process"].current_process().name if is_child() else ""


def is_child():
    """Whether multiprocessing started this process. It imports multiprocessing there; importing it here costs time."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def spawning():
    """Whether an object is being pickled for a process that multiprocessing spawns."""
    context = sys.modules.get("multiprocessing.context")
    return context is not None and context.get_spawning_popen() is not None


def context_of(device, threads=None):
    """This thread's context on CUDA device number `device`, or on the CPU (None)."""
    found = local.contexts.get((device, threads))
    if found is None:
        if device is not None:
            _about_to_use_cuda()
        found = Context(device, default_threads() if threads is None else threads)
        local.contexts[device, threads] = found
    return found


def _about_to_use_cuda():
    global _cuda_used
    torch = sys.modules.get("torch")
    if _cuda_before_fork or (torch is not None and torch.cuda._is_in_bad_fork()):
        raise UnsupportedError(
            "CUDA was used before this process was forked, so that it cannot be used here: start "
            "the workers with the 'spawn' or 'forkserver' method, or augment on the CPU here"
        )
    _cuda_used = True


def _after_fork():
    global local, _cuda_used, _cuda_before_fork
    local = Local()
    _cuda_before_fork = _cuda_before_fork or _cuda_used
    _cuda_used = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
