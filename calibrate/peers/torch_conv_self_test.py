"""torch_convolutions.py --self-test: that passes give what autograd gives, and that rows are measured once."""
import os
import tempfile

import torch

from torch_conv_measure import COMPUTE, ConvolutionBench, Operands, allow_tf32, bytes_of_set, sets_of, type_of
from torch_conv_rows import KEY, LAYERS, PRECISIONS, RESULT, Layer, cases_of
from torch_measure import open_device, say
from torch_rows import Journal

TOLERANCE = {"fp32": 1e-4, "tf32": 1e-2, "fp16": 1e-2}  # of the largest magnitude; a result in fp16 is rounded itself
# As the ten: windows of 3 and of 1, one that halves the image, a first layer.
SMALL = [Layer("vgg16", 2, "3x3", c=16, h=9, k=24, r=3, pad=1, stride=1),
         Layer("resnet50", 2, "1x1", c=16, h=7, k=32, r=1, pad=0, stride=1),
         Layer("resnet50", 2, "1x1 by 2", c=16, h=8, k=32, r=1, pad=0, stride=2),
         Layer("resnet50", 2, "conv1", c=3, h=20, k=16, r=7, pad=3, stride=2)]


def types_on(device):
    """A processor computes in fp32 for all: not every PyTorch has convolutions of halves there."""
    return type_of if device.type == "cuda" else lambda precision: torch.float32


def expected(layer, operands):
    """By pass, in double precision on the processor, by autograd."""
    found = [tensor.detach().cpu().double().contiguous() for tensor in
             (operands.input, operands.weight, operands.gradient)]
    image, weight = (tensor.requires_grad_() for tensor in found[:2])
    result = torch.nn.functional.conv2d(image, weight, None, layer.stride, layer.pad)
    result.backward(found[2])
    return {"forward": result.detach(), "backward_data": image.grad, "backward_filter": weight.grad}


def check_case(case, device):
    allow_tf32(case.precision == "tf32")
    torch.manual_seed(1)
    operands = Operands(case.layer, case.layout(), types_on(device)(case.precision), device)
    wanted = expected(case.layer, operands)[case.which]
    with torch.no_grad():
        found = COMPUTE[case.which](case.layer, operands)
    same_layout = case.which == "backward_filter" or found.is_contiguous(memory_format=operands.format)
    apart = 1.0
    if found.shape == wanted.shape:
        apart = float((found.cpu().double() - wanted).abs().max() / wanted.abs().max())
    good = same_layout and apart <= TOLERANCE[case.precision]
    say(f"{'' if good else 'FAILED: '}{case}: {apart:.2g}" + ("" if same_layout else ", in another layout"))
    return not good


def check_shapes(device):
    """Those of the layers are those of PyTorch; images alone, not batches."""
    failed = 0
    for layer in (layer._replace(batch=1) for layer in LAYERS):
        operands = Operands(layer, "nchw", torch.float32, device)
        with torch.no_grad():
            shape = tuple(COMPUTE["forward"](layer, operands).shape)
        good = shape == layer.result_shape()
        say(f"{'' if good else 'FAILED: '}{layer.network} {layer.name}: {layer.shape_text()} gives {shape}")
        failed += not good
    return failed


def check_ring():
    """More than the cache, whatever a set has; res4b_branch2b: 2 x 12.8 MB of maps and 2.4 MB of weights."""
    good = bytes_of_set(LAYERS[2], 4) == 28049408 and all(
        sets_of(size, 1000) * size > 1000 for size in (5, 8, 100, 999, 1001, 1999, 2001, 5000))
    say(f"{'' if good else 'FAILED: '}a ring of operands is larger than the cache")
    return not good


def check_restart(device):
    """The second call finds its rows; a torn one is measured again."""
    cases = cases_of(SMALL[1:2], list(PRECISIONS))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "convolutions.csv")
        texts = []
        for torn in (False, False, True):
            if torn:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(texts[-1][:-20])
            bench = ConvolutionBench(str(device), 3, 600, types=types_on(device))
            status = bench.run(Journal(path, KEY, RESULT), cases)
            with open(path, encoding="utf-8") as file:
                texts.append(file.read())
        rows = Journal(path, KEY, RESULT).rows.values()
    same = [text.splitlines()[:-1] for text in texts]
    good = (status == 0 and texts[0] == texts[1] and same[1] == same[2] and len(rows) == len(cases) and
            all(row["status"] == "ok" for row in rows))
    say(f"{'' if good else 'FAILED: '}a second call measures nothing, a torn row is measured again")
    return not good


def run(name):
    """The exit status."""
    device = open_device(name)
    failed = check_shapes(device) + check_ring()
    failed += sum(check_case(case, device) for case in cases_of(SMALL, list(PRECISIONS)))
    failed += check_restart(device)
    say("passed" if not failed else f"{failed} checks failed")
    return 1 if failed else 0
