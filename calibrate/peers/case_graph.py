"""A planning problem of Checkmate's and MONeT's published profiles as a recorded step (model/recorded/README.md).

    python3 case_graph.py NETWORK.dag.json [--ways NETWORK.impl_options.json] [-o step.json [--dtr scenario.yaml] [--best scenario.yaml]]

The first file has nodes {id, op, kind: fwd|loss|bwd, time_ms, out_bytes, deps} and `fixed_bytes`, which are always there;
the second the times and workspaces (MiB) of each node by every implementation that there was, -1000 where there was none.
Memory by their rule is what is live: operands and results of the running op, results that are wanted later, fixed bytes.
--dtr also writes a scenario in which our DTR stands beside what the first file gives of DTR's own simulator (`peer_results`,
with classes of equivalence), in each of its memories: `spillway run scenario.yaml`. --best writes one in which our `best`,
without copies and with copies of 12 GB/s each way, stands beside the best plans of Checkmate, or with --ways of MONeT.
A result of no bytes that nobody reads is left out.

With --ways, what nodes read is the second file's (a ReLU's gradient needs what it made, not what it read), and what MONeT's
mode inplace_conv_normal allows is made in place: ReLUs, and what takes less than no workspace, which is what it saves, where
nobody reads any more what stood there. Forms that need a result of another shape (masks, indices) are left out.
"""
import argparse
import json
import os
import sys

NO_SUCH_WAY = 0  # times below this are of implementations that could not be had
MIB = 1 << 20


def name_of(node):
    return "n%d:%s" % (node["id"], node["op"].replace("::", "."))


def kind_of(node):
    """The form of an op that is none of the library's algorithms: of those of a gradient the one that needs what its op made."""
    of_result = [k for k, deps in enumerate(node["deps"]) if node.get("fwd_id") in deps]
    return of_result[0] if of_result else 0


def ways_of(node, form=""):
    times, spaces = node[form + "time_ms"], node[form + "workspace_mb"]
    ways = [{"algorithm": "implementation %d" % k, "ns": round(time * 1e6), "workspace": max(0, round(space * MIB))}
            for k, (time, space) in enumerate(zip(times, spaces)) if time >= NO_SUCH_WAY]
    return ways if "_convolution" in node["op"] else [ways[kind_of(node)]]


def nodes_by(case, options):
    """Those of the first file, with the ways and deps of the second, which has more: steps inside implementations."""
    whole = [node for node in options["nodes"] if node.get("kind") != "int"]
    if len(whole) != len(case["nodes"]):
        sys.exit("not the same nodes in both files")
    id_of = {same["id"]: node["id"] for node, same in zip(case["nodes"], whole)}
    for node, same in zip(case["nodes"], whole):
        if node["op"] != same["op"]:
            sys.exit("node %d: %s in one file, %s in the other" % (node["id"], node["op"], same["op"]))
        yield dict(node, deps=[id_of[dep] for dep in same["deps"][kind_of(same)]], ways=ways_of(same),
                   in_place_ways=ways_of(same, "inplace_"),
                   in_place=same["id"] in options["inplace_nodes"] or same["workspace_mb"][kind_of(same)] < 0)


def overwritten_by(node, nodes, last_read):
    """The dep that this node writes over: the last one that fits into its result and is not read later."""
    if not node.get("in_place"):
        return None
    free = [dep for dep in node["deps"] if last_read[dep] == node["id"] and 0 < nodes[dep]["out_bytes"] <= node["out_bytes"]]
    return free[-1] if free else None


def results_of(node, over, read):
    """Where it is larger than what it writes over, the rest stands by itself."""
    rest = node["out_bytes"] - (over["out_bytes"] if over else 0)
    results = [{"id": name_of(node), "in_place": name_of(over)}] if over else []
    if rest > 0 or (not over and node["id"] in read):
        results.append({"id": name_of(node) + ("+" if over else ""), "bytes": rest})
    return results


def converted(case, options):
    nodes = {node["id"]: node for node in (nodes_by(case, options) if options else case["nodes"])}
    last_read = {dep: node["id"] for node in nodes.values() for dep in node["deps"]}
    made, out = {}, []
    for node in nodes.values():
        over = overwritten_by(node, nodes, last_read)
        ways = node.get("in_place_ways" if over is not None else "ways")
        row = {"id": name_of(node), "op": node["op"], "pass": "backward" if node["kind"] == "bwd" else "forward"}
        row.update({"ways": ways} if ways else {"ns": round(node["time_ms"] * 1e6)})
        row["deps"] = [name for dep in node["deps"] for name in made[dep]]
        row["results"] = results_of(node, nodes.get(over), last_read)
        made[node["id"]] = [result["id"] for result in row["results"]]
        out.append(row)
    return {"graph": case["name"] + ("+ways" if options else ""), "samples": int(case.get("batch", 1)),
            "source": {"published": case["source"]}, "error": 0.05, "fixed_bytes": case["fixed_bytes"], "nodes": out}


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
    out = open(arguments.output, "w") if arguments.output else sys.stdout
    json.dump(converted(case, options), out, indent=1)
    out.write("\n")
    write_scenario(arguments.dtr, lambda step: dtr_scenario(case, step), arguments.output)
    write_scenario(arguments.best, lambda step: best_scenario(case, step, arguments.ways), arguments.output)


if __name__ == "__main__":
    main()
