"""Which call of the recording a call of this step is: by the data that flow into it, not by its position.

A call is the next recorded one, at most WINDOW calls ahead, with the same function, phase, number of results and
operands. Calls of the loop that the recording lacks (a metric, a log) are extra and move nothing. Recorded calls that are
passed over are missing.
"""
import sys

WINDOW = 80  # calls
LOST = 32    # extra calls in a row after which the track is lost


class RecordedCall:
    """A node of the recording. `deps` name values and results as they are called at that time."""

    __slots__ = ("id", "op", "backward", "deps", "results", "made", "dims")

    def __init__(self, node):
        self.id, self.op, self.backward = node["id"], sys.intern(node.get("op", node["id"])), node.get("pass") == "backward"
        self.deps = node.get("deps", [])
        self.results = [(result["id"], result.get("in_place")) for result in node.get("results", [])]
        self.made = frozenset(name for name, _ in self.results)
        inputs = node.get("inputs")
        self.dims = [len(operand["shape"]) for operand in inputs if operand] if inputs else None

    def same_as(self, other):
        """Sizes may differ: one plan serves all batches of a kind."""
        return ((self.id, self.op, self.backward, self.deps, self.results, self.dims)
                == (other.id, other.op, other.backward, other.deps, other.results, other.dims))


class Matcher:
    def __init__(self, calls, values):
        self.calls, self.values = calls, values
        self.maker = {}  # by name: the call that makes it
        for index, call in enumerate(calls):
            for name, _ in call.results:
                self.maker[name] = index
        self.last = max([k for k, call in enumerate(calls) if call.backward], default=len(calls) - 1)
        self.restart()

    def restart(self):
        self.clock = 0      # the next recorded call
        self.row = 0        # extra calls in a row; those of a metric, for which autograd saves nothing, do not count
        self.backward = self.saves = False
        self.matched = self.extra = 0
        self.lost_at = None

    @property
    def at_end(self):
        """Backward is over; an update may be recorded after it, and is planned where the context holds it."""
        return self.clock > self.last

    @property
    def lost(self):
        return self.row >= LOST and not self.at_end

    def match(self, op, backward, operands, results, read):
        """The index of the call, None for an extra one. `operands`: Buffers, each once; `read`: the tensors."""
        return self.went_on(self.find(op, backward, operands, results, read))

    def find(self, op, backward, operands, results, read):
        """As match, and the clock stays."""
        self.backward, clock = backward, self.clock
        if self.is_next(op, operands, results, read):
            return clock
        for index in range(clock + 1, min(clock + WINDOW, len(self.calls))):
            call = self.calls[index]
            if call.op == op and call.backward == backward and self._flows(call, operands, results, read):
                return index
        return None

    def is_next(self, op, operands, results, read):
        """Nearly always. In either phase: `backward()` makes its first gradient before autograd's engine runs."""
        calls, clock = self.calls, self.clock
        return clock < len(calls) and calls[clock].op == op and self._flows(calls[clock], operands, results, read)

    def find_at(self, clock, *call):
        self.clock = clock
        return self.find(*call)

    def continue_from(self, other):
        """The step so far was matched by another kind, which begins with the same calls."""
        self.clock, self.row, self.lost_at = other.clock, other.row, other.lost_at
        self.matched, self.extra = other.matched, other.extra

    def went_on(self, index):
        """To the call after `index`; None: the call was an extra one."""
        if index is not None:
            self.clock, self.row, self.saves = index + 1, 0, False
            self.matched += 1
            return index
        self.extra += 1
        self.row += self.backward or self.saves
        if self.row == LOST and self.lost_at is None and not self.at_end:
            self.lost_at = self.clock
        return None

    def packed(self, name):
        """Autograd saves a tensor: for the call that comes, unless the last one that was matched made it."""
        if not self.clock or name not in self.calls[self.clock - 1].made:
            self.saves = True

    def _flows(self, call, operands, results, read):
        if len(call.deps) != len(operands) or len(call.results) != results:
            return False
        known = True
        for buffer, dep in zip(operands, call.deps):
            if buffer.name != dep:
                if not self._may_be(buffer, dep):
                    return False
                known = False
        return known or call.dims is None or call.dims == [tensor.dim() for tensor in read]

    def _may_be(self, buffer, dep):
        if buffer.name is not None:
            return buffer.name == dep
        # The result of an extra call stands for a value (a batch that was moved or drawn), or for one passed over.
        return not buffer.extra or dep in self.values or self.maker[dep] < self.clock
