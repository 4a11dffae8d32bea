# SPDX-License-Identifier: Apache-2.0
"""torchvision.transforms.v2, with Motley's classes in it."""

from torchvision.transforms import v2 as _theirs

from motley.torchvision import OURS, standing_for
from motley.torchvision.transforms import stands_for

__getattr__, __dir__, __all__ = stands_for(__name__, _theirs)

for _cls in OURS:
    _name = _cls.__name__
    if getattr(_theirs, _name, None) is _cls:
        globals()[_name] = standing_for(_cls, __name__)
