"""The module that each call belongs to: in forward the innermost one that runs, in backward that of the call's forward.

PyTorch tells of a backward call neither its forward call nor, in 1.13, its autograd node. So whenever a module ends, the
nodes behind its results that nobody has claimed are its own, and a hook behind each node claims the calls that it made.
"""
import itertools

import torch
from torch.nn.modules import module as hooks_of_all

from calls import tensors_in
from taken import Functions
from versions import CURRENT_NODE


def names_of(modules):
    """Paths by module. One network needs no prefix; of several, each has its class and number."""
    names = {}
    for index, root in enumerate(modules):
        prefix = "" if len(modules) == 1 else "%s%d" % (type(root).__name__, index)
        for path, module in root.named_modules():
            names.setdefault(id(module), ".".join(part for part in (prefix, path) if part))
    return names


class ModuleNames:
    """A context around a step. `here` is the running module; backward's calls are told to `claim(module)` when known."""

    _numbers = itertools.count()

    def __init__(self, modules, claim):
        self._names = names_of(modules)
        self._claim = claim
        self._running = []
        self._mark = "spillway %d" % next(self._numbers)  # in the metadata of nodes that somebody has claimed
        self._handles = []
        self.functions = Functions(self._mark + " function", self._numbers)

    @property
    def here(self):
        return self._running[-1] if self._running else ""

    @property
    def running(self):
        return bool(self._running)

    def may_claim(self):
        """In backward: whether the node that runs is a module's. PyTorch 1.13 does not tell: the next module takes all."""
        node = None if CURRENT_NODE is None else CURRENT_NODE()
        return not self._running and (node is None or self._mark in node.metadata)

    def __enter__(self):
        self._handles = [hooks_of_all.register_module_forward_pre_hook(self._begins),
                         hooks_of_all.register_module_forward_hook(self._ends)]
        return self

    def __exit__(self, *error):
        for handle in self._handles:
            handle.remove()
        self._handles, self._running = [], []

    def _begins(self, module, args):
        self._running.append(self._names.get(id(module), self.here))

    def _ends(self, module, args, result):
        self.claim_behind(result)
        if self._running:
            self._running.pop()

    def claim_behind(self, result):
        """Nodes behind `result` that belong to nobody become the running module's.

        No node is held: those of a checkpoint's second forward would keep what they saved to the end of the step.
        """
        name = self.here
        open_nodes = [tensor.grad_fn for tensor in found_in(result) if tensor.grad_fn is not None]
        while open_nodes:
            node = open_nodes.pop()
            if node is None or self._mark in node.metadata:
                continue
            node.metadata[self._mark] = True
            self._handles.append(node.register_hook(self._hook(name, node.name())))
            open_nodes += [below for below, _ in node.next_functions]

    def _hook(self, name, kind):
        def ended(_, gradients):
            self._claim(name)
            self.functions.ended(kind, name, gradients)
        return ended


def found_in(result, depth=4):
    """Tensors in what a module returns, objects of its own classes (transformers' outputs) included."""
    tensors = tensors_in(result)
    if tensors or depth == 0:
        return tensors
    if isinstance(result, dict):
        inside = list(result.values())
    elif isinstance(result, (list, tuple)):
        inside = list(result)
    else:
        inside = list(vars(result).values()) if hasattr(result, "__dict__") and not isinstance(result, type) else []
    return [tensor for part in inside for tensor in found_in(part, depth - 1)]
