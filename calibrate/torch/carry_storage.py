"""Storages: what tensors share, how to hold one weakly, and tensors made over one."""
import torch

from versions import LACKS

UNIT = 512  # an allocator's block, bytes


def inside_a_typed_one(tensor):
    return tensor.storage()._storage


# The storage, without a type. PyTorch 1.13 has it inside one with a type.
untyped_of = inside_a_typed_one if LACKS["untyped_storage"] else torch.Tensor.untyped_storage
key_of = torch._C._storage_id  # of a tensor: the address of its storage, without an object for it
STRIDED = torch.strided
SCALAR, FOLLOWED, WRAPPER, SEVERAL_OF = range(4)
SORTS = {}  # by class of an argument: one of these; a wrapper is a tensor that wraps others, whose own storage is none


def sort_of(kind):
    """Of a class that comes for the first time."""
    if issubclass(kind, torch.Tensor):
        SORTS[kind] = FOLLOWED if kind.__torch_dispatch__ is torch.Tensor.__torch_dispatch__ else WRAPPER
    else:
        SORTS[kind] = SEVERAL_OF if issubclass(kind, (list, tuple)) else SCALAR
    return SORTS[kind]


def has_storage(tensor):
    """Whether the bytes of the tensor are those of one storage: not of a sparse tensor, a nested one, or one of another library."""
    sort = SORTS.get(type(tensor)) or sort_of(type(tensor))
    return sort == FOLLOWED and tensor.layout is STRIDED and not tensor.is_quantized and not tensor.is_nested


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


class weakly:
    """A weak reference to a storage. While it lives, no other storage gets the address."""

    __slots__ = ("cdata",)

    def __init__(self, storage):
        self.cdata = storage._weak_ref()

    def expired(self, expired=torch.UntypedStorage._expired):
        return expired(self.cdata)

    def __del__(self, free=torch.UntypedStorage._free_weak_ref):  # bound here: modules are emptied when Python ends
        try:
            free(self.cdata)
        except AttributeError:
            pass  # the storage gave no reference, and said so


class Place:
    """Where in its storage a tensor lies."""

    __slots__ = ("dtype", "offset", "size", "stride", "conjugated", "negated")

    def __init__(self, tensor):
        self.dtype, self.offset = tensor.dtype, tensor.storage_offset()
        self.size, self.stride = tensor.size(), tensor.stride()
        self.conjugated = self.negated = False
        if tensor.is_neg() or (self.dtype.is_complex and tensor.is_conj()):
            self.conjugated, self.negated = tensor.is_conj(), tensor.is_neg()

    def span(self):
        """First and last byte, and one more."""
        width = torch.empty(0, dtype=self.dtype).element_size()
        if 0 in self.size:
            return 0, 0
        last = sum((size - 1) * stride for size, stride in zip(self.size, self.stride))
        return self.offset * width, (self.offset + last + 1) * width

    def meets(self, other):
        (begin, end), (first, last) = self.span(), other.span()
        return begin < last and first < end

    def over(self, storage):
        tensor = over(storage, self.dtype, self.offset, self.size, self.stride)
        if self.conjugated:
            tensor = tensor.conj()
        return torch._neg_view(tensor) if self.negated else tensor


def overwritten_error(shape):
    return RuntimeError("one of the variables needed for gradient computation has been modified by an inplace operation: "
                        "a tensor of shape %s was overwritten after it was saved for backward" % (list(shape),))
