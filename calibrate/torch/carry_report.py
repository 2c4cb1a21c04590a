"""What happened, beside what was predicted: for people as text, for `spillway validate --torch` as a dict."""
import json
import time
import warnings

import torch

from calls import tensors_in
from carry_notice import place_of_user
from carry_storage import rounded, untyped_of

SUMS = ("matched", "extra", "missing")
PLACES = 20    # calls of a name whose place is looked up
MOST_TOLD = 5  # extra calls in the text
KEPT_CONTEXTS, LISTED_CONTEXTS = 100, 10  # the last ones: of each kind in the report, in its text


class Report:
    """`plans`: of each kind of step."""

    def __init__(self, plans, count):
        self.plans, self.plan, self.count = plans, plans[0], count
        self.contexts, self.extras = [], {}
        # By kind, over all contexts: sums, and the highest peak of those that kept the track to the end of backward.
        self.sums = [dict.fromkeys(("contexts", "lost", "counted_peak_bytes") + SUMS, 0) for _ in plans]
        self.places = {}  # of extra calls, by name: files and lines of the user, the first few
        self.said = []    # what the user was told, once each
        self.again = self.offloaded = 0
        self._reset()

    def _reset(self):
        self.peak, self.curve = 0, {}

    def begin(self):
        self._reset()
        if uses_gpu():
            torch.cuda.reset_peak_memory_stats()
        self.begun = time.perf_counter()

    def called(self, index, store):
        if not self.count:
            return
        live = counted(store)
        self.curve[index] = live
        self.peak = max(self.peak, live)

    def ran_again(self, store, scratch, results):
        """The peak inside a recomputation: what lives, the results on the way, those just made."""
        if self.count:
            made = {storage._cdata: storage.nbytes() for storage in scratch}
            made.update({untyped_of(t)._cdata: untyped_of(t).nbytes() for t in tensors_in(results)})
            self.peak = max(self.peak, counted(store) + sum(rounded(size) for key, size in made.items()
                                                            if key not in store.by_key))

    def say(self, text):
        if text not in self.said:
            self.said.append(text)
            warnings.warn("Spillway: " + text, stacklevel=2)

    def extra(self, key, store):
        """A call that the recording lacks. What lives then counts for the peak."""
        if self.count:
            self.peak = max(self.peak, counted(store))
        self.extras[key] = self.extras.get(key, 0) + 1
        places = self.places.setdefault(key, [])
        if self.extras[key] <= PLACES:
            place = place_of_user()
            if place not in places:
                places.append(place)

    def end(self, kinds, store):
        matcher, plan = kinds.matcher, kinds.plan
        lost, clock = matcher.lost_at, matcher.clock
        if uses_gpu():
            torch.cuda.synchronize()
        self.contexts.append({
            "seconds": time.perf_counter() - self.begun, "matched": matcher.matched, "extra": matcher.extra,
            "missing": clock - matcher.matched, "counted_peak_bytes": self.peak,
            "lost_at": None if lost is None else plan.calls[min(lost, len(plan.calls) - 1)].id, "kind": kinds.now,
            **store.counts, "clock": clock,
            "predicted_ns": plan.ends[clock - 1] if 0 < clock <= len(plan.ends) else 0, **peaks()})
        self._sum_up(self.contexts[-1], matcher.at_end)

    def _sum_up(self, context, ended):
        sums, listed = self.sums[context["kind"]], [each for each in self.contexts if each["kind"] == context["kind"]]
        sums["contexts"] += 1
        sums["lost"] += context["lost_at"] is not None
        for key in SUMS:
            sums[key] += context[key]
        if ended and context["lost_at"] is None:
            sums["counted_peak_bytes"] = max(sums["counted_peak_bytes"], context["counted_peak_bytes"])
        if len(listed) > KEPT_CONTEXTS:
            self.contexts.remove(listed[0])

    def dict(self):
        return {"format": "spillway-carried", "version": 1, "network": self.plan.graph, "strategy": self.plan.strategy,
                "batch": self.plan.batch, "machine": self.plan.machine, "device": name_of_device(), "torch": torch.__version__,
                "predicted_host_bytes": self.plan.host_bytes,
                "capacity_bytes": self.plan.cap, "predicted_peak_bytes": self.plan.peak,
                "predicted_step_ns": self.plan.step_ns, "contexts": self.contexts,
                "all_contexts": together(self.sums), "extra_calls": self.extras,
                "extra_places": self.places, "said": self.said,
                "kinds": [{"network": plan.graph, "strategy": plan.strategy, "capacity_bytes": plan.cap,
                           "predicted_peak_bytes": plan.peak, "predicted_step_ns": plan.step_ns,
                           "predicted_host_bytes": plan.host_bytes, "all_contexts": sums}
                          for plan, sums in zip(self.plans, self.sums)]}

    def write(self, path):
        """For `spillway validate --torch`."""
        with open(path, "w") as file:
            json.dump(self.dict(), file)

    def text(self):
        lines = ["%s by %s: predicted peak %.1f of %.1f MB" % (self.plan.graph, self.plan.strategy, self.plan.peak / 1e6,
                                                               self.plan.cap / 1e6)]
        for number, plan in enumerate(self.plans[1:], 2):
            lines.append("kind %d: predicted peak %.1f of %.1f MB" % (number, plan.peak / 1e6, plan.cap / 1e6))
        everything, listed = together(self.sums), self.contexts[-LISTED_CONTEXTS:]
        if everything["contexts"] > len(listed):
            lines.append("%(contexts)d contexts: %(matched)d calls matched, %(extra)d extra, %(missing)d missing; the last ones:"
                         % everything)
        for number, context in enumerate(listed, everything["contexts"] - len(listed)):
            kind = " (kind %d)" % (context["kind"] + 1) if len(self.plans) > 1 else ""
            line = "context %d%s: %d calls matched, %d extra, %d missing; %d out, %d in, %d run again" % (
                number + 1, kind, context["matched"], context["extra"], context["missing"], context["out"], context["in"],
                context["replayed"])
            if self.count:
                line += "; counted peak %.1f MB" % (context["counted_peak_bytes"] / 1e6)
            if context["lost_at"]:
                line += "; track lost at '%s'" % context["lost_at"]
            lines.append(line)
        for name, count in sorted(self.extras.items(), key=lambda pair: -pair[1])[:MOST_TOLD]:
            lines.append("not recorded: %s, %d times, at %s" % (name, count, ", ".join(self.places[name])))
        return "\n".join(lines + self.said)


def together(sums):
    """Of all kinds: sums, and the highest peak."""
    both = {key: sum(each[key] for each in sums) for key in ("contexts", "lost") + SUMS}
    both["counted_peak_bytes"] = max(each["counted_peak_bytes"] for each in sums)
    return both


def uses_gpu():
    return torch.cuda.is_available() and torch.cuda.is_initialized()


def name_of_device():
    return torch.cuda.get_device_name() if uses_gpu() else "cpu"


def peaks():
    """What the allocator of a GPU gave out and reserved at most in the context; of a processor, the process so far."""
    if uses_gpu():
        return {"allocated_peak_bytes": torch.cuda.max_memory_allocated(), "reserved_peak_bytes": torch.cuda.max_memory_reserved()}
    return {"process_peak_bytes": most_resident()}


def most_resident():
    try:
        with open("/proc/self/status") as file:
            return next((int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


def counted(store):
    """Bytes of all storages that are alive, as an allocator rounds them."""
    total = 0
    for buffer in store.by_key.values():
        if buffer.partial is not None:
            total += rounded(buffer.nbytes)
        if buffer.weak.expired() or (buffer.away and buffer.emptied is None):
            continue
        if not buffer.away:
            total += rounded(buffer.nbytes)
    return total
