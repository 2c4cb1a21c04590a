"""The plan file of `spillway plan STEP.json --for torch`, read and checked."""
from carry_match import RecordedCall

FORMAT, VERSION = "spillway-carry", 1


class PlanError(ValueError):
    """The plan cannot be carried out here; the message says where and what to do."""


class CarriedPlan:
    """The content of a plan file. Names are checked once, here."""

    def __init__(self, content, where):
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise PlanError("%s: no plan for PyTorch: expected the file of 'spillway plan STEP.json --for torch'" % where)
        if content.get("version") != VERSION:
            raise PlanError("%s: version %s of the format: expected %d; plan again with the Spillway that this file came "
                            "with" % (where, content.get("version"), VERSION))
        try:
            self._read(content)
            self._check_calls(where)
            self._check(where)
        except PlanError:
            raise
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as mistake:
            raise PlanError("%s: edited into nonsense (%s %s): plan again" % (where, type(mistake).__name__, mistake))

    def _read(self, content):
        self.graph, self.strategy = content["network"], content.get("strategy", "")
        self.cap, self.peak = int(content["capacity_bytes"]), int(content["peak_bytes"])
        self.step_ns, self.host_bytes = content["step_time_ns"], int(content["host_bytes"])
        self.live, self.ends = content.get("live_bytes", []), content.get("end_ns", [])
        self.batch, self.machine = content.get("batch", 1), content.get("machine", "")
        self.nodes = content["calls"]  # as the recording has them
        self.values = {value["id"]: value for value in content["values"]}
        self.calls = [RecordedCall(node) for node in content["calls"]]
        self.unseen = content.get("unseen", [])
        index = {call.id: k for k, call in enumerate(self.calls)}
        index["end"] = len(self.calls)
        self.before = [[] for _ in range(len(self.calls) + 1)]
        for name, actions in content["before"].items():
            self.before[index[name]] = [(kind, target) for kind, target in actions]
        self.held = set(content.get("held", []))
        self.index = index
        self.due = [len(self.calls) + 1] * (len(self.calls) + 2)  # by call: the next one, or itself, that has actions before it
        for number in range(len(self.calls), -1, -1):
            self.due[number] = number if self.before[number] else self.due[number + 1]

    def _check_calls(self, where):
        """Each call reads what is there, and numbers are numbers."""
        known = set(self.values)
        for call in self.calls:
            for name in [*call.deps, *(of for _, of in call.results if of is not None)]:
                if name not in known:
                    raise PlanError("%s: call '%s' reads '%s', which is no value and no result before it: plan again"
                                    % (where, call.id, name))
            known.update(name for name, _ in call.results)
        numbers = {"capacity_bytes": self.cap, "peak_bytes": self.peak, "host_bytes": self.host_bytes, "step_time_ns": self.step_ns}
        for key, number in numbers.items():
            if not 0 <= number < 1 << 60:
                raise PlanError("%s: %s is %s: expected a number from 0 up: plan again" % (where, key, number))
        if self.live and (len(self.live) != len(self.calls) or not all(isinstance(size, int) for size in self.live)):
            raise PlanError("%s: live_bytes: expected %d numbers, one for each call: plan again" % (where, len(self.calls)))
        for name in self.held - known:
            raise PlanError("%s: held names '%s', which nothing makes: plan again" % (where, name))

    def _check(self, where):
        self.root = {}  # by result: the name under which its bytes were made
        for call in self.calls:
            for name, of in call.results:
                self.root[name] = name if of is None else self.root.get(of, of)
        made = {name for call in self.calls for name, of in call.results if of is None} | set(self.values)
        self.moved, copied, again = set(self.held), set(), set()
        for actions in self.before:
            for kind, target in actions:
                known = self.index if kind == "again" else made
                if kind not in ("out", "in", "again", "leave", "release") or target not in known:
                    raise PlanError("%s: an action [%r, %r] that names nothing of the recording: plan again"
                                    % (where, kind, target))
                if kind == "again":
                    again.update(name for name, _ in self.calls[known[target]].results)
                    continue
                self.moved.add(target)
                if kind == "out":
                    copied.add(target)
                elif kind == "leave" and target not in copied:
                    again.add(target)
        self.again = self._makers(again)

    def _makers(self, names):
        """Calls that may have to run again: all that make or change what these names are of, or what such a call reads."""
        root, found = self.root, set()
        wanted = {root.get(name, name) for name in names}
        for index in range(len(self.calls) - 1, -1, -1):
            call = self.calls[index]
            if any(root[name] in wanted for name, _ in call.results):
                found.add(index)
                wanted.update(root.get(name, name) for name in call.deps)
        return found


def plans_of(content, where):
    """The plans of a file, one for each kind of step; the first is that of the most frequent kind."""
    plans = [CarriedPlan(content, where)]
    more = content.get("more", [])
    if not isinstance(more, list):
        raise PlanError("%s: more: expected a list of plans, one for each other kind of step: plan again" % where)
    return plans + [CarriedPlan(kind, "%s, kind %d" % (where, number)) for number, kind in enumerate(more, 2)]
