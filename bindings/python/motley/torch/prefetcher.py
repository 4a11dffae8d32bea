# SPDX-License-Identifier: Apache-2.0
"""A loader whose next batch is made while the model trains."""
import torch

from motley.torch.batches import map_tensors, replaced


class Prefetcher:
    """A loader whose next batch is copied, augmented and normalised on a stream of its own while the model trains.

    loader   anything iterable that yields batches: tuples, lists or dicts with a uint8 batch of images in them. Pin
             its memory (pin_memory=True), or copies do not overlap. What it yields it must not write into again.
    stage    a Stage, or another callable of the images, on `device`
    device   where batches are wanted; the default is the current CUDA device, or the CPU where there is none
    images   index or key of the images in a batch
    ids      index or key of their sample ids, or None; the ids stay on the CPU

    The batch that is handed over is ready for the current stream, and its memory is not reused before that stream is
    done with it. Each pass over the loader is the next epoch, unless set_epoch() says which. len() is the loader's."""

    def __init__(self, loader, stage, device=None, *, images=0, ids=None):
        self.loader, self.stage, self.images, self.ids = loader, stage, images, ids
        self.device = torch.device(device if device is not None else "cuda" if torch.cuda.is_available() else "cpu")
        self.stream = torch.cuda.Stream(self.device) if self.device.type == "cuda" else None
        self.begun = False

    def __len__(self):
        return len(self.loader)

    def set_epoch(self, epoch):
        """The epoch of the next pass, for the draws and for the loader's sampler."""
        self._set_stage_epoch(epoch)
        sampler = getattr(self.loader, "sampler", None)
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(epoch)
        self.begun = False

    def _set_stage_epoch(self, epoch):
        if self.stream:  # a pass that was broken off may have left work behind, which reads the epoch
            torch.cuda.current_stream(self.device).wait_stream(self.stream)
        if hasattr(self.stage, "set_epoch"):
            self.stage.set_epoch(epoch)

    def __iter__(self):
        if self.begun and hasattr(self.stage, "epoch"):
            self._set_stage_epoch(self.stage.epoch + 1)
        self.begun = True
        if not self.stream:
            for batch in self.loader:
                yield self._prepare(batch)
            return
        self.stream.wait_stream(torch.cuda.current_stream(self.device))  # what the stage reads may just be written
        ahead = None
        for batch in self.loader:
            prepared = self._prepare_aside(batch)
            if ahead:
                yield self._hand_over(*ahead)
            ahead = prepared
        if ahead:
            yield self._hand_over(*ahead)

    def _prepare(self, batch):
        ids = batch[self.ids] if self.ids is not None else None
        batch = map_tensors(lambda t: t.to(self.device, non_blocking=True), batch)
        if ids is None:
            return replaced(batch, self.images, self.stage(batch[self.images]))
        return replaced(replaced(batch, self.ids, ids), self.images, self.stage(batch[self.images], ids))

    def _prepare_aside(self, batch):
        current = torch.cuda.current_stream(self.device)

        def lend(tensor):  # what lies on the device already was made on the current stream, and is used on ours
            if tensor.is_cuda:
                lend.any = True
                tensor.record_stream(self.stream)
            return tensor
        lend.any = False
        map_tensors(lend, batch)
        if lend.any:
            self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            return self._prepare(batch), self.stream.record_event()

    def _hand_over(self, batch, ready):
        current = torch.cuda.current_stream(self.device)
        current.wait_event(ready)
        map_tensors(lambda t: t.record_stream(current) if t.is_cuda else None, batch)
        return batch
