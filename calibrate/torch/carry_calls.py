"""Calls that were caught, so that they can run again: operands by name, random state, one run without side effects."""
import weakref

import torch
from torch.utils._pytree import tree_flatten, tree_map

from calls import draws_numbers, tensors_in, written_by
from carry_storage import Place, has_storage

STATISTICS = ("running_mean", "running_var")  # batch norm changes them; a second run must not


class Operand:
    """A tensor that a call reads: a place in a buffer. A tensor from before the step is held itself."""

    __slots__ = ("buffer", "place")

    def __init__(self, buffer, tensor):
        self.buffer, self.place = buffer, Place(tensor)


class Caught:
    """One call. `fills` are the buffers that it made, each with the index of the result that owns the storage."""

    __slots__ = ("function", "args", "kwargs", "state", "fills", "operands", "again")

    def __init__(self, function, args, kwargs, operand_of, state):
        """`operand_of` turns a tensor into an Operand, or returns the tensor where the tensor itself is held."""
        self.function, self.state, self.fills, self.operands = function, state, [], []

        def replace(leaf):
            if not isinstance(leaf, torch.Tensor):
                return leaf
            operand = operand_of(leaf)
            if isinstance(operand, Operand):
                self.operands.append(operand)
            return operand

        self.args = tuple(tree_map(replace, argument) for argument in args)
        self.kwargs = {name: tree_map(replace, value) for name, value in kwargs.items()}
        self.again = True

    def made(self, index, buffer):
        self.fills.append((index, weakref.ref(buffer)))

    def run(self, tensor_of):
        """The call once more; `tensor_of` gives an Operand's tensor. Returns the flat results."""
        args, kwargs = without_statistics(self.function, *(
            tree_map(lambda leaf: tensor_of(leaf) if isinstance(leaf, Operand) else leaf, tree)
            for tree in (list(self.args), self.kwargs)))
        with torch.no_grad(), self.state.put_back():
            result = self.function(*args, **kwargs)
        return tree_flatten(result)[0]


def without_statistics(function, args, kwargs):
    """Batch norm in training without its running statistics, which the first run has updated."""
    for index, argument in enumerate(function._schema.arguments):
        if argument.name not in STATISTICS:
            continue
        optional = "Optional" in str(argument.type)
        if argument.name in kwargs:
            kwargs[argument.name] = None if optional else kwargs[argument.name].clone()
        elif index < len(args) and args[index] is not None:
            args[index] = None if optional else args[index].clone()
    return args, kwargs


class Drawing:
    """The state of the generator that a random call draws from, before the call; nothing of other calls."""

    __slots__ = ("generator", "device", "state")

    def __init__(self, function, args, kwargs):
        self.generator = self.device = self.state = None
        if not draws_numbers(function, args, kwargs):
            return
        self.generator = next((leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, torch.Generator)),
                              None)
        self.device = next((t.device for t in tensors_in((args, kwargs)) if t.is_cuda), None)
        self.state = self._read()

    def _read(self):
        if self.generator is not None:
            return self.generator.get_state()
        return torch.get_rng_state() if self.device is None else torch.cuda.get_rng_state(self.device)

    def _write(self, state):
        if self.generator is not None:
            self.generator.set_state(state)
        elif self.device is None:
            torch.set_rng_state(state)
        else:
            torch.cuda.set_rng_state(state, self.device)

    def put_back(self):
        return _Drawn(self)


class _Drawn:
    """The generator as it was then; afterwards as it was before."""

    def __init__(self, state):
        self.state, self.now = state, None

    def __enter__(self):
        if self.state.state is not None:
            self.now = self.state._read()
            self.state._write(self.state.state)

    def __exit__(self, *_):
        if self.now is not None:
            self.state._write(self.now)


def changed_by(function, args, kwargs):
    """The operands that a call overwrites, and whose storages are ours to follow."""
    return [tensor for tensor in written_by(function, args, kwargs) if has_storage(tensor)]
