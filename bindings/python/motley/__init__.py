# SPDX-License-Identifier: Apache-2.0
"""Motley: a different augmentation for every image of a batch, from policy files, with Pillow's bits on CPU and GPU.

import motley
augment = motley.rand_augment(num_ops=2, magnitude=9)
batch = augment(batch)                          # torch, CuPy, NumPy, JAX; CPU or CUDA; or a PIL image, or a list
batch = augment(batch, sample_ids=indices, epoch=3)    # a sample draws the same in whatever batch it comes

train = motley.Transform("torchvision_train")   # crop, resize, flip, policy, normalise: a whole recipe from one file
batch = train(images)                           # a list of images of any sizes: float32 [N, 3, 224, 224]

motley.ops.rotate(batch, degrees)               # every operation as a function, one value per image
motley.Policy("mine.yaml").show()
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._core import ffi as _ffi, lib as _lib
from .custom import CustomOp, custom_op
from ._native import (
    ArgumentError, CudaError, Error, FileError, InternalError, OutOfMemoryError, PolicyError, UnsupportedError,
)  # fmt: skip
from .named import AutoAugment, RandAugment, TrivialAugmentWide
from .named import augmix, auto_augment, from_timm, mix, rand_augment, trivial_augment_wide
from ._objects import Targets
from .policy import Policy
from ._padded import Padded, padded
from ._random import group_ids
from .transform import Transform
from . import draws, ops

if _TYPE_CHECKING:
    from . import follow
    from .follow import Follow
    from .inverse import Inverse

__version__ = _ffi.string(_lib.motley_version()).decode()
__all__ = [
    "ArgumentError", "AutoAugment", "CudaError", "CustomOp", "Error", "FileError", "Follow", "InternalError",
    "Inverse", "OutOfMemoryError", "Padded", "Policy", "PolicyError", "RandAugment", "Targets",
    "Transform", "TrivialAugmentWide", "UnsupportedError", "augmix", "auto_augment", "custom_op", "draws", "follow",
    "from_timm", "group_ids", "mix", "ops", "padded", "rand_augment", "trivial_augment_wide",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Imports motley.follow, which takes as long as half of the others, and motley.inverse when first asked for."""
    if name in ("Follow", "follow"):
        import motley.follow as follow

        globals().update(Follow=follow.Follow, follow=follow)
    elif name == "Inverse":
        from .inverse import Inverse

        globals()[name] = Inverse
    elif name in ("Stage", "MultiView"):
        raise AttributeError(f"module 'motley' has no attribute {name!r}: motley.Transform takes every policy")
    elif name == "Mix":
        raise AttributeError("module 'motley' has no attribute 'Mix': motley.mix(...) makes a Transform that mixes")
    else:
        raise AttributeError(f"module 'motley' has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
