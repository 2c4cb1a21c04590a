"""The carrier: a plan of `spillway plan STEP.json --for torch` carried out in a training loop that nobody edits.

    carrier = apply("plan.json").attach(model)          # one line; detach() undoes it
    # or: with carrier: loss = model(batch); loss.backward()
    # or: carrier.begin() ... carrier.end()             # from callbacks; both harmless when repeated
    print(carrier.report())

A dispatch mode sees each call and finds its place in the recording; saved-tensor hooks give autograd tickets in place of
tensors that the plan moves. What the plan frees comes back from the host, or by running this step's own calls again with
their random state. So results are those of plain training, also in steps that deviate: a deviation costs memory.
"""
import importlib
import json
import os
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from carry_buffers import Kept, Ticket, overwritten_error, version_of
from calls import NOISE, tensors_in
from carry_calls import Caught, Operand, Drawing, changed_by
from carry_copies import Copies, Slab, StreamedCopies
from carry_match import Matcher, RecordedCall
from carry_report import Report
from carry_storage import Place, has_storage, untyped_of
from carry_store import Store
from versions import LACKS

FORMAT, VERSION = "spillway-carry", 1
BIG = 1 << 20  # bytes from which a saved tensor goes to the host after the track is lost
POLICIES = ("offload", "keep", "error")


class PlanError(ValueError):
    """The plan cannot be carried out here; the message says where and what to do."""


class Deviation(RuntimeError):
    """on_deviation="error": the step left the recording."""


class CarriedPlan:
    """The content of a plan file. Names are checked once, here."""

    def __init__(self, content, where):
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise PlanError("%s: no plan for PyTorch: expected the file of 'spillway plan STEP.json --for torch'" % where)
        if content.get("version") != VERSION:
            raise PlanError("%s: version %s of the format: expected %d; plan again with the Spillway that this file came "
                            "with" % (where, content.get("version"), VERSION))
        try:
            self._read(content)
        except (KeyError, TypeError, AttributeError) as mistake:
            raise PlanError("%s: edited into nonsense (%s %s): plan again" % (where, type(mistake).__name__, mistake))
        self._check(where)

    def _read(self, content):
        self.graph, self.strategy = content["network"], content.get("strategy", "")
        self.cap, self.peak = int(content["capacity_bytes"]), int(content["peak_bytes"])
        self.step_ns, self.host_bytes = content["step_time_ns"], int(content["host_bytes"])
        self.live = content.get("live_bytes", [])
        self.values = {value["id"]: value for value in content["values"]}
        self.calls = [RecordedCall(node) for node in content["calls"]]
        self.unseen = content.get("unseen", [])
        index = {call.id: k for k, call in enumerate(self.calls)}
        index["end"] = len(self.calls)
        self.before = [[] for _ in range(len(self.calls) + 1)]
        for name, actions in content["before"].items():
            self.before[index[name]] = [(kind, target) for kind, target in actions]
        self.held = set(content.get("held", []))
        self.index = index

    def _check(self, where):
        made = {name for call in self.calls for name, of in call.results if of is None} | set(self.values)
        self.moved = set(self.held)
        for actions in self.before:
            for kind, target in actions:
                known = self.index if kind == "again" else made
                if kind not in ("out", "in", "again", "leave", "release") or target not in known:
                    raise PlanError("%s: an action [%r, %r] that names nothing of the recording: plan again"
                                    % (where, kind, target))
                if kind != "again":
                    self.moved.add(target)


