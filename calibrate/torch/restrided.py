"""Views that a step of fakes changes in place, with the calls that backward makes for real ones.

After a write into a view autograd makes its history anew. For real tensors that is one by strides, whose backward copies
the gradient into new memory; for fakes it is the view itself, which copies nothing. Here the latter makes the former's calls.
"""
import weakref

import torch
from torch.nn.modules import module as hooks_of_all

from calls import written_by


def reach(tensor):
    """Elements from the storage's begin to the tensor's last."""
    return tensor.storage_offset() + 1 + sum((length - 1) * step for length, step in zip(tensor.shape, tensor.stride()))


class Restrided:
    """A context around a step of fakes. `see` is told of each call; at each module's end the history is known."""

    def __init__(self):
        self._written = []

    def see(self, function, args, kwargs):
        self._written += [weakref.ref(tensor) for tensor in written_by(function, args, kwargs) if tensor.numel()]

    def __enter__(self):
        self._handle = hooks_of_all.register_module_forward_hook(lambda *_: self._follow())
        return self

    def __exit__(self, *error):
        self._handle.remove()

    def _follow(self):
        written, self._written = self._written, []
        for tensor in {id(each()): each() for each in written if each() is not None}.values():
            node = tensor.grad_fn if tensor._is_view() else None
            if node is not None and hasattr(node, "register_prehook") and "AsStrided" not in node.name():
                node.register_prehook(copying(tensor))


def copying(view):
    """The hook before a history's backward. It holds no tensor."""
    shape, stride, begin = tuple(view.shape), tuple(view.stride()), min(view.storage_offset(), view._base.storage_offset())
    offset, count = view.storage_offset() - begin, max(reach(view), reach(view._base)) - begin
    aten = torch.ops.aten

    def copied(gradients):
        if gradients[0] is None:
            return None
        memory = aten.new_zeros(gradients[0], [count])
        placed = aten.as_strided(memory, shape, stride, offset)
        aten.copy_(placed, gradients[0])
        return (placed,) + tuple(gradients[1:])
    return copied
