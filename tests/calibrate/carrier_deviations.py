"""Steps that deviate from what was recorded: each computes what it computes without a plan.

    PYTHONPATH=FOLDER_OF_SPILLWAY_TORCH SPILLWAY=PROGRAM python3 tests/calibrate/carrier_deviations.py    prints the table

A row is a step of the U-Net of carrier_networks.py under one plan, changed in one way. `peak` is counted, with what the
user holds; "in core" is the same step without a plan. Tests for carrier_test.py.
"""
import contextlib
import copy
import pickle
import sys
import tempfile
import threading
import warnings

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import spillway_torch
from carrier_networks import NETWORKS

DEVIATIONS = []  # (name, function, words that have to be said or None, whether PyTorch 1.13 can do it)
NEWER = not torch.__version__.startswith("1.")
SHARE = 0.65


def deviation(name, said=None, newer=False):
    def keep(function):
        if NEWER or not newer:
            DEVIATIONS.append((name, function, said))
        return function
    return keep


class Step:
    """What a deviation may change. `context` is the carrier, or nothing."""

    def __init__(self, context):
        make, self.loss_of, draw, samples = NETWORKS["unet"]
        torch.manual_seed(1)
        self.network, self.x, self.y = make().train(), *draw(samples)
        self.context, self.found, self.kept = context, [], []

    def loss(self, *batch):
        return self.loss_of(self.network, *(batch or (self.x, self.y)))

    def usual(self):
        with self.context:
            loss = self.loss()
            loss.backward()
        self.found.append(loss.detach())

    def layers(self):
        return [module for module in self.network.modules() if not list(module.children())]

    def hooked(self, hook, layers=None):
        for layer in layers or self.layers():
            layer.register_forward_hook(hook)
        self.usual()


def both(between):
    """A step with something between forward and backward."""
    def run(step):
        with step.context:
            loss = step.loss()
            step.found.append(between(step, loss))
            loss.backward()
    return run


def simple(name, between, **more):
    deviation(name, **more)(both(between))


simple("loss.item() before backward", lambda step, loss: loss.item())
simple("the loss printed", lambda step, loss: str(loss))
simple("a test for numbers that are none", lambda step, loss: bool(torch.isfinite(loss)))
simple("state_dict copied before backward", lambda step, loss: copy.deepcopy(step.network.state_dict()) and None)
simple("the network copied before backward", lambda step, loss: copy.deepcopy(step.network) and None)
simple("layers pickled before backward",
       lambda step, loss: next(pickle.loads(pickle.dumps(step.network.bottom)).parameters()))
simple("a norm of all parameters", lambda step, loss: sum(p.detach().norm() for p in step.network.parameters()))


@deviation("a metric after each layer")
def metric(step):
    step.hooked(lambda module, inputs, result: step.found.append(result.detach().abs().mean()))


@deviation("each layer's result held by the user")
def held(step):
    step.hooked(lambda module, inputs, result: step.found.append(result.detach()))


@deviation("views of results held by the user")
def views(step):
    step.hooked(lambda module, inputs, result: step.found.append(result.detach()[:, :1, ::2]))


@deviation("results as arrays of numpy")
def arrays(step):
    step.hooked(lambda module, inputs, result: step.kept.append(result.detach().numpy()), step.layers()[:3])
    step.found += [torch.from_numpy(each.copy()) for each in step.kept]


@deviation("a result changed in place later")
def changed(step):
    step.hooked(lambda module, inputs, result: step.kept.append(result.detach()), step.layers()[-1:])
    step.kept[0].mul_(2)
    step.found.append(step.kept[0])


@deviation("noise on the input")
def noise(step):
    step.x = step.x + torch.randn_like(step.x)
    with step.context:
        step.loss(step.x * torch.rand_like(step.x), step.y).backward()


@deviation("dropout on the result")
def dropout(step):
    with step.context:
        F.mse_loss(F.dropout(step.network(step.x), 0.3), step.y).backward()


@deviation("one more term of the loss")
def term(step):
    with step.context:
        (step.loss() + 0.01 * sum(p.square().sum() for p in step.network.parameters())).backward()


@deviation("another loss")
def other_loss(step):
    with step.context:
        F.smooth_l1_loss(step.network(step.x), step.y).backward()


@deviation("an evaluation before forward")
def evaluation(step):
    with step.context:
        step.network.eval()
        with torch.no_grad():
            step.found.append(step.network(step.x))
        step.network.train()
        step.loss().backward()


@deviation("an evaluation between forward and backward")
def evaluation_between(step):
    with step.context:
        loss = step.loss()
        step.network.eval()
        with torch.no_grad():
            step.found.append(step.network(step.x))
        step.network.train()
        loss.backward()


