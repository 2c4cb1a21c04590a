"""What one call of the library says of itself: its operands, what it writes, its scalars, whether it draws random numbers."""
import math

import torch
from torch.utils._pytree import tree_flatten

from versions import storage_of

NAMES_OF_TYPES = {}  # "float32" by torch.float32
MAKES_UNWRITTEN = ("aten.empty", "aten.new_empty")
NOISE = ("prim", "prims", "profiler")  # questions about a device, marks of the profiler


def tensors_in(tree):
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


def bytes_of(tensor):
    return storage_of(tensor).nbytes()


def type_name(dtype):
    if dtype not in NAMES_OF_TYPES:
        NAMES_OF_TYPES[dtype] = str(dtype).replace("torch.", "")
    return NAMES_OF_TYPES[dtype]


def layout_of(tensor):
    """Shape, stride and type as the file has them. A nested tensor has many shapes, and tells none."""
    if tensor.is_nested:
        return {"shape": [], "stride": [], "type": type_name(tensor.dtype)}
    if tensor.layout != torch.strided:
        return {"shape": list(tensor.shape), "stride": [], "type": type_name(tensor.dtype)}
    return {"shape": list(tensor.shape), "stride": list(tensor.stride()), "type": type_name(tensor.dtype)}


def plain(value):
    """A scalar as JSON can have it: numbers that are none are words."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def scalars_of(args, kwargs):
    """What a call is given besides tensors, in order."""
    return [plain(leaf) for leaf in tree_flatten((list(args), kwargs))[0] if not isinstance(leaf, torch.Tensor)]


def arguments_of(function, args, kwargs):
    """Pairs of the schema's argument and its value; defaults are left out."""
    for index, argument in enumerate(function._schema.arguments):
        if argument.name in kwargs:
            yield argument, kwargs[argument.name]
        elif index < len(args):
            yield argument, args[index]


def written_by(function, args, kwargs):
    """The operands that a call overwrites, by its schema; but for running statistics, which are not updated twice."""
    if "batch_norm" in str(function):
        return []
    written = []
    for argument, value in arguments_of(function, args, kwargs):
        if argument.alias_info is not None and argument.alias_info.is_write:
            written += tensors_in(value)
    return written


def draws_numbers(function, args, kwargs):
    """Whether a call takes random numbers: by its tag, unless it is told to drop nothing."""
    if torch.Tag.nondeterministic_seeded not in function.tags:
        return False
    for argument, value in arguments_of(function, args, kwargs):
        if argument.name in ("dropout_p", "p", "dropout") and value == 0:
            return False
        if argument.name in ("train", "training") and value is False:
            return False
    names = [argument.name for argument, _ in arguments_of(function, args, kwargs)]
    return "dropout_p" in names or "_attention" not in str(function)


def draws_again(function):
    """Whether a random call gives the same numbers from the same state of its generator; cuDNN keeps another state."""
    return "cudnn" not in str(function)


def leaves_memory_unwritten(function):
    return str(function).startswith(MAKES_UNWRITTEN)


def only_views(function):
    """Whether all results are other names of operands' bytes, so that the call becomes no node."""
    returns = function._schema.returns
    return bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)
