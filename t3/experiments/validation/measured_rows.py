"""Rows of measured GPUs that are compared with a preset, and the rules by which others are not."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sysmodel.runs.collective_buffer import message_limits
from t3.experiments.measured.measurement import RINGS, Kind, Measurement

from .preset_errors import PRESETS
from .references import reference_rows

__all__ = ["FUSED_OPERATIONS", "RULES", "Rows", "Rule", "measured_rows"]

Row = Mapping[str, str]

_GPUS, _GEMMS = "measured_gpus.csv", "public_gemms.csv"
_STREAMS: dict[str, Kind] = {
    "hbm_copy": "copy",
    "hbm_mul": "copy",
    "hbm_add": "add",
    "hbm_triad": "add",
    "hbm_dot": "read",
}
_COLLECTIVES: dict[str, Kind] = {**{kind: kind for kind in RINGS}, "alltoall": "all_to_all"}
_MODELLED = (*_COLLECTIVES, *_STREAMS, "gemm")
FUSED_OPERATIONS = ("ag_gemm", "gemm_rs", "gemm_ar")
"""Operations of rows whose kernels may overlap a GEMM with collectives."""
_NCCL_TESTS = "NCCL (nccl-tests"
_RCCL_TESTS = "RCCL (rccl-tests"
_IN_PLACE = "in place"
_LEAST_IN_PLACE = 16 << 20
_SEPARATE = "torch GEMM then RS (NCCL)"
_CLIFF_BYTES = (4 << 20, 64 << 20)
_OUTLIER_US = "280.49"
# Names of other GPUs than the row's in the source of public_gemms.csv.
_OTHER_GPU = re.compile(r"GB300|H800")
_RATE = re.compile(r"([\d.]+) TB/s")


@dataclass(frozen=True)
class Rule:
    """Reason to leave rows out, and the test for such a row."""

    reason: str
    applies: Callable[[Row], bool]


def _is_unknown(row: Row) -> bool:
    return row["op"] not in (*_MODELLED, *FUSED_OPERATIONS)


def _is_fused(row: Row) -> bool:
    return row["op"] in FUSED_OPERATIONS and row["implementation"] != _SEPARATE


def _in_switch(row: Row) -> bool:
    """Test for a kernel other than NCCL's all-reduce that adds or copies in the switch."""
    kernel = row["implementation"]
    return "multimem" in kernel or ("NVLS" in kernel and row["op"] != "all_reduce")


def _is_all_reduce(row: Row) -> bool:
    kernel = row["implementation"]
    tests = kernel.startswith((_NCCL_TESTS, _RCCL_TESTS)) or _IN_PLACE in kernel
    return row["op"] == "all_reduce" and not tests


def _is_small_in_place(row: Row) -> bool:
    small = row["op"] == "all_reduce" and int(row["bytes"]) < _LEAST_IN_PLACE
    return small and _IN_PLACE in row["implementation"]


def _of_other_kernels(row: Row) -> bool:
    halves = row["op"] in ("reduce_scatter", "all_gather")
    return halves and not row["implementation"].startswith(_NCCL_TESTS)


def _is_cliff(row: Row) -> bool:
    low, high = _CLIFF_BYTES
    high += row["op"] == "all_reduce" and int(row["n_gpus"]) == 8
    return row["gpu"] == "B200" and row["op"] in RINGS and low < int(row["bytes"]) < high


def _is_not_cut(row: Row) -> bool:
    if row["op"] not in _COLLECTIVES:
        return False
    least, most = message_limits(int(row["n_gpus"]))
    return not least <= int(row["bytes"]) <= most


def _of_other_elements(row: Row) -> bool:
    return row["op"] == "gemm" and row["dtype"] not in ("bf16", "fp16", "")


def _is_outlier(row: Row) -> bool:
    return row["op"] == "gemm" and row["time_us"] == _OUTLIER_US


def _of_other_gpu(row: Row) -> bool:
    return row["op"] == "gemm" and _OTHER_GPU.search(row["source"]) is not None


def _is_repeated(row: Row) -> bool:
    return row["file"] == _GEMMS and "MAMF" in row["source"]


