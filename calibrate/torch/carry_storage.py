"""Storages: what tensors share, how to hold one weakly, and tensors made over one."""
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from versions import LACKS

UNIT = 512  # an allocator's block, bytes


def untyped_of(tensor):
    """The storage, without a type. PyTorch 1.13 has it inside one with a type."""
    return tensor.storage()._storage if LACKS["untyped_storage"] else tensor.untyped_storage()


def has_storage(tensor):
    """Whether the bytes of the tensor are those of one storage: not of a sparse tensor, or one of another library."""
    return tensor.layout is torch.strided and not tensor.is_quantized and not tensor.is_conj() and not tensor.is_neg()


def rounded(size):
    return -(-size // UNIT) * UNIT


def over(storage, dtype=torch.uint8, offset=0, size=None, stride=None):
    """A tensor over the storage; all of its bytes unless the place is given."""
    if size is None:
        size, stride = (storage.nbytes(),), (1,)
    tensor = torch.empty(0, dtype=dtype, device=storage.device)
    if LACKS["untyped_storage"]:
        storage = torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype)
    return tensor.set_(storage, offset, size, stride)


def alive(weak):
    """The storage of a weak reference; None when nobody holds it any more."""
    return None if weak.expired() else torch.UntypedStorage._new_with_weak_ptr(weak.cdata)


def weakly(storage):
    return StorageWeakRef(storage)


class Place:
    """Where in its storage a tensor lies."""

    __slots__ = ("dtype", "offset", "size", "stride")

    def __init__(self, tensor):
        self.dtype, self.offset = tensor.dtype, tensor.storage_offset()
        self.size, self.stride = tuple(tensor.size()), tuple(tensor.stride())

    def __eq__(self, other):
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def over(self, storage):
        return over(storage, self.dtype, self.offset, self.size, self.stride)
