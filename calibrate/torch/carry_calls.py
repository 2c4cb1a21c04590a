"""Calls that were caught, so that they can run again: operands by name, random state, one run without side effects."""
import functools
import sys
import weakref

import torch

from calls import NOISE, draws_numbers, leaves_memory_unwritten, only_views
from carry_storage import FOLLOWED, SCALAR, SEVERAL_OF, SORTS, Place, has_storage, overwritten_error, sort_of

STATISTICS = ("running_mean", "running_var")  # batch norm changes them; a second run must not
ITSELF = [(0, "self")]  # what a call in place writes


class Operand:
    """A tensor that a call reads: a place in a buffer, as often overwritten. One from before the step is held itself."""

    __slots__ = ("buffer", "place", "tensor", "writes")

    def __init__(self, buffer, tensor):
        self.buffer, self.writes = buffer, len(buffer.writes)
        self.tensor, self.place = (tensor, None) if buffer.outer else (None, Place(tensor))
        if buffer.outer:
            self.writes = (self.writes, None if tensor.is_inference() else tensor._version)

    def same(self):
        """Whether the buffer has not been overwritten since, as far as the carrier saw."""
        return (self.writes[0] if self.tensor is not None else self.writes) == len(self.buffer.writes)

    def held(self):
        """The tensor from before the step. RuntimeError: it was overwritten, outside of a context."""
        if self.writes[1] is not None and self.writes[1] != self.tensor._version:
            raise overwritten_error(self.tensor.shape)
        return self.tensor


class Signature:
    """What the schema of a function says, asked once."""

    __slots__ = ("function", "places", "name", "noise", "detaches", "writes", "statistics", "changes", "training", "seeded",
                 "takes", "resizes", "views")
    ALL = {}  # by id of the function, whose own hash is slow

    def __init__(self, function):
        arguments = list(enumerate(function._schema.arguments))
        self.function, self.name = function, sys.intern(str(function))
        self.places = [k for k, a in arguments if "Tensor" in str(a.type) or "Any" in str(a.type)]
        self.noise = function.namespace in NOISE
        self.detaches = function is torch.ops.aten.detach.default
        self.statistics = [(k, a.name, "Optional" in str(a.type)) for k, a in arguments if a.name in STATISTICS]
        self.training = next(((k, a.name) for k, a in arguments if a.name in ("training", "train", "use_input_stats")), None)
        self.writes = [] if "batch_norm" in self.name else [
            (k, a.name) for k, a in arguments if a.alias_info is not None and a.alias_info.is_write]
        self.changes = bool(self.writes or self.statistics)
        self.seeded = torch.Tag.nondeterministic_seeded in function.tags
        self.takes = leaves_memory_unwritten(function)
        self.views = only_views(function)
        self.resizes = self.name.startswith(("aten.set_.", "aten.resize_"))

    @classmethod
    def of(cls, function):
        found = cls.ALL.get(id(function))
        if found is None:
            found = cls.ALL[id(function)] = cls(function)
        return found

    def tensors(self, args, kwargs):
        """As flat(), and looks at nothing that the schema says is none."""
        found, count = [], len(args)
        for place in self.places:
            if place >= count:
                break
            value = args[place]
            sort = SORTS.get(type(value))
            if sort == FOLLOWED:
                found.append(value)
            elif sort != SCALAR:
                found += flat((value,), None)
        return found + flat((), kwargs) if kwargs else found

    def written(self, args, kwargs):
        """The operands that a call overwrites, and whose storages are ours to follow."""
        if not self.writes:
            return []
        if self.writes == ITSELF and args and isinstance(args[0], torch.Tensor):
            return [args[0]] if has_storage(args[0]) else []
        return [tensor for tensor in flat([given(place, args, kwargs) for place in self.writes], {}) if has_storage(tensor)]

    def updates_statistics(self, args, kwargs):
        """Batch norm in training changes its statistics; in evaluation it reads them."""
        return bool(self.statistics) and (self.training is None or given(self.training, args, kwargs) is not False)


def given(place, args, kwargs):
    """The value of an argument, None where its default stands."""
    index, name = place
    return args[index] if index < len(args) else kwargs.get(name)


def flat(args, kwargs):
    """The tensors among the arguments or results of a call: there are no lists in lists."""
    found = []
    for value in args if not kwargs else (*args, *kwargs.values()):
        sort = SORTS.get(type(value))
        if sort is None:
            sort = sort_of(type(value))
        if sort == SEVERAL_OF:
            found += [leaf for leaf in value if isinstance(leaf, torch.Tensor)]
        elif sort != SCALAR:
            found.append(value)
    return found


