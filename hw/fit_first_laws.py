#!/usr/bin/env python3
"""Where laws and transfer curves of the shipped profiles came from: fits to published measurements.

  fit_first_laws.py FOLDER                 report: every law and curve, its error, row count and cross-checks
  fit_first_laws.py FOLDER --laws RATE     the `laws:` rows as YAML; RATE = link rate in GB/s, for copy_slowdown
  fit_first_laws.py FOLDER --curve SYSTEM LINK LOCALITY [SCALE]   the points of one link's two curves as YAML
  fit_first_laws.py FOLDER --memory KIND SYSTEM LINK LOCALITY     the same for other memory (pageable, managed_prefetch,
                                                                  managed_touch), as an item of `other_memory`

FOLDER holds the collected tables, which are not part of this project; the publications are named in the profiles.
Plain Python 3, no packages, no random numbers: the same tables give the same text.

Law       time = fixed + max(flops / (flop_fraction * peak), bytes / (bandwidth_fraction * bandwidth))
          flops of the direct convolution, bytes as model/work.cc counts them; the fractions are relative to the
          device that was measured, so that rows of several devices can be fitted together.
Fit       grid over both fractions, least sum of time-weighted |log(law / measured)|: robust against single
          rows, and right for the kernels that take the time of a step. Every network has the same weight.
          In convolution laws the byte term also stands for the lower rate of layers with few channels, hence
          its small fractions; it is no statement about memory traffic.
Error     half the 16..84 percentile range of log(law / measured), for rows carried over from a P100 joined
          (root of squares) with the spread that fractions of equal kernels show between P100 and V100.
Floors    Event-timed rows hold the launch gap of the framework. It is fitted apart and taken off: a kernel that
          queues behind another does not pay it.
Workspace The modelled software grants 8 MiB per convolution. Per (layer, pass) the fastest algorithm within that
          is taken; the fit without the limit is reported beside it.
"""
import csv
import math
import os
import sys

MIB = 2**20
V100_SXM2, V100_PCIE, P100 = (15700.0, 900.0), (14000.0, 900.0), (9300.0, 732.0)  # flops/ns, bytes/ns
TITAN_V_BANDWIDTH, A100_BANDWIDTH = 653.0, 1555.0
WORKSPACE_LIMIT = 8 * MIB
ROUNDING = 1.1 * MIB  # the published workspace sizes are this much too large at most
# Workspace of fused Winograd in the published tables: about 25 words per (input channel, output channel).
WINOGRAD_WORDS = 25


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def median(values):
    return quantile(values, 0.5)


def half_range(values):
    return (quantile(values, 0.84) - quantile(values, 0.16)) / 2


class Sample:
    """One measured kernel; x and y are its times at full peak and full bandwidth, all times in ns."""

    def __init__(self, flops, size, device, time, group=''):
        self.x, self.y, self.time, self.group = flops / device[0], size / device[1], time, group


class Fit:
    def __init__(self, samples, flop, bandwidth, fixed):
        self.flop, self.bandwidth, self.fixed, self.rows = flop, bandwidth, fixed, len(samples)
        logs = [math.log(self.predict(s) / s.time) for s in samples]
        self.median_error = median([abs(v) for v in logs])
        self.bias = median(logs)
        self.spread = half_range(logs)
        self.total_ratio = sum(self.predict(s) for s in samples) / sum(s.time for s in samples)

    def predict(self, s):
        terms = [s.x / self.flop if self.flop else 0, s.y / self.bandwidth if self.bandwidth else 0]
        return self.fixed + max(terms)


def grid(low, high, steps):
    return [low * (high / low) ** (i / (steps - 1)) for i in range(steps)]


BANDWIDTHS = [0.04 + 0.01 * i for i in range(6)] + [0.10 + 0.05 * i for i in range(18)]


def fit(samples, fixed, flops=None, bandwidths=None):
    """Least time-weighted sum of |log residual| over the grid; first of equals."""
    flops = flops if flops is not None else grid(0.1, 2.6, 131)
    bandwidths = bandwidths if bandwidths is not None else BANDWIDTHS
    totals = {}
    for s in samples:
        totals[s.group] = totals.get(s.group, 0) + s.time
    best = None
    for b in bandwidths:
        for f in flops:
            cost = 0.0
            for s in samples:
                predicted = fixed + max(s.x / f if f else 0, s.y / b if b else 0)
                cost += s.time / totals[s.group] * abs(math.log(predicted / s.time))
            if best is None or cost < best[0]:
                best = (cost, f, b)
    return Fit(samples, best[1], best[2], fixed)


