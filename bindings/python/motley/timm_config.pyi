# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from typing import Any

from typing_extensions import Unpack

from .policy import Policy
from .stage import Stage, _Settings

def from_timm(config: str, hparams: Mapping[str, Any] | None = None, **stage: Unpack[_Settings]) -> Stage: ...
def policy_of(config: str, hparams: Mapping[str, Any] | None = None) -> Policy: ...
