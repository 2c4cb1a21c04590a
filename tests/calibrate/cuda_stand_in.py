"""A stand-in for torch.cuda on a processor: what the recorder does on a GPU is rehearsed, its figures are planted.

Every call of it is held against the signature that PyTorch's own function has. Events must be awaited before they tell a
time, as CUDA demands. The allocator counts storages, and has no room beyond `LIMIT`.
"""
import contextlib
import inspect
import types

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

CALL_MS, WORKSPACE, LIMIT = 0.25, 3 << 20, 1 << 30


class Device:
    """Stands for torch.device("cuda"); tensors lie on the CPU all the same."""
    type, index = "cuda", 0

    def __str__(self):
        return "cuda:0"


class Allocator(TorchDispatchMode):
    """Bytes of all storages that calls have made and somebody holds. Convolutions take a workspace meanwhile."""

    def __init__(self, storage_of):
        super().__init__()
        self._storage_of = storage_of
        self._held, self.peak, self.counts = {}, 0, True

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in tree_flatten(result)[0] if self.counts else ():
            if type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.device.type == "cpu":
                storage = self._storage_of(tensor)
                self._held.setdefault(storage._cdata, (StorageWeakRef(storage), storage.nbytes()))
        now = self.count()
        self.peak = max(self.peak, now + (WORKSPACE if "convolution" in str(function) else 0))
        if now > LIMIT:
            raise RuntimeError("CUDA out of memory. A stand-in has no more than %d bytes" % LIMIT)
        return result

    def count(self):
        self._held = {key: held for key, held in self._held.items() if not held[0].expired()}
        return sum(size for _, size in self._held.values())

    def reset(self):
        self.peak = self.count()


class Cuda:
    """torch.cuda: each function is called as PyTorch's own can be."""

    def __init__(self, allocator):
        self._allocator, self._clock, self._asked = allocator, [0.0], []

    def __getattr__(self, name):
        own, real = getattr(type(self), "on_" + name), getattr(torch.cuda, name)

        def checked(*args, **kwargs):
            inspect.signature(real).bind(*args, **kwargs)
            return own(self, *args, **kwargs)
        return checked

    def on_is_available(self):
        return True

    on_is_initialized = on_is_available

    def on_get_rng_state_all(self):
        return []

    def on_set_rng_state_all(self, states):
        assert states == []

    def on_get_device_name(self, device=None):
        return "a stand-in"

    def on_get_device_capability(self, device=None):
        return 9, 0

    def on_memory_allocated(self, device=None):
        return self._allocator.count()

    def on_max_memory_allocated(self, device=None):
        return self._allocator.peak

    def on_reset_peak_memory_stats(self, device=None):
        self._allocator.reset()

    def on_empty_cache(self):
        pass

    def on_mem_get_info(self, device=None):
        return LIMIT - self._allocator.count(), LIMIT

    def on_synchronize(self, device=None):
        for event in self._asked:
            event.done = True
        self._asked.clear()

    def on_Stream(self, device=None):
        return object()

    def on_stream(self, stream):
        return contextlib.nullcontext()

    def on_Event(self, enable_timing=False):
        return Event(self._clock, self._asked, enable_timing)


class Event:
    """Recorded one after another, CALL_MS apart."""

    def __init__(self, clock, asked, timing):
        self._clock, self._asked, self._timing, self.at, self.done = clock, asked, timing, None, False

    def record(self):
        self._clock[0] += CALL_MS
        self.at, self.done = self._clock[0], False
        self._asked.append(self)

    def synchronize(self):
        self.done = True

    def elapsed_time(self, end):
        if not (self._timing and end._timing and self.at is not None and end.done):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        return end.at - self.at


class Torch:
    """The module torch, but for the device."""

    def __init__(self, cuda):
        self.cuda, self.version = cuda, types.SimpleNamespace(cuda="12.0")

    def __getattr__(self, name):
        real = getattr(torch, name)
        if name not in ("empty", "zeros"):
            return real

        def here(*args, device=None, **kwargs):
            return real(*args, device="cpu" if isinstance(device, Device) or device == "cuda" else device, **kwargs)
        return here


@contextlib.contextmanager
def stand_in(recorder):
    """The module torch as `recorder` (spillway_torch) sees it inside, with a GPU."""
    allocator, copied = Allocator(recorder.storage_of), recorder.copied

    def to_host(tensor):
        allocator.counts = False
        try:
            return copied(tensor)
        finally:
            allocator.counts = True
    instead = {"torch": Torch(Cuda(allocator)), "place_of": lambda found, batch: Device(), "COPY_BYTES": 1 << 16,
               "copied": to_host}
    plain = {name: getattr(recorder, name) for name in instead}
    pinned = torch.Tensor.pin_memory
    torch.Tensor.pin_memory = lambda tensor: tensor
    for name, thing in instead.items():
        setattr(recorder, name, thing)
    try:
        with allocator:
            yield instead["torch"]
    finally:
        torch.Tensor.pin_memory = pinned
        for name, thing in plain.items():
            setattr(recorder, name, thing)
