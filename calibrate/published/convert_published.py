#!/usr/bin/env python3
"""Turns tables of published measurements into samples, the format of model/samples/README.md.

    calibrate/published/convert_published.py FOLDER OUT

FOLDER holds the tables: CSV files extracted from NeuSight, DeepBench, MONeT, Comm|Scope and other public repositories,
with one source per row. OUT gets one file per device, named after it. This script alone knows those tables' columns.
Rows that are no single operation of ours (layer norm, MONeT's own kernels, copies without a size) are left out; what is
left out of each table is counted at the end.
"""
import collections
import csv
import pathlib
import re
import sys

COLUMNS = ("device host driver cuda cudnn op pass algorithm math precision layout n c d h w k t r s pad pad_w stride "
           "stride_w groups operands out_h out_w bytes row_bytes pitch_bytes direction kind link contention median_us "
           "p10_us p90_us samples workspace_bytes status harness source network note").split()

skipped = collections.Counter()


class Samples:
    """All rows by device. Empty and None fields stay empty."""

    def __init__(self):
        self.by_device = collections.defaultdict(list)

    def add(self, device, **fields):
        unknown = set(fields) - set(COLUMNS)
        assert not unknown, unknown
        self.by_device[device].append({"device": device, "contention": "none", "status": "ok", **fields})

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for device, rows in sorted(self.by_device.items()):
            used = [c for c in COLUMNS if any(row.get(c) not in (None, "") for row in rows)]
            with open(folder / (device.lower() + ".csv"), "w", newline="", encoding="utf-8") as file:
                out = csv.DictWriter(file, used, lineterminator="\n", extrasaction="ignore", restval="")
                out.writeheader()
                out.writerows(rows)


def rows_of(folder, pattern):
    for path in sorted(folder.glob(pattern)):
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                yield path.name, row


def us(milliseconds):
    return f"{float(milliseconds) * 1000:.6g}"


def number(value):
    return f"{value:.6g}"


def origin(row, publication):
    return f"{publication}; {row['source']}"


# ---------------------------------------------------------------------------------------------- NeuSight
NEUSIGHT = "NeuSight (Lee et al., ASPLOS 2025)"
NEUSIGHT_STACK = {"cudnn": "8.9.2", "harness": "pytorch-2.1-events", "precision": "fp32", "math": "fma",
                  "layout": "nchw"}
NEUSIGHT_ALGORITHMS = {"IMPLICIT_GEMM": "implicit_gemm", "IMPLICIT_PRECOMP_GEMM": "implicit_precomp_gemm",
                       "EXPLICIT_GEMM": "gemm", "WINOGRAD": "winograd", "WINOGRAD_NONFUSED": "winograd_nonfused"}


def neusight_algorithm(row):
    """The autotuner ran all that fit and kept the fastest; the kernels' names tell which it was.

    Both FFTs end in a complex product. With a transposed first operand (nt) there are 1 + 3 tiles kernels, where tiles
    counts the 30 x 30 outputs that a 32 x 32 transform of a 3x3 window yields: 4 up to side 30, 13 to 60, 28 to 90, 49,
    76, 109, 193. So these are the tiled ones. The others (tn) run five kernels, almost all of sides up to 30.
    """
    if row["algo_class"] == "FFT":
        return "best:fft_tiling" if row["main_kernel"].endswith("_nt") else "best:fft"
    if row["main_kernel"].startswith("precomputed_convolve"):
        return "best:implicit_precomp_gemm"
    return "best:" + NEUSIGHT_ALGORITHMS[row["algo_class"]]


def neusight_conv(samples, folder):
    for _, row in rows_of(folder, "conv_neusight_*.csv"):
        samples.add(row["device"], op="conv", **{"pass": "forward"}, algorithm=neusight_algorithm(row), n=row["N"],
                    c=row["C"], h=row["H"], w=row["W"], k=row["K"], r=row["kernel_h"], s=row["kernel_w"],
                    pad=row["pad"], stride=row["stride"], groups=1, median_us=us(row["fwd_ms"]),
                    source=origin(row, NEUSIGHT),
                    note=f"inputs all zero; {row['algo_class']}, main kernel {row['main_kernel']}", **NEUSIGHT_STACK)