def results_of(result):
    """The results of a call, flat."""
    if not isinstance(result, (list, tuple)):
        return [result]
    leaves = []
    for value in result:
        if isinstance(value, (list, tuple)):
            leaves += value
        else:
            leaves.append(value)
    return leaves


class Caught:
    """One call. `fills` are the buffers that it made, each with the index of the result that owns the storage."""

    __slots__ = ("function", "args", "kwargs", "state", "fills", "operands", "again", "trains")

    def __init__(self, function, args, kwargs, operand_of, state):
        """`operand_of` turns a tensor into an Operand, or returns the tensor where the tensor itself is held."""
        self.function, self.state, self.fills, self.operands = function, state, [], []
        self.again, self.trains = True, torch.is_grad_enabled()
        self.args = [self._named(value, operand_of) for value in args]
        self.kwargs = {name: self._named(value, operand_of) for name, value in kwargs.items()} if kwargs else kwargs

    def _named(self, value, operand_of):
        if isinstance(value, torch.Tensor):
            operand = operand_of(value)
            if isinstance(operand, Operand):
                self.operands.append(operand)
            return operand
        return [self._named(leaf, operand_of) for leaf in value] if isinstance(value, (list, tuple)) else value

    def made(self, index, buffer):
        self.fills.append((index, weakref.ref(buffer)))

    def run(self, tensor_of):
        """The call once more; `tensor_of` gives an Operand's tensor. Returns the flat results."""
        args, kwargs = without_statistics(self.function, list(self.args), dict(self.kwargs), tensor_of)
        args = [put_in(value, tensor_of) for value in args]
        kwargs = {name: put_in(value, tensor_of) for name, value in kwargs.items()}
        below = torch._C._AutoDispatchBelowAutograd()  # until it dies: some calls return more where gradients are enabled
        with torch.set_grad_enabled(self.trains), NoAutocast(), self.state.put_back():
            results = results_of(self.function(*args, **kwargs))
        del below
        return results


def autocast_switches():
    """(whether it is on, a setter) of autocast, for each kind of device. Before PyTorch 2.4 each has functions of its own."""
    try:
        torch.is_autocast_enabled("cpu")
    except TypeError:
        return [(torch.is_autocast_cpu_enabled, torch.set_autocast_cpu_enabled),
                (torch.is_autocast_enabled, torch.set_autocast_enabled)]
    return [(functools.partial(torch.is_autocast_enabled, kind), functools.partial(torch.set_autocast_enabled, kind))
            for kind in ("cpu", "cuda")]


class NoAutocast:
    """A call was caught below autocast: its operands are cast already. The cache of cast weights stays as it is."""

    SWITCHES = autocast_switches()

    def __enter__(self):
        self.off = [switch for on, switch in self.SWITCHES if on()]
        for switch in self.off:
            switch(False)

    def __exit__(self, *_):
        for switch in self.off:
            switch(True)


def put_in(value, tensor_of):
    """A tensor in each Operand's place. No closure that names itself: it would hold storages until garbage is collected."""
    if isinstance(value, Operand):
        return tensor_of(value)
    return [put_in(leaf, tensor_of) for leaf in value] if isinstance(value, list) else value


def without_statistics(function, args, kwargs, tensor_of):
    """Batch norm in training without its running statistics, which the first run has updated."""
    signature = Signature.of(function)
    if not signature.updates_statistics(args, kwargs):
        return args, kwargs
    for index, name, optional in signature.statistics:
        where, key = (args, index) if index < len(args) else (kwargs, name)
        if (index < len(args) or name in kwargs) and where[key] is not None:
            known = where[key].tensor  # of an outer one: what it holds by now does not matter
            where[key] = None if optional else (tensor_of(where[key]) if known is None else known).clone()
    return args, kwargs


class Drawing:
    """The state of the generator that a random call draws from, before the call; nothing of other calls."""

    __slots__ = ("generator", "device", "state")

    def __init__(self, function, args, kwargs):
        self.generator = self.device = self.state = None
        if not draws_numbers(function, args, kwargs):
            return
        values = (*args, *kwargs.values())
        self.generator = next((value for value in values if isinstance(value, torch.Generator)), None)
        devices = [t.device for t in flat(args, kwargs)] + [torch.device(kwargs.get("device") or "cpu")]
        self.device = next((device for device in devices if device.type == "cuda"), None)
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


class NothingDrawn:
    """In a Drawing's place, of all other calls."""

    def put_back(self):
        return self

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


NOTHING_DRAWN = NothingDrawn()


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
