"""Measuring training steps in PyTorch, one row for each."""
import contextlib
import datetime
import gc
import math
import os
import statistics
import sys
import time

for name in ("NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "CUDA_LAUNCH_BLOCKING"):
    os.environ.pop(name, None)  # they change what is measured, unseen

import torch  # noqa: E402

from torch_networks import BUILDERS, parameters_of  # noqa: E402
from torch_offload import Offload, size_of  # noqa: E402
from torch_rows import Mistake, quantile  # noqa: E402

WARM_UP = 3  # cuDNN looks for algorithms, buffers are pinned
LONGEST = 8.0  # seconds for the steps of one row, each way


def say(text):
    print(text, file=sys.stderr, flush=True)


def open_device(name):
    if name == "cpu":
        return torch.device("cpu")
    kind, _, index = name.partition(":")
    if kind != "cuda" or not (index or "0").isdigit():
        raise Mistake(f"--device: {name!r} is none of cpu, cuda:0, cuda:1, ...")
    if not torch.cuda.is_available():
        raise Mistake(f"--device: {name}: PyTorch {torch.__version__} finds no GPU that it can use")
    count = torch.cuda.device_count()
    if int(index or 0) >= count:
        raise Mistake(f"--device: {name}: there are {count} GPUs, counted from 0")
    torch.cuda.set_device(int(index or 0))
    return torch.device("cuda", int(index or 0))


def set_math(name):
    """True fp32, or products rounded to TF32."""
    allowed = name == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


class Trainer:
    """A network in training on one batch that lies in host memory. step() is one iteration and returns the loss."""

    def __init__(self, point, mode, device, offload_options=None):
        torch.manual_seed(1)
        self.device = device
        self.network = BUILDERS[point.network](point.image)
        self.network.recompute = "checkpoint" in mode
        self.network.to(device).train()
        self.images = torch.randn(point.batch, 3, point.image, point.image)
        self.labels = torch.randint(0, 1000, (point.batch,))
        if device.type == "cuda":
            self.images, self.labels = self.images.pin_memory(), self.labels.pin_memory()
        self.loss = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.01, momentum=0.9)
        self.stock = mode == "save-on-cpu"
        self.offload = None
        if "offload" in mode:
            self.offload = Offload(device, self.network.parameters(), **(offload_options or {}))

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        images = self.images.to(self.device, non_blocking=True)
        labels = self.labels.to(self.device, non_blocking=True)
        with self._saving(images):
            loss = self.loss(self.network(images), labels)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def _saving(self, images):
        if self.stock:
            return torch.autograd.graph.save_on_cpu(pin_memory=self.device.type == "cuda")
        if self.offload is None:
            return contextlib.nullcontext()
        self.offload.begin()
        self.offload.know(images, self.images)
        return self.offload.hooks()


class Timer:
    """Milestones on the device's stream; on a processor, the clock."""

    def __init__(self, device):
        self.cuda = device.type == "cuda"

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize()

    def mark(self):
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, begin, end):
        return begin.elapsed_time(end) / 1e3 if self.cuda else end - begin


def time_alone(step, timer, most, until):
    """Seconds of steps that begin on an idle device: `most` of them, or three at least and no more after `until`."""
    times = []
    while len(times) < most and (len(times) < 3 or time.monotonic() < until):
        timer.wait()
        begin = timer.mark()
        step()
        end = timer.mark()
        timer.wait()
        times.append(timer.seconds(begin, end))
    return times


def time_together(step, timer, count):
    """Seconds per step, issued one after another."""
    timer.wait()
    begin = timer.mark()
    for _ in range(count):
        step()
    end = timer.mark()
    timer.wait()
    return timer.seconds(begin, end) / count


def is_out_of_memory(error, limited):
    """Under a limit cuDNN says it in words of its own, which without one mean that it does not work here."""
    kind = getattr(torch.cuda, "OutOfMemoryError", None)
    signs = ["out of memory", "alloc_failed", "can't allocate memory"]
    if limited:
        signs += ["unable to find an engine", "unable to find a valid cudnn algorithm"]
    return (kind is not None and isinstance(error, kind)) or any(s in str(error).lower() for s in signs)


def allocator_settings():
    return os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")


def host_bytes(trainer):
    if trainer.device.type != "cuda" or trainer.stock:  # save_on_cpu does not tell
        return ""
    return size_of(trainer.images) + size_of(trainer.labels) + (trainer.offload.host_bytes() if trainer.offload else 0)