def fit_floor(pairs):
    """(floor, fraction) of time = floor + ideal / fraction for pairs (ideal ns, measured ns)."""
    best = None
    for floor in range(0, 70000, 2000):
        shares = [ideal / (time - floor) for ideal, time in pairs if time > floor]
        fraction = median(shares)
        cost = sum(abs(math.log((floor + ideal / fraction) / time)) for ideal, time in pairs)
        if best is None or cost < best[0]:
            best = (cost, floor, fraction)
    floor, fraction = best[1], best[2]
    logs = [math.log((floor + ideal / fraction) / time) for ideal, time in pairs]
    return floor, fraction, half_range(logs)


class Tables:
    def __init__(self, folder):
        self.folder = folder

    def read(self, name):
        with open(os.path.join(self.folder, name), newline='', encoding='utf-8') as stream:
            return list(csv.DictReader(stream))


def conv_bytes(n, c, h, w, k, out_h, out_w, kernel):
    return 4 * (n * c * h * w + n * k * out_h * out_w + k * c * kernel)


def ints(row, names):
    return [int(row[name]) for name in names.split()]


def monet_convolutions(tables, limit):
    """(pass, window, stride, network) -> samples: the fastest algorithm of every layer within the limit."""
    best = {}
    for row in tables.read('conv_algorithms_p100_monet.csv'):
        if row['status'] != 'ok':
            continue
        if limit is not None and float(row['workspace_bytes'] or 0) > limit + ROUNDING:
            continue
        key = (row['network'], row['node_id'], row['pass'])
        if key not in best or float(row['time_ms']) < float(best[key]['time_ms']):
            best[key] = row
    groups = {}
    for row in best.values():
        n, c, h, w, k, out_h, out_w, kh, kw = ints(row, 'n c h w k out_h out_w kernel_h kernel_w')
        sample = Sample(float(row['direct_conv_gflop']) * 1e9, conv_bytes(n, c, h, w, k, out_h, out_w, kh * kw), P100,
                        float(row['time_ms']) * 1e6, row['network'])
        groups.setdefault((row['pass'], f'{kh}x{kw}', row['stride'], row['network']), []).append(sample)
    return groups


def deepbench_convolutions(tables, minimum_gflop):
    """(pass, window, stride) -> samples, V100-SXM2, workspace not limited, both published library versions."""
    groups = {}
    columns = {'forward': 'fwd_ms', 'backward_data': 'bwd_data_ms', 'backward_filter': 'bwd_filter_ms'}
    for row in tables.read('conv_deepbench_v100.csv'):
        if row['precision'] != 'fp32' or float(row['direct_conv_gflop']) < minimum_gflop:
            continue
        n, c, h, w, k, out_h, out_w, kh, kw = ints(row, 'N C H W K out_h out_w kernel_h kernel_w')
        for name, column in columns.items():
            if row[column]:
                sample = Sample(float(row['direct_conv_gflop']) * 1e9,
                                conv_bytes(n, c, h, w, k, out_h, out_w, kh * kw), V100_SXM2,
                                float(row[column]) * 1e6, 'deepbench')
                groups.setdefault((name, f'{kh}x{kw}', row['stride_h']), []).append(sample)
    return groups


def neusight_convolutions(tables, limited, floor):
    """3x3 forward on a V100-PCIE; rows like the layers of trained networks: 48 channels or more, 20 GFLOP or more."""
    samples = []
    for row in tables.read('conv_neusight_v100.csv'):
        n, c, h, w, k, out_h, out_w = ints(row, 'N C H W K out_h out_w')
        if float(row['direct_conv_gflop']) < 20 or min(c, k) < 48:
            continue
        algorithm = row['algo_class']
        fits = algorithm.startswith('IMPLICIT') or (
            algorithm == 'WINOGRAD' and 4 * WINOGRAD_WORDS * c * k <= WORKSPACE_LIMIT)
        if limited and not fits:
            continue
        samples.append(Sample(float(row['direct_conv_gflop']) * 1e9, conv_bytes(n, c, h, w, k, out_h, out_w, 9),
                              V100_PCIE, float(row['fwd_ms']) * 1e6 - floor))
    return samples


