"""What carrier and watcher share: a context around a part of a training loop, which sees every call and saved tensor.

A context holds one or more pieces. A piece begins with the first forward call, and a new one at the first forward call
after a backward. What lives across that cut belongs to nobody in the next piece, as parameters do.
"""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from carry_attach import Attaching, current_mode, leave_hooks, leave_modes
from carry_buffers import Ticket
from carry_making import Making
from carry_notice import top_hooks
from carry_storage import FOLLOWED, SCALAR, SORTS, STRIDED, has_storage, key_of, overwritten_error, untyped_of
from carry_store import Store
from versions import running_backward

BIG = 1 << 20  # bytes from which a saved tensor goes to the host where nothing was planned for it


class Following(Attaching, Making, TorchDispatchMode):
    """Subclasses give `_place` (a call that makes or changes something), `_pack`, `_piece_begins` and `_piece_ends`."""

    def __init__(self, copies, empty_held, ran_again):
        super().__init__()
        self.copies, self._empty_held, self._ran_again = copies, empty_held, ran_again
        self.open = False
        self.inside = False  # our own calls, made outside the dispatcher's own switch
        self.hooks = self.attached = self.forward_hook = None
        self.phase = running_backward()
        self.catches = False
        self.below = self.hooks_below = None
        self.model = lambda: None
        self.store = Store(copies, empty_held, ran_again)
        self._fresh()

    # Contexts and pieces.

    def _fresh(self):
        """Before a piece. Saved tensors of earlier ones are followed on, without their names."""
        store = Store(self.copies, self._empty_held, self._ran_again)
        store.take_over(self.store)
        self.store = store
        self.numbers = {}  # by storage address: tensors that stand for plain numbers
        self.begun = self.backward_seen = False

    def begin(self):
        if self.open:
            self.end()
        if not self._is_alone():
            self._stays_out()
            return self
        self._fresh()
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack)
        self.hooks_below = top_hooks(True)
        self.hooks.__enter__()
        self.below = current_mode()
        try:
            TorchDispatchMode.__enter__(self)
        except BaseException:
            self.hooks.__exit__(None, None, None)
            raise
        self.open = True
        self.phase.__enter__()
        self.forward_hook = torch.nn.modules.module.register_module_forward_pre_hook(self._forward_of)
        self._piece_begins()
        return self

    def end(self):
        if not self.open:
            return
        self.open = False
        self.forward_hook.remove()
        self.phase.__exit__()
        try:
            leave_modes(self, self.below)
        finally:
            leave_hooks(self.hooks, self.hooks_below)
            self.hooks_below = None
            self._close()

    def _close(self):
        try:
            self.store.close()
        finally:
            self._piece_ends()

    def cut(self):
        """The next piece begins, in the same context."""
        self.inside = True  # what left the device comes back: no calls of the loop
        try:
            self._close()
        finally:
            self.inside = False
        self._fresh()
        self.begun = True
        self._piece_begins()

    def __enter__(self):
        return self.begin()

    def __exit__(self, *_):
        self.end()

    def _forward_of(self, module, _):
        """A module's forward in training is a forward call: it begins a piece, and cuts after a backward.

        An attached model's own forward begins a context. So after a backward this is another model's, and ends ours.
        """
        if not self.open or (self.begun and not self.backward_seen):
            return
        if self._in_training(module):
            if self.backward_seen and self.attached:
                self.end()
            else:
                self._forward_call()

    def _in_training(self, module):
        return module.training and torch.is_grad_enabled() and not self.phase.inside() and trains(module)

    def _forward_call(self):
        if self.backward_seen and not self.attached:
            self.cut()
        self.begun = True

    # Calls.

    def _operands(self, signature, args, kwargs):
        """As _read of the call's tensors. Nearly every call has plain tensors alone, one to a place."""
        store, read, operands, count = self.store, [], [], len(args)
        known, careful = store.by_key, store.gone or self.copies.streamed
        if kwargs:
            return self._read(signature.tensors(args, kwargs))
        for place in signature.places:
            if place >= count:
                break
            tensor = args[place]
            sort = SORTS.get(type(tensor))
            if sort == SCALAR:
                continue
            buffer = known.get(key_of(tensor)) if sort == FOLLOWED and tensor.layout is STRIDED else None
            if buffer is None and sort == FOLLOWED and not self.numbers and has_storage(tensor):
                buffer = store.add(untyped_of(tensor), True)
            if buffer is None or (careful and (buffer.away or buffer.arrives is not None)):
                return self._read(signature.tensors(args, kwargs))
            read.append(tensor)
            if buffer not in operands:
                operands.append(buffer)
        return read, operands, False

    def _read(self, tensors):
        """Those that a call reads and we follow; their Buffers, filled, each once; and whether there are others."""
        read, operands, opaque, known = [], [], False, self.store.by_key
        for tensor in tensors:
            try:
                key = key_of(tensor)
                buffer = known.get(key)
            except NotImplementedError:  # a sparse tensor, or one of another library
                opaque = True
                continue
            if buffer is None or SORTS.get(type(tensor)) != FOLLOWED:
                if not has_storage(tensor):
                    opaque = True
                    continue
                if self.numbers and key in self.numbers:
                    continue
                buffer = buffer or self.store.add(untyped_of(tensor), True)
            if buffer.away or buffer.arrives is not None:
                self.store.storage_of(buffer)
            read.append(tensor)
            if buffer not in operands:
                operands.append(buffer)
        return read, operands, opaque

    def _detached(self, function, args):
        """Autograd makes as many of these as it likes; they are no calls. PyTorch 1.13 gives a number for a number."""
        result = function(*args)
        number = as_tensor(result, function)
        if number is not result:
            self.numbers[key_of(number)] = number
        return number

    # What autograd saves.

    def _offloaded(self, buffer, tensor):
        """To the host, and off the device as soon as the loop lets go of it. Returns a ticket."""
        self.inside = True
        try:
            ticket = Ticket(buffer, tensor)
            self.store.out(buffer, True)
        finally:
            self.inside = False
        if buffer.host is not None:
            self.copies.left(buffer.host)  # the loop may let go at once, and the copy still reads
            buffer.hold = None
        return ticket

    def _before_unpack(self):
        """Autograd unpacks before the node's first call."""

    def _unpack(self, packed):
        if type(packed) is tuple:  # see kept()
            tensor, version = packed
            if version is not None and tensor._version != version:
                raise overwritten_error(tensor.shape)
            return tensor
        if packed.overwritten():
            raise overwritten_error(packed.place.size)
        self.inside = True
        try:
            if self.open:
                self._before_unpack()
            return packed.place.over(self.store.storage_of(packed.buffer))
        finally:
            self.inside = False


def trains(module):
    return any(parameter.requires_grad for parameter in module.parameters())


def trained_leaf(tensors):
    """Whether a call reads a tensor that is to get a gradient: outside of backward it is a forward call then."""
    return torch.is_grad_enabled() and any(tensor.requires_grad and tensor.is_leaf for tensor in tensors)


def as_tensor(result, function):
    """PyTorch 1.13 wraps numbers, and `detach` then returns the number itself to autograd, which wants a tensor."""
    if isinstance(result, (bool, int, float)) and function is torch.ops.aten.detach.default:
        return torch.scalar_tensor(result, dtype=torch.float64)
    return result
