"""The ten convolutions of torch_convolutions.py, in three passes and precisions, and the columns of its file."""
import collections

# As in a samples file where they have them. Rows that agree in KEY are the same measurement.
SHAPE = ["n", "c", "h", "w", "k", "r", "s", "pad", "stride"]
FORMAT = ["math", "precision", "layout"]
KEY = (["network", "layer", "pass"] + FORMAT + SHAPE +
       ["device", "gpu", "torch", "cuda", "cudnn", "allocator", "benchmark_limit"])
# held: 1 if the host was ahead of the device in all timings. sets, set_bytes: of the ring of operands.
# kernels: "MICROSECONDS NAME" of what one profiled run did on the device, the longest first, " | " between them.
RESULT = ["median_us", "p10_us", "p90_us", "fastest_us", "timings", "launches", "held", "sets", "set_bytes",
          "kernels", "status", "reason", "date"]
BETWEEN_KERNELS = " | "

PASSES = ["forward", "backward_data", "backward_filter"]
PRECISIONS = {"fp32": ("fma", "fp32", "nchw"), "tf32": ("tf32", "fp32", "nchw"), "fp16": ("fp16", "fp16", "nhwc")}


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

    def shape_text(self):
        return (f"{self.batch}x{self.c}x{self.h}x{self.h} to {self.k}, {self.r}x{self.r}" +
                (f" by {self.stride}" if self.stride > 1 else ""))


# Those that calibrate measures in fp16 (calibrate/devices/cuda/bench_beyond.cc), in that order.
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


class Case(collections.namedtuple("Case", "layer which precision")):
    """One row: a layer's pass `which` in a precision."""

    def cells(self):
        return {"network": self.layer.network, "layer": self.layer.name, "pass": self.which, **self.layer.cells(),
                **dict(zip(FORMAT, PRECISIONS[self.precision]))}

    def layout(self):
        return PRECISIONS[self.precision][2]

    def __str__(self):
        return f"{self.layer.network} {self.layer.name} {self.which} {self.precision}"


def cases_of(layers, precisions):
    return [Case(layer, which, precision) for layer in layers for precision in precisions for which in layer.passes()]