def carry_spread(tables):
    """How the fraction of peak of one kernel class differs between V100 and P100 on equal shapes (log ratio)."""
    names = 'N C H W K kernel_h pad stride'.split()
    p100 = {tuple(row[n] for n in names): row for row in tables.read('conv_neusight_p100.csv')}
    logs = []
    for row in tables.read('conv_neusight_v100.csv'):
        other = p100.get(tuple(row[n] for n in names))
        if other is None or float(row['direct_conv_gflop']) < 20 or row['algo_class'] != other['algo_class']:
            continue
        logs.append(math.log(float(other['fwd_ms']) * P100[0] / (float(row['fwd_ms']) * V100_PCIE[0])))
    root = math.sqrt(sum(v * v for v in logs) / len(logs))
    return median(logs), root, len(logs)


def gemms(tables, transpose):
    samples = []
    for row in tables.read('gemm_deepbench_v100.csv'):
        if row['precision'] == 'fp32' and row['trans_a'] + row['trans_b'] == transpose and float(row['gflop']) >= 1:
            m, n, k = ints(row, 'M N K')
            samples.append(Sample(float(row['gflop']) * 1e9, 4 * (m * n + m * k + k * n), V100_SXM2,
                                  float(row['time_ms']) * 1e6))
    return samples


# Feature-map elements that pass through batch normalisation in ResNet-50, per image, by channel count.
RESNET50_CHANNELS = {64: 2007040, 128: 802816, 256: 3813376, 512: 2157568, 1024: 1404928, 2048: 401408}


def batch_norm(tables, column):
    """Bandwidth fraction that gives the right total over ResNet-50's channel counts; tensors of 64 MB and more."""
    by_channels = {}
    rows = 0
    for row in tables.read('batchnorm2d_kernels_v100.csv'):
        if int(row['tensor_bytes']) >= 64e6 and int(row['c']) in RESNET50_CHANNELS:
            by_channels.setdefault(int(row['c']), []).append(float(row[column]) / V100_SXM2[1])
            rows += 1
    total = sum(RESNET50_CHANNELS.values())
    fraction = total / sum(e / median(by_channels[c]) for c, e in RESNET50_CHANNELS.items())
    logs = []
    for channels, elements in RESNET50_CHANNELS.items():
        logs += [math.log(median(by_channels[channels]) / fraction)] * round(100 * elements / total)
    return fraction, half_range(logs), rows, {c: median(v) for c, v in sorted(by_channels.items())}


def statistics_kernel(tables):
    shares = [int(r['tensor_bytes']) / float(r['fwd_stats_us']) / 1000 / V100_SXM2[1]
              for r in tables.read('batchnorm2d_kernels_v100.csv')
              if int(r['tensor_bytes']) >= 64e6 and int(r['c']) in RESNET50_CHANNELS]
    return median(shares), half_range([math.log(v) for v in shares]), len(shares)


def element_wise(tables, op, chip='v100', bandwidth=V100_PCIE[1]):
    pairs = [(int(r['min_bytes']) / bandwidth, float(r['fwd_ms']) * 1e6)
             for r in tables.read(f'membound_neusight_{chip}.csv') if r['op'] == op and int(r['min_bytes']) >= 64 * MIB]
    return fit_floor(pairs) + (len(pairs),)