def neusight_gemm(samples, folder):
    for _, row in rows_of(folder, "gemm_neusight_*.csv"):
        rows = int(row["batch"]) * int(row["rows_m"])
        samples.add(row["device"], op="linear", **{"pass": "forward"}, n=rows, c=row["in_features"],
                    k=row["out_features"], median_us=us(row["fwd_ms"]), source=origin(row, NEUSIGHT),
                    note=f"adds a bias; kernel {row['main_kernel']}",
                    **{**NEUSIGHT_STACK, "layout": "", "cudnn": ""})


# The other element-wise tables (addu, mulu, tanh, gelu: one tensor in; mul, div, pow: two) repeat these two on the
# same shapes and within 3 % at sizes that memory bounds. Layer norm is no operation of ours.
NEUSIGHT_OPS = {"relu": ("relu", {}), "add": ("add", {"operands": 2}), "softmax": ("softmax", {})}


def neusight_membound(samples, folder):
    for table, row in rows_of(folder, "membound_neusight_*.csv"):
        if row["op"] not in NEUSIGHT_OPS:
            skipped[table, "op " + row["op"]] += 1
            continue
        op, more = NEUSIGHT_OPS[row["op"]]
        samples.add(row["device"], op=op, **{"pass": "forward"}, n=row["rows_b"], c=row["cols_h"], **more,
                    median_us=us(row["fwd_ms"]), source=origin(row, NEUSIGHT),
                    **{**NEUSIGHT_STACK, "layout": "", "math": "", "cudnn": ""})


# ---------------------------------------------------------------------------------------------- DeepBench
DEEPBENCH = "DeepBench (Baidu Research)"
DEEPBENCH_DEVICES = {"P100": "P100-PCIE-16GB"}  # a workstation board
DEEPBENCH_PRECISION = {"fp32": ("fp32", "fma"), "fp16_tensorcore": ("fp16", "fp16"),
                       "fp16_storage_fp32_math": ("fp16", "fma")}
DEEPBENCH_PASSES = (("forward", "fwd_ms"), ("backward_data", "bwd_data_ms"), ("backward_filter", "bwd_filter_ms"))


def deepbench_layer(row):
    return tuple(row[c] for c in ("C", "H", "W", "K", "kernel_h", "kernel_w", "pad_h", "pad_w", "stride_h", "stride_w"))


def deepbench_apps(folder):
    """The sheets list the same problems; only some say which application a layer is from."""
    return {deepbench_layer(row): row["app"] for _, row in rows_of(folder, "conv_deepbench_*.csv") if row["app"]}


def deepbench_conv(samples, folder):
    apps = deepbench_apps(folder)
    for table, row in rows_of(folder, "conv_deepbench_*.csv"):
        precision, math = DEEPBENCH_PRECISION[row["precision"]]
        app = apps.get(deepbench_layer(row), "")
        for name, column in DEEPBENCH_PASSES:
            if not row[column]:
                skipped[table, "no time for " + name] += 1
                continue
            label = f"the sheet says {row['fwd_algo_label']} ({row['fwd_algo_label_check']})"
            samples.add(DEEPBENCH_DEVICES.get(row["device"], row["device"]), cuda=row["cuda"], cudnn=row["cudnn"],
                        op="conv", **{"pass": name}, algorithm="best", math=math, precision=precision, layout="nchw",
                        n=row["N"], c=row["C"], h=row["H"], w=row["W"], k=row["K"], r=row["kernel_h"],
                        s=row["kernel_w"], pad=row["pad_h"], pad_w=row["pad_w"], stride=row["stride_h"],
                        stride_w=row["stride_w"], groups=1, median_us=us(row[column]), harness="deepbench",
                        source=origin(row, DEEPBENCH), network="deepbench" + (" " + app if app else ""),
                        note=label if name == "forward" else "")


def deepbench_gemm(samples, folder):
    """cuBLAS counts by columns: C (M x N) = op(A) (M x K) op(B) (K x N). What a linear layer of n samples, c inputs and
    k outputs with row-major data calls is T,N (k, n, c) forward, N,N (c, n, k) for the data, N,T (c, k, n) for the
    weights; each of the sheets' products is one of these."""
    for _, row in rows_of(folder, "gemm_deepbench_*.csv"):
        m, n, k = row["M"], row["N"], row["K"]
        name, shape = {"TN": ("forward", {"k": m, "n": n, "c": k}), "NN": ("backward_data", {"c": m, "n": n, "k": k}),
                       "NT": ("backward_filter", {"c": m, "k": n, "n": k})}[row["trans_a"] + row["trans_b"]]
        precision, math = DEEPBENCH_PRECISION[row["precision"]]
        samples.add(DEEPBENCH_DEVICES.get(row["device"], row["device"]), cuda=row["cuda"], op="linear",
                    **{"pass": name}, math=math, precision=precision, **shape, median_us=us(row["time_ms"]),
                    harness="deepbench", source=origin(row, DEEPBENCH), network="deepbench",
                    note=f"product M {m} N {n} K {k} {row['trans_a']},{row['trans_b']} by columns")


