"""What stands in a plan's way, found in the first context and said once, with the remedy: no numbers depend on it.

Compiled networks, DataParallel and its like, hooks of others for saved tensors, a backward in another thread, a step
that leaves the recording, the end of memory.
"""
import os
import sys

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

HERE = __file__
LIBRARY = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep  # torchvision is none of it
top_hooks = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", lambda tracing: None)

# By class of an object in whose method a call is made.
CONTAINERS = {
    "DataParallel": "DataParallel spreads the step over devices, whose calls are not seen: use the network inside, .module, and "
                    "show one GPU (CUDA_VISIBLE_DEVICES=0)",
    "DistributedDataParallel": "DistributedDataParallel adds buckets and reductions that no plan knows: use the network inside, "
                               ".module, in one process",
    "FullyShardedDataParallel": "FullyShardedDataParallel moves parameters itself: use the network without it, in one process",
    "FSDPState": "fully_shard moves parameters itself: use the network without it, in one process",
    "OptimizeContext": "torch.compile runs uncompiled under a plan, with the same numbers: compare the planned step with the "
                       "compiled one before you keep the plan, and take torch.compile out where a plan stays",
}


class Notices:
    """Of one carrier. `say` takes a text; what was said before is not said again."""

    def __init__(self, carrier, say):
        self.carrier, self.say = carrier, say
        self.looking, self.threads = True, True
        self.kinds = set()
        self.hooks = (carrier._pack, carrier._unpack)

    def look(self):
        """In the first context, at each call of forward: who makes it, and whose hooks autograd asks."""
        frame = sys._getframe(1)
        while frame is not None:
            kind = type(frame.f_locals.get("self")).__name__ if frame.f_code.co_filename.startswith(LIBRARY) else None
            if kind in CONTAINERS and kind not in self.kinds:
                self.kinds.add(kind)
                self.say("%s (%s)" % (CONTAINERS[kind], place_of_user()))
            frame = frame.f_back
        hooks = top_hooks(False)
        if hooks is not None and hooks[0] != self.hooks[0]:
            self._other_hooks(hooks[0])

    def _other_hooks(self, pack):
        owner = getattr(pack, "__qualname__", type(pack).__name__).split(".<")[0].replace(".__init__", "")
        name = "%s.%s" % (getattr(pack, "__module__", ""), owner)
        if name not in self.kinds:
            self.kinds.add(name)
            self.say("hooks of %s take what autograd saves inside of them, which the plan cannot move: leave them out, the plan "
                     "chooses what is offloaded or run again; or record with them (%s)" % (name, place_of_user()))

    def unpacked(self):
        """In the first unpack of a context that is open."""
        self.threads = False
        if not any(mode is self.carrier for mode in _get_current_dispatch_mode_stack()):
            self.say("backward runs in another thread, whose calls are not seen: call backward() in the thread that runs forward")

    def another(self):
        """Another carrier or watcher is open."""
        if "another" not in self.kinds:
            self.kinds.add("another")
            self.say("another carrier or watcher is open, so this one carries out no plan: use one at a time, detach() or end() the "
                     "other (%s)" % place_of_user())

    def lost(self, plan, index):
        """The track is lost before call `index`."""
        if "lost" in self.kinds:
            return
        self.kinds.add("lost")
        call = plan.calls[min(index, len(plan.calls) - 1)]
        module = next((node["module"] for node in reversed(plan.nodes[:index + 1]) if node.get("module")), None)
        policy = {"offload": "saved tensors of 1 MiB and more go to the host from here on", "keep": "saved tensors stay",
                  "error": "the step ends"}[self.carrier.policy]
        self.say("the step left the recording before its call '%s'%s, and %s: record the step that runs here, with this network, "
                 "loss and mode (%s)" % (call.id, " in module '%s'" % module if module else "", policy, place_of_user()))

    def out_of_memory(self, error, counted):
        """Puts one sentence behind the message of an error that says that memory ended."""
        if not is_out_of_memory(error) or getattr(error, "spillway", False):
            return
        error.spillway = True
        plan, clock = self.carrier.plan, min(self.carrier.matcher.clock, len(self.carrier.plan.calls) - 1)
        cap = next_cap(plan, clock, counted)
        text = ("Spillway: memory ended at call '%s', with %.3g GB of tensors alive where the plan has %.3g of its %.3g: plan again "
                "for %.3g GB, with --memory %.0f %% of what it was" % (
                    plan.calls[clock].id, counted / 1e9, (plan.live[clock] if clock < len(plan.live) else plan.peak) / 1e9,
                    plan.cap / 1e9, cap / 1e9, 100 * cap / plan.cap))
        error.args = ("%s\n%s" % (error.args[0] if error.args else "", text),) + tuple(error.args[1:])
        self.say(text)


def is_out_of_memory(error):
    kinds = (MemoryError,) + tuple(kind for kind in (getattr(torch, "OutOfMemoryError", None),
                                                     getattr(torch.cuda, "OutOfMemoryError", None)) if kind)
    return isinstance(error, kinds) or "can't allocate memory" in str(error) or "out of memory" in str(error)


def next_cap(plan, clock, counted):
    """What is alive fits; a plan for that much, less what lives beside the plan, fits too. Below the last cap in any case."""
    predicted = plan.live[clock] if clock < len(plan.live) else plan.peak
    beside = max(0, counted - predicted)
    fits = counted - beside
    return int(fits) if 0 < fits < plan.cap * 0.98 else int(plan.cap * 0.9)


def place_of_user():
    """File and line of the innermost frame that is neither PyTorch's nor ours."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not (name == HERE or name.startswith((LIBRARY, "<"))) or frame.f_back is None:
            return "%s:%d" % (name, frame.f_lineno)
        frame = frame.f_back
    return "no Python"
