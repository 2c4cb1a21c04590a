#!/usr/bin/env python3
"""Ten convolutions in PyTorch: what cuDNN gives a framework, beside what Spillway measures through its older interface.

    calibrate/peers/torch_convolutions.py [-o torch-convolutions.csv] [--precisions fp32,tf32,fp16]
                                          [--device cuda:0|cpu] [--seconds 300] [--timings 30] [--no-kernels]
    calibrate/peers/torch_convolutions.py --compare SAMPLES.csv... TORCH-CONVOLUTIONS.csv
    calibrate/peers/torch_convolutions.py --self-test [--device cpu]
    calibrate/peers/torch_convolutions.py --list

The ten are those of ResNet-50 (64 images) and VGG-16 (32) that calibrate measures in fp16, and in fp32 and TF32 where
it is given `--networks resnet50:64,vgg16:32`. Forward pass, data gradient and weight gradient are rows of their own;
nobody wants the data gradient of the image, so it is left out: 29 rows of each precision. fp32 and tf32 are fp32 in
NCHW, TF32 forbidden and allowed; fp16 is halves in channels last. torch.backends.cudnn.benchmark is on, all else as
PyTorch has it. --list prints network, layer, n c h w k r s pad stride, and the result's height.

As in calibrate: the shapes, without bias; random numbers, half of them zero behind a ReLU; operands and results in a
ring of sets, of twice the L2 cache in all; a second of products before the first row; events, less what a pair takes
with nothing between; a device that waits until the host has issued all. Not as there:

  - all operands come from memory, as in rows of `calibrate --protocol cold`, which --compare prefers where there are
    any; rows of `step` find in the cache what a step would have left there
  - as many launches as take a millisecond lie between one pair of events, with the gaps between them
  - a fixed number of timings and no second look; clocks are not read, so that nobody sees a GPU that heat slows down
  - PyTorch tries benchmark_limit ways to compute (10 unless told otherwise), calibrate measures every algorithm

A row has the kernels that one run behind its timings launched, by PyTorch's profiler: that a row of tf32 had none with
tf32 in its name --compare says. --no-kernels leaves the profiler alone. Rows are written as soon as they are measured,
and not measured again, whatever became of them: remove a line to have it again.

--compare puts both beside each other: Spillway's fastest algorithm, the library's default, PyTorch's time and kernel,
ratios, their median for each precision, and what is missing on either side. --self-test needs PyTorch, no GPU: results
against autograd's, and that a second call measures nothing. Python 3.8, PyTorch 1.12 or later.
Exit status: 0 all rows are there; 1 time ran out, the device failed, or the self-test did; 2 the words are wrong, or
PyTorch or the GPU is missing; 130 interrupted.
"""
import argparse
import sys

sys.dont_write_bytecode = True  # not into a source tree

from torch_conv_compare import compare  # noqa: E402
from torch_conv_rows import KEY, LAYERS, PRECISIONS, RESULT, cases_of  # noqa: E402
from torch_rows import Journal, Mistake, needing_torch  # noqa: E402
from torch_steps import list_of  # noqa: E402

LEAST_TIMINGS = 20


def read_words():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS, allow_abbrev=False)
    parser.add_argument("-o", "--out", default="torch-convolutions.csv")
    parser.add_argument("--precisions", default=",".join(PRECISIONS))
    parser.add_argument("--device")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--timings", type=int, default=30)
    parser.add_argument("--no-kernels", action="store_true")
    parser.add_argument("--compare", nargs="+", metavar="FILE")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.error = lambda text: (_ for _ in ()).throw(Mistake(text))
    return parser.parse_args()


def measuring():
    return needing_torch("torch_conv_measure")


def show_layers():
    for layer in LAYERS:
        print(layer.network, layer.name, *layer.cells().values(), layer.result_size())


def measure(words):
    precisions = list_of(words.precisions, list(PRECISIONS), "--precisions")
    if words.timings < LEAST_TIMINGS:
        raise Mistake(f"--timings: at least {LEAST_TIMINGS}")
    bench = measuring().ConvolutionBench(words.device or "cuda:0", words.timings, words.seconds, not words.no_kernels)
    return bench.run(Journal(words.out, KEY, RESULT), cases_of(LAYERS, precisions))


def run(words):
    if words.list:
        show_layers()
        return 0
    if words.compare:
        sys.stdout.write(compare(words.compare))
        return 0
    if words.self_test:
        measuring()
        import torch_conv_self_test
        return torch_conv_self_test.run(words.device or "cpu")
    return measure(words)


def main():
    try:
        return run(read_words())
    except Mistake as mistake:
        print(f"torch_convolutions.py: error: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
