#!/usr/bin/env python3
"""Joins the files of recorder and carrier into one that a user can copy: join.py [-o spillway_torch.py]

Order is that of ORDER; imports of one another are left out, all others come first. Exit status 1: two files give one
name to different things, so they cannot be one file.
"""
import argparse
import ast
import os
import sys

# A file comes after those that it imports.
ORDER = ["versions", "calls", "taken", "modules", "mistakes", "found", "untouched", "storages", "clocks", "recorder",
         "roles", "running", "machine", "peak", "fresh", "known", "restrided", "larger", "foreach",
         "fakes", "answers", "work", "alone", "cache", "rounds", "calling", "networks", "front", "carry_storage", "carry_calls", "carry_buffers", "carry_copies",
         "carry_match", "carry_notice", "carry_report", "carry_again", "carry_store", "carry_plan", "carry_fit",
         "carry_attach", "carry_making", "carry_follow", "carry_next", "carry_kinds", "carry", "carry_cost",
         "watch_piece", "watch_kinds", "watch", "auto_facts", "auto_cache", "auto_watch", "auto_words", "auto", "main"]
HEAD = '''"""Spillway's recorder of PyTorch training steps, and the carrier of its plans, in one file.

Made from calibrate/torch/*.py by join.py; change those. Needs PyTorch 1.13 or later and Python 3.8 or later.

    from spillway_torch import record
    step = record(forward, batch, update)       # a dictionary; json.dump writes it

    from spillway_torch import watch
    watch("step.json").attach(model)            # or: records the loop that runs, in its own place

    from spillway_torch import apply
    carrier = apply("plan.json").attach(model)  # of spillway plan step.json --memory 8GB --for torch -o plan.json

    from spillway.torch import auto             # of the installed package: all three in one line
    carrier = auto(model, memory="8 GB")
"""
'''


def defined(node):
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return []


def read(folder, name):
    """(imports as lines, the rest as text, names defined) of a file."""
    with open(os.path.join(folder, name + ".py"), encoding="utf-8") as file:
        text = file.read()
    lines, tree = text.split("\n"), ast.parse(text, feature_version=(3, 8))
    imports, names, left_out = [], [], set()
    for index, node in enumerate(tree.body):
        names += defined(node)
        span = range(node.lineno - 1, node.end_lineno)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            left_out.update(span)
            own = isinstance(node, ast.ImportFrom) and node.module in ORDER
            if not own:
                imports.append("\n".join(lines[place] for place in span))
        elif index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines[node.lineno - 1] = "# " + lines[node.lineno - 1].strip('"')
            for place in span[1:]:
                lines[place] = ("# " + lines[place]).rstrip().rstrip('"').rstrip()
    rest = "\n".join(line for place, line in enumerate(lines) if place not in left_out)
    return imports, rest.strip("\n"), names


def join(folder):
    imports, parts, owner = [], [], {}
    for name in ORDER:
        more, rest, names = read(folder, name)
        for defined_name in names:
            if owner.setdefault(defined_name, name) != name:
                sys.exit("join.py: %s.py and %s.py both define %s" % (owner[defined_name], name, defined_name))
        imports += [line for line in more if line not in imports]
        parts.append(rest)
    return HEAD + "\n".join(sorted(imports)) + "\n\n\n" + "\n\n\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", default="spillway_torch.py")
    arguments = parser.parse_args()
    text = join(os.path.dirname(os.path.abspath(__file__)))
    ast.parse(text, feature_version=(3, 8))
    with open(arguments.output, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
