# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any

def matrices(draws: Sequence[Any], size: Sequence[int] | Sequence[Sequence[int]]) -> list[Any]: ...
