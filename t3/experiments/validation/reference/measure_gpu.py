"""Measurements on a GPU for comparison with its model: GEMMs, memory, latencies, kernel starts.

The program needs PyTorch, CuPy and NVIDIA's ``ncu``, but nothing of this project::

    python measure_gpu.py gpu.json 8192x8192x1024 2048x6144x4096

A GEMM M x N x K is C[M, N] = A[M, K] · B[K, N] in fp16, row-major, by the vendor's library. The
operands are random, because a GPU's clock depends on the number of toggling bits. The settings of
the card are not changed. All figures are medians.
"""

import csv
import io
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import cupy
import torch

_REPEATS = 21
_FLUSH_BYTES = 512 << 20
_STREAM_BYTES = 4 << 30
_L2_SPAN_BYTES = 16 << 20
_LINE_BYTES = 128
_LATENCY_MIB = (8, 16, 24, 26, 28, 30, 32, 36, 40, 48, 60, 128, 1024, 4096)
_LAUNCHES = 2000

_KERNELS = cupy.RawModule(
    code=r"""
extern "C" __global__ void empty() {}

// Each element has the index of the next, so no load can start before the previous one ends.
extern "C" __global__ void chase(const unsigned *next, unsigned warm_up, unsigned steps,
                                 unsigned *out, unsigned long long *took_ns) {
    unsigned long long begin, end;
    unsigned at = 0;
    for (unsigned i = 0; i < warm_up; i++) at = __ldcg(next + at);
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    for (unsigned i = 0; i < steps; i++) at = __ldcg(next + at);
    *out = at;
    __threadfence();
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(end));
    *took_ns = end - begin;
}

// Bypasses the L1, in which a second pass would hit.
extern "C" __global__ void read_all(const uint4 *from, size_t count, unsigned passes, uint4 *out) {
    uint4 sum = make_uint4(0, 0, 0, 0);
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (unsigned pass = 0; pass < passes; pass++)
        for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
            uint4 v = __ldcg(from + i);
            sum.x ^= v.x; sum.y ^= v.y; sum.z ^= v.z; sum.w ^= v.w;
        }
    if (sum.x == 0x12345678 && sum.y == 0x9abcdef0) *out = sum;
}
"""
)
# Metrics of ncu, with their names in the result.
_METRICS = {
    "gpu__time_duration.sum": "time_ns",
    "sm__cycles_elapsed.max": "cycles",
    "dram__bytes_read.sum": "read_bytes",
    "dram__bytes_write.sum": "written_bytes",
    "lts__t_bytes.sum": "l2_bytes",
}
_UNITS = {
    **{"ns": 1.0, "us": 1e3, "ms": 1e6, "cycle": 1.0, "": 1.0},
    **{"byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9},
}
_COUNTED = "counted"  # range of the program that ncu profiles


def _median_us(run: Callable[[], Any], between: Callable[[], Any] = lambda: None) -> float:
    """Measure the time of ``run`` on the stream, after some warm-up runs."""
    times_us = []
    for _ in range(_REPEATS + 3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        between()
        begin.record()
        run()
        end.record()
        end.synchronize()
        times_us.append(begin.elapsed_time(end) * 1e3)
    return float(statistics.median(times_us[3:]))


def _conditions() -> dict[str, Any]:
    """Record the conditions of the card."""
    fields = "name", "driver_version", "clocks.max.sm", "clocks.max.mem", "power.limit"
    query = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    shown = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    card = torch.cuda.get_device_properties(0)
    return dict(zip(fields, shown.splitlines()[0].split(", "), strict=True)) | {
        "torch": torch.__version__,
        "multiprocessors": card.multi_processor_count,
        "l2_bytes": card.L2_cache_size,
    }


def _size(shape: str) -> dict[str, int]:
    return dict(zip("mnk", map(int, shape.split("x")), strict=True))


def _operands(*, m: int, n: int, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    half = {"dtype": torch.float16, "device": "cuda"}
    return torch.randn(m, k, **half), torch.randn(k, n, **half), torch.empty(m, n, **half)


def _run_counted(shapes: list[str]) -> None:
    """Run each GEMM in the range that ncu profiles."""
    for shape in shapes:
        a, b, c = _operands(**_size(shape))
        torch.mm(a, b, out=c)
        for _ in range(_REPEATS):
            torch.cuda.synchronize()
            torch.cuda.nvtx.range_push(_COUNTED)
            torch.mm(a, b, out=c)
            torch.cuda.synchronize()
            torch.cuda.nvtx.range_pop()


def _counted(shapes: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the counters of each GEMM's kernel, with empty caches."""
    options = ["--csv", "--clock-control", "none", "--cache-control", "all"]
    options += ["--nvtx", "--nvtx-include", f"{_COUNTED}/", "--metrics", ",".join(_METRICS)]
    this = [sys.executable, __file__, _COUNTED, *shapes]
    shown = subprocess.run(["ncu", *options, *this], capture_output=True, text=True, check=True)
    kernels: dict[str, dict[str, Any]] = {}
    for row in csv.DictReader(io.StringIO(shown.stdout[shown.stdout.index('"ID"') :])):
        kernel = kernels.setdefault(row["ID"], {"kernel": row["Kernel Name"]})
        value = float(row["Metric Value"].replace(",", "")) * _UNITS[row["Metric Unit"]]
        kernel[_METRICS[row["Metric Name"]]] = value
    found = list(kernels.values())
    if len(found) != _REPEATS * len(shapes):
        raise ValueError(f"ncu reported {len(found)} kernels for {_REPEATS * len(shapes)} GEMMs")
    for begin in range(0, len(found), _REPEATS):
        same = found[begin : begin + _REPEATS]
        names = _METRICS.values()
        medians = {name: round(statistics.median(one[name] for one in same)) for name in names}
        yield {"kernel": same[0]["kernel"], **medians}


def _gemms(shapes: list[str]) -> list[dict[str, Any]]:
    """Measure each GEMM alone with ncu, and in a sequence with events.

    In the sequence, memory traffic between the GEMMs empties the caches.
    """
    flush, found = torch.empty(_FLUSH_BYTES, dtype=torch.uint8, device="cuda"), []
    for shape, counters in zip(shapes, _counted(shapes), strict=True):
        a, b, c = _operands(**_size(shape))
        many_us = _median_us(partial(torch.mm, a, b, out=c), between=partial(flush.fill_, 1))
        found.append({**_size(shape), **counters, "one_of_many_ns": round(many_us * 1e3)})
    return found


def _streams_gb_per_s() -> dict[str, float]:
    """Measure rates of reading, writing, copying and adding arrays larger than the caches.

    A further array fits into the L2 and is read repeatedly. Rates count read and written bytes.
    """
    half = {"dtype": torch.float16, "device": "cuda"}
    a, b, c = (torch.empty(_STREAM_BYTES // 2, **half) for _ in range(3))
    a.normal_()
    b.normal_()
    out = torch.zeros(16, dtype=torch.uint8, device="cuda")
    read_all = _KERNELS.get_function("read_all")

    def read(span_bytes: int) -> None:
        ends = cupy.uint64(a.data_ptr()), cupy.uint64(out.data_ptr())
        size = cupy.uint64(span_bytes // 16), cupy.uint32(_STREAM_BYTES // span_bytes)
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            read_all((1056,), (1024,), (ends[0], *size, ends[1]))

    runs: dict[str, tuple[int, Callable[[], Any]]] = {
        "read": (1, partial(read, _STREAM_BYTES)),
        "read of the L2": (1, partial(read, _L2_SPAN_BYTES)),
        "write": (1, lambda: c.fill_(1.5)),
        "copy": (2, lambda: c.copy_(a)),
        "add": (3, lambda: torch.add(a, b, out=c)),
    }
    return {
        name: round(arrays * _STREAM_BYTES / _median_us(run) / 1e3)
        for name, (arrays, run) in runs.items()
    }


def _latency_ns(span_bytes: int) -> float:
    """Measure the time from one load to the next of random lines, bypassing the L1."""
    lines, words = span_bytes // _LINE_BYTES, _LINE_BYTES // 4
    order = torch.randperm(lines, device="cuda")
    following = torch.zeros(lines * words, dtype=torch.int32, device="cuda")
    following[order * words] = (order.roll(-1) * words).to(torch.int32)
    warm_up, steps = min(lines, 400_000), 50_000
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    took_ns = torch.zeros(1, dtype=torch.int64, device="cuda")
    torch.cuda.synchronize()
    arguments = cupy.uint64(following.data_ptr()), cupy.uint32(warm_up), cupy.uint32(steps)
    results = cupy.uint64(out.data_ptr()), cupy.uint64(took_ns.data_ptr())
    _KERNELS.get_function("chase")((1,), (1,), (*arguments, *results))
    cupy.cuda.Device().synchronize()
    return float(round(took_ns.item() / steps, 1))


def _kernel_start_ns() -> float:
    """Measure the time from one empty kernel to the next in a graph of many."""
    empty, stream = _KERNELS.get_function("empty"), torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    empty((1,), (32,), ())
    with torch.cuda.graph(graph, stream=stream):
        with cupy.cuda.ExternalStream(stream.cuda_stream):
            for _ in range(_LAUNCHES):
                empty((1,), (32,), ())
    return round(_median_us(graph.replay) * 1e3 / _LAUNCHES)


def _main(path: Path, shapes: list[str]) -> None:
    figures = {
        "conditions": _conditions(),
        "latency_ns": {f"{mib} MiB": _latency_ns(mib << 20) for mib in _LATENCY_MIB},
        "kernel_start_ns": _kernel_start_ns(),
        "streams_gb_per_s": _streams_gb_per_s(),
        "gemms": _gemms(shapes),
    }
    path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == _COUNTED:
        _run_counted(sys.argv[2:])
    else:
        _main(Path(sys.argv[1]), sys.argv[2:])
