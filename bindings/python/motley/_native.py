# SPDX-License-Identifier: Apache-2.0
"""The library's side of things: its errors as exceptions, its contexts, and checks of callers' numbers.

A context serves one thread at a time, so every Python thread has its own for each device and number of threads, made
when first used and shared by all transforms and operations. A forked child begins with none: the threads of its
parent's CPU contexts do not exist there, and CUDA cannot be used there."""

from __future__ import annotations

import functools
import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ._core import ffi, lib

F = TypeVar("F", bound=Callable[..., Any])

# ---- errors ----


class Error(Exception):
    """Base of everything that Motley raises on its own."""


class ArgumentError(Error, ValueError):
    """An invalid argument: a size, stride, range or name."""


class PolicyError(Error, ValueError):
    """A policy's text is wrong. `problems` has (line, column, sentence) of every mistake that was found."""

    def __init__(self, message: str, problems: Iterable[tuple[int, int, str]] = ()) -> None:
        super().__init__(message)
        self.problems = list(problems)

    def __reduce__(self) -> Any:
        return type(self), (self.args[0], self.problems)


class UnsupportedError(Error, RuntimeError):
    """A valid request that this build, machine or device does not support."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed, on the host or the device."""


class FileError(Error, OSError):
    """A file could not be opened or read."""


class CudaError(Error, RuntimeError):
    """CUDA reported an error."""


class InternalError(Error, RuntimeError):
    """A bug in Motley; please report it."""


EXCEPTIONS: dict[int, type[Error]] = {
    lib.MOTLEY_ERR_ARGUMENT: ArgumentError,
    lib.MOTLEY_ERR_POLICY: PolicyError,
    lib.MOTLEY_ERR_UNSUPPORTED: UnsupportedError,
    lib.MOTLEY_ERR_MEMORY: OutOfMemoryError,
    lib.MOTLEY_ERR_IO: FileError,
    lib.MOTLEY_ERR_CUDA: CudaError,
    lib.MOTLEY_ERR_INTERNAL: InternalError,
}
for _exception in (Error, *EXCEPTIONS.values()):
    _exception.__module__ = "motley"  # where users have them from


def nearest(given: object, names: Iterable[str]) -> str | None:
    """The name that somebody who wrote `given` may have meant."""
    import difflib  # slow to import, and only wanted here

    text, names = str(given), list(names)
    near = difflib.get_close_matches(text, names, 1) or [name for name in names if text in name.split("_")]
    return near[0] if near else None


def did_you_mean(given: object, names: Iterable[str]) -> str:
    """A message's ", did you mean 'rotate'?"; empty where no name is near."""
    near = nearest(given, names)
    return "" if near is None else f", did you mean {near!r}?"


def known_keywords(function: str, unknown: Iterable[str], names: Iterable[str] | None) -> None:
    """Refuses the keywords that a call was given and its function does not have."""
    for given in unknown:
        known = list(names or ())
        wanted = did_you_mean(given, known) or f", want {', '.join(known)}"
        raise TypeError(f"{function}() has no argument {given!r}{wanted}")


def text_of(c_string: Any) -> str:
    text: bytes = ffi.string(c_string)
    return text.decode("utf-8", "replace")


def check(status: int, error: Any, where: str = "") -> None:
    """Raises the exception of a call that returned `status` and filled `error`. where: a prefix of its message."""
    if status:
        raise EXCEPTIONS.get(status, InternalError)(where + text_of(error.message))


def checked(function: Callable[..., int], *arguments: Any) -> None:
    """Calls one of the library's functions and adds its last argument, the error."""
    error = ffi.new("motley_error *")
    check(function(*arguments, error), error)


def made_by(kind: str, function: Callable[..., int], *arguments: Any) -> Any:
    """The object that a function creates, which it returns through a pointer: its last argument before the error."""
    made = ffi.new(f"{kind} **")
    checked(function, *arguments, made)
    return made[0]


def text_from(function: Callable[..., int], *arguments: Any) -> str:
    """The text that a function creates."""
    text = made_by("char", function, *arguments)
    try:
        return text_of(text)
    finally:
        lib.free(text)


# ---- contexts ----

_cuda_used = False  # by Motley, in this process
_cuda_before_fork = False  # by a parent of this process


class Context:
    """A motley_context."""

    __slots__ = ("handle", "process")

    def __init__(self, device: int | None, threads: int) -> None:
        self.process: int | None = None
        on_cpu = {"backend": lib.MOTLEY_BACKEND_CPU, "threads": threads}
        how = on_cpu if device is None else {"backend": lib.MOTLEY_BACKEND_CUDA, "device": device}
        params = ffi.new("motley_context_params *", how)
        self.handle = made_by("motley_context", lib.motley_context_create, params)
        self.process = os.getpid()

    def __del__(
        self, getpid: Callable[[], int] = os.getpid, destroy: Callable[[Any], None] = lib.motley_context_destroy
    ) -> None:
        # A forked child must not touch its parent's threads and device; torch.compile makes objects without __init__.
        if getattr(self, "process", None) == getpid():
            destroy(self.handle)


