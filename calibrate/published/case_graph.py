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
nobody reads any more what stood there. --masks: gradients that may read a mask or indices do, which nodes of their own make
(mode inplace_conv_multiway_newnode); which gradients had better is what case_forms.py finds. By that solver's rules
(utsaslab/MONeT, monet/gurobi_solver.py and solver_info.py) times are hundredths of a millisecond, rounded up, and the
gradient of a weight is there from when it is made, so that before backward there are none: how large they are is known here
of VGG-16 and ResNet-50 only. One thing it knows is not in the
file: batch norms that run again have times of their own, without their statistics.
"""
import argparse
import json
import math
import os
import sys

NO_SUCH_WAY = 0  # times below this are of implementations that could not be had
MIB = 1 << 20
TICK = 10_000  # ns: MONeT's objective counts each op in hundredths of a millisecond, rounded up
FLOAT = 4


def name_of(node):
    return "n%d:%s" % (node["id"], node["op"].replace("::", "."))


def convolution(channels, filters, side, bias=0):
    return FLOAT * filters * (channels * side * side + bias)


def vgg16_weights():
    """Simonyan and Zisserman, table 1, column D: bytes of the weights of each op that has some, in order."""
    widths = [3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
    products = [(512 * 7 * 7, 4096), (4096, 4096), (4096, 1000)]
    return ([convolution(channels, filters, 3, bias=1) for channels, filters in zip(widths, widths[1:])]
            + [convolution(channels, filters, 1, bias=1) for channels, filters in products])


def resnet50_weights():
    """He et al., table 1: convolutions without bias, each with a batch norm of scale and shift behind it, one product."""
    layers, channels = [(3, 64, 7)], 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            layers += [(channels, width, 1), (width, width, 3), (width, 4 * width, 1)]
            layers += [(channels, 4 * width, 1)] if block == 0 else []
            channels = 4 * width
    sizes = [size for c, f, side in layers for size in (convolution(c, f, side), 2 * FLOAT * f)]
    return sizes + [convolution(channels, 1000, 1, bias=1)]


WEIGHTS = {"vgg16": vgg16_weights, "resnet50": resnet50_weights}


def weights_of(case, nodes):
    """By id of the forward node: bytes of its weights, hence of their gradients."""
    weighted = [node for node in nodes if node["kind"] == "fwd" and node["op"] in ("_convolution", "batch_norm", "addmm")]
    sizes = WEIGHTS.get(case["name"].split("_")[0], list)()
    if len(sizes) != len(weighted) or 2 * sum(sizes) > case["fixed_bytes"]:
        sys.exit("%s: the weights of such a network are not known here" % case["name"])
    return {node["id"]: size for node, size in zip(weighted, sizes)}


def masks_of(options):
    return {node["id"] for node in options["nodes"] if node["kind"] == "int"}


def forms_of(options, with_masks=False):
    """By id, which of its forms each gradient takes: the one that needs what its op made; with masks, where there is one, the
    one that reads what a node of its own made of that."""
    masks, forms = masks_of(options) if with_masks else set(), {}
    for node in options["nodes"]:
        of_mask = [k for k, deps in enumerate(node["deps"]) if masks.intersection(deps)]
        of_result = [k for k, deps in enumerate(node["deps"]) if node.get("fwd_id") in deps]
        forms[node["id"]] = (of_mask or of_result or [0])[0]
    return forms


def ways_of(node, form, place=""):
    times, spaces = node[place + "time_ms"], node[place + "workspace_mb"]
    ways = [{"algorithm": "implementation %d" % k, "ns": math.ceil(time * 1e6 / TICK) * TICK,
             "workspace": max(0, math.ceil(space * MIB))} for k, (time, space) in enumerate(zip(times, spaces))]
    if "_convolution" not in node["op"]:
        return [ways[form]]
    return [way for way, time in zip(ways, times) if time >= NO_SUCH_WAY]


def stores_gradient(node):
    return node.get("role") == "param_grad" or node["op"] == "batch_norm_ip_grad"


def nodes_by(case, options, forms):
    """Those of the second file that the forms want, with deps and ways, and the bytes of gradients of weights."""
    read = {dep for node in options["nodes"] for dep in node["deps"][forms[node["id"]]]}
    weights = weights_of(case, options["nodes"])
    for node in options["nodes"]:
        if node["kind"] == "int" and node["id"] not in read:
            continue
        form = forms[node["id"]]
        yield dict(node, deps=node["deps"][form], ways=ways_of(node, form), in_place_ways=ways_of(node, form, "inplace_"),
                   in_place=node["id"] in options["inplace_nodes"] or node["workspace_mb"][form] < 0,
                   stored=weights[node["fwd_id"]] if stores_gradient(node) else 0)


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


def update_of(gradients):
    return {"id": "update", "op": "update", "pass": "update", "ns": 0, "deps": gradients, "results": []}


def converted(case, options=None, forms=None):
    nodes = {node["id"]: node for node in (nodes_by(case, options, forms) if options else case["nodes"])}
    last_read = {dep: node["id"] for node in nodes.values() for dep in node["deps"]}
    made, out, gradients = {}, [], []
    for node in nodes.values():
        over = overwritten_by(node, nodes, last_read)
        ways = node.get("in_place_ways" if over is not None else "ways")
        row = {"id": name_of(node), "op": node["op"], "pass": "backward" if node["kind"] == "bwd" else "forward"}
        row.update({"ways": ways} if ways else {"ns": round(node["time_ms"] * 1e6)})
        row["deps"] = [name for dep in node["deps"] for name in made[dep]]
        row["results"] = results_of(node, nodes.get(over), last_read)
        made[node["id"]] = [result["id"] for result in row["results"]]
        if node.get("stored"):
            gradients.append(name_of(node) + ".weights")
            row["results"].append({"id": gradients[-1], "bytes": node["stored"]})
        out.append(row)
    if gradients:
        out.append(update_of(gradients))
    return {"graph": case["name"] + ("+ways" if options else ""),
            "samples": int(case.get("batch", 1)), "source": {"published": case["source"]}, "error": 0.05,
            "fixed_bytes": case["fixed_bytes"] - sum(node.get("stored", 0) for node in nodes.values()), "nodes": out}


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


def best_scenario(case, step, ways, masks):
    peer, mode = ("monet", "inplace_conv_normal") if ways else ("checkmate", "normal")
    mode = "inplace_conv_multiway_newnode" if masks else mode
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
    parser.add_argument("--masks", action="store_true", help="with --ways: gradients read masks and indices")
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
    json.dump(converted(case, options, options and forms_of(options, arguments.masks)), out, indent=1)
    out.write("\n")
    write_scenario(arguments.dtr, lambda step: dtr_scenario(case, step), arguments.output)
    write_scenario(arguments.best, lambda step: best_scenario(case, step, arguments.ways, arguments.masks), arguments.output)


if __name__ == "__main__":
    main()
