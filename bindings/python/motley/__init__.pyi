# SPDX-License-Identifier: Apache-2.0
from . import draws as draws
from . import follow as follow
from . import ops as ops
from .custom import CustomOp as CustomOp
from .custom import custom_op as custom_op
from .errors import ArgumentError as ArgumentError
from .errors import CudaError as CudaError
from .errors import Error as Error
from .errors import FileError as FileError
from .errors import InternalError as InternalError
from .errors import OutOfMemoryError as OutOfMemoryError
from .errors import PolicyError as PolicyError
from .errors import UnsupportedError as UnsupportedError
from .follow import Follow as Follow
from .policy import Policy as Policy
from .samples import samples as samples
from .stage import AutoAugment as AutoAugment
from .stage import RandAugment as RandAugment
from .stage import Stage as Stage
from .stage import TrivialAugmentWide as TrivialAugmentWide
from .timm_config import from_timm as from_timm
from .transform import Transform as Transform

__version__: str
