"""Copies to the host and back: one slab of host memory made once, two side streams on a GPU, events in between.

On a GPU the host never waits. A copy out waits for the compute stream's work so far; the device's bytes are given back
only after compute waits for the copy. A copy back is allocated on the compute stream; its first reader waits for it. No
record_stream: it would keep bytes for an unknown time.
"""
import torch

from carry_storage import over, rounded, untyped_of


class HostCopy:
    """A piece of the slab, given back when nobody names it any more."""

    __slots__ = ("slab", "offset", "nbytes", "after", "done", "read")

    def __init__(self, slab, offset, nbytes, after):
        self.slab, self.offset, self.nbytes, self.after = slab, offset, nbytes, after
        self.done = self.read = None  # events of the copy out and of the last copy back

    def bytes(self):
        return self.slab.memory[self.offset:self.offset + self.nbytes]

    def __del__(self):
        self.slab.give_back(self.offset, self.nbytes, self.read)


class Slab:
    """Host memory in one piece; pieces of it lie where they fit best."""

    def __init__(self, size, pinned):
        self.memory = torch.empty(size, dtype=torch.uint8, pin_memory=pinned)
        self.free = [(0, size)] if size else []  # (offset, bytes), by offset
        self.used = self.most = 0
        self.returned = []  # pieces given back, not yet joined
        self.reads = []  # (begin, end, event): copies back that may still read a piece given back

    def take(self, nbytes):
        while self.returned:
            self._join(*self.returned.pop())
        size = rounded(nbytes)
        fitting = [(room, offset) for offset, room in self.free if room >= size]
        if not fitting:
            return None
        room, offset = min(fitting)
        self.free.remove((offset, room))
        if room > size:
            self.free.append((offset + size, room - size))
            self.free.sort()
        self.used += size
        self.most = max(self.most, self.used)
        after = [event for begin, end, event in self.reads if begin < offset + size and offset < end]
        self.reads = [read for read in self.reads if not read[2].query()]
        return HostCopy(self, offset, nbytes, after)

    def give_back(self, offset, nbytes, read):
        """A collection of garbage may come here in the middle of `take`: so nothing else is done at once."""
        self.returned.append((offset, nbytes, read))

    def _join(self, offset, nbytes, read):
        size = rounded(nbytes)
        if read is not None:
            self.reads.append((offset, offset + size, read))
        self.used -= size
        self.free.append((offset, size))
        self.free.sort()
        joined = []
        for begin, room in self.free:
            if joined and joined[-1][0] + joined[-1][1] == begin:
                joined[-1] = (joined[-1][0], joined[-1][1] + room)
            else:
                joined.append((begin, room))
        self.free = joined


class Copies:
    """On the CPU: at once."""

    streamed = False  # whether a copy may still run when the call that asked for it returns

    def __init__(self, slab):
        self.slab = slab

    def piece(self, nbytes, beyond):
        """A piece of the slab; `beyond`: or of host memory of its own, where the slab is full."""
        found = self.slab.take(nbytes)
        return found or (Slab(rounded(nbytes), False).take(nbytes) if beyond else None)

    def out(self, storage, beyond=False):
        piece = self.piece(storage.nbytes(), beyond)
        if piece is not None:
            piece.bytes().copy_(over(storage))
        return piece

    def left(self, piece):
        """The device's bytes are about to be given back."""

    def back(self, buffer, target):
        """The storage with the bytes of the host copy: `target`, or a new one."""
        if target is None:
            target = untyped_of(torch.empty(buffer.nbytes, dtype=torch.uint8, device=buffer.device))
        over(target).copy_(buffer.host.bytes())
        return target

    def await_arrival(self, buffer):
        """The current stream may read the buffer from here on."""


class StreamedCopies(Copies):
    """On a GPU, by two streams of their own."""

    streamed = True

    def __init__(self, slab, device):
        super().__init__(slab)
        self.device = device
        self.outward, self.inward = torch.cuda.Stream(device), torch.cuda.Stream(device)

    def _after(self, stream, event=None):
        """The stream waits for the event, or for the compute stream's work so far."""
        if event is None:
            event = torch.cuda.Event()
            event.record(torch.cuda.current_stream(self.device))
        stream.wait_event(event)

    def out(self, storage, beyond=False):
        piece = self.piece(storage.nbytes(), beyond)
        if piece is None:
            return None
        self._after(self.outward)
        for event in piece.after:
            self._after(self.outward, event)
        with torch.cuda.stream(self.outward):
            piece.bytes().copy_(over(storage), non_blocking=True)
            piece.done = torch.cuda.Event()
            piece.done.record(self.outward)
        return piece

    def left(self, piece):
        if piece.done is not None:
            torch.cuda.current_stream(self.device).wait_event(piece.done)

    def back(self, buffer, target):
        if target is None:
            target = untyped_of(torch.empty(buffer.nbytes, dtype=torch.uint8, device=buffer.device))
        self._after(self.inward)
        if buffer.host.done is not None:
            self._after(self.inward, buffer.host.done)
        with torch.cuda.stream(self.inward):
            over(target).copy_(buffer.host.bytes(), non_blocking=True)
            buffer.arrives = torch.cuda.Event()
            buffer.arrives.record(self.inward)
        buffer.host.read = buffer.arrives
        return target

    def await_arrival(self, buffer):
        if buffer.arrives is not None:
            torch.cuda.current_stream(self.device).wait_event(buffer.arrives)
            buffer.arrives = None