class Local(threading.local):
    """The state of one thread."""

    def __init__(self) -> None:
        self.contexts: dict[Any, Context] = {}  # (device, threads) -> Context
        self.calls: dict[Any, Any] = {}  # what a call depends on, but for pixels and samples -> a call to be repeated
        self.held: list[Any] = []  # calls whose arrays have to live until the device is done
        self.caller: Any = None  # of custom operations: (library of the arrays, CUDA device)
        self.raised: BaseException | None = None  # by one
        self.apart: Any = None  # _random.apart()
        self.drawn: Any = None  # a tensor that drawn numbers are written to: a new one costs three times the draw


local = Local()
counting = threading.RLock()  # of samples without ids, which threads that share a transform count together


KEPT = 256  # of what is made once for a shape of batches or for settings


def keep(kept: dict[Any, Any], key: Any, value: Any) -> Any:
    """Keeps a value for whoever needs it again. Where there are many, all are let go."""
    if len(kept) >= KEPT:
        kept.clear()
    kept[key] = value
    return value


def default_threads() -> int:
    """As many threads as the library gives, but no more than torch uses or, without torch, OMP_NUM_THREADS says; one in
    a multiprocessing worker (a DataLoader's, say), which is one of many."""
    if child() is not None:
        return 1
    given: int = lib.motley_default_threads()
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "get_num_threads"):  # which begins with OMP_NUM_THREADS
        most: int = torch.get_num_threads()
    else:
        first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()  # of nested regions: a list
        most = int(first) if first.isdecimal() else 0
    return min(given, most or given)


def child() -> Any:
    """This process as multiprocessing, or Hugging Face's copy of it, knows it; None where they did not start it. They
    are imported there; importing them here costs time."""
    for module in "multiprocessing.process", "multiprocess.process":
        process = sys.modules.get(module)
        if process is not None and process.parent_process() is not None:
            return process.current_process()
    return None


def outside_graphs(function: F) -> F:
    """The function, which torch.compile does not trace: a graph breaks where it is called."""

    @functools.wraps(function)
    def call(*arguments: Any, **settings: Any) -> Any:
        return eagerly()(function, *arguments, **settings) if compiling() else function(*arguments, **settings)

    return call  # type: ignore[return-value]


def compiling() -> bool:
    """Whether torch.compile traces the caller. Asked in every call, so it replaces itself by torch's own function, but
    not while it is traced."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "compiler"):
        return False
    if torch.compiler.is_compiling():
        return True
    globals()["compiling"] = torch.compiler.is_compiling
    return False


def eagerly() -> Any:
    """What calls a function outside of the graph that is traced. It is imported then: `import motley` has no torch."""
    from ._compiled import eagerly

    return eagerly


def context_of(device: int | None, threads: int | None = None) -> Context:
    """This thread's context on CUDA device number `device`, or on the CPU (None)."""
    found = local.contexts.get((device, threads))
    if found is None:
        if device is not None:
            _about_to_use_cuda()
        found = Context(device, default_threads() if threads is None else threads)
        local.contexts[device, threads] = found
    return found


def _about_to_use_cuda() -> None:
    global _cuda_used
    torch = sys.modules.get("torch")
    if _cuda_before_fork or (torch is not None and torch.cuda._is_in_bad_fork()):
        raise UnsupportedError(
            "CUDA was used before this process was forked, so that it cannot be used here: start "
            "the workers with the 'spawn' or 'forkserver' method, or augment on the CPU here"
        )
    _cuda_used = True


def _after_fork() -> None:
    global local, counting, _cuda_used, _cuda_before_fork
    local, counting = Local(), threading.RLock()
    _cuda_before_fork = _cuda_before_fork or _cuda_used
    _cuda_used = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# ---- checks: they name a mistake in the caller's words ----


def is_bool(value: Any) -> bool:
    """Whether it is True or False, or an array of these, which nobody means as a number."""
    return isinstance(value, bool) or "bool" in str(getattr(value, "dtype", ""))


def whole(name: str, value: Any, low: int, high: int, wanted: str) -> int:
    """`value` as an int. wanted: how the range is said."""
    try:
        number: int = value.__index__()
    except (AttributeError, TypeError):  # of a float, of an array that is no number
        number = low - 1
    if is_bool(value) or not low <= number <= high:
        raise ArgumentError(f"{name} is {value!r}, want a whole number {wanted}")
    return number


def seed_given(seed: Any) -> int:
    return whole("seed", seed, 0, (1 << 64) - 1, "from 0 to 2^64 - 1")


