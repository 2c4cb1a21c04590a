"""A planning problem of Checkmate's and MONeT's published profiles as a recorded step (model/recorded/README.md).

    python3 case_graph.py NETWORK.dag.json [--ways NETWORK.impl_options.json] [-o step.json [--dtr scenario.yaml] [--best scenario.yaml]]

The first file has nodes {id, op, kind: fwd|loss|bwd, time_ms, out_bytes, deps} and `fixed_bytes`, which are always there;
the second the times and workspaces (MiB) of each node by every implementation that there was, -1000 where there was none.
Memory by their rule is what is live: operands and results of the running op, results that are wanted later, fixed bytes.
--dtr also writes a scenario in which our DTR stands beside what the first file gives of DTR's own simulator (`peer_results`,
with classes of equivalence), in each of its memories: `spillway run scenario.yaml`. --best writes one in which our `best`,
without copies and with copies of 12 GB/s each way, stands beside the best plans of Checkmate, or with --ways of MONeT.
A result of no bytes that nobody reads is left out; workspaces below zero, which are of in-place forms, count as none.
"""
import argparse
import json
import os
import sys

NO_SUCH_WAY = 0  # times below this are of implementations that could not be had
MIB = 1 << 20


def name_of(node):
    return "n%d:%s" % (node["id"], node["op"].replace("::", "."))


def ways_of(node):
    times, spaces = node["time_ms"], node["workspace_mb"]
    return [{"algorithm": "implementation %d" % k, "ns": round(time * 1e6), "workspace": max(0, round(space * MIB))}
            for k, (time, space) in enumerate(zip(times, spaces)) if time >= NO_SUCH_WAY]


def whole_nodes(options):
    """Without those that stand for a step inside another one's implementation."""
    return [node for node in (options or {"nodes": []})["nodes"] if node.get("kind") != "int"]


def converted(case, options):
    read = {dep for node in case["nodes"] for dep in node["deps"]}
    result_of = {node["id"]: name_of(node) for node in case["nodes"]}
    ways = {}
    for node, same in zip(case["nodes"], whole_nodes(options)):  # numbered anew there
        if node["op"] != same["op"]:
            sys.exit("node %d: %s in one file, %s in the other" % (node["id"], node["op"], same["op"]))
        ways[node["id"]] = ways_of(same)
    nodes = []
    for node in case["nodes"]:
        out = {"id": name_of(node), "op": node["op"], "pass": "backward" if node["kind"] == "bwd" else "forward"}
        if ways.get(node["id"]):
            out["ways"] = ways[node["id"]]
        else:
            out["ns"] = round(node["time_ms"] * 1e6)
        out["deps"] = [result_of[dep] for dep in node["deps"]]
        if node["out_bytes"] > 0 or node["id"] in read:
            out["results"] = [{"id": name_of(node), "bytes": node["out_bytes"]}]
        nodes.append(out)
    return {"graph": case["name"] + ("+ways" if options else ""), "samples": int(case.get("batch", 1)),
            "source": {"published": case["source"]}, "error": 0.05, "fixed_bytes": case["fixed_bytes"], "nodes": nodes}


def dtr_scenario(case, step):
    rows = [row for row in case["peer_results"] if row["peer"] == "dtr_simrd" and row["variant"] == "h_DTR_eq"]
    lines = ["name: DTR on %s" % case["name"], "network: {graph: %s}" % step,
             "machines: p100-x86-pcie3  # times are the recording's; nothing is copied",
             "usable_memory: [%s]" % ", ".join("%g GiB" % row["budget_gb"] for row in rows),
             "runtime: paging  # live bytes: a pool without addresses", "strategies: dtr", "expect:"]
    for row in rows:
        figure = "step_time: %.3f ms" % row["best_ms"] if row["result"] == "ok" else "feasible: false"
        lines.append("  - {memory: %g GiB, %s, source: DTR's own simulator}" % (row["budget_gb"], figure))
    return "\n".join(lines) + "\n"


def best_scenario(case, step, ways):
    peer, mode = ("monet", "inplace_conv_normal") if ways else ("checkmate", "normal")
    rows = [row for row in case["peer_results"] if row["peer"] == peer and row.get("mode") == mode and row["best_ms"]]
    rows.sort(key=lambda row: -row["budget_gb"])
    lines = ["name: best on %s" % case["name"], "network: {graph: %s}" % step,
             "machines: p100-x86-pcie3  # times are the recording's, copies those of `link`", "link: 12 GB/s",
             "usable_memory: [%s]" % ", ".join("%g GiB" % row["budget_gb"] for row in rows),
             "runtime: {name: live, from: paging, copy_streams: 2}  # live bytes: a pool without addresses", "strategies:",
             "  - {strategy: best, parameters: {swap: false}}", "  - best", "expect:"]
    for row in rows:
        lines.append("  - {memory: %g GiB, step_time: %.3f ms, source: %s (Gurobi)}"
                     % (row["budget_gb"], row["best_ms"], "MONeT" if ways else "Checkmate"))
    return "\n".join(lines) + "\n"


def write_scenario(path, text_for, output):
    if path:
        with open(path, "w") as file:
            file.write(text_for(os.path.relpath(output, os.path.dirname(path) or ".")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case")
    parser.add_argument("--ways")
    parser.add_argument("-o", "--output")
    parser.add_argument("--dtr")
    parser.add_argument("--best")
    arguments = parser.parse_args()
    if (arguments.dtr or arguments.best) and not arguments.output:
        parser.error("--dtr, --best: the scenario needs a step to name: -o")
    with open(arguments.case) as file:
        case = json.load(file)
    options = None
    if arguments.ways:
        with open(arguments.ways) as file:
            options = json.load(file)
        if len(whole_nodes(options)) != len(case["nodes"]):
            sys.exit("%s: not the nodes of %s" % (arguments.ways, arguments.case))
    out = open(arguments.output, "w") if arguments.output else sys.stdout
    json.dump(converted(case, options), out, indent=1)
    out.write("\n")
    write_scenario(arguments.dtr, lambda step: dtr_scenario(case, step), arguments.output)
    write_scenario(arguments.best, lambda step: best_scenario(case, step, arguments.ways), arguments.output)


if __name__ == "__main__":
    main()