# ---------------------------------------------------------------------------------------------- MONeT
MONET = "MONeT (Shah et al., ICLR 2021)"
MONET_DEVICE = "P100-16GB"
MONET_STACK = {"cuda": "10.1", "harness": "pytorch-1.5-wall", "precision": "fp32"}


def two_profiles(first, second):
    """Their mean, and the two as the ends of the spread."""
    times = [float(t) * 1000 for t in (first, second) if t]
    more = {"p10_us": number(min(times)), "p90_us": number(max(times))} if len(times) == 2 else {}
    return {"median_us": number(sum(times) / len(times)), "samples": 20 * len(times), **more}


def monet_workspace(row):
    return "" if row["workspace_note"].startswith("upper bound") else row["workspace_bytes"]


def monet_note(row):
    notes = ["host and card form not stated"]
    if row["has_bias"] == "1" and row["pass"] == "forward":
        notes.append("holds an in-place bias add")
    if row["has_bias"] == "1" and row["pass"] == "backward_filter":
        notes.append("holds the sum of the bias gradient")
    if row["workspace_note"]:
        notes.append(f"workspace {row['workspace_note']}")
    if row["status"] != "ok":
        notes.append("the call failed: not supported, or out of memory")
    return "; ".join(notes)


def monet_conv(samples, folder):
    for _, row in rows_of(folder, "conv_algorithms_p100_monet.csv"):
        ok = row["status"] == "ok"
        times = two_profiles(row["time_ms"], row["time_ms_second_profile"]) if ok else {}
        samples.add(MONET_DEVICE, op="conv", **{"pass": row["pass"]}, algorithm=row["cudnn_algo_name"].lower(),
                    math="fma", layout="nchw", n=row["n"], c=row["c"], h=row["h"], w=row["w"], k=row["k"],
                    r=row["kernel_h"], s=row["kernel_w"], pad=row["pad"], stride=row["stride"], groups=row["groups"],
                    **times, workspace_bytes=monet_workspace(row), source=origin(row, MONET),
                    network=row["network"], note=monet_note(row), cudnn="7.6",
                    **({} if ok else {"status": "not_supported"}), **MONET_STACK)


def no_window(row):
    return {}


def window(row):
    return {"r": row["kernel"], "s": row["kernel"], "pad": row["pad"], "stride": row["stride"], "out_h": row["out_h"],
            "out_w": row["out_w"]}


def outputs(row):
    return {"k": row["out_c"]}


def two_operands(row):
    return {"operands": 2}


# (op, pass) there: op, pass, algorithm here, and what the shape needs. Left out: average pooling and the backward pass
# of add, which are MONeT's own kernels.
MONET_OPS = {
    ("batch_norm", "forward"): ("batch_norm", "forward", "spatial", no_window),
    ("batch_norm", "forward_known_statistics"): ("batch_norm", "forward", "given_statistics", no_window),
    ("batch_norm", "backward"): ("batch_norm", "backward", "spatial", no_window),
    ("relu_", "forward"): ("relu", "forward", "", no_window),
    ("relu_", "forward_in_place"): ("relu", "forward", "in_place", no_window),
    ("relu_", "backward"): ("relu", "backward", "", no_window),
    ("max_pool2d", "forward"): ("pool", "forward", "max", window),
    ("max_pool2d", "backward"): ("pool", "backward", "max", window),
    ("add_", "forward"): ("add", "forward", "", two_operands),
    ("addmm", "forward"): ("linear", "forward", "", outputs),
    ("addmm", "backward_data"): ("linear", "backward_data", "", outputs),
    ("addmm", "backward_filter"): ("linear", "backward_filter", "", outputs),
    ("cat", "forward"): ("concat", "forward", "", outputs),
    ("cat", "backward"): ("concat", "backward", "", outputs),
    ("dropout", "forward"): ("dropout", "forward", "", no_window),
    ("dropout", "backward"): ("dropout", "backward", "", no_window),
}


