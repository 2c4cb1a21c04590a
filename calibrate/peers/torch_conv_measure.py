"""Measuring convolutions in PyTorch, one row for each pass and precision."""
import contextlib
import datetime
import math
import statistics
import time
import warnings

from torch_measure import Bench, Timer, is_out_of_memory, say  # it clears the environment before it loads PyTorch

import torch

from torch_conv_rows import BETWEEN_KERNELS
from torch_rows import quantile

WARM_UP = 3  # runs at least: cuDNN looks for algorithms, the allocator gets its blocks
LEAST_TIMING = 1e-3  # seconds; shorter runs are timed together
MOST_LAUNCHES = 100  # of one timing: the device's queue never fills up
MOST_SETS = 256  # of tiny operands
USUAL_CACHE = 64 << 20  # bytes, where PyTorch does not tell
SLEEP_RATE = 2e9  # cycles that PyTorch's waiting kernel is taken to wait in a second; a slower clock holds longer
LONGEST_HOLD = 0.2  # seconds
HEATING = 300  # products of 4096 x 4096 matrices, a second or so, until clocks stand still
# What the profiler lists of itself.
PROFILERS_OWN = ("Activity Buffer Request", "Command Buffer Full", "Lazy Function Loading", "Instrumentation")


def allow_tf32(allowed):
    """Says it by both interfaces where there are two: PyTorch refuses to compute where they differ."""
    cudnn = torch.backends.cudnn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the older one, since 2.9
        cudnn.allow_tf32 = allowed
    for part in (getattr(cudnn, "conv", None), getattr(cudnn, "rnn", None)):
        if hasattr(part, "fp32_precision"):
            part.fp32_precision = "tf32" if allowed else "ieee"


def search_limit():
    """How many ways to compute PyTorch tries at most, 0: all that cuDNN has; as it is unless somebody asks for more."""
    limit = getattr(torch.backends.cudnn, "benchmark_limit", None)
    return "" if limit is None else limit


def type_of(precision):
    return torch.float16 if precision == "fp16" else torch.float32


class Operands:
    """What a pass reads. Channels last where the layout is nhwc."""

    def __init__(self, layer, layout, dtype, device):
        self.format = torch.channels_last if layout == "nhwc" else torch.contiguous_format
        self.dtype, self.device = dtype, device
        self.input = self._numbers(layer.input_shape(), layer.is_input_sparse())
        self.weight = self._numbers(layer.weight_shape(), False)
        self.gradient = self._numbers(layer.result_shape(), layer.is_gradient_sparse())

    def _numbers(self, shape, sparse):
        """Normal ones; `sparse`: the negative half is zero."""
        numbers = torch.randn(shape, device=self.device)
        return (numbers.clamp_(min=0) if sparse else numbers).to(dtype=self.dtype, memory_format=self.format)


def forward(layer, operands):
    return torch.nn.functional.conv2d(operands.input, operands.weight, None, layer.stride, layer.pad)


def backward(layer, operands, mask):
    """What autograd calls, for one of the gradients."""
    return torch.ops.aten.convolution_backward(
        operands.gradient, operands.input, operands.weight, None, [layer.stride] * 2, [layer.pad] * 2, [1, 1], False,
        [0, 0], 1, mask)


COMPUTE = {
    "forward": forward,
    "backward_data": lambda layer, operands: backward(layer, operands, [True, False, False])[0],
    "backward_filter": lambda layer, operands: backward(layer, operands, [False, True, False])[1],
}


def bytes_of_set(layer, size):
    """Of what a pass reads and writes, the same for all three: input, weights and result, or their gradients."""
    return size * sum(math.prod(shape) for shape in (layer.input_shape(), layer.weight_shape(), layer.result_shape()))


