#!/usr/bin/env python3
"""Ten convolutions in PyTorch: what cuDNN gives a framework, as rows of a samples file (model/samples/README.md).

    calibrate/peers/torch_convolutions.py [-o torch-convolutions.csv] [--math fma,tf32] [--device cuda:0|cpu]
                                          [--seconds 300] [--timings 30]
    calibrate/peers/torch_convolutions.py --self-test [--device cpu]
    calibrate/peers/torch_convolutions.py --list

`spillway estimate torch-convolutions.csv --machine gpu.yaml` puts Spillway's fastest algorithm (`predicted_us`,
`predicted_algorithm`; as measured where `calibrate --networks resnet50:64,vgg16:32` has measured it) beside PyTorch's
`median_us`.

The ten are layers of ResNet-50 (64 images) and VGG-16 (32). Forward pass, data gradient and weight gradient are rows of
their own; nobody wants the data gradient of the image, so it is left out: 29 rows of each math. Data are fp32 in NCHW;
fma forbids TF32, tf32 allows it. torch.backends.cudnn.benchmark is on, all else as PyTorch has it. --list prints
network, layer, n c h w k r s pad stride, and the result's height.

As in calibrate: the shapes, without bias; random numbers, half of them zero behind a ReLU; operands and results in a
ring of sets, of twice the L2 cache in all; a second of products before the first row; events, less what a pair takes
with nothing between; a device that waits until the host has issued all. Not as there:

  - all operands come from memory, as in rows of `calibrate --protocol cold`; rows of `step` find in the cache what a
    step would have left there
  - as many launches as take a millisecond lie between one pair of events, with the gaps between them
  - a fixed number of timings and no second look; clocks are not read, so that nobody sees a GPU that heat slows down
  - PyTorch tries benchmark_limit ways to compute (10 unless told otherwise), calibrate measures every algorithm

Rows are written as soon as they are measured, and not measured again, whatever became of them: remove a line to have it
again. --self-test needs PyTorch, no GPU: results against autograd's. Python 3.8, PyTorch 1.12 or later.
Exit status: 0 all rows are there; 1 time ran out, the device failed, or the self-test did; 2 the words are wrong, or
PyTorch or the GPU is missing; 130 interrupted.
"""
import collections
import sys

sys.dont_write_bytecode = True  # not into a source tree

from torch_rows import Journal, Mistake, list_of, needing_torch, parser_of, run_script  # noqa: E402

SHAPE = ["n", "c", "h", "w", "k", "r", "s", "pad", "stride"]
KEY = ["device", "cuda", "cudnn", "op", "pass", "algorithm", "math", "precision", "layout"] + SHAPE + [
    "kind", "network", "source"]
RESULT = ["median_us", "p10_us", "p90_us", "samples", "status", "flags", "note", "date"]
MATH = ["fma", "tf32"]
PASSES = ["forward", "backward_data", "backward_filter"]
LEAST_TIMINGS = 20


class Layer(collections.namedtuple("Layer", "network batch name c h k r pad stride")):
    """A convolution of square images and windows, without bias, as Spillway's kernels are."""

    def reads_image(self):
        """Then nobody wants its data gradient, and no step of Spillway has it."""
        return self.name == "conv1"

    def passes(self):
        return [name for name in PASSES if not (name == "backward_data" and self.reads_image())]

    def result_size(self):
        return (self.h + 2 * self.pad - self.r) // self.stride + 1

    def input_shape(self):
        return self.batch, self.c, self.h, self.h

    def weight_shape(self):
        return self.k, self.c, self.r, self.r

    def result_shape(self):
        return self.batch, self.k, self.result_size(), self.result_size()

    def is_input_sparse(self):
        """Half zeros: behind a ReLU, or a pooling behind one."""
        return not self.reads_image()

    def is_gradient_sparse(self):
        """A ReLU follows at once; in ResNet batch norm comes between."""
        return self.network == "vgg16"

    def cells(self):
        return dict(zip(SHAPE, (self.batch, self.c, self.h, self.h, self.k, self.r, self.r, self.pad, self.stride)))


LAYERS = [
    Layer("resnet50", 64, "res2b_branch2b", c=64, h=56, k=64, r=3, pad=1, stride=1),
    Layer("resnet50", 64, "res3b_branch2b", c=128, h=28, k=128, r=3, pad=1, stride=1),
    Layer("resnet50", 64, "res4b_branch2b", c=256, h=14, k=256, r=3, pad=1, stride=1),
    Layer("resnet50", 64, "res2b_branch2c", c=64, h=56, k=256, r=1, pad=0, stride=1),
    Layer("resnet50", 64, "res4b_branch2c", c=256, h=14, k=1024, r=1, pad=0, stride=1),
    Layer("resnet50", 64, "res3a_branch1", c=256, h=56, k=512, r=1, pad=0, stride=2),
    Layer("resnet50", 64, "conv1", c=3, h=224, k=64, r=7, pad=3, stride=2),
    Layer("vgg16", 32, "conv3_2", c=256, h=56, k=256, r=3, pad=1, stride=1),
    Layer("vgg16", 32, "conv5_1", c=512, h=14, k=512, r=3, pad=1, stride=1),
    Layer("vgg16", 32, "conv1_2", c=64, h=224, k=64, r=3, pad=1, stride=1),
]


class Case(collections.namedtuple("Case", "layer which math")):
    """One row: a layer's pass `which`."""

    def cells(self):
        return {"op": "conv", "pass": self.which, "algorithm": "best", "math": self.math, "precision": "fp32",
                "layout": "nchw", **self.layer.cells(), "kind": "cold", "network": self.layer.network}

    def __str__(self):
        return f"{self.layer.network} {self.layer.name} {self.which} {self.math}"


def cases_of(layers, maths):
    return [Case(layer, which, math) for layer in layers for math in maths for which in layer.passes()]


def read_words():
    parser = parser_of(__doc__)
    parser.add_argument("-o", "--out", default="torch-convolutions.csv")
    parser.add_argument("--math", default=",".join(MATH))
    parser.add_argument("--device")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--timings", type=int, default=30)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def run(words):
    if words.list:
        for layer in LAYERS:
            print(layer.network, layer.name, *layer.cells().values(), layer.result_size())
        return 0
    if words.self_test:
        return needing_torch("torch_self_test").run_convolutions(words.device or "cpu")
    maths = list_of(words.math, MATH, "--math")
    if words.timings < LEAST_TIMINGS:
        raise Mistake(f"--timings: at least {LEAST_TIMINGS}")
    bench = needing_torch("torch_convolution_bench").ConvolutionBench(words.device or "cuda:0", words.timings,
                                                                      words.seconds)
    return bench.run(Journal(words.out, KEY, RESULT), cases_of(LAYERS, maths))


if __name__ == "__main__":
    sys.exit(run_script("torch_convolutions.py", lambda: run(read_words())))
