"""Leaves the user's objects bit for bit as they were: a context that remembers and puts back, after an error as well."""
import copy
import random
import sys

import torch


def copied(tensor):
    """The bits, kept where memory is not short."""
    return tensor.detach().to("cpu", copy=True) if tensor.device.type != "meta" else None


class Contents:
    """One tensor's bits, and how to put them back into the same memory."""

    def __init__(self, tensor):
        self.tensor, self.bits = tensor, copied(tensor)

    def put_back(self):
        if self.bits is not None:
            with torch.no_grad():
                self.tensor.copy_(self.bits)


def plain_copy(value):
    """Numbers, texts and containers of them; other objects stay themselves."""
    if isinstance(value, dict):
        made = copy.copy(value)
        made.clear()
        made.update((key, plain_copy(part)) for key, part in value.items())
        return made
    if isinstance(value, (list, tuple, set)) and type(value) in (list, tuple, set):
        return type(value)(plain_copy(part) for part in value)
    return value


class Untouched:
    """with Untouched(modules, optimizers, others): whatever happens inside leaves no trace.

    Remembered: parameters, buffers and gradients with their contents (unless `contents` is False, where nothing writes
    them), attributes of modules, optimizers' states and groups, scalers and schedulers, random states. The copies take
    host memory as large as all of these.
    """

    def __init__(self, found, contents=True):
        self._found, self._contents = found, contents

    def __enter__(self):
        self._bits, self._seen = [], set()
        modules = [part for root in self._found.modules for part in root.modules()]
        self._members = [(part, self._members_of(part)) for part in modules]
        self._gradients = [(tensor, tensor.grad) for tensor in self._leaves(modules)]
        for tensor, gradient in self._gradients:
            self._keep(tensor)
            self._keep(gradient)
        self._optimizers = [(each, plain_copy(each.param_groups), plain_copy(each.state), dict(each.__dict__))
                            for each in self._found.optimizers]
        self._others = [(each, plain_copy(each.__dict__)) for each in self._found.others]
        self._keep_within([[kept[1:3] for kept in self._optimizers], [held for _, held in self._others]])
        self._random = RandomState()
        return self

    def set_aside_gradients(self):
        """Steps begin without any; what was there comes back in the end."""
        for tensor, _ in self._gradients:
            tensor.grad = None

    @staticmethod
    def _members_of(part):
        members = dict(part.__dict__)
        for name in ("_parameters", "_buffers"):
            members[name] = copy.copy(members[name])
        return members

    def _leaves(self, modules):
        leaves = [tensor for part in modules for table in (part._parameters, part._buffers)
                  for tensor in table.values() if tensor is not None]
        leaves += [tensor for each in self._found.optimizers for group in each.param_groups for tensor in group["params"]]
        leaves += self._found.tensors
        return list({id(tensor): tensor for tensor in leaves}.values())

    def _keep(self, tensor):
        if self._contents and tensor is not None and id(tensor) not in self._seen:
            self._seen.add(id(tensor))
            self._bits.append(Contents(tensor))

    def _keep_within(self, value):
        if isinstance(value, torch.Tensor):
            self._keep(value)
        elif isinstance(value, dict):
            self._keep_within(list(value.values()))
        elif isinstance(value, (list, tuple)):
            for part in value:
                self._keep_within(part)

    def __exit__(self, *error):
        for part, members in self._members:
            part.__dict__.clear()
            part.__dict__.update(members)
        for each, groups, state, members in self._optimizers:
            for kept, now in zip(groups, each.param_groups):
                now.clear()
                now.update(kept)
            each.__dict__.clear()
            each.__dict__.update(members)
            each.state.clear()
            each.state.update(state)
        for each, members in self._others:
            each.__dict__.clear()
            each.__dict__.update(members)
        for tensor, gradient in self._gradients:
            tensor.grad = gradient
        for bits in self._bits:
            bits.put_back()
        self._random.put_back()


class RandomState:
    """Of PyTorch on every device in use, of Python, of NumPy where somebody has loaded it."""

    def __init__(self):
        self._torch, self._python = torch.get_rng_state(), random.getstate()
        self._cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else None
        numpy = sys.modules.get("numpy")
        self._numpy = numpy.random.get_state() if numpy else None

    def put_back(self):
        torch.set_rng_state(self._torch)
        random.setstate(self._python)
        if self._cuda is not None:
            torch.cuda.set_rng_state_all(self._cuda)
        if self._numpy is not None:
            sys.modules["numpy"].random.set_state(self._numpy)
