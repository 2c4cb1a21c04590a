"""What `auto` says: one sentence for each end that it can come to."""
from carry_plan import PlanError


def size(count):
    return "%.2f GB" % (count / 1e9) if count >= 1e9 else "%.1f MB" % (count / 1e6)


def milliseconds(ns):
    return "%.3g s" % (ns / 1e9) if ns >= 1e9 else "%.3g ms" % (ns / 1e6)


def moves(plan):
    """Whether a plan file swaps or recomputes anything, in any kind of step."""
    return any(any(kind["before"].values()) for kind in [plan] + plan.get("more", []))


def in_core_facts(whole, step):
    """What the sentence says of the step without a plan: its peak and time, and how far recorded steps spread."""
    return {"peak_bytes": whole["peak_bytes"], "step_time_ns": whole["step_time_ns"], "spread": step.get("error") or 0}


def found(name, plan, in_core, memory, cached):
    """Of a plan that is carried out, or of a step that needs none."""
    sure = "recorded steps spread by %.0f %%" % (100 * in_core["spread"])
    room = "%s, which leave %s beside context and margin" % (memory, size(plan["capacity_bytes"]))
    where = " (cached plan)" if cached else ""
    if not moves(plan):
        return "%s fits into %s: %s at its peak, %s a step (%s): no plan is carried out%s" % (
            name, room, size(in_core["peak_bytes"]), milliseconds(in_core["step_time_ns"]), sure, where)
    return "%s takes %s at its peak in core, now %s of %s; %s a step expected, %s in core (%s)%s" % (
        name, size(in_core["peak_bytes"]), size(plan["peak_bytes"]), room, milliseconds(plan["step_time_ns"]),
        milliseconds(in_core["step_time_ns"]), sure, where)


def declined(name, memory, why):
    return "%s: no plan for %s: %s; training goes on without one" % (name, memory, first_line(why))


def first_line(error):
    lines = [line for line in str(error).split("\n") if line]
    kind = type(error).__name__
    if not lines or not isinstance(error, (RuntimeError, PlanError)):  # not the program's or the carrier's own sentence
        return ": ".join([kind] + lines[-1:])
    return lines[-1]
