"""What a plan of `auto` depends on, as a dictionary: the same facts, the same plan."""
import gc
import platform

import torch

from carry_calls import flat
from carry_report import name_of_device


def facts_of(model, args, kwargs, device, asked):
    """Of the loop that is about to run `model`'s first forward, and what was `asked` of the planner."""
    return {"model": repr(model), "training": [module.training for module in model.modules()],
            "parameters": [(name,) + layout(tensor) for name, tensor in model.named_parameters()],
            "buffers": [(name,) + layout(tensor) for name, tensor in model.named_buffers()],
            "batch": [layout(tensor) for tensor in flat(args, kwargs)],
            "optimizers": sorted(facts_of_optimizer(each) for each in optimizers_of(model)),
            "precision": precision(device), "device": [str(device), name_of_device(), torch.get_num_threads()],
            "versions": [torch.__version__, platform.python_version(), package_version()], "asked": asked}


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
    groups = [sorted((key, bool(value)) for key, value in group.items() if key != "params") for group in optimizer.param_groups]
    return "%s %s" % (type(optimizer).__qualname__, groups)


def precision(device):
    """Casts that are on around the first forward."""
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
