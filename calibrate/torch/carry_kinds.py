"""Several kinds of step in one plan file, such as the first micro batch and later ones: which of them runs.

Kinds begin with the same calls. The first of the file counts until a call comes at which another one goes on and it does
not. Calls that kinds share have the same names in both, so nothing is named again.
"""
from carry_match import Matcher


class Kinds:
    """`plan` and `matcher` are those of the kind that counts now."""

    def __init__(self, plans):
        self.plans = plans
        self.matchers = [Matcher(plan.calls, plan.values) for plan in plans]
        self.shared = [[common(a.calls, b.calls) for b in plans] for a in plans]
        self.restart()

    def restart(self):
        self.now = 0
        self.others = [k for k in range(len(self.plans)) if k != 0]
        self.matcher = self.matchers[0]
        self.matcher.restart()

    @property
    def plan(self):
        return self.plans[self.now]

    def match(self, op, backward, operands, results, read):
        """The index of the call in the kind that counts from here on; None: an extra call."""
        if not self.others:
            return self.matcher.match(op, backward, operands, results, read)
        asked = (op, backward, operands, results, read)
        clock, index, kind = self.matcher.clock, self.matcher.find(*asked), self.now
        if index is None or index >= min(self.shared[self.now][k] for k in self.others):
            for other in self.others:
                found = self.matchers[other].find_at(clock, *asked)
                if found is not None and (index is None or found < index):
                    index, kind = found, other
        if kind != self.now:
            self._switch(kind)
        if index is not None:
            self.others = [k for k in self.others if self.shared[self.now][k] > index]
        return self.matcher.went_on(index)

    def _switch(self, kind):
        self.others.append(self.now)
        self.others.remove(kind)
        self.matchers[kind].continue_from(self.matcher)
        self.now, self.matcher = kind, self.matchers[kind]


def pinned_at(plan, clock):
    """Names that the plan holds at its call `clock`: from the start, or since it wanted them back."""
    pinned = set(plan.held)
    for actions in plan.before[:clock + 1]:
        for kind, target in actions:
            if kind == "again":
                pinned.update(plan.root[name] for name, _ in plan.calls[plan.index[target]].results)
            elif kind == "in":
                pinned.add(target)
            elif kind != "out":
                pinned.discard(target)
    return pinned


def common(a, b):
    """How many calls two recordings begin with alike."""
    count = 0
    for one, other in zip(a, b):
        if one.same_as(other):
            count += 1
        else:
            break
    return count


def away_at(plan, clock):
    """Names that the plan has away before its call `clock`: by name whether a copy is on the host."""
    copied, away = set(), {}
    for actions in plan.before[:clock + 1]:
        for kind, target in actions:
            if kind == "out":
                copied.add(target)
            elif kind == "leave":
                away[target] = target in copied
            elif kind == "again":
                for name, _ in plan.calls[plan.index[target]].results:
                    away.pop(plan.root[name], None)
            else:
                away.pop(target, None)
    return away
