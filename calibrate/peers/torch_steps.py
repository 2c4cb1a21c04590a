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
import argparse
import difflib
import re
import sys

sys.dont_write_bytecode = True  # not into a source tree

from torch_compare import compare  # noqa: E402
from torch_rows import Journal, Mistake, needing_torch  # noqa: E402

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


def one_of(word, names, what):
    if word in names:
        return word
    near = difflib.get_close_matches(word, names, 1)
    raise Mistake(f"{what}: {word!r} is none of {', '.join(names)}" + (f"; did you mean {near[0]!r}?" if near else ""))


def list_of(words, names, what):
    return [one_of(word, names, what) for word in words.split(",")]


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS, allow_abbrev=False)
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
    parser.error = lambda text: (_ for _ in ()).throw(Mistake(text))
    return parser.parse_args()


def measuring():
    return needing_torch("torch_measure")


def run(words):
    if words.list:
        for name, (image, parameters) in NETWORKS.items():
            print(name, image, parameters)
        return 0
    if words.compare:
        sys.stdout.write(compare(words.compare))
        return 0
    if words.self_test:
        device = measuring().open_device(words.device or "cpu")
        import torch_self_test
        return torch_self_test.run(device, NETWORKS)
    if not words.points:
        raise Mistake("expected a POINT such as resnet50:64:3GB; --help says more")
    points = [point_of(word) for word in words.points]
    modes, math = list_of(words.modes, MODES, "--modes"), list_of(words.math, MATH, "--math")
    if words.steps < 3:
        raise Mistake("--steps: at least 3")
    bench = measuring().Bench(words.device or "cuda:0", points, words.steps, words.seconds, NETWORKS)
    return bench.run(Journal(words.out), [(p, mode, m) for m in math for p in points for mode in modes])


def main():
    try:
        return run(read_words())
    except Mistake as mistake:
        print(f"torch_steps.py: error: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
