"""Bytes alive over a listed step."""


def alive_by_node(step):
    """Bytes alive while each node runs: values, and results from their node to their last reader or holder."""
    nodes = step.nodes
    place = {node["id"]: index for index, node in enumerate(nodes)}
    resident = sum(value["bytes"] for value in step.values)
    root, size, last = {}, {}, {}
    change = [0] * (len(nodes) + 1)
    for index, node in enumerate(nodes):
        for result in node["results"]:
            begun = root.get(result.get("in_place"), result.get("in_place")) or result["id"]
            root[result["id"]] = begun
            if "bytes" in result:
                size[begun] = result["bytes"]
                change[index] += result["bytes"]
            until = result.get("held_until")
            last[begun] = max(index, last.get(begun, 0), len(nodes) - 1 if until == "end" else place.get(until, 0))
        for name in node["deps"]:
            begun = root.get(name, name)
            last[begun] = max(index, last.get(begun, 0))
    for begun, index in last.items():
        change[index + 1] -= size.get(begun, 0)
    alive, rows = resident, []
    for index in range(len(nodes)):
        alive += change[index]
        rows.append(alive)
    return rows


def peak_of(step):
    return max(alive_by_node(step) or [0])