def monet_times(row, forward):
    """Backward max pooling ran its forward pass again first: that much is taken out."""
    if (row["op"], row["pass"]) != ("max_pool2d", "backward"):
        return two_profiles(row["time_ms"], row["time_ms_second_profile"])
    before = forward[row["network"], row["node_id"]]
    return two_profiles(*(float(row[c]) - float(before[c]) for c in ("time_ms", "time_ms_second_profile")))


def monet_ops(samples, folder):
    rows = list(rows_of(folder, "ops_p100_monet.csv"))
    forward = {(r["network"], r["node_id"]): r for _, r in rows if (r["op"], r["pass"]) == ("max_pool2d", "forward")}
    for table, row in rows:
        known = MONET_OPS.get((row["op"], row["pass"]))
        if known is None:
            skipped[table, f"{row['op']} {row['pass']}"] += 1
            continue
        op, name, algorithm, shape = known
        notes = ["host and card form not stated"] + ([row["note"]] if row["note"] else [])
        if op == "pool" and name == "backward":
            notes[-1] = "less the time of the forward pass that ran again"
        if op == "pool" and name == "forward":
            notes[-1] = "writes 64-bit indices too"
        if op == "linear" and name == "forward":
            notes.append("adds a bias")
        if op == "concat":
            notes.append("number of inputs not stated")
        samples.add(MONET_DEVICE, op=op, **{"pass": name}, algorithm=algorithm, n=row["n"], c=row["in_c"],
                    h=row["in_h"], w=row["in_w"], **shape(row), **monet_times(row, forward),
                    source=origin(row, MONET), network=row["network"], note="; ".join(notes),
                    cudnn="7.6" if op == "batch_norm" else "", math="fma" if op == "linear" else "",
                    layout="" if op == "linear" else "nchw", **MONET_STACK)


# ---------------------------------------------------------------------------------------------- single layers

def batch_norm_2d(samples, folder):
    for _, row in rows_of(folder, "batchnorm2d_kernels_*.csv"):
        for name, column in (("forward", "fwd_total_us"), ("backward", "bwd_total_us")):
            samples.add(row["device"].split(" ")[0], op="batch_norm", **{"pass": name}, algorithm="native",
                        precision=row["precision"], layout="nchw", n=row["n"], c=row["c"], h=row["h"], w=row["w"],
                        median_us=number(float(row[column])), samples=100, harness="nsys-kernels",
                        source=row["source"],
                        note="two PyTorch 1.8 kernels, not cuDNN; card form not stated")


def batch_norm_3d(samples, folder):
    for _, row in rows_of(folder, "batchnorm3d_fp16_*.csv"):
        for name, column in (("forward", "fwd_ms"), ("backward", "bwd_ms")):
            samples.add(row["device"].replace("Tesla ", ""), cudnn="8.2.0", op="batch_norm", **{"pass": name},
                        algorithm="spatial", precision="fp16", layout="nchw", n=row["n"], c=row["c"], d=row["d"],
                        h=row["h"], w=row["w"], median_us=us(row[column]), harness="pytorch-1.9-wall",
                        source=row["source"], note="fp16 data, fp32 scale")


def max_pool(samples, folder):
    for table, row in rows_of(folder, "maxpool2d_titanv.csv"):
        if row["note"].startswith("before"):  # the same, before the backward kernel changed
            skipped[table, "older of two builds"] += 1
            continue
        for name, column in (("forward", "fwd_us"), ("backward", "bwd_us")):
            samples.add("TITAN-V", op="pool", **{"pass": name}, algorithm="max", precision=row["precision"],
                        layout="nchw", n=row["n"], c=row["c"], h=row["h"], w=row["w"], r=row["kernel"],
                        s=row["kernel"], pad=0, stride=row["stride"], median_us=number(float(row[column])),
                        harness="pytorch-1.7-wall", source=row["source"],
                        note="writes 64-bit indices too")


def caffe(samples, folder):
    for _, row in rows_of(folder, "membound_caffe_*.csv"):
        n, c, h, w = (int(v) for v in row["top_shape_nchw"].split("x"))
        shape = {"n": n, "c": c, "h": h, "w": w}
        pool = re.search(r"/(\d+)x(\d+)_s(\d+)$", row["layer"])
        if pool:
            r, s, stride = (int(v) for v in pool.groups())
            shape.update(h=(h - 1) * stride + r, w=(w - 1) * stride + s, r=r, s=s, pad=0, stride=stride)
        for name, column in (("forward", "fwd_ms"), ("backward", "bwd_ms")):
            samples.add(row["device"], op="pool" if pool else "relu", **{"pass": name},
                        algorithm="max" if pool else "in_place", precision="fp32", layout="nchw", **shape,
                        median_us=us(row[column]), harness="caffe-events",
                        source=origin(row, "convnet-benchmarks (Chintala)"), network=row["network"].split(" ")[0],
                        note="Caffe's own kernels")


