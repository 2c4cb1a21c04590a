"""Numbers that a step of fakes reads and that follow from the batch, whole-numbered buffers and constants: computed for real.

Each call that makes such a tensor is remembered with its operands' makers. No tensor is held: fakes live as long as before.
"""
import weakref

import torch
from torch.utils._pytree import tree_map

from calls import draws_numbers, layout_of, leaves_memory_unwritten, tensors_in, written_by
from storages import Names
from versions import without_modes

LONGEST_WAY = 200  # calls one behind the other
CONSTANT = 64  # elements of a real tensor that is taken as a constant


class Maker:
    """The call that makes a tensor: `number` is its place among the results. Without a function: `value` itself."""

    def __init__(self, function, args, kwargs, number, depth, value=None):
        self.function, self.args, self.kwargs, self.number = function, args, kwargs, number
        self.depth, self.value = depth, value

    def made(self, memory):
        """The real tensor. `memory`: by maker, of this question."""
        if self.function is None:
            return self.value
        if self not in memory:
            args, kwargs = real((self.args, self.kwargs), memory)
            memory[self] = tensors_in(self.function(*args, **kwargs))[self.number]
        return memory[self]


def real(tree, memory):
    return tree_map(lambda leaf: leaf.made(memory) if isinstance(leaf, Maker) else leaf, tree)


def bytes_named(tensor):
    """Which bytes a tensor names: `tensor.data = other` gives it others, without a call."""
    offset = tensor.storage_offset() if tensor.layout == torch.strided and not tensor.is_nested else 0
    return Names.key(tensor), offset, layout_of(tensor)


class Known:
    """What is known of the tensors of a step of fakes. `pairs`: fakes and the real tensors that they stand for."""

    def __init__(self, pairs):
        self._makers, self._changed = {}, set()  # by id of a tensor: (it, maker, its bytes); keys of storages written in place
        with without_modes():
            for fake, tensor in pairs:
                if not tensor.is_meta and not isinstance(tensor, torch.nn.Parameter):
                    self._remember(fake, Maker(None, (), {}, 0, 0, tensor.detach()))

    def _remember(self, tensor, maker):
        name = id(tensor)
        self._makers[name] = (weakref.ref(tensor, lambda _: self._makers.pop(name, None)), maker, bytes_named(tensor))

    def _of(self, tensor):
        """The maker of an operand; None: unknown."""
        if not hasattr(tensor, "fake_mode"):
            constant = tensor.numel() <= CONSTANT and not tensor.requires_grad and not tensor.is_meta
            with without_modes():
                return Maker(None, (), {}, 0, 0, tensor.detach().clone()) if constant else None
        found = self._makers.get(id(tensor))
        if found is None or Names.key(tensor) in self._changed or bytes_named(tensor) != found[2]:
            return None
        return found[1]

    def _with_makers(self, args, kwargs):
        """The operands with makers in place of tensors, and the longest way behind them; None: something is unknown."""
        by_id = {id(tensor): self._of(tensor) for tensor in tensors_in((args, kwargs))}
        if None in by_id.values():
            return None
        depth = 1 + max([maker.depth for maker in by_id.values()] or [0])
        return tree_map(lambda leaf: by_id.get(id(leaf), leaf), (args, kwargs)), depth

    def learn(self, function, args, kwargs, result):
        """A call was made."""
        written = written_by(function, args, kwargs)
        self._changed.update(Names.key(tensor) for tensor in written)
        if written:
            return
        before = {Names.key(tensor) for tensor in tensors_in((args, kwargs))}
        made = tensors_in(result)
        self._changed.difference_update({Names.key(tensor) for tensor in made} - before)  # an address that came back
        if draws_numbers(function, args, kwargs) or leaves_memory_unwritten(function):
            return
        operands = self._with_makers(args, kwargs)
        if operands is not None and operands[1] <= LONGEST_WAY:
            for number, tensor in enumerate(made):
                self._remember(tensor, Maker(function, operands[0][0], operands[0][1], number, operands[1]))

    def number(self, function, args, kwargs):
        """(whether it is known, the number that a call gives)."""
        operands = self._with_makers(args, kwargs)
        if operands is None:
            return False, None
        try:
            with without_modes(), torch.no_grad():
                args, kwargs = real(operands[0], {})
                return True, function(*args, **kwargs)
        except Exception:  # a call that real tensors cannot make, such as one on a device that is not there
            return False, None
