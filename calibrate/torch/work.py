"""Arithmetic of a call, by PyTorch's own table of formulas where it has one (2.1 and later)."""
from calls import bytes_of, tensors_in

try:
    from torch.utils.flop_counter import flop_registry
except ImportError:
    flop_registry = {}


def flops_of(function, args, kwargs, result):
    """Floating-point operations. 0: the table does not know the call, or the call is no product of matrices."""
    formula = flop_registry.get(getattr(function, "overloadpacket", None))
    if formula is None:
        return 0
    try:
        return int(formula(*args, **kwargs, out_val=result))
    except Exception:  # a formula for other arguments: the call counts by its bytes
        return 0


def moved_bytes(args, kwargs, result):
    """Bytes that a call reads and writes at least once."""
    return sum(bytes_of(tensor) for tensor in tensors_in((args, kwargs, result)))
