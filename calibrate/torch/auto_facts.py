"""What a plan of `auto` depends on, as a dictionary: the same facts, the same plan."""
import gc
import platform
import re
import sys
import types
from collections.abc import Mapping

import torch

from carry_report import name_of_device


MOST_PARTS = 100000  # of a batch
CALLERS = 4          # frames from a hook back to the call of the module
NO_BATCH = (type, types.ModuleType, types.FunctionType, types.MethodType, torch.nn.Module)


def facts_of(model, args, kwargs, device, asked):
    """Of the loop that is about to run `model`'s first forward, and what was `asked` of the planner."""
    return {"model": re.sub(r" at 0x[0-9a-f]+", "", repr(model)), "training": [module.training for module in model.modules()],
            "parameters": [(name,) + layout(tensor) for name, tensor in model.named_parameters()],
            "buffers": [(name,) + layout(tensor) for name, tensor in model.named_buffers()],
            "batch": [layout(tensor) for tensor in tensors_within([args, kwargs])],
            "optimizers": sorted(facts_of_optimizer(each) for each in optimizers_of(model)),
            "precision": precision(device), "device": [str(device), name_of_device(), torch.get_num_threads()],
            "versions": [torch.__version__, platform.python_version(), package_version()], "asked": asked}


def where_trained(model):
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


def keywords_of_call(module):
    """The keyword arguments with which `module` is called, asked in a hook for all modules, which is not given them.
    None: they are not seen."""
    frame = sys._getframe(1)
    for _ in range(CALLERS):
        frame = frame.f_back
        if frame is None:
            break
        if frame.f_locals.get("self") is module and isinstance(frame.f_locals.get("kwargs"), dict):
            return frame.f_locals["kwargs"]
    return None


def tensors_within(batch):
    """Whatever holds them: lists, dictionaries, attributes of objects. ValueError: it has too many parts."""
    found, waiting, seen = [], [batch], {}
    while waiting:
        part = waiting.pop()
        if isinstance(part, torch.Tensor):
            found.append(part)
        elif id(part) not in seen:
            seen[id(part)] = part  # held, so that no other part gets its number
            waiting += parts_of(part)[::-1]
        if len(seen) + len(waiting) > MOST_PARTS:
            raise ValueError("the model's arguments have more than %d parts" % MOST_PARTS)
    return found


def parts_of(part):
    if isinstance(part, Mapping):
        return list(part.values())
    if isinstance(part, (list, tuple, set, frozenset)):
        return list(part)
    return [] if isinstance(part, NO_BATCH) else list(getattr(part, "__dict__", {}).values())


def layout(tensor):
    return str(tensor.dtype), list(tensor.shape), list(tensor.stride()), str(tensor.device), tensor.requires_grad


def optimizers_of(model):
    """Those that hold some of its parameters. A loop names them nowhere where a hook of the model could ask."""
    own = {id(parameter) for parameter in model.parameters()}
    found = [each for each in gc.get_objects() if issubclass(type(each), torch.optim.Optimizer)]
    return [each for each in found if hasattr(each, "param_groups")
            and any(id(parameter) in own for group in each.param_groups for parameter in group["params"])]


def facts_of_optimizer(optimizer):
    """Its class and switches. Of a number only whether it is zero: a learning rate changes, and no call with it."""
    groups = [sorted((key, switch(value)) for key, value in group.items() if key != "params") for group in optimizer.param_groups]
    return "%s %s" % (type(optimizer).__qualname__, groups)


def switch(value):
    """A tensor's number is not read: that would wait for its device."""
    return [str(value.dtype), list(value.shape)] if isinstance(value, torch.Tensor) else bool(value)


def precision(device):
    """Casts that are on around the first forward. Before PyTorch 2.4 each kind of device has functions of its own."""
    try:
        cast = torch.is_autocast_enabled(device.type), str(torch.get_autocast_dtype(device.type))
    except (TypeError, AttributeError):
        if device.type == "cuda":
            cast = torch.is_autocast_enabled(), str(torch.get_autocast_gpu_dtype())
        else:
            cast = torch.is_autocast_cpu_enabled(), str(torch.get_autocast_cpu_dtype())
    return [*cast, str(torch.get_default_dtype()), torch.are_deterministic_algorithms_enabled()]


def package_version():
    from importlib.metadata import PackageNotFoundError, version
    try:
        return version("spillway")
    except PackageNotFoundError:
        return "0"
