"""--self-test of torch_steps.py, that all modes compute the same and that rows are measured once, and of
torch_convolutions.py, that passes give what autograd gives."""
import os
import tempfile

import torch

from torch_convolution_bench import COMPUTE, Operands, allow_tf32
from torch_convolutions import MATH, Layer, cases_of
from torch_measure import StepBench, Trainer, open_device, say, set_math
from torch_networks import BUILDERS, parameters_of
from torch_offload import size_of
from torch_rows import Journal
from torch_steps import KEY, RESULT, Case

SMALL = {"resnet50": 64, "vgg16": 32, "alexnet": 67}  # images
# As the ten of torch_convolutions.py: windows of 3 and of 1, one that halves the image, a first layer.
SMALL_LAYERS = [Layer("vgg16", 2, "3x3", c=16, h=9, k=24, r=3, pad=1, stride=1),
                Layer("resnet50", 2, "1x1", c=16, h=7, k=32, r=1, pad=0, stride=1),
                Layer("resnet50", 2, "1x1 by 2", c=16, h=8, k=32, r=1, pad=0, stride=2),
                Layer("resnet50", 2, "conv1", c=3, h=20, k=16, r=7, pad=3, stride=2)]
TF32_TOLERANCE = 1e-2
TOLERANCE = 1e-4  # of the largest magnitude of a tensor; a GPU's poolings add in any order


class SmallPoint:
    def __init__(self, network, batch=2):
        self.network, self.batch, self.image, self.limit = network, batch, SMALL[network], 0


def trained(point, mode, device, options=None):
    """Loss, gradients and parameters after two steps, and the trainer."""
    trainer = Trainer(point, mode, device, options)
    for k in range(2):
        torch.manual_seed(100 + k)  # dropout
        loss = trainer.step()
    found = {"loss": loss.reshape(1).cpu()}
    for name, parameter in trainer.network.named_parameters():
        found[name] = parameter.detach().cpu()
        found[name + ".grad"] = parameter.grad.cpu()
    return found, trainer


def difference(found, expected):
    """The largest, relative to the largest magnitude of its tensor, and where. Not a number counts as 1."""
    worst, where = 0.0, ""
    for name, tensor in expected.items():
        largest = float(tensor.abs().max())
        apart = float((found[name] - tensor).abs().max()) / (largest or 1.0)
        if not apart <= worst:
            worst, where = (apart if apart == apart else 1.0), name
    return worst, where


class LateCopies:
    """Each is done no sooner than somebody waits for it, in order by direction; what has not arrived is no number."""

    def __init__(self):
        self.waiting = {"out": [], "in": []}

    def send(self, host, tensor):
        return self._later("out", host, tensor)

    def fetch(self, tensor, host):
        return self._later("in", tensor, host)

    def _later(self, direction, to, source):
        to.fill_(float("nan") if to.is_floating_point() else 0)
        copy = direction, to, source
        self.waiting[direction].append(copy)
        return copy

    def wait(self, copy):
        queue = self.waiting[copy[0]]
        while any(other is copy for other in queue):
            _, to, source = queue.pop(0)
            to.copy_(source)


def check_modes(network, device):
    point, failed = SmallPoint(network), 0
    expected, _ = trained(point, "in-core", device)
    late = {"least": 0, "window": 1 << 17, "copies": LateCopies()}
    everything = {"least": 0, "window": 1}  # each tensor leaves at once and comes back when it is asked for
    some = {"least": 0, "window": 1 << 17}
    for mode, options in (("in-core", None), ("checkpoint", None), ("save-on-cpu", None), ("offload", everything),
                          ("offload", some), ("offload", late), ("offload+checkpoint", everything),
                          ("offload+checkpoint", some)):
        found, trainer = trained(point, mode, device, options)
        worst, where = difference(found, expected)
        moved = f", {trainer.offload.bytes_out} bytes out, {trainer.offload.bytes_in} in" if trainer.offload else ""
        good = worst <= TOLERANCE and (not trainer.offload or check_moved(trainer.offload))
        text = "bitwise" if worst == 0 else f"{worst:.2g} at {where}"
        say(f"{'' if good else 'FAILED: '}{network}, {mode}{moved}: {text}")
        failed += not good
    return failed


