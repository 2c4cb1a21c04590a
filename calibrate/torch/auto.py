"""`auto(model, memory="11 GB")`: watches the loop that runs, plans its step, and carries the plan out, in one line.

The plan is kept in the user's cache folder, so that a second run of the same loop starts with it. Its first context then
shows whether the calls are still those; if not, the loop is watched again.
"""
import contextlib
import sys
import weakref

import torch

from auto_cache import CachedPlan
from auto_facts import facts_of, keywords_of_call, where_trained
from auto_watch import PassingWatcher
from auto_words import declined, first_line, found, in_core_facts, moves
from carry import Carrier, apply
from carry_attach import in_backward
from mistakes import check_modules

HUGE = "1000000 GB"  # a card that holds any step: for its peak in core
ALIKE_SHARE = 0.9    # of the calls up to where the first context ended: so many are those of the cached plan


class Auto:
    """`phase`: waiting, watching, planning, carrying, or plain, where no plan is carried out. `said`: its sentences."""

    def __init__(self, model, asked, device, kinds, spillway):
        self.model, self.name, self.asked, self.kinds = weakref.ref(model), type(model).__name__, asked, kinds
        self.device, self.spillway = device, spillway
        self.phase, self.said, self.inner = "waiting", [], None
        self.cached, self.unkept = None, None  # CachedPlan; else why there is none
        # For all modules: a hook in the model itself would be copied and pickled with it.
        self.handles = [torch.nn.modules.module.register_module_forward_pre_hook(self._first_forward)]

    def detach(self):
        """Takes everything off; training goes on plainly."""
        self._unhook()
        inner, self.inner = self.inner, None
        if inner is not None:
            inner.detach()
        self.phase = "plain"
        return self

    def report(self, path=None):
        """What was said, and what the carrier counts."""
        if isinstance(self.inner, Carrier):
            return "\n".join(self.said + [self.inner.report(path)])
        return "\n".join(self.said)

    def _say(self, text):
        self.said.append(text)
        print("Spillway: " + text, file=sys.stderr)

    def _unhook(self):
        handles, self.handles = self.handles, []
        for handle in handles:
            handle.remove()

    # Phases.

    def _first_forward(self, module, args):
        if module is not self.model() or not module.training or not torch.is_grad_enabled() or in_backward():
            return
        kwargs = keywords_of_call(module)
        self._unhook()
        with self._going_on():
            self.device = self.device or where_trained(module)
            kept = self._look_up(module, args, kwargs)
            if kept is None or not self._carry(*kept, cached=True):
                self._watch()

    def _look_up(self, module, args, kwargs):
        """What is kept of this loop. Where the loop cannot be described, nothing is, and the loop is watched."""
        try:
            facts = facts_of(module, args, kwargs, self.device, self.asked)
            if kwargs is None or not facts["batch"]:
                raise ValueError("no batch is seen among the model's arguments")
            self.cached = CachedPlan(facts)
        except Exception as error:
            self.unkept = "the loop cannot be described (%s)" % first_line(error)
            return None
        return self.cached.load()

    @contextlib.contextmanager
    def _going_on(self):
        """Whatever fails inside is said, and training goes on without a plan; who interrupts it ends it."""
        try:
            yield
        except Exception as error:
            self.detach()
            self._say(declined(self.name, self.asked["memory"], error))
        except BaseException as error:
            was = self.phase
            self.detach()
            self._say("interrupted while %s (%s): training goes on without a plan" % (was, type(error).__name__))
            raise

    def _watch(self):
        self.phase, self.inner = "watching", PassingWatcher(self.device, self.kinds, self._plan, self._going_on)
        self._begin_with(self.inner)

    def _begin_with(self, inner):
        """Its hooks come too late for the forward that begins now."""
        inner.attach(self.model())
        inner._before_forward(self.model(), ())

    def _plan(self, step):
        self.phase, self.inner = "planning", None
        plan = self.spillway.plan(step, **self.asked).content
        whole = self.spillway.plan(step, HUGE, strategy="in-core").content if moves(plan) else plan
        in_core = in_core_facts(whole, step)
        self._keep(plan, in_core)
        self._carry(plan, in_core)

    def _keep(self, plan, in_core):
        try:
            if self.cached is not None:
                self.cached.store(plan, in_core)
        except OSError as error:
            self.unkept = "%s cannot be written (%s)" % (self.cached.path, error.strerror)
        if self.unkept is not None:
            self._say("the plan is not kept, since %s: the next run plans again" % self.unkept)

    def _carry(self, plan, in_core, cached=False):
        """False: a cached plan that is none of this network."""
        self.phase = "carrying"
        try:
            sentence = found(self.name, plan, in_core, self.asked["memory"], cached)
            if moves(plan):
                self.inner = apply(plan, device=self.device)
                self._begin_with(self.inner)
        except Exception:  # of a cached plan: whatever its file holds
            inner, self.inner = self.inner, None
            if inner is not None:
                inner.detach()
            if not cached:
                raise
            self.cached.forget()
            return False
        self._say(sentence)
        if self.inner is None:
            self.phase = "plain"
        elif cached:
            self.handles = [torch.nn.modules.module.register_module_forward_pre_hook(self._second_forward)]
        return True

    def _second_forward(self, module, _):
        """Of a cached plan: whether its first context made the plan's calls."""
        if module is not self.model() or not module.training or not torch.is_grad_enabled() or in_backward():
            return
        if not self.inner.account.contexts:
            return  # the first context goes on
        self._unhook()
        context = self.inner.account.contexts[0]
        if context["lost_at"] is None and context["matched"] and context["matched"] >= ALIKE_SHARE * context["clock"]:
            return
        with self._going_on():
            self.inner.detach()
            self.inner.model = lambda: None  # its hook is still to be called at this forward
            self.cached.forget()
            self._say("%s: the calls are not those of the cached plan: the loop is watched again" % self.name)
            self._watch()


def auto(model, memory, strategy="best", link=None, margin=None, device=None, kinds=1):
    """Watches the loop that trains `model`, plans for a card of so much memory, and carries the plan out.

    `memory`: "11 GB", or bytes as a number. `strategy`, `link` and `margin` go to `spillway.plan`. `kinds`: at least so many
    kinds of step are watched. A sentence on standard error says what was found. SpillwayError: an argument is wrong, or there
    is no program, or one of another version. RecordError: the network is compiled or lies on several devices.
    """
    try:
        import spillway
        planner = spillway.planning
    except (ImportError, AttributeError):
        raise RuntimeError("auto: the package spillway is not installed, and with it the program that plans: install its wheel")
    check_modules([model])
    size = planner.check(memory, strategy, margin=margin, link=link)
    if not isinstance(kinds, int) or kinds < 1:
        raise spillway.SpillwayError("kinds: expected a whole number from 1 on, found %r" % (kinds,))
    where = torch.device(device) if device else None  # where the first forward finds it
    asked = {"memory": size, "strategy": strategy, "link": link, "margin": margin}
    return Auto(model, asked, where, kinds, spillway)
