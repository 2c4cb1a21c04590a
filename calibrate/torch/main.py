"""spillway_torch.py on the command line: records one of two small networks.

    python3 spillway_torch.py transformer --batch 8 -o step.json
"""
import argparse
import json
import sys

import torch
from torch import nn

from front import record
from mistakes import RecordError
from networks import NETWORKS


def main(words=None):
    parser = argparse.ArgumentParser(description="Records a training step of a small network, which spillway plans.")
    parser.add_argument("network", choices=sorted(NETWORKS))
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--how", choices=("auto", "run", "calls"), default="run")
    parser.add_argument("--no-times", action="store_true", help="with --how calls: no call is run")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args(words)
    torch.manual_seed(1)
    make, draw = NETWORKS[arguments.network]
    network = make().to(arguments.device).train()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    batch = [tensor.to(arguments.device) for tensor in draw(arguments.batch)]

    def forward(data, labels):
        return nn.functional.cross_entropy(network(data), labels)

    def update():
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    try:
        step = record(forward, batch, update, arguments.how, None if arguments.no_times else "measured",
                      "%s of PyTorch, batch %d" % (arguments.network, arguments.batch))
    except RecordError as error:
        sys.exit("spillway_torch.py: %s" % error)
    with open(arguments.output, "w") if arguments.output else sys.stdout as out:
        json.dump(step, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