def _notes(words: str) -> Callable[[Row], bool]:
    """Test for words in the row's note."""
    return lambda row: words in row["note"]


RULES = (
    Rule("no preset describes the GPU", lambda row: row["gpu"] not in PRESETS),
    Rule("the model lacks the operation", _is_unknown),
    Rule("fused kernels and their baselines, for a comparison of their own", _is_fused),
    Rule("the source does not say the world size", _notes("world size")),
    Rule("other kernels than NCCL's that add or copy in the switch (multimem)", _in_switch),
    Rule(
        "torch.distributed, with launch and waiting",
        lambda row: "torch.distributed" in row["implementation"],
    ),
    Rule("all-reduces that no test of NCCL or RCCL timed", _is_all_reduce),
    Rule("all-reduces below 16 MiB in place, 5 to 25 µs above other sources", _is_small_in_place),
    Rule("the source does not define its bandwidth", _notes("definition")),
    Rule("device time of the kernel alone, without its launch", _notes("device time")),
    Rule("other kernels than the library's ring", _of_other_kernels),
    Rule("B200 from 4 to 64 MiB: a tuning cliff of this version of NCCL", _is_cliff),
    Rule("less than 512 bytes for a GPU, or more than 1 GiB", _is_not_cut),
    Rule("elements of other sizes than two bytes", _of_other_elements),
    Rule("the source does not say if K is one GPU's", _notes("K per GPU")),
    Rule("outlier: vLLM takes 280 µs where two other libraries take 193 and 198", _is_outlier),
    Rule("the source names another GPU than the column", _of_other_gpu),
    Rule("the other file has the same row", _is_repeated),
)
"""Rules in the order of their application: the first that applies to a row counts."""


@dataclass(frozen=True)
class Rows:
    """Measurements by preset, and the number of rows that each rule left out."""

    by_preset: dict[str, list[Measurement]]
    left_out: dict[str, int]
    total: int


def measured_rows() -> Rows:
    """Read both files, and apply the rules."""
    rows = [*_gpus(), *_gemms()]
    found: dict[str, list[Measurement]] = {preset: [] for preset in PRESETS.values()}
    left_out = dict.fromkeys((rule.reason for rule in RULES), 0)
    for row in rows:
        reason = next((rule.reason for rule in RULES if rule.applies(row)), None)
        if reason is None:
            found[PRESETS[row["gpu"]]].append(_measurement(row))
        else:
            left_out[reason] += 1
    return Rows(found, left_out, len(rows))


def _gpus() -> Iterator[Row]:
    for row in reference_rows(_GPUS):
        yield {**row, "file": _GPUS}


def _gemms() -> Iterator[Row]:
    """Give the rows of ``public_gemms.csv`` the columns of the other file."""
    for row in reference_rows(_GEMMS):
        m, n, k = (int(row[name]) for name in "mnk")
        time_us = 2e-6 * m * n * k / float(row["tflops"])
        yield {
            **dict.fromkeys(("bytes", "dtype", "note", "relative", "where"), ""),
            **{"gpu": row["gpu"].upper(), "n_gpus": "1", "op": "gemm", "file": _GEMMS},
            **{"M": row["m"], "N": row["n"], "K_per_gpu": row["k"], "time_us": str(time_us)},
            **{"implementation": row["source"], "source": row["source"]},
        }


def _measurement(row: Row) -> Measurement:
    op, kernel = row["op"], row["implementation"]
    if op in _STREAMS:
        rate = _RATE.match(row["relative"])
        assert rate is not None, row["relative"]
        return Measurement(_STREAMS[op], 1e3 * float(rate[1]), source=kernel, note=op)
    time_us, gpus = float(row["time_us"]), int(row["n_gpus"])
    if op in _COLLECTIVES:
        return Measurement(_COLLECTIVES[op], time_us, gpus, int(row["bytes"]), source=kernel)
    kind: Kind = "gemm" if op == "gemm" else "gemm_rs"
    m, n, k = (int(row[name]) for name in ("M", "N", "K_per_gpu"))
    return Measurement(kind, time_us, gpus, m=m, n=n, k=k, source=kernel)