def max_pool(tables, column, passes, newest):
    """TITAN V, fp32, tensors above 50 MB; input and output counted `passes` times, the index tensor not."""
    rows = [r for r in tables.read('maxpool2d_titanv.csv') if r['precision'] == 'fp32'
            and r['note'].startswith('after' if newest else 'before')]
    pairs = []
    for row in rows:
        n, c, h, w = ints(row, 'n c h w')
        size = 4 * n * c * (h * w + (h // 3) * (w // 3))
        if size >= 50e6:
            pairs.append((passes * size / TITAN_V_BANDWIDTH, float(row[column]) * 1000))
    return fit_floor(pairs) + (len(pairs),)


def concat(tables, which):
    shares = [(int(r['input_bytes']) + int(r['output_bytes'])) / (float(r['time_ms']) * 1e6) / P100[1]
              for r in tables.read('ops_p100_monet.csv') if r['op'] == 'cat' and r['pass'] == which]
    return median(shares), half_range([math.log(v) for v in shares]), len(shares)


class Law:
    def __init__(self, op, name, window, flop, bandwidth, fixed, error, kind, text, workspace=0, rows=0, note=''):
        self.op, self.name, self.window, self.flop, self.bandwidth = op, name, window, flop, bandwidth
        self.fixed, self.error, self.kind, self.text = fixed, error, kind, text
        self.workspace, self.rows, self.note = workspace, rows, note


MONET = 'per-algorithm cuDNN times of the MONeT schedules on a 16 GB P100'
CARRIED = ('fraction of the P100 peak, carried to the V100; {rows} layers of {nets}, fastest algorithm within 8 MiB, '
           + MONET + ' (utsaslab/monet-schedules)')
DEEPBENCH = 'DeepBench, V100-SXM2, cuDNN 7.3 and 7.6 (baidu-research/DeepBench)'
NEUSIGHT = 'NeuSight, V100-PCIE, PyTorch 2.1 (sitar-lab/NeuSight)'
PASSES = ('forward', 'backward_data', 'backward_filter')
CONVOLUTION_FIXED = 5000


def convolution_laws(tables):
    carry = carry_spread(tables)[1]
    limited = monet_convolutions(tables, WORKSPACE_LIMIT)
    free = monet_convolutions(tables, None)
    deepbench = deepbench_convolutions(tables, 2)
    laws = []

    def collect(groups, name, window, strides=None):
        return [s for key, group in groups.items() if key[0] == name and key[1] == window
                and (strides is None or key[2] in strides) for s in group]

    for name in PASSES:
        for window in ('1x1', '3x3'):
            samples = collect(limited, name, window)
            found = fit(samples, CONVOLUTION_FIXED)
            other = fit(collect(free, name, window), CONVOLUTION_FIXED)
            laws.append(Law('convolution', name, window, found.flop, found.bandwidth, CONVOLUTION_FIXED,
                            math.hypot(found.spread, carry), 'assumed',
                            CARRIED.format(rows=found.rows, nets='ResNet-50, VGG-16 and GoogLeNet'
                                           if window == '3x3' else 'ResNet-50 and GoogLeNet'),
                            WORKSPACE_LIMIT if window == '3x3' else 0, found.rows,
                            f'median |error| {found.median_error:.3f}, sum of times {found.total_ratio:.3f}; '
                            f'without a limit flop_fraction {other.flop:.2f}'))
        # Strided rows: neither Winograd nor FFT exists for them, so their workspace is small though none was asked.
        five = collect(deepbench, name, '5x5', '2')
        found = fit(five, CONVOLUTION_FIXED, bandwidths=[0.75])
        laws.append(Law('convolution', name, '5x5', found.flop, 0.75, CONVOLUTION_FIXED, math.hypot(found.spread, 0.25),
                        'published', f'{found.rows} rows of stride 2, no algorithm with a large workspace exists for '
                        'them; ' + DEEPBENCH, 0, found.rows, f'median |error| {found.median_error:.3f}'))
        others = (five + collect(deepbench, name, '5x10') + collect(deepbench, name, '5x20')
                  + collect(deepbench, name, '7x7') + collect(limited, name, '7x7') + collect(limited, name, '3x3', '2'))
        found = fit(others, CONVOLUTION_FIXED, bandwidths=[0.75])
        laws.append(Law('convolution', name, '', found.flop, 0.75, CONVOLUTION_FIXED, max(0.4, found.spread), 'assumed',
                        f'any other window takes the fit to {found.rows} strided convolutions with windows from 3x3 to '
                        '5x20; ' + DEEPBENCH + ' and ' + MONET, 0, found.rows,
                        f'median |error| {found.median_error:.3f}'))
        if name != 'backward_data':
            stem = collect(deepbench, name, '7x7') + collect(limited, name, '7x7')
            found = fit(stem, CONVOLUTION_FIXED, bandwidths=[0.75])
            laws.append(Law('convolution', name, '7x7', found.flop, 0.75, CONVOLUTION_FIXED,
                            math.hypot(found.spread, carry), 'published',
                            f'{found.rows} rows, the 3-channel first layer of ResNet-50 and GoogLeNet; ' + DEEPBENCH
                            + ' and ' + MONET, 0, found.rows, f'median |error| {found.median_error:.3f}'))
            laws.append(Law('convolution', name, '11x11', found.flop, 0.75, CONVOLUTION_FIXED, 0.4, 'assumed',
                            'no measurement of 11x11 found; as the other 3-channel first layers (7x7)', 0, 0))
        volume = {'forward': 0.60, 'backward_data': 0.50, 'backward_filter': 0.50}[name]
        laws.append(Law('convolution', name, '3x3x3', volume, 0.75, CONVOLUTION_FIXED, 0.5, 'assumed',
                        'no 3-D measurement found; implicit GEMM somewhat below its 2-D rate', 0, 0))
        laws.append(Law('convolution', name, 'grouped', volume / 3, 0.6, CONVOLUTION_FIXED, 0.7, 'assumed',
                        'no grouped measurement found; few channels per group fill a third of a GEMM tile', 0, 0))
    return laws


def linear_laws(tables):
    laws = []
    for name, transpose in (('forward', 'TN'), ('backward_data', 'NN'), ('backward_filter', 'NT')):
        found = fit(gemms(tables, transpose), 3000, bandwidths=[0.6 + 0.05 * i for i in range(8)])
        laws.append(Law('linear', name, '', found.flop, found.bandwidth, 3000, found.spread, 'published',
                        f'{found.rows} matrix products {transpose} of 1 GFLOP or more; ' + DEEPBENCH, 0, found.rows,
                        f'median |error| {found.median_error:.3f}, sum of times {found.total_ratio:.3f}'))
    return laws


def memory_laws(tables):
    laws = []

    def add(op, name, fraction, fixed, error, kind, text, rows=0, note=''):
        laws.append(Law(op, name, '', 0, fraction, fixed, error, kind, text, 0, rows, note))

    for name, column in (('forward', 'fwd_GBps_3_tensor_passes'), ('backward', 'bwd_GBps_5_tensor_passes')):
        fraction, _, rows, channels = batch_norm(tables, column)
        add('batch_norm', name, fraction, 6000, 0.25, 'published',
            f'{rows} tensors of 64 MB or more, 64 to 2048 channels weighted as in ResNet-50 (few channels are slower); '
            'PyTorch native kernels on a V100 (xwang233/code-snippet), not cuDNN, hence the wide error: cuDNN 7.6 on a '
            'P100 reaches 0.53', rows, ' '.join(f'{c}:{v:.2f}' for c, v in channels.items()))
    found = {op: element_wise(tables, op) for op in ('relu', 'add', 'mul', 'softmax')}

    def element(op, name, sample, text, error=0.05, kind='published', fixed=3000):
        floor, fraction, spread, rows = found[sample]
        add(op, name, fraction, fixed, max(error, spread), kind, text.format(rows=rows), rows,
            f'floor {floor / 1000:.0f} us taken off')

    element('relu', 'forward', 'relu', '{rows} tensors of 64 MiB or more; ' + NEUSIGHT)
    element('relu', 'backward', 'mul', 'as an element-wise product (two reads, one write): {rows} tensors; ' + NEUSIGHT)
    element('add', 'forward', 'add', '{rows} tensors of 64 MiB or more; ' + NEUSIGHT)
    element('add', 'backward', 'add', 'gradients added at a fork: the same kernel as forward; ' + NEUSIGHT)
    element('bias', 'forward', 'relu', 'as ReLU in place (one read, one write); ' + NEUSIGHT, 0.15, 'assumed')
    fraction, spread, rows = statistics_kernel(tables)
    add('bias', 'backward_bias', fraction, 3000, max(0.25, spread), 'assumed',
        f'as the statistics kernel of batch normalisation, one read per channel ({rows} tensors; '
        'xwang233/code-snippet)', rows)
    forward = max_pool(tables, 'fwd_us', 1, True)
    add('max_pool', 'forward', forward[1], 3000, 0.3, 'assumed',
        f'{forward[3]} tensors, 3x3 stride 3, TITAN V, scaled by memory bandwidth (xwang233/code-snippet); PyTorch '
        'kernels, overlapping windows not measured', forward[3], f'floor {forward[0] / 1000:.0f} us')
    backward = max_pool(tables, 'bwd_us', 2, True)
    add('max_pool', 'backward', backward[1], 3000, 0.5, 'assumed',
        f'{backward[3]} tensors, as forward; the kernel before was 2.3 times slower', backward[3],
        f'floor {backward[0] / 1000:.0f} us')
    add('average_pool', 'forward', 0.6, 3000, 0.4, 'assumed', 'no usable measurement found; below max pooling')
    add('average_pool', 'backward', 0.6, 3000, 0.4, 'assumed', 'no usable measurement found; below max pooling')
    add('lrn', 'forward', 0.5, 3000, 0.5, 'assumed', 'no measurement found; between pooling and soft-max')
    add('lrn', 'backward', 0.4, 3000, 0.5, 'assumed', 'no measurement found; as forward, with more reads')
    add('dropout', 'forward', 0.6, 3000, 0.4, 'assumed', 'element-wise plus random numbers; only tiny tensors measured')
    element('dropout', 'backward', 'mul', 'as an element-wise product; ' + NEUSIGHT, 0.2, 'assumed')
    for name in ('forward', 'backward'):
        fraction, spread, rows = concat(tables, name)
        add('concat', name, fraction, 3000, max(0.3, spread), 'assumed',
            f'fraction of the P100 bandwidth carried to the V100, {rows} layers of GoogLeNet; ops of the MONeT '
            'schedules on a 16 GB P100', rows)
    element('softmax_loss', 'forward', 'softmax', '{rows} soft-max tensors of 64 MiB or more; ' + NEUSIGHT, 0.3)
    element('softmax_loss', 'backward', 'softmax', 'as forward; ' + NEUSIGHT, 0.4, 'assumed')
    for name in ('forward', 'backward'):
        add('copy', name, 742.271 / 900, 3000, 0.1, 'published',
            'device-to-device bandwidthTest on an AWS p3.2xlarge (V100-SXM2), read and write counted: 742 GB/s')
    element('update', 'update', 'add', 'as an element-wise sum; ' + NEUSIGHT, 0.2, 'assumed')
    return laws


def all_laws(tables):
    return convolution_laws(tables) + linear_laws(tables) + memory_laws(tables)


# Kinds of host memory by the names that profiles give them: the published name, and points per curve. The rate of all
# but pinned copies goes up and down with the size.
KINDS = {'pinned': ('pinned', 6), 'pageable': ('pageable', 10), 'managed_prefetch': ('unified_prefetch', 10),
         'managed_touch': ('unified_demand_fault', 10)}
MEASURED = (('DGX-1', 'PCIe3 x16'), ('AC922', 'NVLink2 x3'), ('S822LC', 'NVLink1 x2'))


def published_curve(tables, system, link, direction, locality, kind='pinned'):
    rows = [r for r in tables.read('transfer_commscope_curves.csv')
            if (r['system'], r['link'], r['kind'], r['direction'], r['locality'])
            == (system, link, KINDS[kind][0], direction, locality)]
    return sorted((int(r['bytes']), float(r['time_us_mean']) * 1000) for r in rows)


def interpolate(points, size):
    for (b0, t0), (b1, t1) in zip(points, points[1:]):
        if size <= b1:
            return t0 if size <= b0 else t0 + (t1 - t0) * (size - b0) / (b1 - b0)
    (b0, t0), (b1, t1) = points[-2:]
    return t1 + (t1 - t0) * (size - b1) / (b1 - b0)


def solve(matrix, right):
    """Gaussian elimination; the matrix is symmetric and positive definite."""
    size = len(right)
    rows = [list(matrix[i]) + [right[i]] for i in range(size)]
    for i in range(size):
        for j in range(i + 1, size):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i])]
    for i in reversed(range(size)):
        rows[i][size] = (rows[i][size] - sum(rows[i][k] * rows[k][size] for k in range(i + 1, size))) / rows[i][i]
    return [row[size] for row in rows]


