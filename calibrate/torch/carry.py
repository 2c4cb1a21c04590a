"""The carrier: a plan of `spillway plan STEP.json --for torch` carried out in a training loop that nobody edits.

    carrier = apply("plan.json").attach(model)          # one line; detach() undoes it
    # or: with carrier: loss = model(batch); loss.backward()
    # or: carrier.begin() ... carrier.end()             # from callbacks; both harmless when repeated
    print(carrier.report())

A dispatch mode sees each call and finds its place in the recording; saved-tensor hooks give autograd tickets in place of
tensors that the plan moves. What the plan frees comes back from the host, or by running this step's own calls again with
their random state. So results are those of plain training, also in steps that deviate: a deviation costs memory.
"""
import json
import os

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from carry_attach import Attaching, current_mode, in_backward, leave_modes
from carry_buffers import Kept, Ticket, version_of
from carry_calls import Signature, flat
from carry_copies import Copies, Slab, StreamedCopies
from carry_making import Making
from carry_match import Matcher
from carry_plan import CarriedPlan, PlanError
from carry_report import Report
from carry_storage import has_storage, overwritten_error, untyped_of
from carry_store import Store

BIG = 1 << 20  # bytes from which a saved tensor goes to the host after the track is lost
POLICIES = ("offload", "keep", "error")


class Deviation(RuntimeError):
    """on_deviation="error": the step left the recording."""


class Carrier(Attaching, Making, TorchDispatchMode):
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
        self.catches = bool(plan.moved)
        self.backward_seen, self.below = False, None
        self.model = lambda: None
        self._fresh()

    # Contexts.

    def _fresh(self):
        self.store = Store(self.copies, not self.plan.unseen, self.account.ran_again)
        self.names = {}  # by first name: the Buffer
        self.buffers = {}  # of the call that runs, by id of the tensor
        self.numbers = {}  # by storage address: tensors that stand for plain numbers
        self.done = 0    # lists of actions that have run
        self.matcher.restart()

    def begin(self):
        if self.open:
            self.end()
        self._fresh()
        self.backward_seen = False
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, self._unpack)
        self.hooks.__enter__()
        self.below = current_mode()
        try:
            TorchDispatchMode.__enter__(self)
        except BaseException:
            self.hooks.__exit__(None, None, None)
            raise
        self.open = True
        self.account.begin()
        return self

    def end(self):
        if not self.open:
            return
        self.open = False
        try:
            leave_modes(self, self.below)
        finally:
            self.hooks.__exit__(None, None, None)
            try:
                self.store.close()
            finally:
                self.account.end(self.matcher, self.store)

    def __enter__(self):
        return self.begin()

    def __exit__(self, *_):
        self.end()

    # Every call.

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        signature = Signature.of(function)
        if self.inside or signature.noise or (self.matcher.at_end and self._over()):
            return as_tensor(function(*args, **kwargs), function)
        if self.done <= self.matcher.clock:
            self._act()
        read, operands, opaque = self._read(flat(args, kwargs))
        if signature.detaches:
            return self._detached(function, args)
        written = signature.written(args, kwargs)
        caught = self._catch(function, signature, args, kwargs, operands, written)
        result = as_tensor(function(*args, **kwargs), function)
        self._made(signature, read, operands, written, result, caught, opaque)
        return result

    def _read(self, tensors):
        """Those that a call reads and we follow, their Buffers, filled; and whether there are others."""
        read, operands, opaque = [], [], False
        self.buffers = {}
        for tensor in tensors:
            if not has_storage(tensor):
                opaque = True
            elif not self.numbers or untyped_of(tensor)._cdata not in self.numbers:
                buffer = self.store.find(tensor)
                if buffer.away or buffer.arrives is not None:
                    self.store.storage_of(buffer)
                read.append(tensor)
                operands.append(buffer)
                self.buffers[id(tensor)] = buffer
        return read, operands, opaque

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

    def _place(self, name, read, operands, buffers):
        """Finds the call in the recording, and names what it read and made."""
        dims = [tensor.dim() for tensor in read]
        backward = in_backward()
        self.backward_seen = self.backward_seen or backward
        index = self.matcher.match(name, backward, operands, len(buffers), dims)
        if index is None:
            for buffer in buffers:
                buffer.name, buffer.extra = None, not buffer.outer
            self.account.extra(name, self.matcher)
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
            self.copies.left(buffer.host)  # the loop may let go at once, and the copy still reads
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

    def report(self, path=None):
        """What happened, as text. With a path also as JSON, for `spillway validate --torch`."""
        if path is not None:
            self.account.write(path)
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
