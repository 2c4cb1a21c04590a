"""One call by itself, on tensors made for it: shapes, strides and types are the step's, contents are drawn."""
import math
import statistics

import torch
from torch.utils._pytree import tree_flatten, tree_map

from calls import arguments_of, tensors_in, written_by
from fresh import MAPPED, faults
from mistakes import RecordError
from versions import storage_of
from work import moved_bytes

ASSUMED_BYTES_PER_S, ASSUMED_FLOPS_PER_S, ASSUMED_LAUNCH_NS = 1e12, 4e13, 3000


class Specimen:
    """A tensor as far as a call's time depends on it."""

    def __init__(self, tensor):
        self.shape, self.dtype, self.device = tuple(tensor.shape), tensor.dtype, tensor.device
        self.stride = tuple(tensor.stride()) if tensor.layout == torch.strided else ()

    def elements(self):
        if 0 in self.shape:
            return 0
        return 1 + sum((length - 1) * step for length, step in zip(self.shape, self.stride))

    def make(self, device):
        """On `device`, or on the CPU where the step keeps it there. Positive: roots of negative numbers are slow."""
        place = self.device if self.device.type == "cpu" else device
        count = self.elements()
        if self.dtype.is_floating_point:
            flat = torch.empty(count, dtype=self.dtype, device=place).uniform_(0.5, 1.5)
        elif self.dtype == torch.bool:
            flat = torch.ones(count, dtype=self.dtype, device=place)
        else:
            flat = torch.zeros(count, dtype=self.dtype, device=place)
        return flat.as_strided(self.shape, self.stride)


def specimen(tree):
    return tree_map(lambda leaf: Specimen(leaf) if isinstance(leaf, torch.Tensor) else leaf, tree)


def signature(tree):
    """What tells two calls of one operation apart, as a tuple."""
    if isinstance(tree, torch.Tensor):
        return (tuple(tree.shape), tuple(tree.stride()) if tree.layout == torch.strided else (), tree.dtype)
    if isinstance(tree, dict):
        return tuple((key, signature(tree[key])) for key in sorted(tree))
    if isinstance(tree, (list, tuple)):
        return tuple(signature(part) for part in tree)
    return repr(tree)


def assumed_ns(call):
    """By bytes and arithmetic on a device of 1 TB/s and 40 TFLOP/s."""
    seconds = max(call.bytes / ASSUMED_BYTES_PER_S, call.flops / ASSUMED_FLOPS_PER_S)
    return round(ASSUMED_LAUNCH_NS + 1e9 * seconds)


class Call:
    """A distinct call of a step."""

    def __init__(self, function, args, kwargs, result, flops):
        self.function, self.args, self.kwargs, self.flops = function, specimen(args), specimen(kwargs), flops
        self.bytes = moved_bytes(args, kwargs, result)
        self.makers = {}  # by an operand: the distinct call that makes it, and which of its results it is; or None

    def opaque(self):
        """Operands whose bytes only the library understands; on invented ones a call may end the process."""
        for argument, value in arguments_of(self.function, self.args, self.kwargs):
            name = argument.name.lower()
            # A fake workspace is empty; a real reserve is, where the library keeps none.
            if isinstance(value, Specimen) and ("workspace" in name or ("reserve" in name and value.elements())):
                yield value

    def comes_after(self, makers, args, kwargs):
        """`makers`: by storage of what the step has made so far: the call, and which of its results."""
        specimens = [leaf for leaf in tree_flatten((self.args, self.kwargs))[0] if isinstance(leaf, Specimen)]
        for leaf, tensor in zip(specimens, tensors_in((args, kwargs))):
            self.makers[leaf] = makers.get(storage_of(tensor)._cdata)


