"""Networks, optimizers, scalers and tensors that a function uses: what it closes over, its globals, its object's members."""
import functools
import types

import torch
from torch import nn

DEPTH = 6


class Found:
    """What the user's functions reach. Lists keep the order of finding; nothing is there twice."""

    def __init__(self, *functions):
        self.modules, self.optimizers, self.others, self.tensors = [], [], [], []
        self._seen = set()
        for function in functions:
            self.visit(function, 0)
        inner = {id(part) for root in self.modules for part in root.modules() if part is not root}
        self.modules = [root for root in self.modules if id(root) not in inner]

    def visit(self, thing, depth):
        if depth > DEPTH or thing is None or isinstance(thing, (str, bytes, int, float, type, types.ModuleType)):
            return
        if id(thing) in self._seen:
            return
        self._seen.add(id(thing))
        kind = self._kind(thing)
        if kind is not None:
            kind.append(thing)
        for part in self._parts(thing):
            self.visit(part, depth + 1)

    def _kind(self, thing):
        if isinstance(thing, nn.Module):
            return self.modules
        if isinstance(thing, torch.optim.Optimizer):
            return self.optimizers
        if isinstance(thing, torch.Tensor):
            return self.tensors
        names = [kind.__name__ for kind in type(thing).__mro__]
        return self.others if any("GradScaler" in name or "LRScheduler" in name for name in names) else None

    def _parts(self, thing):
        if isinstance(thing, (torch.Tensor, torch.optim.Optimizer)):
            return []
        if isinstance(thing, nn.Module):  # a trainer's members, not the network's own
            return [value for value in vars(thing).values() if isinstance(value, (torch.optim.Optimizer, list))]
        if isinstance(thing, types.MethodType):
            return [thing.__self__, thing.__func__]
        if isinstance(thing, functools.partial):
            return [thing.func, thing.args, thing.keywords]
        if isinstance(thing, types.FunctionType):
            return self._of_function(thing)
        if isinstance(thing, dict):
            return list(thing.values())[:1000]
        if isinstance(thing, (list, tuple, set, frozenset)):
            return list(thing)[:1000]
        library = type(thing).__module__.split(".")[0] in ("builtins", "torch", "numpy")
        named = self._kind(thing) is not None
        return list(vars(thing).values()) if hasattr(thing, "__dict__") and (named or not library) else []

    @staticmethod
    def _of_function(function):
        if (function.__module__ or "").split(".")[0] == "torch":
            inside = getattr(function, "__wrapped__", None)  # a decorator of torch around the user's own
            return [inside] + contents(function)
        names, codes = set(), [function.__code__]
        while codes:
            code = codes.pop()
            names.update(code.co_names)
            codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        values = [function.__globals__[name] for name in sorted(names) if name in function.__globals__]
        return values + contents(function) + list(function.__defaults__ or ())


def contents(function):
    """What a closure holds; cells that were never filled hold nothing."""
    held = []
    for cell in function.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:
            pass
    return held
