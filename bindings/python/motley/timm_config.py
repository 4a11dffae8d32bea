# SPDX-License-Identifier: Apache-2.0
"""timm's configuration strings, as policies."""


def from_timm(config, hparams=None, **stage):
    """A Stage of one of timm's strings, such as "rand-m9-mstd0.5-inc1", "original-mstd0.5", "v0r" or "3a".

    hparams: timm's dict: img_mean (the fill), translate_pct, interpolation, magnitude_std, magnitude_max. Keywords: see Stage."""
    raise NotImplementedError
