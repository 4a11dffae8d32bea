# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Callable
from typing import Any, Literal

from motley.policy import Policy
from motley.stage import Stage

def why_not_native() -> str | None: ...
def augment(
    images: Any,
    ids: Any = None,
    *,
    policy: Policy | Stage | str | os.PathLike[str],
    seed: int = 0,
    epoch: int | Callable[[], int] | Any = None,
    operator: Literal["native", "python"] | None = None,
) -> Any: ...
