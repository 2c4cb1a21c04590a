"""Bytes alive over a listed step."""


class Lives:
    """Of a step's storages, by the id under which their bytes were made. `ends[i]`: results that end with node i."""

    def __init__(self, nodes, values):
        self.size = {value["id"]: value["bytes"] for value in values}
        self._root = {}
        place = {node["id"]: index for index, node in enumerate(nodes)}
        last = {}
        for index, node in enumerate(nodes):
            for result in node["results"]:
                begun = self.root(result.get("in_place") or result["id"])
                self._root[result["id"]] = begun
                if "bytes" in result:
                    self.size[begun] = result["bytes"]
                until = result.get("held_until")
                last[begun] = max(index, last.get(begun, 0), len(nodes) - 1 if until == "end" else place.get(until, 0))
            for name in node["deps"]:
                last[self.root(name)] = max(index, last.get(self.root(name), 0))
        inside = {value["id"] for value in values}
        self.ends = [[] for _ in nodes]
        for name, index in last.items():
            if name not in inside and name in self.size:
                self.ends[index].append(name)

    def root(self, name):
        return self._root.get(name, name)

    def used(self, node):
        """Storages that a node reads or writes in place, once each."""
        names = list(node["deps"]) + [result["in_place"] for result in node["results"] if "in_place" in result]
        return dict.fromkeys(self.root(name) for name in names)

    @staticmethod
    def fresh(node):
        return [result["id"] for result in node["results"] if "bytes" in result]


def alive_by_node(step):
    """Bytes alive while each node runs: values, and results from their node to their last reader or holder."""
    lives = Lives(step.nodes, step.values)
    alive, rows = sum(value["bytes"] for value in step.values), []
    for index, node in enumerate(step.nodes):
        alive += sum(lives.size[name] for name in lives.fresh(node))
        rows.append(alive)
        alive -= sum(lives.size[name] for name in lives.ends[index])
    return rows


def peak_of(step):
    return max(alive_by_node(step) or [0])
