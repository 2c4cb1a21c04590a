"""Memory that a step touches first, and what it adds to a call's time. Cases of torch_record_test.py."""
import types

import torch

import spillway_torch
from torch_cases import expect


def first_touches_of_a_node():
    mega = 1 << 20
    nodes = [{"id": "0:empty", "op": "empty", "deps": [], "results": [{"id": "0.0", "bytes": 40 * mega}]},
             {"id": "1:fill", "op": "fill", "deps": ["0.0"], "results": [{"id": "1.0", "in_place": "0.0"}]},
             {"id": "2:exp", "op": "exp", "deps": ["1.0"], "results": [{"id": "2.0", "bytes": 32 * mega}]},
             {"id": "3:exp", "op": "exp", "deps": ["2.0"], "results": [{"id": "3.0", "bytes": 33 * mega}]}]
    rows = spillway_torch.fresh_by_node(nodes, lambda node: node["op"] == "empty")
    expect(rows == [0, 40 * mega, 0, 33 * mega], "taken by one and touched by the next; small ones come back: %s" % rows)


def first_touches_are_apart_from_a_calls_time():
    mega = 1 << 20
    memory = types.SimpleNamespace(of_fault=0.5, of_byte=0.5 / (64 * mega))

    def told(*sizes):
        alone = spillway_torch.Alone(None)
        alone.takes_sizes([torch.empty(size, dtype=torch.uint8) for size in sizes], set())
        told = types.SimpleNamespace(alone=alone, times=[4.0, 3.0, 2.5], faults=[2, 4, 2])
        spillway_torch.Prepared.tell(told, mega, memory)
        return alone

    alone = told(64 * mega, 20 * mega)
    expect(alone.seconds_at(mega) == 1.5, "a median without faults: %s" % alone.seconds_at(mega))
    expect(alone.inside == 0.5, "two faults less those of the result that is mapped anew: %s" % alone.inside)
    expect(alone.ns([], 0.25) == 2250000000, "a call's time, that of its own memory, that of its results")
    expect(told(32 * mega, 20 * mega).inside == 1.0, "results that come back to the heap do not fault")


def a_first_touch_is_measured():
    memory = spillway_torch.FreshMemory(torch.device("cpu"))
    expect((memory.of_fault > 0) == (memory.of_byte > 0), "%s %s" % (memory.of_fault, memory.of_byte))
    expect(memory.of_byte < 1e-7, "a page takes no millisecond: %s" % memory.of_byte)
    gpu = spillway_torch.FreshMemory(torch.device("cuda"))
    expect(gpu.of_fault == gpu.of_byte == 0.0, "a GPU's allocator keeps its memory")


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.LSTM(16, 24, 2, batch_first=True), torch.nn.Linear(24, 5)

    def forward(self, x):
        return self.head(self.body(x)[0]).square().mean()


def a_workspace_is_that_of_the_call_that_makes_it():
    """oneDNN's LSTM keeps bytes of its own for backward: no call of the step stays without a time."""
    if torch.__version__.startswith("1."):
        print("left out: an LSTM without memory, fakes of PyTorch 1.13 refuse its flat weights")
        return
    network = Words()
    step = spillway_torch.record(network, [torch.randn(4, 6, 16)], how="calls")
    expect(not any("could not be run alone" in note for note in step["made"]["notes"]), step["made"]["notes"])
    run = spillway_torch.record(network, [torch.randn(4, 6, 16)], how="run", repetitions=1)
    sizes = [[result.get("bytes") for node in each["nodes"] for result in node["results"] if "rnn_layer" in node["op"]]
             for each in (step, run)]
    expect(sizes[0] == sizes[1], "bytes of what the library keeps: %s and %s" % tuple(sizes))


CASES = {case.__name__: case for case in (first_touches_of_a_node, first_touches_are_apart_from_a_calls_time,
                                          a_first_touch_is_measured, a_workspace_is_that_of_the_call_that_makes_it)}
