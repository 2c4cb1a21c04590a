"""Measuring convolutions in PyTorch, one row for each pass and arithmetic."""
import math
import statistics
import time
import warnings

from torch_measure import Bench, Timer  # it clears the environment before it loads PyTorch

import torch

from torch_rows import quantile

WARM_UP = 3  # runs at least: cuDNN looks for algorithms, the allocator gets its blocks
LEAST_TIMING = 1e-3  # seconds; shorter runs are timed together
MOST_LAUNCHES = 100  # of one timing: the device's queue never fills up
MOST_SETS = 256  # of tiny operands
USUAL_CACHE = 64 << 20  # bytes, where PyTorch does not tell
SLEEP_RATE = 2e9  # cycles that PyTorch's waiting kernel is taken to wait in a second; a slower clock holds longer
LONGEST_HOLD = 0.2  # seconds
HEATING = 300  # products of 4096 x 4096 matrices, a second or so, until clocks stand still


def allow_tf32(allowed):
    """Sets both interfaces where there are two: PyTorch refuses to compute where they differ."""
    cudnn = torch.backends.cudnn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the older one, since 2.9
        cudnn.allow_tf32 = allowed
    for part in (getattr(cudnn, "conv", None), getattr(cudnn, "rnn", None)):
        if hasattr(part, "fp32_precision"):
            part.fp32_precision = "tf32" if allowed else "ieee"


class Operands:
    """Input, weight and gradient of a layer: normal numbers, behind a ReLU with their negative half zero."""

    def __init__(self, layer, device):
        self.input = numbers(layer.input_shape(), layer.is_input_sparse(), device)
        self.weight = numbers(layer.weight_shape(), False, device)
        self.gradient = numbers(layer.result_shape(), layer.is_gradient_sparse(), device)


def numbers(shape, sparse, device):
    drawn = torch.randn(shape, device=device)
    return drawn.clamp_(min=0) if sparse else drawn


def forward(layer, operands):
    return torch.nn.functional.conv2d(operands.input, operands.weight, None, layer.stride, layer.pad)


def backward(layer, operands, mask):
    """The call that autograd makes, for one of the gradients."""
    return torch.ops.aten.convolution_backward(
        operands.gradient, operands.input, operands.weight, None, [layer.stride] * 2, [layer.pad] * 2, [1, 1], False,
        [0, 0], 1, mask)


COMPUTE = {
    "forward": forward,
    "backward_data": lambda layer, operands: backward(layer, operands, [True, False, False])[0],
    "backward_filter": lambda layer, operands: backward(layer, operands, [False, True, False])[1],
}


class Launches:
    """Runs of a case, each on the next set of a ring of twice the cache, as calibrate has it. Results stay as long."""

    def __init__(self, case, cache, device):
        self.layer, self.compute = case.layer, COMPUTE[case.which]
        shapes = (case.layer.input_shape(), case.layer.weight_shape(), case.layer.result_shape())
        sets = max(1, min(2 * cache // (4 * sum(map(math.prod, shapes))), MOST_SETS))
        self.sets = [Operands(case.layer, device) for _ in range(sets)]
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
        """Seconds of all, less those of a pair of events; of issuing them; whether the host kept ahead."""
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
        """Again with a longer hold when it ran out; and the hold that did not, for the next."""
        while True:
            seconds, issue, ahead = self.time(run, count, hold)
            if ahead or not self.sleep or hold >= LONGEST_HOLD:
                return seconds, ahead, hold
            hold = min(LONGEST_HOLD, max(2 * hold, 2 * issue))


class ConvolutionBench(Bench):
    """Cases are those of torch_convolutions.py, rows those of a samples file."""

    reason = "note"

    def __init__(self, device, timings, seconds):
        super().__init__(device, seconds)
        self.timings = timings
        self.cache, self.stopwatch = 0, None
        self.identity = {"device": self.identity["gpu"] or device, "cuda": self.identity["cuda"],
                         "cudnn": self.identity["cudnn"], "source": "PyTorch " + torch.__version__}

    def tell(self, row):
        return f"{row['median_us']:.1f} us"

    def measure(self, case):
        self._warm_up()
        allow_tf32(case.math == "tf32")
        with torch.no_grad():
            return self._time(case)

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
        launches = Launches(case, self.cache, self.device)
        for _ in range(max(WARM_UP, len(launches.sets) + 1)):
            launches.run()
        seconds, issue, _ = self.stopwatch.time(launches.run, 1, 0.01)
        count = max(1, min(MOST_LAUNCHES, math.ceil(LEAST_TIMING / max(seconds, 1e-7))))
        times, held, hold = [], True, min(LONGEST_HOLD, 2 * issue * count + 1e-4)
        for _ in range(self.timings):
            seconds, ahead, hold = self.stopwatch.time_held(launches.run, count, hold)
            times.append(1e6 * seconds / count)
            held = held and ahead
        return {"median_us": statistics.median(times), "p10_us": quantile(times, 0.1), "p90_us": quantile(times, 0.9),
                "samples": len(times), "flags": "" if held else "not held"}