class Bench:
    """Measures cases, one row each. What a row tells beside its case's cells, derived classes say: measure() returns the
    cells of what was measured, tell() a few words of them; `reason` is the column of what went wrong."""

    reason = "reason"

    def __init__(self, device, seconds):
        self.deadline = time.monotonic() + seconds
        self.name, self.device = device, open_device(device)
        self.cuda = self.device.type == "cuda"
        torch.backends.cudnn.benchmark = True
        self.identity = {"device": device, "gpu": torch.cuda.get_device_name(self.device) if self.cuda else "",
                         "torch": torch.__version__, "cuda": torch.version.cuda or "",
                         "cudnn": torch.backends.cudnn.version() or "" if self.cuda else "",
                         "allocator": allocator_settings() if self.cuda else ""}

    def run(self, journal, cases):
        """The exit status."""
        for case in cases:
            row = {**case.cells(), **self.identity}
            if row in journal:
                continue
            if time.monotonic() >= self.deadline:
                say(f"no time left for {case}; the same command goes on")
                return 1
            self._measure(case, row)
            journal.add(row)
            say(f"{case}: {self.tell(row) if row['status'] == 'ok' else row[self.reason]}")
            if not self._answers():
                say("the device does not answer any more; the same command goes on with the next row")
                return 1
        return 0

    def _measure(self, case, row):
        """Fills in the row; whatever goes wrong becomes its status."""
        row.update(date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"))
        try:
            row.update(self.measure(case), status="ok", feasible=1)
        except Exception as error:  # the other rows are worth measuring
            lacks = is_out_of_memory(error, self.is_limited(case))
            text = " ".join(str(error).split())[:200]
            row.update({"status": "out-of-memory" if lacks else "failed", "feasible": 0,
                        self.reason: f"{'out_of_memory' if lacks else type(error).__name__}: {text}"})
        # The exception has gone, and with it what its frames held.
        with contextlib.suppress(Exception):
            self._clean()

    def is_limited(self, _case):
        return False

    def _clean(self):
        gc.collect()
        if not self.cuda:
            return
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        give_back_pinned = getattr(torch._C, "_host_emptyCache", None)  # newer ones have it, not for users
        if give_back_pinned:
            give_back_pinned()

    def _answers(self):
        try:
            Timer(self.device).wait()
            return True
        except Exception:
            return False


class StepBench(Bench):
    """Cases are those of torch_steps.py: training steps within a limit of memory."""

    def __init__(self, device, points, steps, seconds, networks):
        super().__init__(device, seconds)
        self.steps, self.networks = steps, networks
        self.total = torch.cuda.get_device_properties(self.device).total_memory if self.cuda else 0
        self._check_limits(points)

    def _check_limits(self, points):
        for point in points:
            if point.limit and not self.cuda:
                raise Mistake(f"{point.network}:{point.batch}: {self.name} knows no limit of memory; leave it out")
            if point.limit > self.total > 0:
                raise Mistake(f"{point.network}:{point.batch}: the limit of {point.limit} bytes is more than the "
                              f"{self.total} that {self.name} has")

    def is_limited(self, case):
        return case.point.limit > 0

    def tell(self, row):
        return f"{1e3 * row['measured_s']:.2f} ms"

    def measure(self, case):
        self._limit(case.point.limit)
        try:
            set_math(case.math)
            return self._train(case.point, case.mode)
        finally:
            self._limit(0)

    def _limit(self, limit):
        if self.cuda:
            torch.cuda.set_per_process_memory_fraction(min(1.0, limit / self.total) if limit else 1.0, self.device)

    def _train(self, point, mode):
        trainer, timer = Trainer(point, mode, self.device), Timer(self.device)
        counted = parameters_of(trainer.network)
        if counted != self.networks[point.network][1]:
            raise AssertionError(f"{counted} parameters where Spillway has {self.networks[point.network][1]}")
        for _ in range(WARM_UP):
            trainer.step()
        self._forget_search(trainer)
        until = min(self.deadline, time.monotonic() + LONGEST)
        times = time_alone(trainer.step, timer, self.steps, until)
        together = time_together(trainer.step, timer, min(len(times), 1 + int(LONGEST / statistics.median(times))))
        loss = float(trainer.step())
        if not math.isfinite(loss):
            raise ArithmeticError(f"the loss is {loss}")
        return {**self._times(times, point.batch), **self._memory(trainer), "back_to_back_s": together, "loss": loss,
                "parameters": counted}

    def _forget_search(self, trainer):
        """The workspaces of the search for algorithms do not count as what a step takes."""
        if not self.cuda:
            return
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        trainer.step()

    @staticmethod
    def _times(times, batch):
        median = statistics.median(times)
        return {"measured_s": median, "measured_spread": (quantile(times, 0.75) - quantile(times, 0.25)) / median,
                "p10_s": quantile(times, 0.1), "p90_s": quantile(times, 0.9), "measured_fastest_s": min(times),
                "steps": len(times), "samples_per_second": batch / median}

    def _memory(self, trainer):
        found = {"measured_host_bytes": host_bytes(trainer)}
        if trainer.offload:
            found.update(bytes_out=trainer.offload.bytes_out, bytes_in=trainer.offload.bytes_in)
        if self.cuda:
            free, total = torch.cuda.mem_get_info(self.device)
            found.update(peak_allocated_bytes=torch.cuda.max_memory_allocated(),
                         peak_reserved_bytes=torch.cuda.max_memory_reserved(), measured_device_bytes=total - free)
        return found
