"""Plans that the project's own generator draws (tests/random_plan.h), for carrier_test.py.

SPILLWAY_DRAWER in the environment: the tests' program that holds random_carried_test.cc.
"""
import json
import os
import subprocess

DRAWER = os.environ.get("SPILLWAY_DRAWER")


def drawn(step, folder, count):
    """For a recording: (the content of each plan file, why each other plan is none)."""
    os.makedirs(folder)
    asked = dict(os.environ, SPILLWAY_STEP=step, SPILLWAY_FOLDER=folder, SPILLWAY_COUNT=str(count))
    done = subprocess.run([DRAWER, "[carried-plans]"], env=asked, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    plans, refused = [], []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name)) as file:
            if name.endswith(".json"):
                plans.append(json.load(file))
            else:
                refused.append(file.read())
    assert len(plans) + len(refused) == count, (len(plans), len(refused))
    return plans, refused


def moves_of(plan):
    """How often something is copied out, copied in, made again."""
    kinds = [kind for actions in plan["before"].values() for kind, _ in actions]
    return [kinds.count(kind) for kind in ("out", "in", "again")]
