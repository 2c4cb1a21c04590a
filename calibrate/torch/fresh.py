"""Memory that the system hands out anew: its first touch faults, page by page. On a CPU a step pays this for large results.

glibc maps each block of more than 32 MiB by itself (mallopt(3)), unless a hole of its heap is as large. In a step holes are
cut up by what lives on. A call alone finds one, and its repetitions get the same memory again.
"""
import mmap
import statistics
import time

import torch

try:
    import resource
except ImportError:  # no Unix: faults cannot be counted, and count as none
    resource = None

SIZE, TRIALS = 16 << 20, 5
MAPPED = 32 << 20


def faults():
    """Page faults of this thread until now."""
    if resource is None:
        return 0
    return resource.getrusage(getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)).ru_minflt


class FreshMemory:
    """`of_fault`, `of_byte`: seconds that a fault takes, and that a byte's first touch takes. 0: faults are not counted."""

    def __init__(self, device):
        self.of_fault = self.of_byte = 0.0
        if device.type == "cpu" and gives_back():
            trials = [first_touch() for _ in range(TRIALS)]
            seconds, count = statistics.median(each[0] for each in trials), trials[0][1]
            if seconds > 0 and count > 0:
                self.of_fault, self.of_byte = seconds / count, seconds / SIZE


def gives_back():
    """Whether the library gives large blocks back to the system, so that the next one is fresh."""
    counts = []
    for _ in range(2):
        block = torch.empty(16 * SIZE, dtype=torch.uint8)
        before = faults()
        block[::SIZE // 4].fill_(1)
        counts.append(faults() - before)
        del block
    return counts[1] > 0


def first_touch():
    """(seconds that the first touch of SIZE bytes takes beyond the second, its faults)."""
    pages = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # as malloc takes them: shared ones cost more
    block, seconds, counts = torch.frombuffer(pages, dtype=torch.uint8), [], []
    for _ in range(2):
        before, begin = faults(), time.perf_counter()
        block.fill_(1)
        seconds.append(time.perf_counter() - begin)
        counts.append(faults() - before)
    return seconds[0] - seconds[1], counts[0]


def fresh_by_node(nodes, writes_nothing):
    """Fresh bytes that each node touches first.

    `writes_nothing(node)`: its results are memory that was only taken, and touched by their first user.
    """
    rows, waiting = [], {}
    for node in nodes:
        used = list(node["deps"]) + [result["in_place"] for result in node["results"] if "in_place" in result]
        row = sum(waiting.pop(name, 0) for name in used)
        for result in node["results"]:
            fresh = result["bytes"] if result.get("bytes", 0) > MAPPED else 0
            if fresh and writes_nothing(node):
                waiting[result["id"]] = fresh
            else:
                row += fresh
        rows.append(row)
    return rows