def sets_of(set_bytes, cache):
    """So many that a ring of twice the cache is full, as calibrate has it: always more than the cache."""
    return max(1, min(2 * cache // set_bytes, MOST_SETS))


class Launches:
    """Runs of a case, each on the next set of the ring. Results stay as long, so that they go round too."""

    def __init__(self, case, sets, dtype, device):
        self.layer, self.compute = case.layer, COMPUTE[case.which]
        self.sets = [Operands(case.layer, case.layout(), dtype, device) for _ in range(sets)]
        self.results = [None] * sets
        self.next = 0

    def run(self):
        self.results[self.next] = self.compute(self.layer, self.sets[self.next])
        self.next = (self.next + 1) % len(self.sets)


class Stopwatch:
    """The device's events around launches, which wait until the host has issued all of them."""

    def __init__(self, device):
        self.timer, self.cuda = Timer(device), device.type == "cuda"
        self.sleep = getattr(torch.cuda, "_sleep", None) if self.cuda else None  # not for users; PyTorch's tests use it
        self.nothing = 0.0
        if self.cuda:
            self.nothing = statistics.median(self.time(lambda: None, 1, 1e-3)[0] for _ in range(11))

    def time(self, run, count, hold):
        """Seconds of all, less what a pair of events takes; of issuing them; whether the host kept ahead."""
        self.timer.wait()
        if self.sleep:
            self.sleep(int(hold * SLEEP_RATE))
        begin, issue = self.timer.mark(), time.perf_counter()
        for _ in range(count):
            run()
        issue = time.perf_counter() - issue
        end = self.timer.mark()
        ahead = not self.cuda or not begin.query()
        self.timer.wait()
        return max(self.timer.seconds(begin, end) - self.nothing, 0.0), issue, ahead

    def time_held(self, run, count, hold):
        """Again with a longer hold when it ran out; and the hold that did, for the next."""
        while True:
            seconds, issue, ahead = self.time(run, count, hold)
            if ahead or not self.sleep or hold >= LONGEST_HOLD:
                return seconds, ahead, hold
            hold = min(LONGEST_HOLD, max(2 * hold, 2 * issue))


def kernels_of(run):
    """(microseconds, name) of all that one run does on the device, the longest first. None without a profiler."""
    try:
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            run()
            torch.cuda.synchronize()
        found = [(event.time_range.elapsed_us(), " ".join(event.name.split())) for event in profiler.events()
                 if str(event.device_type).endswith("CUDA") and event.name not in PROFILERS_OWN]
    except Exception as error:  # not built in, not allowed: only the names are lost
        say(f"no kernels are told: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
        return None
    return sorted(found, reverse=True)


def kernels_text(kernels):
    return BETWEEN_KERNELS.join(f"{microseconds:.4g} {name}" for microseconds, name in kernels or [])


class ConvolutionBench(Bench):
    """torch_measure.Bench with convolutions for steps."""

    def __init__(self, device, timings, seconds, with_kernels=True, types=type_of):
        super().__init__(device, [], timings, seconds, {})
        self.timings, self.with_kernels, self.types = timings, with_kernels, types
        self.cache, self.stopwatch = 0, None
        self.identity["benchmark_limit"] = search_limit()

    def run(self, journal, cases):
        """The exit status."""
        for case in cases:
            row = {**case.cells(), **self.identity}
            if row in journal:
                continue
            if time.monotonic() >= self.deadline:
                say(f"no time left for {case}; the same command goes on")
                return 1
            self._measure_case(case, row)
            journal.add(row)
            say(f"{case}: " + (f"{row['median_us']:.1f} us" if row["status"] == "ok" else row["reason"]))
            if not self._answers():
                say("the device does not answer any more; the same command goes on with the next row")
                return 1
        return 0

    def _measure_case(self, case, row):
        """Fills in the row; whatever goes wrong becomes its status."""
        row.update(date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"))
        try:
            self._warm_up()
            allow_tf32(case.precision == "tf32")
            with torch.no_grad():
                row.update(self._time(case), status="ok")
        except Exception as error:  # the other rows are worth measuring
            lacks = is_out_of_memory(error, False)
            text = " ".join(str(error).split())[:200]
            row.update(status="out-of-memory" if lacks else "failed", reason=f"{type(error).__name__}: {text}")
        # The exception has gone, and with it what its frames held.
        with contextlib.suppress(Exception):
            self._clean()

    def _warm_up(self):
        """Once, before the first row that is missing."""
        if self.stopwatch:
            return
        if self.cuda:
            self.cache = getattr(torch.cuda.get_device_properties(self.device), "L2_cache_size", 0) or USUAL_CACHE
            heat = torch.randn((4096, 4096), device=self.device)
            for _ in range(HEATING):
                torch.mm(heat, heat)
            torch.cuda.synchronize()
        self.stopwatch = Stopwatch(self.device)

    def _time(self, case):
        dtype = self.types(case.precision)
        set_bytes = bytes_of_set(case.layer, torch.finfo(dtype).bits // 8)
        launches = Launches(case, sets_of(set_bytes, self.cache), dtype, self.device)
        for _ in range(max(WARM_UP, len(launches.sets) + 1)):
            launches.run()
        seconds, issue, _ = self.stopwatch.time(launches.run, 1, 0.01)
        count = max(1, min(MOST_LAUNCHES, math.ceil(LEAST_TIMING / max(seconds, 1e-7))))
        times, held, hold = [], 1, min(LONGEST_HOLD, 2 * issue * count + 1e-4)
        for _ in range(self.timings):
            seconds, ahead, hold = self.stopwatch.time_held(launches.run, count, hold)
            times.append(1e6 * seconds / count)
            held = held and int(ahead)
        kernels = kernels_of(launches.run) if self.cuda and self.with_kernels else None
        return {"median_us": statistics.median(times), "p10_us": quantile(times, 0.1), "p90_us": quantile(times, 0.9),
                "fastest_us": min(times), "timings": len(times), "launches": count, "held": held,
                "sets": len(launches.sets), "set_bytes": set_bytes, "kernels": kernels_text(kernels)}
