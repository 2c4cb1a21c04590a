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

from carry_buffers import Ticket, kept
from carry_calls import Signature
from carry_fit import check_model, copies_for
from carry_follow import BIG, as_tensor, trained_leaf
from carry_kinds import Kinds, away_at, pinned_at
from carry_match import LOST
from carry_next import NextCall
from carry_notice import Notices
from carry_plan import PlanError, plans_of
from carry_report import Report, counted
from carry_storage import FOLLOWED, SORTS, Place, has_storage, key_of, sort_of

POLICIES = ("offload", "keep", "error")


class Deviation(RuntimeError):
    """on_deviation="error": the step left the recording."""


class Carrier(NextCall):
    def __init__(self, plans, on_deviation="offload", device=None, count=False):
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.plans, self.kinds, self.policy = plans, Kinds(plans), on_deviation
        self.account = Report(plans, count)
        unseen = any(plan.unseen for plan in plans)
        super().__init__(copies_for(self.device, max(plan.host_bytes for plan in plans)), not unseen, self.account.ran_again)
        self.first_calls = {plan.calls[0].op for plan in plans if plan.calls}
        self.notices = Notices(self, self.account.say)

    # Pieces.

    def _fresh(self):
        super()._fresh()
        self.names = {}  # by first name: the Buffer
        self.graded = False  # whether a call was matched that ran with gradients
        self.kinds.restart()
        self._kind_is(0)

    def _kind_is(self, index):
        """Of the kind that counts from call `index` on, and of those that may still come."""
        self.plan, self.matcher = self.kinds.plan, self.kinds.matcher
        self.due = self.plan.due[index]  # the call before which the next actions stand
        likely = [self.plan] + [self.plans[other] for other in self.kinds.others]
        self.moved = set().union(*(plan.moved for plan in likely))
        self.again = set().union(*(plan.again for plan in likely))

    def _piece_begins(self):
        self.account.begin()

    def _piece_ends(self):
        if self.backward_seen:
            self.notices.looking = False
        self.account.end(self.kinds, self.store)

    def attach(self, model):
        """PlanError: the network is not the one of the recording, or lies on several devices."""
        check_model(model, self.plans[0])
        return super().attach(model)

    # Every call.

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        signature = Signature.ALL.get(id(function)) or Signature.of(function)
        if self.inside or signature.noise:
            return as_tensor(function(*args, **kwargs), function)
        if self.notices.looking and not self.backward_seen:
            self.notices.look()
        if (self.backward_seen or not self.begun) and self._may_pass() and self._passes(signature, args, kwargs):
            return as_tensor(function(*args, **kwargs), function)
        if signature.views and not self.store.gone:  # no bytes are read, and none are missing
            return self._detached(function, args) if signature.detaches else function(*args, **kwargs)
        try:
            if self.due <= self.matcher.clock and not signature.views:  # a node that is still at it views its last result
                self._act()
            read, operands, opaque = self._operands(signature, args, kwargs)
            if signature.detaches:
                return self._detached(function, args)
            written, caught = (), None
            if signature.changes or self.store.taken or (self.again and self._may_run_again(signature.name)):
                written = signature.written(args, kwargs)
                caught = self._catch(function, signature, args, kwargs, operands, written)
            result = function(*args, **kwargs)
        except (RuntimeError, MemoryError) as error:
            self.notices.out_of_memory(error, counted(self.store))
            raise
        self._made(signature, read, operands, written, result, caught, opaque)
        return result

    def _may_run_again(self, name):
        """Whether some plan runs the next recorded call again. A call that is another one may be any."""
        calls, clock = self.plan.calls, self.matcher.clock
        return clock in self.again if clock < len(calls) and calls[clock].op == name else bool(self.again)

    def _may_pass(self):
        """In the middle of backward nothing does."""
        return not self.begun or self.matcher.clock > self.matcher.last or torch.is_grad_enabled()

    def _passes(self, signature, args, kwargs):
        """Calls before forward, and after the plan's last action (an optimizer, a log), are none of ours."""
        if torch.is_grad_enabled() and not signature.detaches and not self.phase.inside():
            if trained_leaf(signature.tensors(args, kwargs)):
                self._forward_call()
        if not self.begun:
            self.begun = signature.name in self.first_calls or bool(self.store.by_key) or self.phase.inside()
            return not self.begun
        if self.matcher.clock <= self.matcher.last or not self._over():
            return False
        for tensor in signature.written(args, kwargs):
            buffer = self.store.known(tensor)
            if buffer is not None and not (buffer.outer and buffer.tickets == 0):  # a kept graph's backward must see the write
                self.store.before_write(buffer, Place(tensor))
        return True

    def _over(self):
        """All that the plan does before some call is done, and nothing is away."""
        return self.due >= len(self.plan.calls) and not self.kinds.others and not self.store.absent()

    def _place(self, signature, read, operands, buffers):
        """Finds the call in the recording, and names what it read and made."""
        backward = self.phase.inside()
        if backward:
            self.backward_seen = True
        matcher, name, made = self.matcher, signature.name, len(buffers)
        if not self.kinds.others and matcher.is_next(name, operands, made, read):
            index = matcher.went_on(matcher.clock)
        else:
            index = self.kinds.match(name, backward, operands, made, read)
        if not self.graded and (backward or torch.is_grad_enabled()):
            index = self._begins_here(name, operands, made, read) if index is None else index
            self.graded = index is not None
        if index is None:
            return self._extra(name, buffers)
        if self.matcher is not self.kinds.matcher:
            self._another_kind(index)
        call = self.plan.calls[index]
        for buffer, dep in zip(operands, call.deps):
            if buffer.name is None:
                self._name(buffer, dep)
        for buffer, (name, _) in zip(buffers, call.results):
            self._name(buffer, name)
        if self.account.count:
            self.account.called(index, self.store)

    def _extra(self, name, buffers):
        for buffer in buffers:
            buffer.name, buffer.extra = None, not buffer.outer
        self.account.extra(name, self.store)
        if self.matcher.lost_at is not None:
            self.notices.lost(self.plan, self.matcher.lost_at)
        if self.matcher.lost and self.policy == "error":
            raise Deviation("Spillway: the step left the recording before its call '%s'"
                            % self.plan.calls[min(self.matcher.lost_at, len(self.plan.calls) - 1)].id)

    def _begins_here(self, name, operands, results, read):
        """The index of a call that begins the step. What was matched before it ran without gradients: an evaluation, say."""
        matcher, clock = self.kinds.matchers[0], self.matcher.clock
        found = matcher.find_at(0, name, False, operands, results, read)
        if found is None or not clock:
            matcher.clock = clock
            return None
        extra = self.matcher.extra + self.matcher.matched
        for buffer in self.store.by_key.values():
            if not buffer.outer:
                buffer.name, buffer.base, buffer.extra, buffer.pinned = None, None, True, False
                buffer.let_go()
        self.names = {buffer.base: buffer for buffer in self.store.by_key.values() if buffer.base is not None}
        self.kinds.restart()
        self._kind_is(0)
        self.matcher.extra = extra
        return self.kinds.match(name, False, operands, results, read)

    def _name(self, buffer, name):
        buffer.name, buffer.extra = name, False
        if buffer.base is None:
            buffer.base = name
            self.names[name] = buffer
        elif buffer.makers:
            buffer.stages = (*buffer.stages, (name, len(buffer.makers)))
        if buffer.base in self.plan.held and not buffer.outer and buffer.hold is None:
            buffer.pinned, buffer.hold = True, buffer.storage()

    # The plan.

    def _another_kind(self, index):
        """Its plan goes on from call `index`: first it holds what it needs, and lets go of what it has away by then."""
        self._kind_is(index + 1)
        pinned = pinned_at(self.plan, index)
        for name, buffer in list(self.names.items()):
            buffer.pinned = name in pinned and not buffer.outer and buffer.storage() is not None
            if buffer.pinned:
                buffer.hold = buffer.storage()
            buffer.let_go()
        for name, copied in away_at(self.plan, index).items():
            if copied:
                self._do("out", name)
            self._do("leave", name)

    def _act(self):
        """Actions up to the next recorded call; none while the track is lost."""
        if self.matcher.lost:
            return
        while self.due <= self.matcher.clock:
            for kind, target in self.plan.before[self.due]:
                self._do(kind, target)
            self.due = self.plan.due[self.due + 1]

    def _do(self, kind, target):
        if kind == "again":
            return self._again(self.plan.calls[self.plan.index[target]])
        buffer = self.names.get(target)
        if buffer is None or buffer.outer:
            return  # its maker was missing, or the user's own loop holds it
        if kind == "out":
            self.store.out(buffer)
        elif kind == "in":
            if buffer.missed():
                self.store.bring(buffer, True)
        elif kind == "leave":
            self.store.leave(buffer)
        else:
            buffer.pinned = False
            buffer.let_go()

    def _again(self, call):
        """The call's results come back together: all are wanted before the first is made. What died may be read by a later one."""
        wanted = []
        for name, _ in call.results:
            buffer = self.names.get(self.plan.root[name])
            if buffer is None or buffer.outer or buffer.storage() is not None:
                continue
            stage = dict(buffer.stages).get(name, 1)
            if buffer.missed() or self.store.can_make(buffer, stage):
                wanted.append((buffer, stage))
                buffer.pinned = True
        for buffer, stage in wanted:
            if buffer.storage() is None:
                self.account.again += 1
                self.store.make_up_to(buffer, stage)

    # What autograd saves.

    def _pack(self, tensor):
        if (SORTS.get(type(tensor)) or sort_of(type(tensor))) != FOLLOWED or tensor.layout is not torch.strided:
            return kept(tensor, False)
        buffer, matcher = self.store.by_key.get(key_of(tensor)), self.matcher
        if not matcher.saves:
            matcher.packed(buffer and buffer.name)
        if buffer is None or buffer.outer:
            return kept(tensor, False)
        if buffer.base in self.moved and has_storage(tensor):
            return Ticket(buffer, tensor)
        if matcher.row >= LOST and matcher.lost and self.policy == "offload" and buffer.nbytes >= BIG and has_storage(tensor):
            ticket = self._offloaded(buffer, tensor)
            self.account.offloaded += buffer.nbytes if buffer.host is not None else 0
            return ticket
        return kept(tensor, True)

    def _before_unpack(self):
        if self.notices.threads:
            self.notices.unpacked()
        self._act()  # what the plan does before the node's first call comes first

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
    return Carrier(plans_of(plan, where), on_deviation, device, count)
