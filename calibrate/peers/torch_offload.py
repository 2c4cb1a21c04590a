"""What backward saves, kept in pinned host memory: out during forward, back ahead of its use, on streams of their own.

PyTorch's save_on_cpu copies each tensor on the stream that computes, weights too, and twice what two ops save. This one
does what a careful user of saved_tensors_hooks would: parameters and what is small stay, a tensor is copied once
however many ops save it, and at most `window` bytes are on their way at a time, so that memory does not depend on how
far the host is ahead.
"""
import collections

import torch
from torch.multiprocessing.reductions import StorageWeakRef


class Entry:
    """A saved tensor. `tensor`: on the device, or None; `uses`: ops that will still ask for it."""

    __slots__ = ("index", "storage", "tensor", "host", "sent", "arrived", "uses")

    def __init__(self, index, storage, tensor, host):
        self.index, self.storage, self.tensor, self.host = index, storage, tensor, host
        self.sent = self.arrived = None
        self.uses = 0


def size_of(tensor):
    return tensor.numel() * tensor.element_size()


def storage_of(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


class StreamCopies:
    """Copies on two streams of the GPU's, each behind what was issued for computing before it."""

    def __init__(self, device):
        self.out, self.into = torch.cuda.Stream(device), torch.cuda.Stream(device)

    def send(self, host, tensor):
        return self._copy(self.out, host, tensor)

    def fetch(self, tensor, host):
        return self._copy(self.into, tensor, host)

    @staticmethod
    def _copy(stream, to, source):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            to.copy_(source, non_blocking=True)
            return stream.record_event()

    @staticmethod
    def wait(copied):
        """What is issued for computing from now on comes behind that copy."""
        torch.cuda.current_stream().wait_event(copied)


class ImmediateCopies:
    """A processor's."""

    def send(self, host, tensor):
        host.copy_(tensor)

    def fetch(self, tensor, host):
        tensor.copy_(host)

    def wait(self, copied):
        pass


class Offload:
    """Of one network. Each step: begin(), forward within hooks(), backward."""

    def __init__(self, device, parameters, window=512 << 20, least=1 << 20, copies=None):
        self.device, self.window, self.least = device, window, least
        self.pinned = device.type == "cuda"
        self.copies = copies or (StreamCopies(device) if self.pinned else ImmediateCopies())
        self.stays = {p.data_ptr() for p in parameters}
        self.buffers = []  # of all steps: the k-th tensor that is sent has the k-th
        self.begin()

    def begin(self):
        self.entries, self.by_tensor = [], {}
        self.leaving = collections.deque()
        self.near = 0  # bytes of entries that are on the device
        self.buffers_used = self.bytes_out = self.bytes_in = 0
        self.ahead = None  # entries from here on have been asked for

    def hooks(self):
        return torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)

    def host_bytes(self):
        return sum(size_of(b) for b in self.buffers)

    def know(self, tensor, host):
        """`host` holds the same numbers already."""
        self._add(tensor, host)

    def pack(self, tensor):
        if tensor.data_ptr() in self.stays or size_of(tensor) < self.least or not tensor.is_contiguous():
            return tensor
        entry = self.by_tensor.get(self._key(tensor, StorageWeakRef(storage_of(tensor)))) or self._send(tensor.detach())
        entry.uses += 1
        return entry

    def unpack(self, packed):
        if not isinstance(packed, Entry):
            return packed
        self._fetch(packed)
        self._fetch_ahead(packed.index)
        if packed.arrived is not None:
            self.copies.wait(packed.arrived)
        tensor = packed.tensor
        packed.uses -= 1
        if packed.uses == 0:
            self._drop(packed)
        return tensor

    @staticmethod
    def _key(tensor, storage):
        # The weak reference, which the entry holds too, keeps another storage from having the same name.
        return storage.cdata, tensor.storage_offset(), tuple(tensor.shape), tensor.dtype

    def _add(self, tensor, host):
        entry = Entry(len(self.entries), StorageWeakRef(storage_of(tensor)), tensor, host)
        self.entries.append(entry)
        self.by_tensor[self._key(tensor, entry.storage)] = entry
        self.leaving.append(entry)
        self.near += size_of(tensor)
        return entry

    def _send(self, tensor):
        entry = self._add(tensor, self._buffer(tensor))
        entry.sent = self.copies.send(entry.host, tensor)
        self.bytes_out += size_of(tensor)
        while self.near > self.window and len(self.leaving) > 1:
            self._drop(self.leaving.popleft())
        return entry

    def _buffer(self, tensor):
        k = self.buffers_used
        self.buffers_used += 1
        if k == len(self.buffers):
            self.buffers.append(None)
        buffer = self.buffers[k]
        if buffer is None or buffer.shape != tensor.shape or buffer.dtype != tensor.dtype:
            buffer = self.buffers[k] = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=self.pinned)
        return buffer

    def _drop(self, entry):
        # Its memory is the computing stream's, which must not use it again before the copy has read it.
        if entry.sent is not None:
            self.copies.wait(entry.sent)
            entry.sent = None
        entry.tensor = None
        self.near -= size_of(entry.host)

    def _fetch(self, entry):
        if entry.tensor is not None:
            return
        entry.tensor = torch.empty(entry.host.shape, dtype=entry.host.dtype, device=self.device)
        entry.arrived = self.copies.fetch(entry.tensor, entry.host)
        self.near += size_of(entry.host)
        self.bytes_in += size_of(entry.host)

    def _fetch_ahead(self, index):
        self.ahead = index if self.ahead is None else min(self.ahead, index)
        while self.ahead > 0 and self.near < self.window:
            self.ahead -= 1
            if self.entries[self.ahead].uses > 0:
                self._fetch(self.entries[self.ahead])
