"""What the recorder does on a GPU, rehearsed without one. Case of torch_record_test.py."""
import importlib.machinery
import os
import types

import torch
from torch import nn

import cuda_stand_in
import spillway_torch
from spillway_torch import record
from torch_cases import expect


def convolutions():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.Conv2d(16, 16, 3),
                         nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


class Lines(list):
    """Takes what gpu.py reports: by line, the figure found, and whether it is as expected."""

    def __call__(self, what, found, low, high, unit=""):
        self.append((what, found, found is not None and low <= found <= high))


def what_a_gpu_adds_is_rehearsed():
    """gpu.py's own lines over a stand-in; the times and rates of some are the processor's, and say nothing."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "calibrate", "torch", "gpu.py")
    gpu = importlib.machinery.SourceFileLoader("gpu", path).load_module()
    lines, made = Lines(), []
    if torch.__version__.startswith("1."):
        print("left out: the stand-in for a GPU, fakes of PyTorch 1.13 bear no other mode beside them")
        return

    def kept(*words, **more):
        made.append(record(*words, repetitions=3, **more))
        return made[-1]

    class Short(gpu.Step):
        def seconds(self, wait, steps=1):
            return super().seconds(wait, 1)

    with cuda_stand_in.stand_in(spillway_torch) as torch_of_gpu:
        networks = {"small": (convolutions, lambda n: [torch.randn(n, 3, 32, 32), torch.ones(n).long()])}
        step = Short(torch_of_gpu, networks, "small", 2, "cpu")
        gpu.on_gpu(lines, torch_of_gpu, types.SimpleNamespace(record=kept, peak_of=spillway_torch.peak_of), step)
    own = ("sum of events over", "time of a call on the host", "copy_", "both directions")
    wrong = [(what, found) for what, found, good in lines if not good and not what.startswith(own)]
    expect(len(lines) == 14 and not wrong, "%d lines, not as expected: %s" % (len(lines), wrong))
    run, listed, without_room = made
    works = {(node.get("workspace", 0), "convolution" in node["op"]) for node in run["nodes"]}
    expect(works == {(cuda_stand_in.WORKSPACE, True), (0, False)}, works)
    expect({node["ns"] for node in run["nodes"] + listed["nodes"]} == {int(1e6 * cuda_stand_in.CALL_MS)}, "events' times")
    expect(run["device"]["precision"] == "tf32" and run["machine"]["memory_bytes"] == cuda_stand_in.LIMIT, run["device"])
    expect(any("does not fit" in note for note in without_room["made"]["notes"]), without_room["made"])


def precision_is_that_of_the_switches():
    """Two generations of switches: PyTorch refuses to read the older ones where the newer were set."""
    matmul, convolution = torch.backends.cuda.matmul, getattr(torch.backends.cudnn, "conv", None)

    def told(op):
        with cuda_stand_in.stand_in(spillway_torch):
            node = {"op": op, "pass": "forward", "outputs": [{"type": "float32"}]}
            return spillway_torch.precision_of(cuda_stand_in.Device(), [node])
    both = ("aten.mm.default", "aten.convolution.default")
    expect([told(op) for op in both] == ["fp32", "tf32"], "as PyTorch begins: %s" % [told(op) for op in both])
    if not hasattr(convolution, "fp32_precision"):
        print("left out: newer switches of precision, this PyTorch has none")
        return
    before = matmul.fp32_precision, convolution.fp32_precision
    try:
        matmul.fp32_precision, convolution.fp32_precision = "tf32", "ieee"
        expect([told(op) for op in both] == ["tf32", "tf32"], "products in TF32")
        matmul.fp32_precision = "ieee"
        expect([told(op) for op in both] == ["fp32", "fp32"], "nothing in TF32")
    finally:
        matmul.fp32_precision, convolution.fp32_precision = before


CASES = {case.__name__: case for case in (what_a_gpu_adds_is_rehearsed, precision_is_that_of_the_switches)}
