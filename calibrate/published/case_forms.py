"""Which form each gradient of a published problem should take: beside the operand that its op made it may read the one that
its op read, or a mask or indices that a node of its own makes (MONeT's mode inplace_conv_multiway_newnode).

    python3 case_forms.py NETWORK.dag.json NETWORK.impl_options.json --memory 8 6 5.5 --program build/spillway [--swap]

Forms make other steps, and a plan is one of a step. So they are chosen around the planner: from both rules of case_graph.py,
one gradient after the other, what makes the planned step faster stays, until nothing does. Prints a line for each memory
(GiB), beside MONeT's; the steps go to --folder.
"""
import argparse
import csv
import io
import json
import os
import subprocess
import tempfile

import case_graph

SCENARIO = """name: forms
network: {graph: %s}
machines: p100-x86-pcie3  # times are the recording's, copies those of `link`
link: 12 GB/s
usable_memory: %s GiB
runtime: {name: live, from: paging, copy_streams: 2}  # live bytes: a pool without addresses
strategies: {strategy: best, parameters: {swap: %s}}
"""


class Planner:
    """Milliseconds of the planned step, by forms; none: it does not fit."""

    def __init__(self, arguments, case, options, folder):
        self.arguments, self.case, self.options, self.folder = arguments, case, options, folder
        self.known = {}

    def time_of(self, forms, memory):
        key = (memory, tuple(sorted(forms.items())))
        if key not in self.known:
            self.known[key] = self.planned(forms, memory)
        return self.known[key]

    def planned(self, forms, memory):
        step, scenario = (os.path.join(self.folder, "step" + end) for end in (".json", ".yaml"))
        with open(step, "w") as file:
            json.dump(case_graph.converted(self.case, self.options, forms), file)
        with open(scenario, "w") as file:
            file.write(SCENARIO % (step, memory, "true" if self.arguments.swap else "false"))
        ran = subprocess.run([self.arguments.program, "run", scenario, "--format", "csv"], capture_output=True, text=True)
        rows = list(csv.DictReader(io.StringIO(ran.stdout)))
        if not rows:
            raise SystemExit(ran.stderr)
        return float(rows[0]["step_time_s"]) * 1e3 if rows[0]["feasible"] == "1" else float("inf")


def changes(options):
    """Other forms of one gradient, and of two behind each other, as of a pooling and the ReLU before it."""
    several = [node for node in options["nodes"] if node["kind"] == "bwd" and len(node["deps"]) > 1]
    single = [[{node["id"]: k} for k, time in enumerate(node["time_ms"]) if time >= case_graph.NO_SUCH_WAY] for node in several]
    pairs = [{**one, **other} for first, second in zip(single, single[1:]) for one in first for other in second]
    return [change for gradient in single for change in gradient] + pairs


def improved(planner, forms, memory):
    """Changes, one after the other, until none gains."""
    best, gained = planner.time_of(forms, memory), True
    while gained:
        gained = False
        for change in changes(planner.options):
            time = planner.time_of({**forms, **change}, memory)
            if time < best:
                forms, best, gained = {**forms, **change}, time, True
    return best, forms


def published(case, memory):
    rows = [row for row in case["peer_results"] if row["peer"] == "monet" and row.get("mode") == "inplace_conv_multiway_newnode"
            and row["budget_gb"] == memory and row["best_ms"]]
    return "%.1f" % rows[0]["best_ms"] if rows else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case")
    parser.add_argument("ways")
    parser.add_argument("--memory", type=float, nargs="+", required=True, help="GiB")
    parser.add_argument("--program", required=True, help="the planner")
    parser.add_argument("--swap", action="store_true", help="with copies of 12 GB/s each way")
    parser.add_argument("--folder", help="for the steps that were found")
    arguments = parser.parse_args()
    with open(arguments.case) as case, open(arguments.ways) as ways:
        case, options = json.load(case), json.load(ways)
    print("GiB    ours ms  MONeT ms  other forms than that of the result")
    with tempfile.TemporaryDirectory() as folder:
        planner = Planner(arguments, case, options, folder)
        usual = case_graph.forms_of(options)
        for memory in arguments.memory:
            starts = [usual, case_graph.forms_of(options, with_masks=True)]
            best, forms = min((improved(planner, start, memory) for start in starts), key=lambda found: found[0])
            others = ["n%d:%d" % (node, form) for node, form in forms.items() if form != usual[node]]
            print("%-5g %8.1f %9s  %s" % (memory, best, published(case, memory), " ".join(others)), flush=True)
            if arguments.folder:
                with open(os.path.join(arguments.folder, "%s_%g.json" % (case["name"], memory)), "w") as file:
                    json.dump(case_graph.converted(case, options, forms), file, indent=1)


if __name__ == "__main__":
    main()
