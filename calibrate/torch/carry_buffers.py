"""Buffers: the storages that a step makes, with their tickets, their host copies and the calls that made them."""
import weakref

from carry_storage import Place, alive, untyped_of, weakly


class Buffer:
    """One storage under its name. It outlives the storage: what left the device comes back under the same Buffer."""

    __slots__ = ("key", "weak", "nbytes", "device", "order", "name", "base", "outer", "extra", "hold", "tickets", "pinned",
                 "away", "host", "makers", "emptied", "dependents", "writes", "arrives", "__weakref__")

    def __init__(self, storage, order, outer):
        self.bind(storage)
        self.nbytes, self.device, self.order = storage.nbytes(), storage.device, order
        self.name = self.base = None  # as recorded: after the last overwrite, and at first
        self.outer = outer            # was there before the step: a parameter, the batch
        self.extra = False            # made by a call that the recording lacks
        self.hold = None              # the storage, while tickets or the plan want it here
        self.tickets, self.pinned = 0, False
        self.away = False             # the bytes are on the host, or nowhere until the makers run again
        self.host = None              # a HostCopy of the latest bytes
        self.makers = []              # (Caught, index of the result; None where the call overwrote the buffer)
        self.emptied = None           # a weak reference to the user's storage that was emptied
        self.dependents = weakref.WeakSet()  # buffers that are away, and whose makers read this one
        self.writes = []              # the Place of each overwrite
        self.arrives = None           # an event of the copy back, until a reader has waited for it

    def bind(self, storage):
        self.key, self.weak = storage._cdata, weakly(storage)

    def storage(self):
        """The storage if it is alive and filled."""
        if self.away:
            return None
        return self.hold if self.hold is not None else alive(self.weak)

    def wanted(self):
        return self.tickets > 0 or self.pinned

    def let_go(self):
        """Without tickets and without the plan nothing holds the buffer; other references may hold its storage."""
        if not self.wanted():
            self.hold = None
            self.host = None


class Ticket:
    """What autograd saves in place of a tensor."""

    __slots__ = ("buffer", "place", "writes")

    def __init__(self, buffer, tensor):
        self.buffer, self.place, self.writes = buffer, Place(tensor), len(buffer.writes)
        buffer.tickets += 1
        if buffer.hold is None and not buffer.away:
            buffer.hold = untyped_of(tensor)

    def __del__(self):
        self.buffer.tickets -= 1
        self.buffer.let_go()

    def overwritten(self):
        """Whether the very tensor was overwritten since: autograd would refuse it, had it not a hook."""
        return any(place == self.place for place in self.buffer.writes[self.writes:])


class Kept:
    """A saved tensor that stays: with hooks, autograd leaves the check of its version to them."""

    __slots__ = ("tensor", "version")

    def __init__(self, tensor):
        self.tensor, self.version = tensor, version_of(tensor)


def version_of(tensor):
    return None if tensor.is_inference() else tensor._version


def overwritten_error(shape):
    return RuntimeError("one of the variables needed for gradient computation has been modified by an inplace operation: "
                        "a tensor of shape %s was overwritten after it was saved for backward" % (list(shape),))
