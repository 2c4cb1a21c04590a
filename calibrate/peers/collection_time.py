"""What a full garbage collection of this interpreter takes, by the number of objects that it has to look at.

    python collection_time.py [MODULE...]        Python 2.7 or 3; the modules are imported first, for their objects

PoocH's published code, on Python 2.7, collects after every recomputed function and every wait of its pool for a swap-out
(`collection_time` of a scenario's runtime). An import of numpy, PIL, matplotlib and protobuf is 47,000 objects on Python
3.11; Chainer, CuPy and the training script come on top, and a computation graph of some dozen objects a function: 50,000 to
150,000 in all is an estimate, not a count. The least time of a line is the one that nothing else on the machine disturbed.
"""
from __future__ import print_function

import gc
import importlib
import sys
import time

CLOCK = getattr(time, "perf_counter", time.time)
COLLECTIONS = 30


class Function(object):
    """A node of a graph as frameworks build it: attributes in a dict, inputs in a tuple, cycles through the outputs."""

    def __init__(self, before):
        self.inputs = (before, Variable(self))
        self.attributes = {"pad": [1, 1], "stride": [2, 2]}


class Variable(object):
    def __init__(self, creator):
        self.creator = creator


def grow(heap, objects):
    while len(gc.get_objects()) < objects:
        for _ in range(500):
            heap.append(Function(heap[-1] if heap else None))


def collections():
    times = []
    for _ in range(COLLECTIONS):
        start = CLOCK()
        gc.collect()
        times.append(1e3 * (CLOCK() - start))
    return sorted(times)


def main(modules):
    for name in modules:
        importlib.import_module(name)
    heap = []
    print("python", sys.version.split()[0], " ".join(modules))
    print(" objects   least  median    most  ms a collection")
    for objects in (0, 25000, 50000, 75000, 100000, 150000, 200000):
        grow(heap, objects)
        times = collections()
        print("%8d  %6.2f  %6.2f  %6.2f" % (len(gc.get_objects()), times[0], times[len(times) // 2], times[-1]))


if __name__ == "__main__":
    main(sys.argv[1:])