def fit_knots(curve, sizes):
    """Times at the given sizes: least squares of the relative error of linear interpolation between them."""
    count = len(sizes)
    matrix, right = [[0.0] * count for _ in sizes], [0.0] * count
    for size, time in curve:
        weights = [interpolate([(s, 1.0 if k == i else 0.0) for k, s in enumerate(sizes)], size) / time
                   for i in range(count)]
        for i in range(count):
            right[i] += weights[i]
            for j in range(count):
                matrix[i][j] += weights[i] * weights[j]
    return list(zip(sizes, solve(matrix, right)))


def reduce_curve(curve, count):
    """A piecewise-linear curve with `count` points, 4 KiB and the largest size among them, of least squared relative
    error: where the points lie by dynamic programming, their times by least squares. Sizes between 4 and 64 KiB are
    left out: their times hardly differ."""
    curve = [p for p in curve if p[0] == 4096 or p[0] >= 65536]
    size = len(curve)

    def segment(i, j):
        return sum((interpolate([curve[i], curve[j]], b) / t - 1) ** 2 for b, t in curve[i + 1:j])

    costs = {(i, j): segment(i, j) for i in range(size) for j in range(i + 1, size)}
    best = {(1, 0): (0.0, [0])}
    for used in range(2, count + 1):
        for j in range(1, size):
            options = [(best[(used - 1, i)][0] + costs[(i, j)], best[(used - 1, i)][1] + [j])
                       for i in range(j) if (used - 1, i) in best]
            if options:
                best[(used, j)] = min(options)
    return not_decreasing(fit_knots(curve, [curve[i][0] for i in best[(count, size - 1)][1]]))


