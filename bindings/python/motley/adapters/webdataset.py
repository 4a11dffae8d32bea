# SPDX-License-Identifier: Apache-2.0
"""WebDataset: a step of its pipeline, before samples are batched.

webdataset.WebDataset(urls).shuffle(1000).decode("pil").map(Augment("rand_augment")).to_tuple("jpg", "cls")
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import motley
from motley.adapters import Adapter

if TYPE_CHECKING:
    from motley._types import PolicyLike


def id_of(key: str) -> int:
    """A sample id computed from a sample's __key__: the same in every shard layout, worker and process."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little") >> 1


class Augment(Adapter):
    """A callable for WebDataset.map: augments the decoded image of a sample.

    Args:
        policy: A policy, or a motley.Transform, whose settings are kept. With a policy that has stages an image becomes
            the network's input. With views the results of each view stand under its name, in place of the image.
        seed: Of a policy; None is none, or that of the transform.
        image: The sample's key; the default is the first of jpg, jpeg, png, webp and ppm that it has.
        epoch: None: each call draws anew. Else a sample's draw depends only on (seed, epoch, __key__): a number, or a
            callable that returns it and is called in the worker.
    """

    IMAGES = ("jpg", "jpeg", "png", "webp", "ppm")

    def __init__(
        self,
        policy: PolicyLike,
        *,
        image: str | None = None,
        seed: int | None = None,
        epoch: int | Callable[[], int] | None = None,
    ) -> None:
        super().__init__(policy, image, seed, epoch)

    def __call__(self, sample: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(sample, Mapping):
            raise motley.ArgumentError(
                f"the sample is a {type(sample).__name__}, want the dictionary that it is before to_tuple()"
            )
        key = self.image or next((name for name in self.IMAGES if name in sample), None)
        if key is None or key not in sample:
            raise KeyError(
                f"sample {sample.get('__key__')!r} has no {self.image or ' or '.join(self.IMAGES)}, "
                f"only {', '.join(k for k in sample if not k.startswith('__'))}"
            )
        if isinstance(sample[key], bytes):
            raise motley.ArgumentError(
                f"sample {sample.get('__key__')!r}: {key} is not decoded, want "
                "decode('pil'), 'rgb8' or 'torchrgb8' before"
            )
        if self.epoch is not None and not isinstance(sample.get("__key__"), str):
            raise motley.ArgumentError(
                f"the sample has {', '.join(map(repr, sample))} and no text as its '__key__', by which it is "
                "drawn: want it, or no epoch"
            )
        which = {} if self.epoch is None else self._by(id_of(sample["__key__"]))
        return self._replaced(sample, key, self.transform(sample[key], **which), False)
