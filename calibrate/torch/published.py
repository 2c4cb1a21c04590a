#!/usr/bin/env python3
"""Two published peaks of torchtune's README beside recordings of that model, built from its published dimensions.

    PYTHONPATH=FOLDER_OF_SPILLWAY_TORCH calibrate/torch/published.py [--layers N]

Llama 3.2 3B in bfloat16, AdamW, two sequences of 4,096 tokens packed full, on one A100 (torchtune, README, table of
memory: "Baseline + Packed Dataset" and the row with activation checkpointing). Nothing is run: the network stands on the
meta device. Needs transformers. --layers: fewer, for a quick look.
"""
import argparse

import torch

from spillway_torch import alive_by_node, record

GIB = 1 << 30
TOKENS, SAMPLES = 4096, 2
DIMENSIONS = {"vocab_size": 128256, "hidden_size": 3072, "intermediate_size": 8192, "num_attention_heads": 24,
              "num_key_value_heads": 8, "head_dim": 128, "tie_word_embeddings": True, "use_cache": False}
# What torchtune's README says, GiB at the peak: https://github.com/pytorch/torchtune
PUBLISHED = {"plain": 60.0, "checkpointed": 24.9}


def llama(layers, checkpointed):
    import transformers
    config = transformers.LlamaConfig(num_hidden_layers=layers, **DIMENSIONS)
    with torch.device("meta"):
        network = transformers.LlamaForCausalLM(config).to(torch.bfloat16).train()
    if checkpointed:
        network.gradient_checkpointing_enable()
    return network


def loss_of(network, words, labels, chunks):
    """Cross entropy as torchtune takes it: in single precision, of the whole text or of one chunk after the other."""
    hidden = network.model(input_ids=words).last_hidden_state
    total = 0
    for part, to in zip(hidden.chunk(chunks, 1), labels.chunk(chunks, 1)):
        made = network.lm_head(part).flatten(0, 1).float()
        total = total + torch.nn.functional.cross_entropy(made, to.flatten(), reduction="sum")
    return total / labels.numel()


def recorded(layers, checkpointed, fused):
    network = llama(layers, checkpointed)
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-5, fused=fused)
    words = torch.randint(0, 1000, (SAMPLES, TOKENS))

    def update():
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return record(lambda x, to: loss_of(network, x, to, 8 if checkpointed else 1), [words, words.clone()], update,
                  how="calls", times=None)


def alive_by_class(step, place):
    """Bytes by class while node `place` runs."""
    nodes = step["nodes"]
    number = {node["id"]: index for index, node in enumerate(nodes)}
    sums, root, made, last = {}, {}, {}, {}
    for value in step["values"]:
        kind = value.get("class", "others")
        sums[kind] = sums.get(kind, 0) + value["bytes"]
    for index, node in enumerate(nodes):
        for result in node["results"]:
            begun = root.get(result.get("in_place"), result.get("in_place")) or result["id"]
            root[result["id"]] = begun
            if "bytes" in result:
                made[begun] = (index, result)
            until = result.get("held_until")
            last[begun] = max(index, len(nodes) if until == "end" else number.get(until, 0), last.get(begun, 0))
        for name in node["deps"]:
            last[root.get(name, name)] = max(index, last.get(root.get(name, name), 0))
    for begun, (index, result) in made.items():
        if index <= place <= last[begun]:
            sums[result["class"]] = sums.get(result["class"], 0) + result["bytes"]
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=28)
    layers = parser.parse_args().layers
    for name, published in PUBLISHED.items():
        for fused in (False, True):
            step = recorded(layers, name == "checkpointed", fused)
            alive = alive_by_node(argparse.Namespace(**step))
            place = max(range(len(alive)), key=alive.__getitem__)
            parts = ", ".join("%s %.2f" % (kind, total / GIB) for kind, total in sorted(
                alive_by_class(step, place).items(), key=lambda pair: -pair[1]))
            node = step["nodes"][place]
            print("%s, %s: peak %.2f GiB (published %.1f) at %s (%s, %s): %s" % (
                name, "fused" if fused else "loop", alive[place] / GIB, published, node["id"], node["pass"],
                node["module"], parts), flush=True)


if __name__ == "__main__":
    main()
