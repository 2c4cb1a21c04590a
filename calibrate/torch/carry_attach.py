"""A carrier in other people's loops: opened and closed by hooks of PyTorch, and taken off whatever stack it is on."""
import importlib
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from carry_notice import top_hooks
from versions import LACKS


ATTACHED = weakref.WeakKeyDictionary()  # by model: the one carrier, watcher or `auto` that is attached to it


def takes_over(model, new):
    """`new` is attached to the model: what was attached before is detached."""
    earlier = ATTACHED.pop(model, None)
    if earlier is not None and earlier is not new:
        earlier.detach()
    ATTACHED[model] = new


def lets_go(model, attached):
    if model is not None and ATTACHED.get(model) is attached:
        del ATTACHED[model]


class Attaching:
    """The part of a carrier that a model's own calls open and close."""

    moves = True  # whether it empties storages, or runs calls again

    def _other(self):
        """Another that is open on this thread: of two that move bytes, each would change them behind the other's back."""
        for mode in torch.utils._python_dispatch._get_current_dispatch_mode_stack():
            if isinstance(mode, Attaching) and mode is not self and (mode.moves or self.moves):
                return mode
        return None

    def _is_alone(self):
        """Another attached one that waits for its next forward ends here. False: one goes on, and this one stays out."""
        other = self._other()
        if other is not None and other.attached and (other.backward_seen or not other.store.awaited()):
            other.end()
            other = self._other()
        return other is None

    def _stays_out(self):
        """The context does nothing, and says so once."""
        self.notices.another()

    def attach(self, model):
        """Opens at each forward in training, closes before the optimizer's step or at the next forward after backward."""
        self.detach()
        takes_over(model, self)
        self.model = weakref.ref(model)
        # For all modules: a hook in the model itself would be copied and pickled with it.
        handles = [torch.nn.modules.module.register_module_forward_pre_hook(self._before_forward)]
        register = getattr(importlib.import_module("torch.optim.optimizer"), "register_optimizer_step_pre_hook", None)
        if register is not None:
            handles.append(register(self._optimizer_steps))
        self.attached = handles
        return self

    def _optimizer_steps(self, *_):
        if not in_backward():  # a step for one parameter, in a hook of its gradient, is a part of backward
            self.end()

    def detach(self):
        self.end()
        for handle in self.attached or []:
            handle.remove()
        self.attached = None
        lets_go(self.model(), self)
        return self

    def _before_forward(self, module, _):
        if module is self.model() and module.training and torch.is_grad_enabled() and not in_backward():
            if not self.open or self.backward_seen or not self.store.awaited():
                self.begin()


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


def current_mode():
    return torch.utils._python_dispatch._get_current_dispatch_mode()


def leave_modes(mode, below):
    """Takes the mode off the stack, also from under modes that the loop entered later.

    If it is not there, then the one `below` it has left since, and has taken off the top of the stack in its own place.
    """
    stack = torch.utils._python_dispatch._get_current_dispatch_mode_stack()
    leaving = mode if any(each is mode for each in stack) else below
    if leaving is None or not any(each is leaving for each in stack):
        return
    above = []
    while current_mode() is not leaving:
        above.append(torch.utils._python_dispatch._pop_mode())
    TorchDispatchMode.__exit__(mode, None, None, None)
    for each in reversed(above):
        torch.utils._python_dispatch._push_mode(each)


def leave_hooks(hooks, below):
    """Takes the pair of hooks for saved tensors off, also from under pairs that the loop pushed later.

    If it is not there, then the pair `below` it has left since, and has popped ours in its own place.
    """
    taken, ours = [], False
    while not ours and top_hooks(True) is not None:
        taken.append(top_hooks(True))
        torch._C._autograd._pop_saved_tensors_default_hooks()
        ours = taken[-1][0] is hooks.pack_hook
    if ours:
        taken.pop()
    elif LACKS["shown_hooks"]:
        hooks.__exit__(None, None, None)
    elif below is not None:
        leaving = next((place for place, pair in enumerate(taken) if pair[0] is below[0]), None)
        taken = [pair for place, pair in enumerate(taken) if place != leaving]
    for pair in reversed(taken):
        torch._C._autograd._push_saved_tensors_default_hooks(*pair)
