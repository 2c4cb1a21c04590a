"""Memory that the system hands out anew: its first touch faults, page by page. On a CPU a step pays this, a call alone does not.

A call alone gets back what its repetition before has freed. In a step the heap grows in forward and shrinks in backward.
"""
import bisect
import mmap
import statistics
import time

import torch

from peak import Lives

try:
    import resource
except ImportError:  # no Unix: faults cannot be counted, and count as none
    resource = None

SIZE, TRIALS = 16 << 20, 5
ALIGNMENT, PAGE = 64, 4096  # bytes: of PyTorch's blocks, of blocks that are mapped by themselves
# Of glibc's malloc (mallopt(3)): blocks of the threshold and more are mapped by themselves unless a hole fits. The
# threshold grows to the largest such block that was freed, up to MOST; twice as much stays free at the heap's end.
FIRST_THRESHOLD, MOST_THRESHOLD, PAD, LEAST_TRIMMED = 128 << 10, 32 << 20, 128 << 10, 64 << 10


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
    block, seconds, counts = torch.frombuffer(mmap.mmap(-1, SIZE), dtype=torch.uint8), [], []
    for _ in range(2):
        before, begin = faults(), time.perf_counter()
        block.fill_(1)
        seconds.append(time.perf_counter() - begin)
        counts.append(faults() - before)
    return seconds[0] - seconds[1], counts[0]


class Heap:
    """The C library's heap as glibc keeps it, in bytes: which of a block's memory is fresh."""

    def __init__(self):
        self.threshold = FIRST_THRESHOLD
        self._top, self._break = 0, 0  # the heap's used end; what of it the system has given
        self._holes, self._ends, self._starts = [], {}, {}  # (bytes, start), sorted; by end: start; by start: end
        self._blocks = {}  # by name: (start, bytes); start None: mapped by itself

    def take(self, name, size):
        """Fresh bytes of a new block."""
        size = -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        place = bisect.bisect_left(self._holes, (size, -1))
        if place < len(self._holes):
            length, start = self._holes[place]
            self._fill(start, start + length)
            if length > size:
                self._dig(start + size, start + length)
            self._blocks[name] = (start, size)
            return 0
        fresh = max(0, self._top + size - self._break)
        if fresh and size >= self.threshold:
            self._blocks[name] = (None, size)
            return size
        self._blocks[name] = (self._top, size)
        self._top += size
        if fresh:
            self._break = self._top + PAD
        return fresh

    def give(self, name):
        start, size = self._blocks.pop(name)
        if start is None:
            if size <= MOST_THRESHOLD:
                self.threshold = max(self.threshold, size + PAGE)  # a block of the same size comes from the heap
            return
        begin, end = self._ends.get(start, start), self._starts.get(start + size, start + size)
        if begin != start:
            self._fill(begin, start)
        if end != start + size:
            self._fill(start + size, end)
        if end == self._top:
            self._top = begin
        else:
            self._dig(begin, end)
        if end - begin >= LEAST_TRIMMED and self._break - self._top > 2 * self.threshold:
            self._break = self._top + PAD

    def _dig(self, start, end):
        bisect.insort(self._holes, (end - start, start))
        self._ends[end], self._starts[start] = start, end

    def _fill(self, start, end):
        self._holes.pop(bisect.bisect_left(self._holes, (end - start, start)))
        del self._ends[end], self._starts[start]


def fresh_by_node(nodes, values, writes_nothing):
    """Fresh bytes that each node touches first, in a step after others like it.

    `writes_nothing(node)`: its results are memory that was only taken, and touched by their first user.
    """
    heap, lives = Heap(), Lives(nodes, values)
    for _ in range(3):  # the threshold and the heap of steps before
        rows, waiting = [], {}
        for index, node in enumerate(nodes):
            row = sum(waiting.pop(name, 0) for name in lives.used(node))
            for name in lives.fresh(node):
                fresh = heap.take(name, lives.size[name])
                if writes_nothing(node):
                    waiting[name] = fresh
                else:
                    row += fresh
            rows.append(row)
            for name in lives.ends[index]:
                heap.give(name)
    return rows