def batch_of(samples):
    def run(step):
        with step.context:
            step.loss(torch.randn(samples, 1, 32, 32), torch.randn(samples, 1, 32, 32)).backward()
    return run


for samples in (1, 3, 8):
    deviation("a batch of %d, recorded with 4" % samples)(batch_of(samples))


@deviation("smaller pictures")
def smaller(step):
    with step.context:
        step.loss(torch.randn(4, 1, 16, 24), torch.randn(4, 1, 16, 24)).backward()


@deviation("channels last")
def channels_last(step):
    step.network.to(memory_format=torch.channels_last)
    step.x = step.x.contiguous(memory_format=torch.channels_last)
    step.usual()


@deviation("an input that is no piece of memory in order")
def strided(step):
    step.x = step.x.transpose(2, 3)
    step.usual()


@deviation("double precision")
def double(step):
    step.network.double()
    step.x, step.y = step.x.double(), step.y.double()
    step.usual()


@deviation("autocast to bfloat16")
def autocast(step):
    with step.context, torch.autocast("cpu", torch.bfloat16):
        step.loss().backward()


@deviation("an input that gets a gradient")
def input_gradient(step):
    step.x.requires_grad_()
    step.usual()
    step.found.append(step.x.grad)


@deviation("the first block frozen")
def frozen(step):
    step.network.down[0].requires_grad_(False)
    step.usual()


@deviation("batch norm in evaluation")
def norms(step):
    for module in step.network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()
    step.usual()


@deviation("a layer left out")
def left_out(step):
    step.network.bottom[3] = nn.Identity()
    step.usual()


@deviation("a layer run twice")
def twice(step):
    step.network.bottom.register_forward_hook(lambda module, inputs, result: module[3](result))
    step.usual()


@deviation("another activation")
def activation(step):
    for block in [*step.network.down, step.network.bottom]:
        block[2] = nn.GELU()
    step.usual()


@deviation("another network", said="left the recording before its call '0:convolution.default' in module 'down.0.0'")
def another(step):
    make, loss, draw, _ = NETWORKS["attention"]
    step.network = make().train()
    with step.context:
        loss(step.network, *draw(4)).backward()


@deviation("no backward")
def no_backward(step):
    with step.context:
        step.found.append(step.loss().detach())


@deviation("backward after the context")
def backward_after(step):
    with step.context:
        loss = step.loss()
    loss.backward()


@deviation("backward twice through one graph")
def twice_back(step):
    with step.context:
        loss = step.loss()
        loss.backward(retain_graph=True)
        loss.backward()


@deviation("two forwards, then one backward")
def two_forwards(step):
    with step.context:
        (step.loss() + step.loss(step.x * 0.5, step.y)).backward()


@deviation("two forwards, each with its backward, in one context")
def two_steps(step):
    with step.context:
        step.loss().backward()
        step.loss(step.x * 0.5, step.y).backward()


@deviation("torch.autograd.grad in place of backward")
def grad(step):
    with step.context:
        step.found += torch.autograd.grad(step.loss(), list(step.network.parameters()))


@deviation("a gradient of the gradient")
def second_order(step):
    step.x.requires_grad_()
    with step.context:
        first, = torch.autograd.grad(step.loss(), step.x, create_graph=True)
        first.square().sum().backward()


@deviation("a hook that scales a gradient")
def gradient_hook(step):
    def scaled(module, inputs, result):
        if result.requires_grad:
            result.register_hook(lambda gradient: gradient * 0.5)
    step.hooked(scaled)


@deviation("micro batches that add up gradients")
def micro(step):
    for part in range(2):
        with step.context:
            (step.loss(step.x[part::2], step.y[part::2]) / 2).backward()


@deviation("gradients zeroed, not dropped")
def zeroed(step):
    optimizer = torch.optim.SGD(step.network.parameters(), 0.01)
    for _ in range(2):
        with step.context:
            optimizer.zero_grad(set_to_none=False)
            step.loss().backward()
        optimizer.step()


@deviation("clipping and the optimizer inside the context")
def wide(step):
    optimizer = torch.optim.AdamW(step.network.parameters(), 0.01)
    for _ in range(2):
        with step.context:
            step.loss().backward()
            nn.utils.clip_grad_norm_(step.network.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)


@deviation("an optimizer that steps inside backward", newer=True)
def fused(step):
    for parameter in step.network.parameters():
        def stepped(parameter):
            with torch.no_grad():
                parameter.sub_(parameter.grad, alpha=0.01)
            parameter.grad = None
        parameter.register_post_accumulate_grad_hook(stepped)
    step.usual()
    step.found += [parameter.detach() for parameter in step.network.parameters()]


