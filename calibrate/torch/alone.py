"""One call timed by itself, on tensors made for it: shapes, strides and types are the step's, contents are drawn."""
import statistics
import time

import torch
from torch.utils._pytree import tree_map

from calls import arguments_of, tensors_in
from mistakes import RecordError
from versions import storage_of
from work import moved_bytes

SECONDS, LEAST, MOST = 0.03, 3, 100  # of a measurement: how long, and how many calls at least and at most
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


def reads_opaque(call):
    """Whether the call reads bytes that only the library understands; on invented ones it may end the process."""
    for argument, value in arguments_of(call.function, call.args, call.kwargs):
        name = argument.name.lower()
        # A fake workspace is empty; a real reserve is, where the library keeps none.
        if isinstance(value, Specimen) and ("workspace" in name or ("reserve" in name and value.elements())):
            return True
    return False


class Alone:
    """The times of a call by itself, with its operands in the cache and without; the bytes that its results really take."""

    def __init__(self, call, device, cache):
        self._call, self._cache, self._device = call, cache, device
        self.failed, self._sizes = False, []
        try:
            if reads_opaque(call):
                raise RecordError("the call reads bytes of the library's own")
            self._measure()
        except Exception:  # contents that the call does not take, or no room for it
            self.failed = True
            self._warm = self._cold = assumed_ns(call) / 1e9

    def _measure(self):
        def make(leaf):
            return leaf.make(self._device) if isinstance(leaf, Specimen) else leaf
        with torch.no_grad():
            args, kwargs = tree_map(make, self._call.args), tree_map(make, self._call.kwargs)
            operands = {storage_of(tensor)._cdata for tensor in tensors_in((args, kwargs))}
            result = self._call.function(*args, **kwargs)
            self._sizes = [storage_of(tensor).nbytes() for tensor in tensors_in(result)
                           if storage_of(tensor)._cdata not in operands]
            del result
            self._warm = self._median(args, kwargs, SECONDS, lambda: None)
            small = self._call.bytes < self._cache.least
            self._cold = self._warm if small else self._median(args, kwargs, SECONDS / 2, self._cache.empty)

    def _median(self, args, kwargs, budget, between):
        times, spent = [], 0.0
        while len(times) < LEAST or (spent < budget and len(times) < MOST):
            between()
            times.append(self._seconds(args, kwargs))
            spent += times[-1]
        return statistics.median(times)

    def _seconds(self, args, kwargs):
        if self._device.type == "cuda":
            pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            pair[0].record()
            self._call.function(*args, **kwargs)
            pair[1].record()
            torch.cuda.synchronize(self._device)
            return pair[0].elapsed_time(pair[1]) / 1e3
        begin = time.perf_counter()
        result = self._call.function(*args, **kwargs)
        seconds = time.perf_counter() - begin
        del result
        return seconds

    def ns(self, absent):
        """With that share of the operands' bytes not in the cache."""
        return round(1e9 * (self._warm + absent * max(0.0, self._cold - self._warm)))

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
