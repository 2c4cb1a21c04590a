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
        except (KeyError, TypeError, AttributeError) as mistake:
            raise PlanError("%s: edited into nonsense (%s %s): plan again" % (where, type(mistake).__name__, mistake))
        self._check(where)

    def _read(self, content):
        self.graph, self.strategy = content["network"], content.get("strategy", "")
        self.cap, self.peak = int(content["capacity_bytes"]), int(content["peak_bytes"])
        self.step_ns, self.host_bytes = content["step_time_ns"], int(content["host_bytes"])
        self.live, self.ends = content.get("live_bytes", []), content.get("end_ns", [])
        self.batch, self.machine = content.get("batch", 1), content.get("machine", "")
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

    def _check(self, where):
        made = {name for call in self.calls for name, of in call.results if of is None} | set(self.values)
        self.moved = set(self.held)
        self.again_in_backward = False  # whether calls of backward are run again, and so have to be caught
        for actions in self.before:
            for kind, target in actions:
                known = self.index if kind == "again" else made
                if kind not in ("out", "in", "again", "leave", "release") or target not in known:
                    raise PlanError("%s: an action [%r, %r] that names nothing of the recording: plan again"
                                    % (where, kind, target))
                if kind != "again":
                    self.moved.add(target)
                elif self.calls[known[target]].backward:
                    self.again_in_backward = True