class Carrier(TorchDispatchMode):
    def __init__(self, plan, on_deviation="offload", device=None, count=False):
        super().__init__()
        self.plan, self.policy = plan, on_deviation
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        pinned = self.device.type == "cuda"
        self.slab = slab_of(plan.host_bytes, pinned)
        self.copies = StreamedCopies(self.slab, self.device) if pinned else Copies(self.slab)
        self.matcher = Matcher(plan.calls, plan.values)
        self.account = Report(plan, count)
        self.open = False
        self.inside = False  # our own calls, made outside the dispatcher's own switch
        self.hooks = self.attached = None
        self.model = lambda: None
        self._fresh()

    # Contexts.

    def _fresh(self):
        self.store = Store(self.copies, not self.plan.unseen, self.account.ran_again)
        self.names = {}  # by first name: the Buffer
        self.numbers = {}  # by storage address: tensors that stand for plain numbers
        self.done = 0    # lists of actions that have run
        self.matcher.restart()

    def begin(self):
        if self.open:
            self.end()
        self._fresh()
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack)
        self.hooks.__enter__()
        TorchDispatchMode.__enter__(self)
        self.open = True
        self.account.begin()
        return self

    def end(self):
        if not self.open:
            return
        self.open = False
        TorchDispatchMode.__exit__(self, None, None, None)
        self.hooks.__exit__(None, None, None)
        self.store.close()
        self.account.end(self.matcher, self.store)

    def __enter__(self):
        return self.begin()

    def __exit__(self, *_):
        self.end()

    # Every call.

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.inside or function.namespace in NOISE or self._over():
            return as_tensor(function(*args, **kwargs), function)
        self._act()
        read = [tensor for tensor in tensors_in((args, kwargs)) if self._is_read(tensor)]
        operands = [self.store.find(tensor) for tensor in read]
        for buffer in operands:
            if buffer.away or buffer.arrives is not None:
                self.store.storage_of(buffer)
        written = changed_by(function, args, kwargs)
        if function is torch.ops.aten.detach.default:
            return self._detached(function, args)
        caught = self._catch(function, args, kwargs, written)
        result = as_tensor(function(*args, **kwargs), function)
        self._made(function, read, operands, written, result, caught)
        return result

    def _is_read(self, tensor):
        return has_storage(tensor) and not (self.numbers and untyped_of(tensor)._cdata in self.numbers)

    def _detached(self, function, args):
        """Autograd makes as many of these as it likes; they are no calls. PyTorch 1.13 gives a number for a number."""
        result = function(*args)
        number = as_tensor(result, function)
        if number is not result:
            self.numbers[untyped_of(number)._cdata] = number
        return number

    def _over(self):
        """All that the plan does is done, and nothing is away: the calls of an optimizer or a log are none of ours."""
        return self.matcher.at_end and self.done > self.matcher.last and not self.store.absent()

    def _catch(self, function, args, kwargs, written):
        for tensor in written:
            self.store.before_write(self.store.find(tensor), Place(tensor))
        return Caught(function, args, kwargs, self._operand, Drawing(function, args, kwargs))

    def _operand(self, tensor):
        if not has_storage(tensor):
            return tensor
        buffer = self.store.find(tensor)
        return tensor if buffer.outer else Operand(buffer, tensor)

    def _made(self, function, read, operands, written, result, caught):
        outputs = [tensor for tensor in tensors_in(result) if has_storage(tensor)]
        fresh = distinct([tensor for tensor in outputs if self.store.known(tensor) is None])
        changed = distinct(written)
        if not fresh and not changed and outputs:
            return  # a view
        buffers = [self.store.find(tensor) for tensor in changed]
        for tensor in changed:
            self._overwritten(self.store.find(tensor), caught, len(changed) + len(fresh))
        for tensor in fresh:
            buffers.append(self._new(tensor, result, caught))
        self._place(function, read, list(dict.fromkeys(operands)), buffers)

    def _overwritten(self, buffer, caught, results):
        if buffer.outer:
            return
        caught.again = caught.again and results == 1
        buffer.makers.append((caught, None))

    def _new(self, tensor, result, caught):
        buffer = self.store.add(untyped_of(tensor), False)
        leaves = torch.utils._pytree.tree_flatten(result)[0]
        index = next(k for k, leaf in enumerate(leaves) if leaf is tensor)
        buffer.makers.append((caught, index))
        caught.made(index, buffer)
        return buffer

    def _place(self, function, read, operands, buffers):
        """Finds the call in the recording, and names what it read and made."""
        dims = [tensor.dim() for tensor in read]
        index = self.matcher.match(str(function), in_backward(), operands, len(buffers), dims)
        if index is None:
            for buffer in buffers:
                buffer.name, buffer.extra = None, not buffer.outer
            self.account.extra(function, self.matcher)
            if self.matcher.lost and self.policy == "error":
                raise Deviation("Spillway: the step left the recording before its call '%s'"
                                % self.plan.calls[min(self.matcher.lost_at, len(self.plan.calls) - 1)].id)
            return
        call = self.plan.calls[index]
        for buffer, dep in zip(operands, call.deps):
            if buffer.name is None:
                self._name(buffer, dep)
        for buffer, (name, of) in zip(buffers, call.results):
            self._name(buffer, name, of)
        self.account.called(index, self.store)

    def _name(self, buffer, name, of=None):
        buffer.name, buffer.extra = name, False
        if buffer.base is None:
            buffer.base = name
            self.names[name] = buffer
        if buffer.base in self.plan.held and not buffer.outer and buffer.hold is None:
            buffer.pinned, buffer.hold = True, buffer.storage()

    # The plan.

    def _act(self):
        """Actions up to the next recorded call; none while the track is lost."""
        if self.matcher.lost:
            return
        while self.done <= self.matcher.clock and self.done < len(self.plan.before):
            for kind, target in self.plan.before[self.done]:
                self._do(kind, target)
            self.done += 1

    def _do(self, kind, target):
        if kind == "again":
            for name, of in self.plan.calls[self.plan.index[target]].results:
                self._again(name if of is None else of)
            return
        buffer = self.names.get(target)
        if buffer is None or buffer.outer:
            return  # its maker was missing, or the user's own loop holds it
        if kind == "out":
            self.store.out(buffer)
        elif kind == "in":
            if buffer.away:
                self.store.bring(buffer, True)
        elif kind == "leave":
            self.store.leave(buffer)
        else:
            buffer.pinned = False
            buffer.let_go()

    def _again(self, name):
        buffer = self.names.get(name) or next((b for b in self.names.values() if b.name == name), None)
        if buffer is not None and not buffer.outer and buffer.storage() is None:
            self.account.again += 1
            self.store.bring(buffer, True)

    # What autograd saves.

    def _pack(self, tensor):
        if not isinstance(tensor, torch.Tensor) or not has_storage(tensor):
            return Kept(tensor)
        buffer = self.store.known(tensor)
        if buffer is None or buffer.outer:
            return Kept(tensor)
        if buffer.base in self.plan.moved:
            return Ticket(buffer, tensor)
        if self.matcher.lost and self.policy == "offload" and buffer.nbytes >= BIG:
            return self._offloaded(buffer, tensor)
        return Kept(tensor)

    def _offloaded(self, buffer, tensor):
        """After the track is lost: to the host, and off the device as soon as the loop lets go of it."""
        self.inside = True
        try:
            ticket = Ticket(buffer, tensor)
            self.store.out(buffer, True)
        finally:
            self.inside = False
        if buffer.host is not None:
            buffer.hold = None
            self.account.offloaded += buffer.nbytes
        return ticket

    def _unpack(self, packed):
        if isinstance(packed, Kept):
            if packed.version is not None and version_of(packed.tensor) != packed.version:
                raise overwritten_error(packed.tensor.shape)
            return packed.tensor
        if packed.overwritten():
            raise overwritten_error(packed.place.size)
        self.inside = True
        try:
            if self.open:
                self._act()  # autograd unpacks before the node's first call: what the plan does before it comes first
            return packed.place.over(self.store.storage_of(packed.buffer))
        finally:
            self.inside = False

    # In other people's loops.

    def attach(self, model):
        """Opens at each forward in training, closes before the optimizer's step or at the next forward after backward."""
        self.detach()
        self.model = weakref.ref(model)
        # For all modules: a hook in the model itself would be copied and pickled with it.
        handles = [torch.nn.modules.module.register_module_forward_pre_hook(self._before_forward)]
        register = getattr(importlib.import_module("torch.optim.optimizer"), "register_optimizer_step_pre_hook", None)
        if register is not None:
            handles.append(register(lambda *_: self.end()))
        self.attached = handles
        return self

    def detach(self):
        self.end()
        for handle in self.attached or []:
            handle.remove()
        self.attached = None
        return self

    def _before_forward(self, module, _):
        if module is self.model() and module.training and torch.is_grad_enabled() and not in_backward():
            self.begin()

    def report(self):
        return self.account.text()