# ---------------------------------------------------------------------------------------------- transfers
COPY_KINDS = {"pinned": "pinned", "pageable": "pageable", "write_combined": "write_combined",
              "unified_prefetch": "managed_prefetch", "unified_demand_fault": "managed_touch"}


def comm_scope(samples, folder):
    for _, row in rows_of(folder, "transfer_commscope_curves.csv"):
        mean, deviation = float(row["time_us_mean"]), float(row["time_us_stddev"])
        reach = 1.2816 * deviation  # of the tenth and ninetieth percentile of a normal distribution
        samples.add(row["gpu"], host=f"{row['system']} ({row['cpu']})", op="copy", bytes=row["bytes"],
                    direction=row["direction"].lower(), kind=COPY_KINDS[row["kind"]], link=row["locality"],
                    median_us=number(mean), p10_us=number(max(mean - reach, mean / 100)), p90_us=number(mean + reach),
                    harness="commscope", source=origin(row, "Comm|Scope (Pearson et al., ICPE 2019)"),
                    note=f"{row['link']}; mean and standard deviation; NUMA node {row['numa_node']}, "
                         f"GPU {row['gpu_id']}")


# What nvbandwidth copies unless told otherwise, for rows that do not say: 64 MiB in v0.2, which the H800's notes are of,
# 512 MiB since. Its rates hardly depend on it.
SIZE_NOT_STATED = {"H800": 64 << 20}
SIZE_USUAL = 512 << 20


def spot_size(row):
    if row["bytes"] or not row["tool"].startswith("nvbandwidth"):
        return row["bytes"], ""
    return SIZE_NOT_STATED.get(row["gpu"], SIZE_USUAL), "; size not stated, the tool's usual one"


def spot_source(text):
    """Files that were found without their repository are named by what they are: the last thing in brackets, or a title."""
    title = re.search(r'titled "(.*?)"', text)
    text = re.sub(r"; repository not given.*?(?=\))", "", text)
    found = re.fullmatch(r"stored id \d+ \((.*)\)", text)
    return title.group(1) if title else found.group(1) if found else text


def link_name(text):
    """As profiles name links: 'pcie4-x16'. What stands in brackets is a remark."""
    return re.sub(r" \(.*", "", text).lower().replace(" ", "-")


def spot_transfers(samples, folder):
    contention = {"single": "none", "while D2H runs": "d2h", "while H2D runs": "h2d"}
    for table, row in rows_of(folder, "transfer_spot_measurements.csv"):
        direction, kind, (size, remark) = row["direction"].lower(), COPY_KINDS.get(row["kind"]), spot_size(row)
        if not size or kind is None or direction not in ("h2d", "d2h") or row["concurrency"] not in contention:
            skipped[table, "no size, or no single copy"] += 1
            continue
        time = float(size) / float(row["gb_per_s"]) / 1000
        note = "from a rate" + remark + (f"; {row['note']}" if row["note"] else "")
        samples.add(row["gpu"], host=row["system"], op="copy", bytes=size, direction=direction, kind=kind,
                    link=link_name(row["link"]), contention=contention[row["concurrency"]], median_us=number(time),
                    harness=row["tool"], source=spot_source(row["source"]), note=note)


CONVERTERS = (neusight_conv, neusight_gemm, neusight_membound, deepbench_conv, deepbench_gemm, monet_conv, monet_ops,
              batch_norm_2d, batch_norm_3d, max_pool, caffe, comm_scope, spot_transfers)


def main(arguments):
    if len(arguments) != 2 or not pathlib.Path(arguments[0]).is_dir():
        sys.exit(__doc__)
    folder, out = pathlib.Path(arguments[0]), pathlib.Path(arguments[1])
    samples = Samples()
    for convert in CONVERTERS:
        before = sum(map(len, samples.by_device.values()))
        convert(samples, folder)
        print(f"{convert.__name__:18} {sum(map(len, samples.by_device.values())) - before:6} rows")
    samples.write(out)
    for device, rows in sorted(samples.by_device.items()):
        print(f"{len(rows):6} rows of {device}")
    for (table, what), count in sorted(skipped.items()):
        print(f"left out {count:5} of {table}: {what}")


if __name__ == "__main__":
    main(sys.argv[1:])