class Alone:
    """What is known of a distinct call: its seconds by the bytes touched since its operands were, and sizes."""

    def __init__(self, call):
        self.call, self.failed = call, False
        self.inside = 0.0  # seconds of the first touch of memory that is no result
        self._points, self._sizes = [], []  # points: pairs (bytes touched since, seconds without first touches)

    def knows(self, distance, seconds):
        self._points = sorted(self._points + [(max(1, distance), seconds)])

    def fails(self):
        """The call could not run: its time is assumed."""
        self.failed, self._points = True, [(1, assumed_ns(self.call) / 1e9)]

    def seconds_at(self, distance):
        """With that many bytes touched since the operands were. Between measurements: by the distance's logarithm."""
        points = self._points
        if distance <= points[0][0]:
            return points[0][1]
        for (low, before), (high, after) in zip(points, points[1:]):
            if distance < high:
                return before + (after - before) * math.log(distance / low) / math.log(high / low)
        return points[-1][1]

    def ns(self, touched, first_touch=0.0):
        """Of one node. `touched`: pairs (bytes of a storage, bytes touched since it was). `first_touch`: its results' seconds."""
        total = sum(size for size, _ in touched)
        seconds = sum(size * self.seconds_at(distance) for size, distance in touched) / total if total else self.seconds_at(0)
        return round(1e9 * (seconds if self.failed else seconds + self.inside + first_touch))

    def fresh_bytes_of_results(self):
        """Of those that the system maps anew each time: the others come back to the heap, and do not fault again."""
        return sum(size for size in self._sizes if size > MAPPED)

    def takes_sizes(self, result, operands):
        """Of the results that have storages of their own."""
        self._sizes = [storage_of(tensor).nbytes() for tensor in tensors_in(result)
                       if storage_of(tensor)._cdata not in operands]

    def correct_sizes(self, node):
        """Gives results the bytes that they took alone; opaque ones differ from what fakes say. How many it changed."""
        fresh = [result for result in node["results"] if "bytes" in result]
        if len(fresh) != len(self._sizes):
            return 0
        changed = 0
        for result, size in zip(fresh, self._sizes):
            changed += result["bytes"] != size
            result["bytes"] = size
        return changed


class Prepared:
    """A call with operands made for it, ready to run again and again."""

    def __init__(self, alone, device):
        """RecordError, or whatever the library raises: the call cannot run on such operands."""
        call = alone.call
        self.alone, self.function, self.times, self.faults = alone, call.function, [], []
        given = {id(value): self._made(call.makers.get(value), device) for value in call.opaque()}
        try:
            self._first(given, device)
        except Exception:
            unlike = self._unlike(given, device)
            if not unlike:
                raise
            self._first({**given, **unlike}, device)
        self._written = [t for t in written_by(call.function, self.args, self.kwargs) if t.is_floating_point()]
        alone.takes_sizes(self.result, {storage_of(tensor)._cdata for tensor in tensors_in((self.args, self.kwargs))})

    def _first(self, given, device):
        """Runs the call. `given`: by number of a specimen: its tensor."""
        def make(leaf):
            return given[id(leaf)] if id(leaf) in given else leaf.make(device) if isinstance(leaf, Specimen) else leaf
        self.args, self.kwargs = tree_map(make, self.alone.call.args), tree_map(make, self.alone.call.kwargs)
        self.result = self.function(*self.args, **self.kwargs)

    def _unlike(self, given, device):
        """Operands that the library makes in another type or shape than fakes say, such as a norm's statistics in 16 bit."""
        made = {leaf: self._made(maker, device) for leaf, maker in self.alone.call.makers.items()
                if maker is not None and id(leaf) not in given}
        return {id(leaf): tensor for leaf, tensor in made.items()
                if (tensor.dtype, tuple(tensor.shape)) != (leaf.dtype, leaf.shape)}

    @staticmethod
    def _made(maker, device):
        """What the library's own call makes of operands as the step's."""
        if maker is None:
            raise RecordError("the call reads bytes of the library's own, which no call has made")
        call, index = maker
        args, kwargs = tree_map(lambda leaf: leaf.make(device) if isinstance(leaf, Specimen) else leaf, (call.args, call.kwargs))
        return tensors_in(call.function(*args, **kwargs))[index]

    def run(self, seconds_of):
        """Once more. The result stays until the next time, and its memory comes back then: as old as the operands."""
        for tensor in self._written:  # a product again and again would end in numbers that are slow
            tensor.fill_(1.0)
        self.result = None
        before = faults()
        seconds, self.result = seconds_of(self.function, self.args, self.kwargs)
        self.times.append(seconds)
        self.faults.append(faults() - before)
        return self

    def tell(self, distance, memory):
        """Gives what was measured to its Alone, first touches apart."""
        first = [count * memory.of_fault for count in self.faults]
        of_results = self.alone.fresh_bytes_of_results() * memory.of_byte
        self.alone.inside = max(0.0, min(first) - of_results)
        self.alone.knows(distance, statistics.median(max(1e-9, all_of_it - part) for all_of_it, part in zip(self.times, first)))