def apply(plan, on_deviation="offload", device=None, count=False):
    """A carrier for a plan file, or for the dict in one. PlanError: the plan cannot be carried out here."""
    if on_deviation not in POLICIES:
        raise ValueError("on_deviation: expected one of %s" % ", ".join(POLICIES))
    where = "the plan"
    if isinstance(plan, (str, os.PathLike)):
        where = str(plan)
        try:
            with open(plan) as file:
                plan = json.load(file)
        except ValueError as mistake:
            raise PlanError("%s: no JSON: %s" % (where, mistake))
    return Carrier(CarriedPlan(plan, where), on_deviation, device, count)


def slab_of(size, pinned):
    try:
        return Slab(size, pinned)
    except RuntimeError:
        raise PlanError("the plan swaps through %.1f GB of host memory, which cannot be had: plan with less (host: memory of "
                        "the machine), or with swap off" % (size / 1e9))


def as_tensor(result, function):
    """PyTorch 1.13 wraps numbers, and `detach` then returns the number itself to autograd, which wants a tensor."""
    if isinstance(result, (bool, int, float)) and function is torch.ops.aten.detach.default:
        return torch.scalar_tensor(result, dtype=torch.float64)
    return result


def in_backward():
    """Whether autograd runs a backward on this thread. PyTorch 1.13 has no number of the graph task: there autograd's queue
    of callbacks says so, which takes none outside a backward."""
    if not LACKS["graph_task"]:
        return torch._C._current_graph_task_id() != -1
    try:
        torch.autograd.Variable._execution_engine.queue_callback(lambda: None)
        return True
    except RuntimeError:
        return False


def distinct(tensors):
    """One tensor of each storage."""
    found = {}
    for tensor in tensors:
        found.setdefault(untyped_of(tensor)._cdata, tensor)
    return list(found.values())
