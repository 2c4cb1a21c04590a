"""The user's own objects with tensors that have no memory: put in for a while, then the real ones come back.

Convert, do not build: a network built anew under a fake mode stops wherever its constructor reads a number.
"""
import contextlib
import sys

import torch
from torch import nn

from roles import parameters_of
from versions import fake_mode

# Functions of packages that ask whether a tensor is a fake, as one of a compiler, and compute otherwise then.
ASKING = (("transformers.utils.import_utils", "is_fake_tensor"),)


@contextlib.contextmanager
def looking_real():
    """A context in which packages take fakes for real tensors, and make the calls that they make in training."""
    asked = [(sys.modules[module], name) for module, name in ASKING if hasattr(sys.modules.get(module), name)]
    plain = [getattr(module, name) for module, name in asked]
    for module, name in asked:
        setattr(module, name, lambda *_: False)
    try:
        yield
    finally:
        for (module, name), function in zip(asked, plain):
            setattr(module, name, function)


class Fakes:
    """A context: networks, optimizers and scalers hold fakes inside. Untouched puts the real tensors back."""

    def __init__(self, found, device):
        self.mode = fake_mode()
        self._found, self._device, self._made, self._batch = found, device, {}, set()

    def tensor(self, real):
        """The fake of a real tensor: shape, strides, type, device; tensors that share memory go on sharing it."""
        if real.is_meta:
            with self.mode:
                return torch.empty_strided(real.shape, real.stride(), dtype=real.dtype, device=self._device)
        if real.dim() == 0 and real.device.type == "cpu" and not real.requires_grad:
            number = real.item()
            with self.mode:  # a number that the host knows stays known: an optimizer's step
                return torch.tensor(number, dtype=real.dtype)
        return self.mode.from_tensor(real.detach().as_subclass(torch.Tensor))

    def leaf(self, real):
        if id(real) not in self._made:
            fake = self.tensor(real)
            fake = nn.Parameter(fake, requires_grad=real.requires_grad) if isinstance(real, nn.Parameter) else fake
            if real.requires_grad and not fake.requires_grad:
                fake.requires_grad_()
            fake.__dict__.update({key: value for key, value in vars(real).items() if key not in vars(fake)})
            self._made[id(real)] = (fake, real)
        return self._made[id(real)][0]

    def put_in(self):
        for root in self._found.modules:
            for module in root.modules():
                for table in (module._parameters, module._buffers):
                    for name, real in table.items():
                        table[name] = None if real is None else self.leaf(real)
        for optimizer in self._found.optimizers:
            states = dict(optimizer.state)
            optimizer.state.clear()
            for owner, state in states.items():
                optimizer.state[self.leaf(owner) if isinstance(owner, torch.Tensor) else owner] = self._within(state)
            for group in optimizer.param_groups:
                group["params"] = [self.leaf(real) for real in group["params"]]
        for other in self._found.others:
            for name, value in list(vars(other).items()):
                if isinstance(value, torch.Tensor):
                    setattr(other, name, self.tensor(value))

    def _within(self, value):
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, dict):
            return {key: self._within(part) for key, part in value.items()}
        return [self._within(part) for part in value] if isinstance(value, list) else value

    def batch(self, batch):
        self._batch.update(id(tensor) for tensor in batch)
        return [self.leaf(tensor) for tensor in batch]

    def known_pairs(self):
        """Fakes and the real tensors of the batch, and of what holds whole numbers."""
        return [(fake, real) for fake, real in self._made.values() if id(real) in self._batch or not real.is_floating_point()]

    def clear_gradients(self):
        for tensor in parameters_of(self._found):
            tensor.grad = None
