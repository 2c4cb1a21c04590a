"""What a gradient function of autograd takes before its first call: all that forward saved for it, at once.

The function of a product (AddmmBackward0) unpacks both factors, and then makes two calls, each of which reads one. So what
the second call reads must be on the device from the first on. A recording says so under `also`.
"""
from versions import CURRENT_NODE

# PyTorch 1.13: functions that take the first operand of their forward call for its shape alone, and that call.
TAKE_FOR_SHAPE = {"MeanBackward1": "aten.mean.dim"} if CURRENT_NODE is None else {}


class Functions:
    """By node of a recording: a number of the gradient function that made the call; None: none did."""

    def __init__(self, mark, numbers):
        """`mark`: a key of our own in the metadata of autograd's nodes; `numbers`: an iterator."""
        self.by_node = []
        self.for_shape = []  # (index of the first call, forward's op, its module, shape of its result) of TAKE_FOR_SHAPE
        self._mark, self._numbers, self._open = mark, numbers, []

    def add(self, backward):
        """The next node of the recording."""
        number = None
        if backward and CURRENT_NODE is not None:
            number = self._of(CURRENT_NODE())
        elif backward:
            self._open.append(len(self.by_node))
        self.by_node.append(number)

    def _of(self, running):
        return None if running is None else running.metadata.setdefault(self._mark, next(self._numbers))

    def ended(self, kind, module, gradients):
        """A gradient function is over. PyTorch 1.13 tells of none that begins: all calls since the last one are its own.

        `kind`: its name; `module`: that of its forward call; `gradients`: of that call's results.
        """
        number = next(self._numbers)
        if kind in TAKE_FOR_SHAPE and self._open and gradients[0] is not None:
            self.for_shape.append((self._open[0], TAKE_FOR_SHAPE[kind], module, list(gradients[0].shape)))
        for index in self._open:
            self.by_node[index] = number
        self._open = []


def tell_taken(nodes, functions):
    """Puts `also` on nodes: what a later call of the same gradient function reads of forward, by its name at that time.

    What a function takes and none of its calls reads is on the device to the last of them.
    """
    ends, unread = dict(runs_of(functions.by_node[:len(nodes)])), taken_for_shape(nodes, functions.for_shape)
    root, name_now, forward = {}, {}, set()  # by id: under which its bytes were made; by that one: its id now
    for index, node in enumerate(nodes):
        end = ends.get(index, index)
        taken = last_reads(nodes[index:end], root)
        if index in unread and end > index:
            taken[root.get(unread[index], unread[index])] = end - index
        for bytes_of, last in taken.items():
            for early in nodes[index:index + last] if bytes_of in forward else ():
                if name_now[bytes_of] not in early["deps"]:
                    early.setdefault("also", []).append(name_now[bytes_of])
        for result in node["results"]:
            begun = root.get(result.get("in_place"), result.get("in_place")) or result["id"]
            root[result["id"]], name_now[begun] = begun, result["id"]
            if "bytes" in result and node["pass"] == "forward":
                forward.add(begun)


def taken_for_shape(nodes, functions):
    """By the index of a function's first call: the name of what it takes. Of equal forward calls the last comes first."""
    found, used = {}, set()
    for first, op, module, shape in functions:
        for index in range(min(first, len(nodes)) - 1, -1, -1):
            node = nodes[index]
            if index not in used and (node["op"], node["module"]) == (op, module) and node["outputs"][0]["shape"] == shape:
                used.add(index)
                found[first] = node["deps"][0]
                break
    return found


def runs_of(by_node):
    """Pairs (index of the first, index behind the last) of calls in a row that one function makes."""
    first = 0
    for index in range(1, len(by_node) + 1):
        if index == len(by_node) or by_node[index] != by_node[first]:
            if by_node[first] is not None:
                yield first, index
            first = index


def last_reads(nodes, root):
    """By the id under which bytes were made: the place of the last of these nodes that reads them."""
    return {root.get(name, name): place for place, node in enumerate(nodes) for name in node["deps"]}
