"""One piece of a running loop, written down call by call: nodes and values as a recording has them."""
import torch

from calls import bytes_of, draws_again, draws_numbers, layout_of, scalars_of, tensors_in
from carry_storage import key_of, untyped_of
from clocks import HostClock, MemoryClock
from foreach import foreach_notes
from modules import ModuleNames
from recorder import make_phases_one_after_another
from roles import classify, named_tensors, parameters_of
from storages import Lifetimes
from taken import tell_taken


class Life:
    """Of a followed storage: it lives on under a ticket, wherever its bytes are."""

    __slots__ = ("buffer",)

    def __init__(self, buffer):
        self.buffer = buffer

    def expired(self):
        return self.buffer.tickets == 0 and self.buffer.weak.expired()


class Piece:
    """Filled by a Watcher. After `close`: what `classify` and `written` ask of a recorded step."""

    def __init__(self, found, device, entering, samples):
        self.nodes, self.values, self.unseen, self.notes = [], [], [], []
        self.clock = MemoryClock(device) if device.type == "cuda" else HostClock()
        self.found, self.leaves, self.samples = found, {}, samples
        self.roles = {untyped_of(tensor)._cdata: role for tensor, role in named_tensors(found)}
        self.modules = ModuleNames(found.modules, self._claim)
        self.modules.__enter__()
        if entering is not None:  # opened by a hook of that module, whose own beginning is over
            self.modules._begins(entering, ())
        self._lifetimes, self._roots, self._unclaimed = Lifetimes(), {}, []  # roots: Buffer by name
        self._read, self.backward = set(), False  # keys of the values' storages; whether backward was seen
        self.unended = False  # a backward began and has not ended, or failed

    def _claim(self, module):
        for index in self._unclaimed:
            self.nodes[index]["module"] = module
        self._unclaimed = []

    def runs_backward(self):
        """In a call of backward. The engine calls back when it ends, and never when it fails."""
        if not self.unended:
            try:
                torch.autograd.Variable._execution_engine.queue_callback(self._ended)
                self.unended = True
            except RuntimeError:
                pass  # PyTorch 1.13: a call of `backward()` itself, before the engine runs

    def _ended(self):
        self.unended = False

    def ask(self):
        self._lifetimes.ask(len(self.nodes))

    def name_of(self, buffer, tensor):
        if buffer.name is None:
            value = {"id": "value%d" % len(self.values), "bytes": bytes_of(tensor), "where": "device"}
            value.update(self.roles.get(buffer.key, {}))
            if "class" not in value and tensor.requires_grad and tensor.is_leaf:
                value.update({"class": "weight", "name": "tensor%d" % len(self.values)})
            if tensor.requires_grad and tensor.is_leaf:
                self.leaves[id(tensor)] = tensor
            self.values.append(value)
            self._read.add(buffer.key)
            buffer.name = buffer.base = value["id"]
        return buffer.name

    def add(self, function, call, inputs, read, operands, buffers, in_backward):
        """A node. `read`: tensors in order, with their `operands`; `buffers`: those that it changes or makes."""
        args, kwargs, result = call
        tensors = {key_of(tensor): tensor for tensor in read}
        deps = [self.name_of(buffer, tensors[buffer.key]) for buffer in operands]
        self.backward = self.backward or in_backward
        phase = "backward" if in_backward else "update" if self.backward else "forward"
        op, number = str(function), len(self.nodes)
        node = {"id": "%d:%s" % (number, op.replace("aten.", "")), "op": op, "module": self.modules.here, "pass": phase,
                "deps": deps, "results": []}
        self.nodes.append(node)
        self.modules.functions.add(in_backward)
        if in_backward and self.modules.may_claim():
            self._unclaimed.append(number)
        for place, buffer in enumerate(buffers):
            self._result(node, buffer, "%d.%d" % (number, place))
        node.update(inputs=inputs, scalars=scalars_of(args, kwargs), outputs=[layout_of(t) for t in tensors_in(result)])
        if draws_numbers(function, args, kwargs):
            node.update({"random": True, "replay": True} if draws_again(function) else {"random": True, "recompute": False})

    def _result(self, node, buffer, name):
        if buffer.name is not None:
            node["results"].append({"id": name, "in_place": buffer.name})
        else:
            node["results"].append({"id": name, "bytes": buffer.nbytes})
            buffer.base = name
            self._lifetimes.follow(Life(buffer), name, len(self.nodes) - 1)
            self._roots[name] = buffer
        buffer.name = name

    def close(self):
        self.modules.__exit__()
        self.clock.close()
        self.seconds = self.clock.seconds
        self.allocator_peak = getattr(self.clock, "peak", None)
        self._leave_out_tail()
        self.alive_at_end, late = self._lifetimes.close()
        last = len(self.nodes) - 1
        self.seen_until = {root: self.nodes[min(number, last)]["id"]
                           for root, number in dict(self._lifetimes.seen_until, **late).items()}
        tell_taken(self.nodes, self.modules.functions.by_node)
        make_phases_one_after_another(self.nodes)
        self._begin_backward_with_its_gradient()
        self._classify()
        self.fixed_bytes, self.notes = self._unnamed_bytes(), foreach_notes(self.found.optimizers)
        self.found = self.leaves = self._roots = self.modules = self._lifetimes = None

    def _leave_out_tail(self):
        """Calls after backward that read nothing of the step, such as the next batch's making, are none of it."""
        own, last = {value["id"] for value in self.values if "class" in value}, 0
        for number, node in enumerate(self.nodes):
            if node["pass"] != "update" or any(name in own for name in node["deps"]):
                own.update(result["id"] for result in node["results"])
                last = number + 1
        for node in self.nodes[last:]:
            for result in node["results"]:
                self._roots.pop(result["id"], None)
        del self.nodes[last:], self.seconds[last:]

    def _begin_backward_with_its_gradient(self):
        """`backward()` makes the loss's gradient before autograd runs."""
        for before, node in zip(self.nodes, self.nodes[1:]):
            if before["pass"] == "forward" and node["pass"] == "backward" and before["op"].startswith("aten.ones_like"):
                before["pass"] = "backward"

    def _owners(self):
        return list(self.leaves.values()) + parameters_of(self.found)

    def _classify(self):
        gradients = {untyped_of(leaf.grad)._cdata for leaf in self._owners() if leaf.grad is not None}
        by_key = {buffer.key: name for name, buffer in self._roots.items() if name in self.alive_at_end}
        classify(self, {by_key.get(key) for key in gradients}, set())

    def _unnamed_bytes(self):
        """What lives through the step though no call names it: weights that rest, gradients, the optimizer's states."""
        named = {untyped_of(tensor)._cdata: tensor for tensor, _ in named_tensors(self.found)}
        known = self._read.union(buffer.key for name, buffer in self._roots.items() if name in self.alive_at_end)
        unnamed = [tensor for key, tensor in named.items() if key not in known]
        return sum(bytes_of(tensor) for tensor in unnamed)

    def sizes(self):
        """Bytes of all results: the largest step of a kind is the one to plan for."""
        return sum(result.get("bytes", 0) for node in self.nodes for result in node["results"])

    def kind(self):
        """What pieces of one kind have in common: calls and the data between them, whatever their sizes."""
        return tuple((node["op"], node["pass"], tuple(node["deps"]),
                      tuple((result["id"], result.get("in_place")) for result in node["results"])) for node in self.nodes)
