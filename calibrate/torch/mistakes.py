"""What a user can do about a step that cannot be recorded: one sentence each."""
from torch import nn

SEVERAL = ("DistributedDataParallel", "DataParallel", "FullyShardedDataParallel", "FSDPModule", "DeepSpeedEngine")


class RecordError(RuntimeError):
    """The step cannot be recorded; the message says why and what to do."""


class NumbersNeeded(Exception):
    """A step of fakes came to a number that only a real step can give. `bytes_alive`: what it held there."""


def ancestors(thing):
    return [kind.__name__ for kind in type(thing).__mro__]


def check_modules(roots):
    """Refuses networks that are spread over devices or compiled."""
    for root in roots:
        for path, module in root.named_modules():
            where = "module '%s'" % path if path else "the network"
            kind = next((name for name in ancestors(module) if name in SEVERAL), None)
            if kind:
                raise RecordError("%s is %s: a step of one device can be recorded; pass the network inside, .module, "
                                  "and show one GPU (CUDA_VISIBLE_DEVICES=0)" % (where, kind))
            if "OptimizedModule" in ancestors(module):
                raise RecordError("%s is compiled, and its calls cannot be seen: leave torch.compile out while "
                                  "recording (the network inside is ._orig_mod)" % where)
            if getattr(module, "_compiled_call_impl", None) is not None:
                raise RecordError("%s is compiled, and its calls cannot be seen: leave its .compile() out while "
                                  "recording" % where)


def check_devices(tensors):
    """Refuses tensors on several GPUs, or a network on a GPU beside parameters that were left on the CPU."""
    places = {}
    for name, tensor in tensors:
        if tensor.device.type != "meta":
            places.setdefault(str(tensor.device), name)
    if len(places) > 1:
        told = ", ".join("%s on %s" % (name, place) for place, name in sorted(places.items()))
        raise RecordError("parameters lie on several devices (%s): move the network to one, network.to(device)" % told)


def check_memory(tensors):
    """Refuses a run of tensors that have no memory."""
    for name, tensor in tensors:
        if tensor.is_meta:
            raise RecordError("%s lies on the meta device and cannot be run: record with how='calls', or build the "
                              "network on a real device" % name)


def check_batch(batch):
    from torch import Tensor
    if not isinstance(batch, (list, tuple)) or not batch or not all(isinstance(part, Tensor) for part in batch):
        raise RecordError("batch is %s: pass a list of tensors, which forward(*batch) takes" % type(batch).__name__)


def check_loss(loss):
    from torch import Tensor
    if not isinstance(loss, Tensor):
        raise RecordError("forward returned %s: it must return the loss, a tensor of one element" % type(loss).__name__)
    if loss.numel() != 1:
        raise RecordError("forward returned a tensor of shape %s: return the loss, for example its mean()" %
                          list(loss.shape))
    if not loss.requires_grad:
        raise RecordError("the loss needs no gradient, so the step has no backward: no parameter requires a gradient, "
                          "or forward ran under no_grad or detached its result")


def check_forward(forward):
    if isinstance(forward, nn.Module):
        check_modules([forward])
    if hasattr(forward, "_torchdynamo_orig_callable"):
        raise RecordError("forward is compiled, and its calls cannot be seen: leave torch.compile out while recording")
    if not callable(forward):
        raise RecordError("forward is %s: pass a function that takes the batch and returns the loss" %
                          type(forward).__name__)


def told_call(node):
    shapes = ", ".join(str(tensor["shape"]) for tensor in node.get("inputs", []))
    return "%s%s (%s) in %s" % (node["op"], " of module '%s'" % node["module"] if node.get("module") else "",
                                shapes, node["pass"])


def check_alike(first, other, number):
    """RecordError: where step `number` leaves the first one: call, module, shapes."""
    for index in range(max(len(first), len(other))):
        a, b = (nodes[index] if index < len(nodes) else None for nodes in (first, other))
        if a is not None and b is not None and identity(a) == identity(b):
            continue
        told = [told_call(node) if node else "the end of the step" for node in (a, b)]
        raise RecordError("step %d differs from step 1 at call %d: %s there, %s here. Steps of one batch must make the "
                          "same calls: take out what depends on a counter or on drawn numbers" %
                          (number, index, told[0], told[1]))


def check_timed(first, timer, number):
    """RecordError: where a step that was only timed leaves the recorded one."""
    if timer.differs is None:
        return
    node = next((node for _, node in first.calls[timer.differs:] if node is not None), None)
    there = "the end of the step" if node is None else told_call(first.nodes[node])
    raise RecordError("step %d differs from step 1 at call %s: %s there, %s here. Steps of one batch must make the same "
                      "calls: take out what depends on a counter or on drawn numbers" %
                      (number, "%d" % (len(first.nodes) if node is None else node), there, timer.found))


def identity(node):
    """What must be the same from step to step; scalars may vary."""
    results = [(result["id"], result.get("bytes"), result.get("in_place")) for result in node["results"]]
    return node["op"], node["pass"], node["deps"], results, node.get("inputs")
