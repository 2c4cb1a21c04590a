#!/usr/bin/env python3
"""What a recording says on a GPU, held against what is expected: one line each, with the figure that was expected.

    calibrate/torch/gpu.py [--network resnet|transformer] [--batch N] [--device cuda]

Expectations were written before any GPU was at hand. Exit status 0: all hold; 1: some do not; 2: there is no GPU.
With --device cpu those that need no GPU are tried, which tests this script.
"""
import argparse
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LARGEST_WORKSPACE = 1 << 30  # cuDNN's convolutions as PyTorch calls them; cuBLAS takes 32 MiB at most
ROUNDING = 512  # bytes of the caching allocator's blocks


class Step:
    """A network in training."""

    def __init__(self, torch, networks, name, samples, device):
        make, draw = networks[name]
        torch.manual_seed(1)
        self.network, self.batch = make().to(device).train(), [tensor.to(device) for tensor in draw(samples)]
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.01, momentum=0.9)
        self._loss = torch.nn.functional.cross_entropy

    def forward(self, data, labels):
        return self._loss(self.network(data), labels)

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def seconds(self, wait, steps=10):
        """Of a step without a recorder: the median."""
        times = []
        for _ in range(3 + steps):
            wait()
            begun = time.perf_counter()
            self.forward(*self.batch).backward()
            self.update()
            wait()
            times.append(time.perf_counter() - begun)
        return statistics.median(times[3:])


class Report:
    def __init__(self):
        self.failed = 0

    def __call__(self, what, found, low, high, unit=""):
        """One line: `found` is expected from `low` to `high`."""
        good = found is not None and low <= found <= high
        self.failed += not good
        told = "nothing" if found is None else "%.4g" % found
        print("%-6s %s: %s%s, expected %.4g to %.4g" % ("ok" if good else "FAILED", what, told, unit, low, high), flush=True)


def calls_of(step):
    return [(node["op"], node["pass"], [result.get("bytes") for result in node["results"]]) for node in step["nodes"]]


def check_both(report, run, listed):
    """What needs no GPU."""
    same = sum(a == b for a, b in zip(calls_of(run), calls_of(listed)))
    count = max(len(run["nodes"]), len(listed["nodes"]))
    report("share of calls that fakes list as the run has them", same / count, 0.95, 1.0)
    sums = [sum(node["ns"] for node in step["nodes"]) for step in (run, listed)]
    report("sum of calls alone over sum of the run", sums[1] / sums[0], 0.85, 1.15)
    report("repetitions differ by", run["error"], 0.0, 0.1)


def check_times(report, run, plain):
    total = sum(node["ns"] for node in run["nodes"]) / 1e9
    report("sum of events over the time of a step without recorder", total / plain, 0.6, 1.1)
    report("time of a call on the host", run["machine"]["call_ns"] / 1e3, 2, 30, " us")


def check_memory(report, run, counted, plain_peak, before, after):
    """`counted`: the recording's own peak; the allocator's beside it, with the workspace that lives there."""
    works = [node.get("workspace", 0) for node in run["nodes"]]
    rounding = ROUNDING * (len(run["values"]) + len(run["nodes"]))
    report("allocator's peak of a step without recorder over the recording's peak", plain_peak / counted, 0.98,
           1.02 + (max(works) + rounding) / counted)
    report("allocator's peak as recorded over that without recorder", run["allocator_peak_bytes"] / plain_peak, 0.97, 1.03)
    report("largest workspace of a call", max(works) / 1e6, 0, LARGEST_WORKSPACE / 1e6, " MB")
    plain = [node["workspace"] for node in run["nodes"] if node.get("workspace", 0) > ROUNDING and
             not any(word in node["op"] for word in ("conv", "mm", "attention", "norm", "sum", "embedding", "loss", "index"))]
    report("calls with a workspace that are no product, norm or sum", len(plain), 0, 0)
    report("bytes that stayed behind after recording", after - before, 0, 0)


def check_link(report, machine):
    for key, low, high in (("copy_in", 4, 70), ("copy_out", 4, 70)):
        report(key, machine[key + "_bytes_per_s"] / 1e9, low, high, " GB/s")
    both = (machine["both_in_bytes_per_s"] + machine["both_out_bytes_per_s"]) / 1e9
    alone = max(machine["copy_in_bytes_per_s"], machine["copy_out_bytes_per_s"]) / 1e9
    report("both directions at once over one alone", both / alone, 1.0, 2.05)


def check_no_room(report, torch, recorder, step, peak):
    """With half of what the step needs it is listed instead of run."""
    torch.cuda.empty_cache()
    filler = torch.empty(max(0, torch.cuda.mem_get_info()[0] - peak // 2), dtype=torch.uint8, device="cuda")
    made = recorder.record(step.forward, step.batch, step.update, how="auto", times=None)
    report("1 if a step without room is listed", float(made["made"]["how"] == "calls"), 1, 1)
    del filler


def on_gpu(report, torch, recorder, step):
    plain = step.seconds(torch.cuda.synchronize)
    torch.cuda.reset_peak_memory_stats()
    step.seconds(torch.cuda.synchronize, 1)
    plain_peak, before = torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated()
    run = recorder.record(step.forward, step.batch, step.update, how="run")
    gc.collect()
    after = torch.cuda.memory_allocated()
    listed = recorder.record(step.forward, step.batch, step.update, how="calls")
    print("%d calls, %.3g ms, peak %.4g GB, %.3g ms without recorder" %
          (len(run["nodes"]), sum(node["ns"] for node in run["nodes"]) / 1e6, run["allocator_peak_bytes"] / 1e9, 1e3 * plain))
    counted = recorder.peak_of(argparse.Namespace(**run))
    check_both(report, run, listed)
    check_times(report, run, plain)
    check_memory(report, run, counted, plain_peak, before, after)
    check_link(report, run["machine"])
    check_no_room(report, torch, recorder, step, counted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", default="resnet", choices=("resnet", "transformer"))
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    arguments = parser.parse_args()
    import torch
    if arguments.device == "cuda" and not torch.cuda.is_available():
        print("gpu.py: PyTorch %s sees no GPU" % torch.__version__, file=sys.stderr)
        sys.exit(2)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(HERE, "join.py"), "-o", os.path.join(folder, "spillway_torch.py")],
                       check=True)
        sys.path.insert(0, folder)
        sys.dont_write_bytecode = True
        import spillway_torch as recorder
    report = Report()
    step = Step(torch, recorder.NETWORKS, arguments.network, arguments.batch, arguments.device)
    if arguments.device == "cuda":
        print("%s, PyTorch %s" % (torch.cuda.get_device_name(), torch.__version__))
        on_gpu(report, torch, recorder, step)
    else:
        check_both(report, *(recorder.record(step.forward, step.batch, step.update, how=how) for how in ("run", "calls")))
    sys.exit(report.failed > 0)


if __name__ == "__main__":
    main()