def check_moved(offload):
    """All uses were served, and nothing is left on the device."""
    return offload.bytes_out > 0 and offload.bytes_in > 0 and offload.near == 0 and all(
        entry.uses == 0 and entry.tensor is None for entry in offload.entries)


def check_parameters(networks):
    failed = 0
    for name, (image, expected) in networks.items():
        counted = parameters_of(BUILDERS[name](image))
        say(f"{'' if counted == expected else 'FAILED: '}{name}: {counted} parameters, Spillway has {expected}")
        failed += counted != expected
    return failed


def check_maps(device):
    """What is saved for backward of one image: the 105 feature maps of model/zoo's ResNet-50, 80.09 MB, each once."""
    point = SmallPoint("resnet50", batch=1)
    point.image = 224
    offload = trained(point, "offload", device, {"least": 0})[1].offload
    hosts = [e.host for e in offload.entries if e.host.dim() in (2, 4) and e.host.dtype == torch.float32]
    hosts = [h for h in hosts if tuple(h.shape) != (1, 1000)]  # of the loss
    found = len(hosts), sum(size_of(h) for h in hosts)
    good = found == (105, 80089088)
    say(f"{'' if good else 'FAILED: '}resnet50, one image: {found[0]} maps of {found[1]} bytes are saved")
    return not good


def check_restart(device):
    """The second call finds its rows; a torn one is measured again."""
    point = SmallPoint("alexnet")
    networks = {"alexnet": (point.image, parameters_of(BUILDERS["alexnet"](point.image)))}
    cases = [Case(point, mode, "fma") for mode in ("in-core", "offload", "checkpoint")]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "steps.csv")
        texts = []
        for torn in (False, False, True):
            if torn:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(texts[-1][:-20])
            status = StepBench(str(device), [point], 3, 600, networks).run(Journal(path, KEY, RESULT), cases)
            with open(path, encoding="utf-8") as file:
                texts.append(file.read())
        rows = Journal(path, KEY, RESULT).rows.values()
    same = [text.splitlines()[:-1] for text in texts]
    good = (status == 0 and texts[0] == texts[1] and same[1] == same[2] and len(rows) == 3 and
            all(row["status"] == "ok" for row in rows))
    say(f"{'' if good else 'FAILED: '}a second call measures nothing, a torn row is measured again")
    return not good


def check_convolution(case, device):
    """Against autograd in double precision on the processor."""
    allow_tf32(case.math == "tf32")
    torch.manual_seed(1)
    operands = Operands(case.layer, device)
    image, weight, gradient = (tensor.detach().cpu().double() for tensor in
                               (operands.input, operands.weight, operands.gradient))
    result = torch.nn.functional.conv2d(image.requires_grad_(), weight.requires_grad_(), None, case.layer.stride,
                                        case.layer.pad)
    result.backward(gradient)
    wanted = {"forward": result.detach(), "backward_data": image.grad, "backward_filter": weight.grad}[case.which]
    with torch.no_grad():
        found = COMPUTE[case.which](case.layer, operands).cpu().double()
    apart = difference({"": found}, {"": wanted})[0] if found.shape == wanted.shape else 1.0
    good = apart <= (TF32_TOLERANCE if case.math == "tf32" else TOLERANCE)
    say(f"{'' if good else 'FAILED: '}{case}: {apart:.2g}")
    return not good


def verdict(failed):
    """The exit status."""
    say("passed" if not failed else f"{failed} checks failed")
    return 1 if failed else 0


def run_convolutions(name):
    device = open_device(name)
    return verdict(sum(check_convolution(case, device) for case in cases_of(SMALL_LAYERS, MATH)))


def run_steps(name, networks):
    device = open_device(name)
    torch.backends.cudnn.deterministic = True
    set_math("fma")
    failed = check_parameters(networks) + check_maps(device)
    failed += sum(check_modes(network, device) for network in BUILDERS)
    torch.backends.cudnn.deterministic = False
    return verdict(failed + check_restart(device))
