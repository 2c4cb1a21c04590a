"""The machine that a step was recorded on: memory, the host's time of a call, copies through pinned memory."""
import os
import platform
import statistics
import time

import torch

COPY_BYTES = 256 << 20


def memory_of_host():
    """(total, free) bytes of the host. (None, None) where the system does not tell."""
    try:
        with open("/proc/meminfo") as text:
            rows = dict(line.split(":", 1) for line in text)
        return tuple(int(rows[key].split()[0]) * 1024 for key in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError):
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), None
        except (OSError, ValueError, AttributeError):
            return None, None


def call_ns(device, calls=200):
    """Nanoseconds of the host for a call that has almost nothing to do: the median of calls on one element."""
    tensor, times = torch.zeros(1, device=device), []
    for _ in range(calls):
        begin = time.perf_counter()
        tensor.add_(1.0)
        times.append(time.perf_counter() - begin)
    return round(1e9 * statistics.median(times))


def copies(device):
    """Bytes per second through pinned memory, each direction alone and both at once."""
    host = [torch.empty(COPY_BYTES, dtype=torch.uint8).pin_memory() for _ in range(2)]
    there = [torch.empty(COPY_BYTES, dtype=torch.uint8, device=device) for _ in range(2)]
    streams = [torch.cuda.Stream(device) for _ in range(2)]

    def seconds(*jobs):
        ends = []
        torch.cuda.synchronize(device)
        for stream, into, source in jobs:
            with torch.cuda.stream(stream):
                pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
                pair[0].record()
                for _ in range(4):
                    into.copy_(source, non_blocking=True)
                pair[1].record()
                ends.append(pair)
        torch.cuda.synchronize(device)
        return [begin.elapsed_time(end) / 4e3 for begin, end in ends]

    into, out = (streams[0], there[0], host[0]), (streams[1], host[1], there[1])
    seconds(into, out)
    rates = {}
    for names, jobs in ((("copy_in",), (into,)), (("copy_out",), (out,)), (("both_in", "both_out"), (into, out))):
        for name, took in zip(names, seconds(*jobs)):
            rates[name + "_bytes_per_s"] = round(COPY_BYTES / took)
    return rates


def machine_of(device, measure=True):
    """The keys of `machine`. Without `measure` nothing runs: memory alone."""
    total, free = memory_of_host()
    found = {"memory_bytes": total, "memory_free_bytes": free, "host_memory_bytes": total}
    if device.type == "cuda" and torch.cuda.is_available():
        free, total = torch.cuda.mem_get_info(device)
        found.update(memory_bytes=total, memory_free_bytes=free)
    if measure and (device.type == "cpu" or torch.cuda.is_available()):
        found["call_ns"] = call_ns(device)
        if device.type == "cuda":
            found.update(copies(device))
    return {key: value for key, value in found.items() if value is not None}


def precision_of(device, nodes):
    """By the types of the calls: a step with both single and half precision in forward is mixed."""
    types = {tensor["type"] for node in nodes if node["pass"] == "forward" for tensor in node["outputs"]}
    for half, name in (("float16", "fp16"), ("bfloat16", "bf16")):
        if half in types:
            return "amp-" + name if "float32" in types else name
    return "tf32" if device.type == "cuda" and rounds_products(device, nodes) else "fp32"


def rounds_products(device, nodes):
    """Whether products are computed in TF32: by the library's switches, one for convolutions; GPUs before Ampere lack it."""
    if torch.cuda.is_available() and torch.cuda.get_device_capability(device)[0] < 8:
        return False
    backends, convolutions = torch.backends, any("convolution" in node["op"] for node in nodes)
    return allows_tf32(backends.cuda.matmul, backends.cuda.matmul) or (
        convolutions and allows_tf32(backends.cudnn, getattr(backends.cudnn, "conv", None)))


def allows_tf32(older, newer):
    try:
        return older.allow_tf32
    except RuntimeError:  # PyTorch 2.9 and later refuse to tell where the newer switch was set
        return newer.fp32_precision == "tf32"


def name_of_processor():
    try:
        with open("/proc/cpuinfo") as text:
            names = [line.split(":", 1)[1].strip() for line in text if line.startswith("model name")]
        return names[0]
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def device_of(device, nodes):
    """The keys of `device`."""
    found = {"type": device.type, "precision": precision_of(device, nodes)}
    if device.type == "cuda" and torch.cuda.is_available():
        found.update(name=torch.cuda.get_device_name(device), driver="CUDA %s" % torch.version.cuda)
    else:
        found.update(name=name_of_processor(), driver=platform.release())
    return found
