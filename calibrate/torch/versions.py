"""What PyTorch 1.13 to 2.15 lack or call otherwise: the one place that asks which version runs."""
import inspect

import torch
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: F401  absent before 1.13: this line says so

# By name: there, or what takes its place.
LACKS = {
    # 1.13: a typed storage stands for the bytes.
    "untyped_storage": not hasattr(torch.Tensor, "untyped_storage"),
    # 1.13: no number of the running backward. The sign there: `running_backward` below, which wraps
    # torch.autograd.backward and torch.autograd.grad for as long as a step is recorded.
    "graph_task": not hasattr(torch._C, "_current_graph_task_id"),
    # 1.13: nothing shows the hooks for saved tensors that are on. So a context takes off the topmost.
    "shown_hooks": not hasattr(torch._C._autograd, "_top_saved_tensors_default_hooks"),
    # 1.13: a fake mode refuses every real tensor, and gives the profiler's marks an argument too many.
    "real_beside_fake": tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 0),
}


def fake_mode():
    """A mode under which tensors have shapes and no memory. ImportError: this PyTorch has none."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    known = inspect.signature(FakeTensorMode.__init__).parameters
    wanted = {"allow_non_fake_inputs": True, "throw_on_data_dependent_ops": True}
    return FakeTensorMode(**{name: value for name, value in wanted.items() if name in known})


def without_modes():
    """A context in which calls run as they are, whatever modes are on."""
    from torch.utils._mode_utils import no_dispatch
    return no_dispatch()


CURRENT_NODE = getattr(torch._C, "_current_autograd_node", None)  # 1.13: nothing tells the node that runs
NO_MARK = torch.ops.profiler._record_function_enter("recorded", None) if LACKS["real_beside_fake"] else None


def noise(function, args, kwargs):
    """Carries out a call that says nothing of the step."""
    if LACKS["real_beside_fake"] and function.namespace == "profiler":
        return NO_MARK if function._schema.returns else None
    return function(*args, **kwargs)


def storage_of(tensor):
    """The bytes under a tensor, whatever its type."""
    return tensor.storage() if LACKS["untyped_storage"] else tensor.untyped_storage()


class running_backward:
    """Tells calls of backward from all others: `inside()`. A context, since PyTorch 1.13 needs a wrapper.

    There is one wrapper for all contexts, which may end in any order: it is there while somebody is inside of one.
    """

    _users, _plain, _ours = [], {}, {}

    def __init__(self):
        self._depth = 0

    if LACKS["graph_task"]:
        def inside(self):
            return self._depth > 0
    else:
        @staticmethod
        def inside(task=torch._C._current_graph_task_id):
            return task() != -1

    @classmethod
    def _wrapped(cls, plain):
        def counted(*args, **kwargs):
            users = list(cls._users)
            for each in users:
                each._depth += 1
            try:
                return plain(*args, **kwargs)
            finally:
                for each in users:
                    each._depth -= 1
        return counted

    def __enter__(self):
        if LACKS["graph_task"]:
            self._users.append(self)
            for name in ("backward", "grad"):
                if name not in self._plain:
                    self._plain[name] = getattr(torch.autograd, name)
                    self._ours[name] = self._wrapped(self._plain[name])
                    setattr(torch.autograd, name, self._ours[name])
        return self

    def __exit__(self, *error):
        if self in self._users:
            self._users.remove(self)
        for name in [] if self._users else list(self._plain):
            if getattr(torch.autograd, name) is self._ours[name]:  # else somebody wrapped ours: it stays
                setattr(torch.autograd, name, self._plain.pop(name))
