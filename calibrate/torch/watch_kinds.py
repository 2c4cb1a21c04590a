"""The kinds of step that a loop has, from its pieces; when enough of each was seen; the recording of them all."""
import statistics

from front import written
from running import spread_of, varying

ALIKE = 3     # pieces of a kind that make its recording
STARTING = 2   # first pieces, which often differ from all others and then are no kind
KEPT = 9      # of those, the last ones count
PATIENCE = 5  # times as many pieces as the first kind took: then rare kinds are given up


class Kind:
    """Pieces with the same calls. The last of the largest is the recording; times are those of pieces of its sizes."""

    def __init__(self, number):
        self.seen, self.pieces, self.first_at = 0, [], number

    def add(self, piece):
        self.seen += 1
        size = piece.sizes()
        if self.pieces and size < self.pieces[0].size:
            return
        if self.pieces and size > self.pieces[0].size:
            self.pieces = []
        piece.size, piece.scalars = size, [node["scalars"] for node in piece.nodes]
        for earlier in self.pieces:  # of which times and scalars are all that is needed
            earlier.nodes = earlier.values = None
        self.pieces = [piece] + self.pieces[:KEPT - 1]

    def complete(self):
        return self.seen >= ALIKE

    def finished(self):
        first = self.pieces[0]
        times = [piece.seconds for piece in self.pieces]
        scalars = [piece.scalars for piece in reversed(self.pieces)]
        for index, node in enumerate(first.nodes):
            node["ns"] = round(1e9 * statistics.median(row[index] for row in times))
            workspaces = getattr(first.clock, "workspaces", [])
            if workspaces and workspaces[index]:
                node["workspace"] = workspaces[index]
        first.error, first.varies = round(spread_of(times), 3), varying(first.nodes, scalars)
        return first


class SeenKinds:
    """Pieces come in by `add`. A cycle is what lies between two updates of the weights, as far as they can be seen."""

    def __init__(self, least):
        self.by_calls, self.cycle, self.count, self.first_at = {}, set(), 0, None
        self.least = least

    def add(self, piece):
        key = piece.kind()
        kind = self.by_calls.setdefault(key, Kind(self.count))
        kind.add(piece)
        self.count += 1
        self.cycle.add(key)
        if self.first_at is None and kind.complete():
            self.first_at = self.count

    def enough(self, new_cycle):
        """Before the next piece. Each kind of the last cycle is complete, and each other one but for those of the start."""
        if len(self.complete()) < self.least:
            return False
        if self.count >= PATIENCE * self.first_at:
            return True
        waiting = [key for key, kind in self.by_calls.items() if not kind.complete()
                   and (kind.seen > 1 or kind.first_at >= STARTING or key in self.cycle)]
        if new_cycle:
            self.cycle = set()
            return not waiting
        return False

    def complete(self):
        """The most frequent first."""
        kinds = [kind for kind in self.by_calls.values() if kind.complete()]
        return sorted(kinds, key=lambda kind: -kind.seen)


def recording_of(kinds, name, samples, device):
    """The file's content: the first kind, the others under `more`. Also what to say of them."""
    recordings = []
    for number, kind in enumerate(kinds):
        piece = kind.finished()
        made = {"how": "run", "times": "measured", "steps": len(kind.pieces)}
        title = name if number == 0 else "%s, kind %d" % (name, number + 1)
        recording = written(piece, made, title, samples or piece.samples or 1, device, number == 0)
        if piece.fixed_bytes:
            recording["fixed_bytes"] = piece.fixed_bytes
        recordings.append(recording)
    for other in recordings[1:]:
        other["machine"] = dict(recordings[0]["machine"])  # measured once
    if recordings[1:]:
        recordings[0]["more"] = recordings[1:]
    return recordings[0]