@deviation("a checkpoint inside", said=NEWER and "hooks of torch.utils.checkpoint")
def checkpointed(step):
    bottom = step.network.bottom.forward
    step.network.bottom.forward = lambda x: checkpoint(bottom, x, use_reentrant=False)
    step.usual()


@deviation("a checkpoint of the old kind inside")
def reentrant(step):
    bottom = step.network.bottom.forward
    step.network.bottom.forward = lambda x: checkpoint(bottom, x, use_reentrant=True)
    step.usual()


@deviation("save_on_cpu inside", said=NEWER and "hooks of torch.autograd.graph.save_on_cpu")
def on_cpu(step):
    with step.context:
        with torch.autograd.graph.save_on_cpu():
            loss = step.loss()
        loss.backward()


@deviation("anomaly detection")
def anomaly(step):
    with torch.autograd.set_detect_anomaly(True):
        step.usual()


@deviation("a compiled network", said="torch.compile runs uncompiled", newer=True)
def compiled(step):
    network = step.network
    step.network = torch.compile(network, backend="eager")
    step.usual()
    step.network = network


@deviation("DataParallel without a GPU", said="DataParallel spreads the step")
def spread(step):
    network = step.network
    step.network = nn.DataParallel(network)
    step.usual()
    step.network = network


@deviation("backward in another thread", said="backward runs in another thread")
def threaded(step):
    with step.context:
        thread = threading.Thread(target=step.loss().backward)
        thread.start()
        thread.join()


def failing(error):
    def run(step):
        def fail(module, inputs, result):
            raise error("in a layer")
        with contextlib.suppress(error), step.context:
            step.network.up[0].register_forward_hook(fail)
            step.loss().backward()
        step.network.up[0]._forward_hooks.clear()
        step.usual()
    return run


deviation("an exception in forward, then a step")(failing(ValueError))
deviation("Ctrl-C in forward, then a step")(failing(KeyboardInterrupt))


@deviation("an exception in backward, then a step")
def failing_back(step):
    def fail(gradient):
        raise ValueError("in backward")
    with contextlib.suppress(ValueError), step.context:
        result = step.network.bottom(F.avg_pool2d(step.network.down[1](step.network.down[0](step.x)), 2))
        result.register_hook(fail)
        result.square().mean().backward()
    step.network.zero_grad(set_to_none=True)
    step.usual()


class Nothing(contextlib.ExitStack):
    """In a carrier's place. It can be entered again."""


def ran(function, context):
    """(what a deviation found, gradients, buffers) after it ran."""
    step = Step(context)
    function(step)
    gradients = [parameter.grad for parameter in step.network.parameters()]
    return step.found + gradients + list(step.network.buffers())


def alike(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    return a == b


def row(plan, name, function):
    """(whether equal, the carrier)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        carrier = spillway_torch.apply(plan, device="cpu", count=True)
        ours, plain = ran(function, carrier), ran(function, Nothing())
    return len(ours) == len(plain) and all(map(alike, ours, plain)), carrier


def deviations_compute_the_same(plans):
    """Equal bits, nothing left behind, and what has to be said is said."""
    plan = plans.plan("unet", SHARE)
    assert len(DEVIATIONS) >= 40, len(DEVIATIONS)
    for name, function, words in DEVIATIONS:
        equal, carrier = row(plan, name, function)
        assert equal, name
        assert torch.utils._python_dispatch._get_current_dispatch_mode() is None, name
        assert not carrier.open and not carrier.store.absent(), name
        said = carrier.account.said
        assert any(words in text for text in said) if words else all("left the recording" in text for text in said), (name, said)


def peak(carrier):
    return max(context["counted_peak_bytes"] for context in carrier.account.contexts)


def main():
    from carrier_test import Plans
    torch.set_num_threads(1)
    failed = 0
    print("| deviation | equal | peak, MB | in core, MB | extra calls | missing | said |\n|---|---|--:|--:|--:|--:|---|")
    with tempfile.TemporaryDirectory() as folder:
        plans = Plans(folder)
        whole, plan = plans.plan("unet", None), plans.plan("unet", SHARE)
        print("cap %.3f MB" % (plan["capacity_bytes"] / 1e6), file=sys.stderr)
        for name, function, _ in DEVIATIONS:
            equal, carrier = row(plan, name, function)
            _, counting = row(whole, name, function)
            said = [text.split(":")[0].split(",")[0].split(" (")[0] for text in carrier.account.said]
            contexts = carrier.account.contexts
            print("| %s | %s | %.2f | %.2f | %d | %d | %s |" % (
                name, "yes" if equal else "NO", peak(carrier) / 1e6, peak(counting) / 1e6, sum(c["extra"] for c in contexts),
                sum(c["missing"] for c in contexts), "; ".join(said)), flush=True)
            failed += not equal
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
