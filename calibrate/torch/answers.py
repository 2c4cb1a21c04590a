"""Numbers that a step reads from its tensors, .item(): taken from a real step of a smaller batch, given to a step of fakes."""
import torch

from clocks import HostClock
from machine import memory_of_host
from mistakes import NumbersNeeded, RecordError
from recorder import Recorder
from untouched import Untouched

SHARE_OF_FREE = 0.7  # of the host's free memory, that a step may need before it runs there


def gives_number(function):
    """Whether a call gives the host a number, and no tensor."""
    kinds = [str(result.type) for result in function._schema.returns]
    return bool(kinds) and all(kind in ("Scalar", "number", "bool", "int", "float", "Union[bool, float, int, complex]")
                               for kind in kinds)


class Lists:
    """A context in which `tolist` reads number by number. `reading`: it does. Real tensors give a list without a call."""

    def __init__(self):
        self.reading, self._plain = 0, []

    def __enter__(self):
        for kind in [torch.Tensor] + torch.Tensor.__subclasses__():
            if kind is torch.Tensor or (kind.__name__ == "FakeTensor" and "tolist" in vars(kind)):
                self._plain.append((kind, kind.tolist))
                kind.tolist = lambda tensor: self._read(tensor)
        return self

    def __exit__(self, *error):
        while self._plain:
            kind, plain = self._plain.pop()
            kind.tolist = plain

    def _read(self, tensor):
        self.reading += 1
        try:
            return tensor.item() if tensor.dim() == 0 else [self._read(part) for part in tensor]
        finally:
            self.reading -= 1


class Heard:
    """Numbers in the order in which a real step read them, by call and module."""

    def __init__(self):
        self.by_place, self.lists = {}, Lists()

    def answer(self, function, args, kwargs, module):
        if not gives_number(function):
            return False, None
        result = function(*args, **kwargs)
        self.by_place.setdefault((str(function), module), []).append(result)
        return True, result


class Answers:
    """Carries out calls of fakes. `heard`: of a real step, or None as long as nobody has needed one. `known`: a Known."""

    def __init__(self, heard, known):
        self._heard, self._known, self._asked, self.lists = heard, known, {}, Lists()

    def answer(self, function, args, kwargs, module):
        if not gives_number(function):
            result = function(*args, **kwargs)
            self._known.learn(function, args, kwargs, result)
            return True, result
        place = (str(function), module)
        count = self._asked[place] = self._asked.get(place, -1) + 1
        answered, number = self._known.number(function, args, kwargs)
        if answered:
            return True, number
        try:
            return True, function(*args, **kwargs)
        except Exception as error:  # data-dependent: each version raises its own kind
            if self._heard is None:
                raise NumbersNeeded(told(place)) from error
        known = self._heard.by_place.get(place)
        if not known:
            raise RecordError("%s reads a number from a tensor, which the step of the smaller batch did not: pass one "
                              "that does, record(..., small=[...])" % told(place))
        return True, known[min(count, len(known) - 1)]


def told(place):
    return "%s of %s" % (place[0], "module '%s'" % place[1] if place[1] else "the function forward or update")


def smaller(batch, samples=2):
    """The first samples of each tensor that has as many as the first."""
    count = batch[0].shape[0] if batch[0].dim() else 0
    return [part[:samples].clone() if part.dim() and part.shape[0] == count else part for part in batch]


def check_room(samples, of_samples, bytes_alive):
    """RecordError: as much as the listed step held, taken for fewer samples, would fill the host."""
    free = memory_of_host()[1]
    wanted = bytes_alive * samples / max(1, of_samples)
    if free is not None and wanted > SHARE_OF_FREE * free:
        raise RecordError("the step reads a number from a tensor, so a smaller step has to run; one of %d samples needs "
                          "%.1f GB and more, of %.1f free: pass a smaller batch, record(..., small=[...])" %
                          (samples, wanted / 1e9, free / 1e9))


def hear_real_step(found, forward, batch, update):
    """Runs one real step, which leaves no trace. RecordError: there is nothing real to run."""
    if any(tensor.is_meta for root in found.modules for tensor in root.parameters()):
        raise RecordError("the step reads a number from a tensor, and a network on the meta device has none: build it "
                          "on a real device")
    heard = Heard()
    with Untouched(found), heard.lists:
        Recorder(batch, [], found.modules, HostClock(), heard).step(forward, batch, update)
    return heard


def is_unknown_size(error):
    return type(error).__name__ in ("DynamicOutputShapeException", "DataDependentOutputException")
