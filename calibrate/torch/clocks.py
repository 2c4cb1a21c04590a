"""Clocks of a step's calls, and a step that is only timed."""
import gc
import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from calls import NOISE, tensors_in
from versions import noise


class HostClock:
    """Times calls by the host's clock: right where calls return when they are done (CPUs)."""

    def __init__(self):
        self.seconds = []

    def time(self, function, args, kwargs):
        begin = time.perf_counter()
        result = function(*args, **kwargs)
        self.seconds.append(time.perf_counter() - begin)
        return result

    def no_time(self):
        self.seconds.append(0.0)

    def forget(self):
        self.seconds.pop()

    def close(self):
        pass


class NoClock(HostClock):
    """Of fakes, whose calls take no time that says anything."""

    def time(self, function, args, kwargs):
        self.seconds.append(0.0)
        return function(*args, **kwargs)

    def close(self):
        gc.collect()  # fakes of PyTorch 1.13 stand in circles, and look alive


class EventClock(HostClock):
    """Times calls by CUDA events."""

    def __init__(self, device):
        super().__init__()
        self._device, self._pairs = device, []

    def time(self, function, args, kwargs):
        pair = (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
        pair[0].record()
        result = function(*args, **kwargs)
        pair[1].record()
        self._pairs.append(pair)
        return result

    def no_time(self):
        self._pairs.append(None)

    def forget(self):
        self._pairs.pop()

    def close(self):
        torch.cuda.synchronize(self._device)
        self.seconds = [pair[0].elapsed_time(pair[1]) / 1e3 if pair else 0.0 for pair in self._pairs]


class MemoryClock(EventClock):
    """Counts each call's workspace by the allocator as well: what a call took at its peak beyond what it left."""

    def __init__(self, device):
        super().__init__(device)
        self.workspaces, self.peak = [], 0

    def time(self, function, args, kwargs):
        cuda = torch.cuda
        before = cuda.memory_allocated(self._device)
        cuda.reset_peak_memory_stats(self._device)
        result = super().time(function, args, kwargs)
        peak = cuda.max_memory_allocated(self._device)
        self.peak = max(self.peak, peak)
        self.workspaces.append(max(0, peak - max(before, cuda.memory_allocated(self._device))))
        return result

    def no_time(self):
        super().no_time()
        self.workspaces.append(0)

    def forget(self):
        super().forget()
        self.workspaces.pop()


class Timer(TorchDispatchMode):
    """One step of which only the clock is read: listing a call takes longer than many a call, and empties the caches.

    `calls` are those of a recorded step. After it: `seconds` by node; `differs`: the place in `calls` where this step
    first made another one, or None.
    """

    def __init__(self, calls, clock):
        super().__init__()
        self._calls, self._clock, self._made, self.differs, self.found = calls, clock, 0, None, None

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.namespace in NOISE:
            return noise(function, args, kwargs or {})
        place = self._made
        self._made += 1
        if self.differs is None and (place >= len(self._calls) or self._calls[place][0] is not function):
            shapes = ", ".join(str(list(tensor.shape)) for tensor in tensors_in((args, kwargs)))
            self.differs, self.found = place, "%s (%s)" % (function, shapes)
        return self._clock.time(function, args, kwargs or {})

    def step(self, forward, batch, update):
        with self:
            loss = forward(*batch)
            torch.autograd.backward(loss)
            del loss
            if update is not None:
                update()
        if self.differs is None and self._made < len(self._calls):
            self.differs, self.found = self._made, "the end of the step"
        self._clock.close()
        if self.differs is None:
            self.seconds = [seconds for (_, node), seconds in zip(self._calls, self._clock.seconds) if node is not None]