def epoch_given(epoch: Any) -> int:
    return whole("epoch", epoch, 0, (1 << 30) - 1, "from 0 to 2^30 - 1")


def size_given(size: Any) -> tuple[int, int]:
    """(height, width), of whatever the library takes."""
    if not hasattr(size, "__len__") or len(size) != 2:
        raise ArgumentError(f"size is {size!r}, want (height, width)")
    height, width = (whole("a side of size", side, 1, 1 << 20, "from 1 to 1048576") for side in size)
    return height, width


def threads_given(threads: Any) -> int | None:
    return None if threads is None else whole("threads", threads, 0, 1024, "from 0 (the default) to 1024, or None")


def view_given(view: Any) -> int:
    return whole("view", view, 0, 65535, "from 0 to 65535")


def for_each(name: str, found: int, count: int, what: str = "numbers") -> None:
    """There has to be one for each image."""
    if found != count:
        raise ArgumentError(f"{name} has {found} {what}, there are {count} images")


def one_of(name: str, value: Any, wanted: Iterable[Any]) -> Any:
    try:
        known = value in wanted
    except (TypeError, ValueError, RuntimeError):  # of lists and arrays
        known = False
    if not known:
        raise ArgumentError(f"{name} is {value!r}, want {', '.join(map(repr, wanted))}")
    return value


def per_channel(name: str, numbers: Any, low: float = -math.inf, wanted: str = "") -> tuple[float, ...]:
    """A tuple of floats above `low`, of a number or of one for each channel."""
    try:
        given = (numbers,) if isinstance(numbers, (int, float)) else tuple(numbers)
        floats = tuple(float(n) for n in given if not isinstance(n, str))
    except (TypeError, ValueError):
        given, floats = (), ()
    if len(floats) != len(given) or not floats or not all(low < n < math.inf for n in floats):
        raise ArgumentError(f"{name} is {numbers!r}, want a number{wanted}, or one for each channel")
    return floats


def range_given(given: Any) -> tuple[tuple[float, float], ...] | None:
    """One pair of numbers, or one for each band."""
    if given is None:
        return None
    try:
        pairs = tuple((float(low), float(high)) for low, high in (given if hasattr(given[0], "__len__") else [given]))
    except (TypeError, ValueError, LookupError):
        pairs = ()
    if not pairs or not all(-math.inf < low < high < math.inf for low, high in pairs):
        raise ArgumentError(
            f"range is {given!r}, want (low, high), what stands for black and white in the data, or one for each band"
        )
    return pairs


def for_channels(name: str, numbers: tuple[float, ...], channels: int) -> list[float]:
    """A number for each channel, of one or of as many."""
    if len(numbers) not in (1, channels):
        raise ArgumentError(f"{name} has {len(numbers)} numbers, the images have {channels} channels")
    return list(numbers) * (channels // len(numbers))


def normalize_given(normalize: Any, mean: Any, std: Any) -> tuple[Any, Any]:
    """mean, std; both None where nothing is normalised."""
    names = "mean", "std"
    if normalize is not None:
        if mean is not None or std is not None:
            raise ArgumentError("both normalize and mean or std are given, want one of them")
        if isinstance(normalize, Mapping) and set(normalize) == {"mean", "std"}:
            normalize = normalize["mean"], normalize["std"]
        if isinstance(normalize, (str, Mapping)) or not hasattr(normalize, "__len__") or len(normalize) != 2:
            raise ArgumentError(f"normalize is {normalize!r}, want (mean, std), each a number or one for each channel")
        (mean, std), names = normalize, ("normalize's mean", "normalize's std")
    elif (mean is None) != (std is None):
        raise ArgumentError(f"mean is {mean} and std is {std}, want both or neither")
    elif mean is None:
        return None, None
    return per_channel(names[0], mean), per_channel(names[1], std, 0, " above 0")


LAYOUTS = {"chw": "chw", "nchw": "chw", "hwc": "hwc", "nhwc": "hwc", "hw": "hw", None: None}


def layout_given(layout: Any) -> str | None:
    return LAYOUTS[one_of("layout", layout, LAYOUTS)]


FORMATS = {"contiguous_format": "chw", "channels_last": "channels_last", "preserve_format": None}


def output_layout_given(output_layout: Any, memory_format: Any) -> str | None:
    """output_layout, of either; memory_format is torch's."""
    given: str | None = one_of("output_layout", output_layout, (None, "chw", "hwc", "channels_last"))
    if memory_format is None:
        return given
    if given is not None:
        raise ArgumentError("both output_layout and memory_format are given, want one of them")
    name = str(memory_format)
    if not name.startswith("torch.") or name[len("torch.") :] not in FORMATS:
        wanted = ", ".join("torch." + each for each in FORMATS)
        raise ArgumentError(f"memory_format is {memory_format!r}, want one of {wanted}")
    return FORMATS[name[len("torch.") :]]
