# SPDX-License-Identifier: Apache-2.0
"""Custom ops: Python functions that policies can name like built-in ops.

@motley.custom_op("spot", unit="radius, pixels", minimum=0, maximum=100)
def spot(indices, images, values):
    for image, (radius, u, v) in zip(images, values):
        ...change image in place...

motley.Transform("motley: 1\\nname: mine\\nbranches:\\n  - {op: spot, value: 20}\\n")
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from ._core import ffi, lib
from ._native import ArgumentError

if TYPE_CHECKING:
    from ._types import CustomFunction

registered: dict[str, CustomOp] = {}


class CustomOp:
    """What custom_op makes of a function; calling it calls the function."""

    def __init__(self, name: str, function: CustomFunction, unit: str | None, minimum: float, maximum: float) -> None:
        self.name, self.function, self.unit, self.minimum, self.maximum = name, function, unit, minimum, maximum
        self.handle = ffi.new_handle(self)
        self.texts = ffi.new("char[]", name.encode()), ffi.NULL if unit is None else ffi.new("char[]", unit.encode())

    def fill(self, op: Any) -> None:
        """Fills a motley_custom_op; what it points to lives as long as this object."""
        op.name, op.unit = self.texts
        op.minimum, op.maximum = self.minimum, self.maximum
        op.run, op.user = lib.run_custom_op, self.handle

    def __call__(
        self, indices: Sequence[int], images: Sequence[Any], values: Sequence[tuple[float, float, float]]
    ) -> object:
        return self.function(list(indices), list(images), list(values))

    def __repr__(self) -> str:
        return f"<motley.CustomOp {self.name}>"


def custom_op(
    name: str, unit: str | None = None, minimum: float = 0.0, maximum: float = 1.0
) -> Callable[[CustomFunction], CustomOp]:
    """Makes a function the operation `name` of every policy that is read from then on, in its process.

    The function is called as function(indices, images, values) with the images that reached this step, often several
    times for one batch, and changes them in place; it returns nothing. `indices` says which of the batch they are. Each
    of `images` is an array that shares the batch's memory: a torch tensor (chw) if the batch is one or is on CUDA, else
    a NumPy array (hwc). Queue CUDA work on torch's current stream. `values` has for each image (value, u, v): what the
    policy drew, and two numbers uniform in 0..1 that belong to this step of this sample, for whatever has to be random.

    Args:
        name: What policies call it.
        unit: The unit of the value that policies give it, from minimum to maximum. None: it has no value.
        minimum: The least value.
        maximum: The most.
    """

    def register(function: CustomFunction) -> CustomOp:
        registered[name] = CustomOp(name, function, unit, minimum, maximum)
        return registered[name]

    if not isinstance(name, str):
        raise ArgumentError(f"name is {name!r}, want a text: @motley.custom_op('name')")
    return register


def named_in(text: bytes) -> list[CustomOp]:
    """The registered ops that a policy's text may name; the library reports which of them it names."""
    return [op for name, op in registered.items() if name.encode() in text]


@ffi.def_extern()
def run_custom_op(user: Any, batch: Any, error: Any) -> Any:
    try:
        count = batch.count
        images = [_array(batch.images.images[i], batch.images.channels, *_native.local.caller) for i in range(count)]
        op = ffi.from_handle(user)
        made = op([batch.indices[i] for i in range(count)], images, [tuple(batch.values[i][0:3]) for i in range(count)])
        if made is not None:
            raise ArgumentError(
                f"custom operation '{op.name}' returned a {type(made).__name__}, want None: it changes the images that "
                "it is given, as in image[...] = made"
            )
        return lib.MOTLEY_OK
    except BaseException as raised:  # the call that is under way raises it again
        _native.local.raised = raised
        if error:
            error.status, error.line, error.column = lib.MOTLEY_ERR_ARGUMENT, 0, 0
            error.message = b"a custom operation raised an exception\0"
        return lib.MOTLEY_ERR_ARGUMENT


class _Memory:
    """Pixels by their address, for the libraries that read these two attributes."""

    def __init__(self, image: Any, channels: int, on_cuda: bool) -> None:
        interface = {
            "data": (lib.address(image.data), False),
            "typestr": "|u1",
            "version": 3,
            "shape": (image.height, image.width, channels),
            "strides": (image.row_stride, image.pixel_stride, image.channel_stride),
        }
        setattr(self, "__cuda_array_interface__" if on_cuda else "__array_interface__", interface)


def _array(image: Any, channels: int, module: str, device: int | None) -> Any:
    memory = _Memory(image, channels, device is not None)
    if device is not None and module in ("torch", "jaxlib"):  # whose own arrays never change
        return importlib.import_module("torch").as_tensor(memory, device=f"cuda:{device}").permute(2, 0, 1)
    array = importlib.import_module("numpy" if device is None else module).asarray(memory)
    return sys.modules["torch"].from_numpy(array).permute(2, 0, 1) if module == "torch" else array