def not_decreasing(points):
    """Points that would make a larger copy faster (noise of latencies) share the median of their times; of more than
    two the first and the last stay."""
    pools = []
    for size, time in points:
        pools.append(([size], [time]))
        while len(pools) > 1 and middle(pools[-2][1]) > middle(pools[-1][1]):
            (sizes, times), (earlier, before) = pools.pop(), pools.pop()
            pools.append((earlier + sizes, before + times))
    return [(size, middle(times)) for sizes, times in pools for size in sorted({sizes[0], sizes[-1]})]


def middle(values):
    return sorted(values)[(len(values) - 1) // 2]


def curve_errors(points, curve):
    errors = [abs(interpolate(points, b) / t - 1) for b, t in curve if b >= 65536]
    return median(errors), quantile(errors, 0.9), max(errors)


def spot_law(tables, gpu, direction):
    """(latency ns, bytes/ns) of the law latency + bytes / rate of least squared relative error through single sizes."""
    table = tables.read('transfer_spot_measurements.csv')
    rows = [(int(r['bytes']), int(r['bytes']) / float(r['gb_per_s'])) for r in table
            if (r['gpu'], r['direction'], r['kind']) == (gpu, direction, 'pinned') and r['bytes']]
    weights = [(1 / time, size / time) for size, time in rows]
    matrix = [[sum(w[i] * w[j] for w in weights) for j in range(2)] for i in range(2)]
    latency, inverse = solve(matrix, [sum(w[i] for w in weights) for i in range(2)])
    return latency, 1 / inverse, len(rows)


def scaled(points, factor):
    """The same latency (time of the first point) and `factor` times the rate."""
    (b0, t0) = points[0]
    return [(b, t0 + (t - t0) / factor) for b, t in points]


def size_text(size):
    for unit, name in ((2**30, 'GiB'), (MIB, 'MiB'), (1024, 'KiB')):
        if size % unit == 0:
            return f'{size // unit} {name}'
    return f'{size} B'


def print_curve(tables, system, link, locality, factor=1.0, kind='pinned', indent='    '):
    for direction, key in (('H2D', 'host_to_device'), ('D2H', 'device_to_host')):
        curve = published_curve(tables, system, link, direction, locality, kind)
        points = reduce_curve(curve, KINDS[kind][1])
        errors = curve_errors(points, curve)
        print(f'{indent}{key}:  # error above 64 KiB: median {errors[0]:.3f}, 90 % {errors[1]:.3f}, '
              f'max {errors[2]:.3f}')
        print(f'{indent}  points:')
        for size, time in scaled(points, factor):
            print(f'{indent}    - [{size_text(size)}, {float(f"{time / 1000:.4g}"):.10g} us]')


def print_memory(tables, kind, system, link, locality):
    print(f'      - kind: {kind}')
    print_curve(tables, system, link, locality, 1.0, kind, ' ' * 8)


def print_laws(laws, rate):
    for law in laws:
        slowdown = 1.0 if law.flop else 1 + rate / V100_SXM2[1]
        print(f'      - op: {law.op}')
        print(f'        pass: {law.name}')
        if law.window:
            print(f'        window: {law.window}')
        print(f'        flop_fraction: {law.flop:.3g}')
        print(f'        bandwidth_fraction: {law.bandwidth:.3g}')
        print(f'        fixed: {law.fixed // 1000} us')
        if law.workspace:
            print(f'        workspace: {size_text(law.workspace)}')
        print(f'        error: {law.error:.2f}')
        if slowdown > 1:
            print(f'        copy_slowdown: {slowdown:.3f}')
        print(f'        source: {{{law.kind}: "{law.text}"}}')


def print_report(tables):
    shift, root, rows = carry_spread(tables)
    print(f'V100 against P100, equal shape and algorithm, fraction of peak: median ratio {math.exp(shift):.3f}, '
          f'root mean square of its logarithm {root:.3f}, {rows} rows')
    print(f'{"op":13}{"pass":17}{"window":9}{"flops":>7}{"bytes":>7}{"error":>7}{"rows":>6}  source     remarks')
    for law in all_laws(tables):
        print(f'{law.op:13}{law.name:17}{law.window:9}{law.flop:7.3f}{law.bandwidth:7.3f}{law.error:7.2f}{law.rows:6}'
              f'  {law.kind:10} {law.note}')
    print('\nCross-checks on V100 rows (law / measured, median; 16..84 percentile)')
    laws = {(law.name, law.window): law for law in convolution_laws(tables)}
    groups = deepbench_convolutions(tables, 1)
    for (name, window, stride), samples in sorted(groups.items()):
        law = laws.get((name, window)) or laws[(name, '')]
        shown = Fit(samples, law.flop, law.bandwidth, law.fixed)
        print(f'  DeepBench {name:16} {window:6} stride {stride}: {math.exp(shown.bias):.2f} +- {shown.spread:.2f}, '
              f'{shown.rows} rows')
    for limited in (True, False):
        samples = neusight_convolutions(tables, limited, 20000)
        law = laws[('forward', '3x3')]
        shown = Fit(samples, law.flop, law.bandwidth, law.fixed)
        best = fit(samples, CONVOLUTION_FIXED)
        print(f'  NeuSight forward 3x3, {"within 8 MiB" if limited else "no limit"}: {math.exp(shown.bias):.2f} '
              f'+- {shown.spread:.2f}, {shown.rows} rows; their own fit {best.flop:.2f} {best.bandwidth:.2f}')
    print('\nElement-wise kernels and soft-max, fraction of the bandwidth (tensors of 64 MiB or more; floor taken off)')
    for chip, bandwidth in (('v100', V100_PCIE[1]), ('p100', P100[1]), ('a100', A100_BANDWIDTH)):
        for op in ('relu', 'add', 'softmax'):
            floor, fraction, spread, rows = element_wise(tables, op, chip, bandwidth)
            print(f'  {chip} {op:8} {fraction:.3f} +- {spread:.3f}, floor {floor / 1000:.0f} us, {rows} rows')
    print('\nCopies of few sizes: latency + bytes / rate')
    for direction in ('H2D', 'D2H'):
        latency, rate, rows = spot_law(tables, 'A100-PCIE-40GB', direction)
        print(f'  A100-PCIE-40GB {direction} {latency / 1000:.1f} us, {rate:.1f} GB/s, {rows} sizes')
    print('\nTransfer curves, error above 64 KiB (median, 90 %, max)')
    for (system, link), kind in ((m, k) for m in MEASURED for k in KINDS):
        for locality in ('local', 'remote'):
            for direction in ('H2D', 'D2H'):
                curve = published_curve(tables, system, link, direction, locality, kind)
                errors = curve_errors(reduce_curve(curve, KINDS[kind][1]), curve)
                print(f'  {system:6} {link:11} {kind:16} {direction} {locality:7} '
                      + ' '.join(f'{e:.3f}' for e in errors))


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    tables = Tables(arguments[0])
    if len(arguments) == 1:
        print_report(tables)
    elif arguments[1] == '--laws' and len(arguments) == 3:
        print_laws(all_laws(tables), float(arguments[2]))
    elif arguments[1] == '--curve' and len(arguments) in (5, 6):
        print_curve(tables, *arguments[2:5], float(arguments[5]) if len(arguments) == 6 else 1.0)
    elif arguments[1] == '--memory' and len(arguments) == 6 and arguments[2] in KINDS:
        print_memory(tables, *arguments[2:6])
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main(sys.argv[1:])
