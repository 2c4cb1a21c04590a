"""Lists one training step: every call that reaches the library under autograd becomes a node.

Memory is what storages take. Views are names of what they view and no nodes; calls that write an operand are in place,
whatever they are called. What a step finds there when it begins is a value.
"""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from calls import (NOISE, bytes_of, draws_again, draws_numbers, layout_of, leaves_memory_unwritten, only_views, scalars_of,
                   tensors_in, written_by)
from mistakes import check_loss
from modules import ModuleNames
from storages import Lifetimes, Names
from taken import tell_taken
from versions import noise, running_backward

PASSES = ("forward", "backward", "update")


class Recorder(TorchDispatchMode):
    """One step. After it: `nodes` in order, `values`, `seconds` by node, `host_seconds`, `unseen`.

    `roles`: pairs (tensor, {"class", "name"}) of what is there before. `answers.answer(function, args, kwargs, module)` may
    carry a call out, such as one for a number that the library cannot give (fakes); None: nobody does. What it reads for
    a list is no node. `on_call(index, function, args, kwargs, result)` sees each node.
    """

    def __init__(self, batch, roles, modules, clock, answers=None, on_call=None, after_backward=None):
        super().__init__()
        self.nodes, self.values, self.seconds, self.unseen = [], [], [], []
        self._names, self._lifetimes = Names(), Lifetimes()
        self._roles = {Names.key(tensor): role for tensor, role in roles}
        self._batch = {Names.key(tensor) for tensor in batch}
        self._clock, self._answers, self._on_call = clock, answers, on_call
        self.after_backward = after_backward or (lambda: None)
        self._backward = running_backward()
        self._modules = ModuleNames(modules, self._claim)
        self._unclaimed, self._unwritten = [], {}
        self.calls = []  # every call's function and the number of its node, or None: for Timer
        self._forward_over, self._updating = False, False
        for index, tensor in enumerate(batch):
            self._roles.setdefault(Names.key(tensor), {"class": "batch", "name": "batch[%d]" % index})
            self._new_value(tensor, "host" if tensor.device.type == "cpu" else "device")

    def _claim(self, module):
        """Backward's calls since the last node belong to `module`."""
        for index in self._unclaimed:
            self.nodes[index]["module"] = module
        self._unclaimed = []

    def _new_value(self, tensor, where):
        if self._names.knows(tensor):
            return self._names.get(tensor)
        name = "value%d" % len(self.values)
        value = {"id": name, "bytes": bytes_of(tensor), "where": where}
        value.update(self._roles.get(Names.key(tensor), {}))
        self.values.append(value)
        self._names.call(tensor, name)
        return name

    def _read(self, tensor):
        name = self._names.get(tensor) or self._new_value(tensor, "device")
        if self._unwritten and self._unwritten.get(self._names.root(name)):
            self.unseen.append(self._names.root(name))
            self._unwritten.pop(self._names.root(name))
        return name

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function.namespace in NOISE:
            return noise(function, args, kwargs)
        if not only_views(function):
            self._lifetimes.ask(len(self.nodes))
        written = written_by(function, args, kwargs)
        overwritten = {id(tensor) for tensor in written}
        for tensor in written:  # the first write of memory that was only taken
            self._unwritten.pop(self._names.root(self._names.get(tensor)), None)
        operands = tensors_in((args, kwargs))
        deps = list(dict.fromkeys(self._names.get(t) or self._new_value(t, "device") if id(t) in overwritten
                                  else self._read(t) for t in operands))
        self._lifetimes.read([self._names.root(name) for name in deps], len(self.nodes))
        inputs = [layout_of(tensor) for tensor in operands]
        result = self._run(function, args, kwargs)
        self.calls.append((function, None))
        results = tensors_in(result)
        fresh = [tensor for tensor in results if not self._names.knows(tensor)]
        if (written or fresh or not results) and not (self._answers and self._answers.lists.reading):
            self.calls[-1] = (function, len(self.nodes))
            node = self._add(function, deps, written, fresh)
            node.update(inputs=inputs, scalars=scalars_of(args, kwargs), outputs=[layout_of(t) for t in results])
            if draws_numbers(function, args, kwargs):
                node.update({"random": True, "replay": True} if draws_again(function) else
                            {"random": True, "recompute": False})
            if self._on_call:
                self._on_call(len(self.nodes) - 1, function, args, kwargs, result)
        else:
            self._clock.forget()
        return result

    def _run(self, function, args, kwargs):
        if self._answers:
            known, result = self._answers.answer(function, args, kwargs, self._modules.here)
            if known:
                self._clock.no_time()
                return result
        return self._clock.time(function, args, kwargs)

    def _phase(self):
        if self._updating:
            return "update"
        return "backward" if self._forward_over or self._backward.inside() else "forward"

    def _add(self, function, deps, written, fresh):
        op, number = str(function), len(self.nodes)
        node = {"id": "%d:%s" % (number, op.replace("aten.", "")), "op": op, "module": self._modules.here,
                "pass": self._phase(), "deps": deps, "results": []}
        self.nodes.append(node)
        self._modules.functions.add(self._backward.inside())
        if node["pass"] == "backward" and not self._modules.running:
            self._unclaimed.append(number)
        seen = set()
        for tensor in written + fresh:
            if Names.key(tensor) in seen:
                continue
            seen.add(Names.key(tensor))
            self._result(node, tensor, "%d.%d" % (number, len(node["results"])), function)
        return node

    def _result(self, node, tensor, name, function):
        known = self._names.get(tensor)
        node["results"].append({"id": name, "in_place": known} if known else {"id": name, "bytes": bytes_of(tensor)})
        self._names.call(tensor, name)
        if not known:
            self._lifetimes.watch(tensor, name, len(self.nodes) - 1)
            if leaves_memory_unwritten(function) and bytes_of(tensor):
                self._unwritten[name] = True

    def step(self, forward, batch, update):
        """Runs the step. RecordError: forward returns no loss that has a backward."""
        with self._backward, self._modules, self:
            loss = forward(*batch)
            check_loss(loss)
            self._modules.claim_behind(loss)
            self._forward_over = True
            torch.autograd.backward(loss)
            del loss
            self.after_backward()
            self._updating = True
            if update is not None:
                update()
        self._clock.close()
        self.seconds = self._clock.seconds
        self._finish()

    def bytes_alive(self):
        """Of values and results, in the middle of a step."""
        alive, _ = self._lifetimes.close()
        return sum(value["bytes"] for value in self.values) + sum(
            result["bytes"] for node in self.nodes for result in node["results"] if result["id"] in alive)

    def name_of(self, tensor):
        """The id under which a tensor's bytes were made, or None."""
        name = self._names.get(tensor)
        return name and self._names.root(name)

    def _finish(self):
        self.alive_at_end, late = self._lifetimes.close()
        last = len(self.nodes) - 1
        self.seen_until = {root: self.nodes[min(number, last)]["id"]
                           for root, number in dict(self._lifetimes.seen_until, **late).items()}
        tell_taken(self.nodes, self._modules.functions)
        make_phases_one_after_another(self.nodes)


def make_phases_one_after_another(nodes):
    """A step that calls backward several times, or autograd inside forward, has one backward: first to last such call."""
    inside = [index for index, node in enumerate(nodes) if node["pass"] == "backward"]
    if inside:
        for node in nodes[inside[0]:inside[-1]]:
            node["pass"] = "backward"
