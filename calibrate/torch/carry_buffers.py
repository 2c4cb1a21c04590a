"""Buffers: the storages that a step makes, with their tickets, their host copies and the calls that made them."""
import torch

from carry_storage import Place, alive, has_storage, untyped_of, weakly


class Buffer:
    """One storage under its name. It outlives the storage: what left the device comes back under the same Buffer."""

    name = base = None  # as recorded: after the last overwrite, and at first
    extra = False       # made by a call that the recording lacks
    hold = None         # the storage, while tickets or the plan want it here
    tickets, pinned = 0, False
    away = False        # the bytes are on the host, or nowhere until the makers run again
    host = None         # a HostCopy of the latest bytes
    makers = ()         # (Caught, index of the result; None where the call overwrote the buffer)
    stages = ()         # (name, how many makers had run by then) of results that overwrote it
    partial = None      # (storage, how many makers have run): while it is away, made again up to there
    emptied = None      # a weak reference to the user's storage that was emptied
    readers = ()        # buffers whose makers read this one
    anchors = ()        # while it is away: of those that its makers read and that are not sound
    stuck = False       # something that cannot be followed shares the storage: it stays
    unwritten = False   # memory that was only taken
    writes = ()         # the Place of each overwrite
    arrives = None      # an event of the copy back, until a reader has waited for it
    device = None       # where it lies, once a copy to the host was made

    def __init__(self, storage, order, outer):
        self.key, self.weak = storage._cdata, weakly(storage)
        self.nbytes, self.order = storage.nbytes(), order
        self.outer = self.sound = outer  # was there before the step; whether its makers would make it again as it is

    def bind(self, storage):
        self.key, self.weak = storage._cdata, weakly(storage)

    def storage(self):
        """The storage if it is alive and filled."""
        if self.away:
            return None
        return self.hold if self.hold is not None else alive(self.weak)

    def to_run(self, stage=None):
        """The makers that have not run again yet, up to a stage."""
        return self.makers[self.partial[1] if self.partial is not None else 0:stage]

    def wanted(self):
        return self.tickets > 0 or self.pinned

    def missed(self):
        """Whether it is away and somebody may ask for it: a ticket, or the user's own variable, which is empty."""
        return self.away and (self.tickets > 0 or (self.emptied is not None and not self.emptied.expired()))

    def idle(self):
        """Whether there is nothing to let go of or to forget: so it is with most, and they are many."""
        return not (self.tickets or self.makers or self.readers or self.pinned or self.away or self.hold is not None
                    or self.host is not None or self.partial is not None or self.arrives is not None or self.anchors)

    def let_go(self):
        """Without tickets and without the plan nothing holds the buffer; other references may hold its storage."""
        if self.wanted():
            return
        if self.arrives is not None:  # a copy still writes there: the next owner of the bytes comes after it
            torch.cuda.current_stream(self.device).wait_event(self.arrives)
            self.arrives = None
        if self.hold is not None and self.host is not None and self.host.done is not None:  # and a copy may still read there
            torch.cuda.current_stream(self.device).wait_event(self.host.done)
        self.hold = self.partial = None
        if self.away and self.emptied is not None and not self.emptied.expired():
            return  # the user's own variable is empty until somebody reads it
        self.host, self.away = None, False  # it died: nothing brings it back
        self.anchors = ()


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
        """Whether the tensor was overwritten since, a part too: autograd would refuse it, had it not a hook."""
        return any(place.meets(self.place) for place in self.buffer.writes[self.writes:])


class Anchor:
    """Keeps a buffer, as a ticket does, for one that is made from it again."""

    __slots__ = ("buffer",)

    def __init__(self, buffer):
        self.buffer = buffer
        buffer.tickets += 1
        if buffer.hold is None:
            buffer.hold = buffer.storage()

    def __del__(self):
        self.buffer.tickets -= 1
        self.buffer.let_go()


def kept(tensor, followed):
    """What stands for a saved tensor that stays: a pair of it and its version. With hooks, autograd leaves the check to them.

    The node that made a tensor must not hold the tensor itself: the two would never die without a backward. `followed`:
    its storage is known to be one.
    """
    version = None if tensor.is_inference() else tensor._version
    if tensor.is_leaf or not (followed or has_storage(tensor)):
        return tensor, version
    guard = torch._C._DisableTorchDispatch()  # until it dies; PyTorch 1.13 has no `with` for it
    tensor = tensor.detach()
    del guard
    return tensor, version
