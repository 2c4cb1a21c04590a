"""What happened, beside what was predicted: for people as text, for `spillway validate --torch` as a dict."""
import json
import time

import torch

from calls import tensors_in
from carry_storage import rounded, untyped_of


class Report:
    def __init__(self, plan, count):
        self.plan, self.count = plan, count
        self.contexts, self.extras = [], {}
        self.again = self.offloaded = 0
        self._reset()

    def _reset(self):
        self.peak, self.curve = 0, {}

    def begin(self):
        self._reset()
        if on_gpu():
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

    def extra(self, key, matcher):
        self.extras[key] = self.extras.get(key, 0) + 1

    def end(self, matcher, store):
        lost, clock = matcher.lost_at, matcher.clock
        if on_gpu():
            torch.cuda.synchronize()
        self.contexts.append({
            "seconds": time.perf_counter() - self.begun, "matched": matcher.matched, "extra": matcher.extra,
            "missing": matcher.clock - matcher.matched, "counted_peak_bytes": self.peak,
            "lost_at": None if lost is None else self.plan.calls[min(lost, len(self.plan.calls) - 1)].id, **store.counts,
            "clock": clock, "predicted_ns": self.plan.ends[clock - 1] if 0 < clock <= len(self.plan.ends) else 0, **peaks()})

    def dict(self):
        return {"format": "spillway-carried", "version": 1, "network": self.plan.graph, "strategy": self.plan.strategy,
                "batch": self.plan.batch, "machine": self.plan.machine, "device": name_of_device(), "torch": torch.__version__,
                "predicted_host_bytes": self.plan.host_bytes,
                "capacity_bytes": self.plan.cap, "predicted_peak_bytes": self.plan.peak,
                "predicted_step_ns": self.plan.step_ns, "contexts": self.contexts, "extra_calls": self.extras}

    def write(self, path):
        """For `spillway validate --torch`."""
        with open(path, "w") as file:
            json.dump(self.dict(), file)

    def text(self):
        lines = ["%s by %s: predicted peak %.1f of %.1f MB" % (self.plan.graph, self.plan.strategy, self.plan.peak / 1e6,
                                                               self.plan.cap / 1e6)]
        for number, context in enumerate(self.contexts):
            line = "context %d: %d calls matched, %d extra, %d missing; %d out, %d in, %d run again" % (
                number + 1, context["matched"], context["extra"], context["missing"], context["out"], context["in"],
                context["replayed"])
            if self.count:
                line += "; counted peak %.1f MB" % (context["counted_peak_bytes"] / 1e6)
            if context["lost_at"]:
                line += "; track lost at '%s'" % context["lost_at"]
            lines.append(line)
        return "\n".join(lines)


def on_gpu():
    return torch.cuda.is_available() and torch.cuda.is_initialized()


def name_of_device():
    return torch.cuda.get_device_name() if on_gpu() else "cpu"


def peaks():
    """What the allocator of a GPU gave out and reserved at most in the context; of a processor, the process so far."""
    if on_gpu():
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
        if buffer.weak.expired() or (buffer.away and buffer.emptied is None):
            continue
        if not buffer.away:
            total += rounded(buffer.nbytes)
    return total
