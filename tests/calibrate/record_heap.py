"""Memory that a step touches first: the heap's rules, and what they add to a call's time. Cases of torch_record_test.py."""
import types

import spillway_torch
from torch_cases import expect


def first_touches_follow_the_heap():
    """Rules of glibc's malloc, mallopt(3). The sums were those of malloc itself within 5 %, blocks to 40 MB."""
    mega, heap = 1 << 20, spillway_torch.Heap()

    def take(name, size):
        return -(-heap.take(name, size * mega) // mega)  # the heap grows by 128 KiB more than asked for

    def round_trip(sizes):
        fresh = [take(index, size) for index, size in enumerate(sizes)]
        for index in reversed(range(len(sizes))):
            heap.give(index)
        return fresh
    expect([round_trip([48]), round_trip([48])] == [[48], [48]], "above 32 MiB each block is mapped by itself")
    expect(round_trip([16]) == [16], "so is the first of each size")
    expect([round_trip([8, 4]), round_trip([12])] == [[8, 4], [0]], "what stays at the heap's end is there again")
    expect([round_trip([10] * 4), round_trip([8])] == [[0, 8, 10, 10], [8]], "above twice the threshold all goes back")
    for name, size in (("a", 4), ("b", 4), ("c", 1)):
        take(name, size)
    heap.give("b")
    expect([take(name, 2) for name in ("d", "e", "f")] == [0, 0, 2], "a hole is filled")
    for name in "acdef":
        heap.give(name)
    expect(round_trip([11]) == [0], "holes grow together")


def first_touches_of_a_node():
    mega = 1 << 20
    nodes = [{"id": "0:empty", "op": "empty", "deps": [], "results": [{"id": "0.0", "bytes": 40 * mega}]},
             {"id": "1:fill", "op": "fill", "deps": ["0.0"], "results": [{"id": "1.0", "in_place": "0.0"}]},
             {"id": "2:exp", "op": "exp", "deps": ["1.0"], "results": [{"id": "2.0", "bytes": 10 * mega}]}]
    rows = spillway_torch.fresh_by_node(nodes, [], lambda node: node["op"] == "empty")
    expect(rows == [0, 40 * mega, 0], "taken by one, touched by the next; ten of the step before: %s" % rows)
    alone = spillway_torch.Alone(None)
    alone.knows(1, 2.0)
    alone.inside = 0.5
    expect(alone.ns([], 0.25) == 2750000000, "a call's time, and those of first touches")
    told = types.SimpleNamespace(alone=alone, times=[1.0, 3.0, 2.0], faults=[0, 4, 0])
    spillway_torch.Prepared.tell(told, 1 << 20, types.SimpleNamespace(of_fault=0.5, of_byte=0.0))
    expect(alone.seconds_at(1 << 20) == 1.0 and alone.inside == 0.0, "first touches are not the call's own")


CASES = {case.__name__: case for case in (first_touches_follow_the_heap, first_touches_of_a_node)}
