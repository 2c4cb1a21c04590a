#!/usr/bin/env python3
"""Training steps in PyTorch: the peers that Spillway's measured and predicted steps are held against.

    calibrate/peers/torch_steps.py POINT... [-o torch-steps.csv] [--modes LIST] [--math fma,tf32] [--device cuda:0|cpu]
                             [--seconds 300] [--steps 20]
    calibrate/peers/torch_steps.py --compare VALIDATION.csv... TORCH-STEPS.csv
    calibrate/peers/torch_steps.py --self-test [--device cpu]
    calibrate/peers/torch_steps.py --list

POINT is NETWORK:BATCH, or NETWORK:BATCH:LIMIT (resnet50:64:3GB) for an allocator that gets LIMIT bytes, as Spillway's
arena does. Networks are those of model/zoo (torch_networks.py), with its parameters, SGD with momentum 0.9, fp32 in
NCHW, cuDNN choosing its algorithms by timing them. Modes:

  in-core             as it is
  offload             what backward saves goes to pinned memory and comes back ahead of its use (torch_offload.py)
  checkpoint          each block is recomputed: residual blocks, what lies up to a pooling
  offload+checkpoint  the blocks' inputs go to pinned memory
  save-on-cpu         PyTorch's own hook: every saved tensor, by copies that computing waits for

A step begins with the batch's upload and ends with the update; each is timed by events from an idle device, as Spillway
times its own, and `back_to_back_s` without a pause between them. PyTorch keeps the algorithms that it found: have
points with a limit and without measured by separate calls. Every row is written as soon as it is measured; rows
that are there are not measured again, whatever became of them: remove a line to have it again. What does not fit is a
row with status out-of-memory. PyTorch's checkpoints update running statistics twice; nothing else differs.

--self-test needs PyTorch, no GPU: counts of parameters and of what is saved; losses, gradients and parameters of all
modes against in-core; that a second call measures nothing. Python 3.8, PyTorch 1.12 or later.
Exit status: 0 all rows are there; 1 time ran out, the device failed, or the self-test did; 2 the words are wrong, or
PyTorch or the GPU is missing; 130 interrupted.
"""
import collections
import re
import sys

sys.dont_write_bytecode = True  # not into a source tree

from torch_compare import compare  # noqa: E402
from torch_rows import Journal, Mistake, list_of, needing_torch, one_of, parser_of, run_script  # noqa: E402

# What a row of torch_steps.py is of.
KEY = ["network", "batch", "image", "memory_limit_bytes", "strategy", "math", "device", "gpu", "torch", "cuda", "cudnn",
       "allocator"]
# As in validation.csv and results.csv where they have them.
RESULT = ["measured_s", "measured_spread", "p10_s", "p90_s", "measured_fastest_s", "back_to_back_s", "steps",
          "samples_per_second", "peak_allocated_bytes", "peak_reserved_bytes", "measured_device_bytes",
          "measured_host_bytes", "bytes_out", "bytes_in", "loss", "parameters", "precision", "feasible", "status",
          "reason", "date"]

# Usual size of the image, and parameters: `spillway show network`.
NETWORKS = {"resnet50": (224, 25557032), "vgg16": (224, 138357544), "alexnet": (227, 62378344)}
MODES = ["offload", "checkpoint", "offload+checkpoint", "in-core", "save-on-cpu"]  # in order of value
MATH = ["fma", "tf32"]
UNITS = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20,
         "GiB": 2**30, "TiB": 2**40}


class Point:
    """What is trained, within how many bytes of the device; 0: as many as it has."""

    def __init__(self, network, batch, limit, image=None):
        self.network, self.batch, self.limit = network, batch, limit
        self.image = image or NETWORKS[network][0]


class Case(collections.namedtuple("Case", "point mode math")):
    """One row: a point trained in a mode."""

    def cells(self):
        point = self.point
        return {"network": point.network, "batch": point.batch, "image": point.image, "strategy": self.mode,
                "memory_limit_bytes": point.limit, "math": self.math, "precision": "fp32"}

    def __str__(self):
        limit = f"{self.point.limit / 1e9:g} GB" if self.point.limit else "no limit"
        return f"{self.point.network} batch {self.point.batch}, {limit}, {self.mode}, {self.math}"


def bytes_of(text, word):
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]+)", text)
    if not match or match.group(2) not in UNITS or float(match.group(1)) == 0:
        raise Mistake(f"{word}: {text!r} is no limit such as 3GB or 2.5GiB")
    return round(float(match.group(1)) * UNITS[match.group(2)])


def point_of(word):
    parts = word.split(":")
    if len(parts) not in (2, 3):
        raise Mistake(f"{word}: expected NETWORK:BATCH or NETWORK:BATCH:LIMIT, such as resnet50:64:3GB")
    network = one_of(parts[0], list(NETWORKS), word)
    if not re.fullmatch(r"[1-9][0-9]{0,6}", parts[1]):
        raise Mistake(f"{word}: {parts[1]!r} is no batch size")
    return Point(network, int(parts[1]), bytes_of(parts[2], word) if len(parts) == 3 else 0)


def read_words():
    parser = parser_of(__doc__)
    parser.add_argument("points", nargs="*", metavar="POINT")
    parser.add_argument("-o", "--out", default="torch-steps.csv")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--math", default="fma")
    parser.add_argument("--device")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--compare", nargs="+", metavar="FILE")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def run(words):
    if words.list:
        for name, (image, parameters) in NETWORKS.items():
            print(name, image, parameters)
        return 0
    if words.compare:
        sys.stdout.write(compare(words.compare))
        return 0
    if words.self_test:
        return needing_torch("torch_self_test").run_steps(words.device or "cpu", NETWORKS)
    if not words.points:
        raise Mistake("expected a POINT such as resnet50:64:3GB; --help says more")
    points = [point_of(word) for word in words.points]
    modes, math = list_of(words.modes, MODES, "--modes"), list_of(words.math, MATH, "--math")
    if words.steps < 3:
        raise Mistake("--steps: at least 3")
    bench = needing_torch("torch_measure").StepBench(words.device or "cuda:0", points, words.steps, words.seconds, NETWORKS)
    return bench.run(Journal(words.out, KEY, RESULT), [Case(p, mode, m) for m in math for p in points for mode in modes])


if __name__ == "__main__":
    sys.exit(run_script("torch_steps.py", lambda: run(read_words())))
