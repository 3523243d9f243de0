"""Reference figures of other simulators and of GPUs, read from files."""

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

__all__ = [
    "CardReference",
    "DramReference",
    "GemmReference",
    "RingReference",
    "StreamReference",
    "card_reference",
    "dram_references",
    "reference_rows",
    "ring_references",
    "stream_references",
]

_FOLDER = Path(__file__).parent / "reference"
_REFRESH = {
    "none": "none",
    "AllBank": "all-bank",
    "AllBank per PC": "all-bank",
    "PerBank": "per-bank",
}
# Requests offered per cycle in the rows of dram_channel.csv: more than the memory can serve.
_OFFERED_PER_CYCLE = 4


@dataclass(frozen=True)
class DramReference:
    """Row of ``dram_channel.csv`` or ``dram_hbm3.csv``: share of the peak that a channel reaches.

    ``columns`` has the unchanged columns of a row of ``dram_hbm3.csv``.
    """

    simulator: str
    standard: str
    channel: str
    pattern: str
    read_queue: int
    write_queue: int
    region_offset_bytes: int
    refresh: str
    offered_per_cycle: int
    fraction_of_peak: float
    columns: dict[str, str] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class RingReference:
    """Row of ``ring_collectives.csv``: time of a collective on a ring."""

    collective: str
    gpus: int
    buffer_bytes: int
    link_gb_per_s: float
    link_latency_ns: float
    time_ns: float


@dataclass(frozen=True)
class GemmReference:
    """GEMM on a GPU: ``time_ns`` alone with empty caches, ``one_of_many_ns`` in a sequence."""

    m: int
    n: int
    k: int
    time_ns: float
    clock_mhz: float
    read_bytes: int
    written_bytes: int
    one_of_many_ns: float


@dataclass(frozen=True)
class CardReference:
    """Results of ``measure_gpu.py``: rates count read and written bytes; latencies are between
    dependent loads."""

    name: str
    l2_mib: float
    hit_ns: float
    miss_ns: float
    kernel_start_ns: float
    streams_gb_per_s: dict[str, float]
    gemms: tuple[GemmReference, ...]


@dataclass(frozen=True)
class StreamReference:
    """Rate of a memory stream on a whole GPU, in the bytes that its kernel reads and writes."""

    gpu: str
    kernel: str
    program: str
    gb_per_s: float


def card_reference(name: str) -> CardReference:
    """Read the figures of a GPU, given the name of its preset."""
    found = json.loads((_FOLDER / f"gpu_{name}.json").read_text(encoding="utf-8"))
    return CardReference(
        name=found["conditions"]["name"],
        l2_mib=found["conditions"]["l2_bytes"] / 2**20,
        hit_ns=found["latency_ns"]["8 MiB"],
        miss_ns=found["latency_ns"]["4096 MiB"],
        kernel_start_ns=found["kernel_start_ns"],
        streams_gb_per_s=found["streams_gb_per_s"],
        gemms=tuple(
            GemmReference(
                **{name: one[name] for name in ("m", "n", "k", "time_ns", "one_of_many_ns")},
                clock_mhz=1e3 * one["cycles"] / one["time_ns"],
                read_bytes=one["read_bytes"],
                written_bytes=one["written_bytes"],
            )
            for one in found["gemms"]
        ),
    )


def reference_rows(name: str) -> list[dict[str, str]]:
    """Read the rows of a file of the folder ``reference``."""
    with (_FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def dram_references() -> list[DramReference]:
    """Read the figures that Ramulator 2.1 and DRAMsim3 give for one memory channel."""
    return [*_of_hbm2(), *_of_hbm3()]


def _of_hbm2() -> Iterable[DramReference]:
    for row in reference_rows("dram_channel.csv"):
        yield DramReference(
            simulator=row["sim"],
            standard="HBM2",
            channel=row["timing"],
            pattern=row["pattern"],
            read_queue=int(row["queue_read"]),
            write_queue=int(row["queue_write"]),
            region_offset_bytes=int(row["region_offset_bytes"]),
            refresh=_REFRESH[row["refresh"]],
            offered_per_cycle=_OFFERED_PER_CYCLE,
            fraction_of_peak=float(row["fraction_of_peak"]),
        )


def _of_hbm3() -> Iterable[DramReference]:
    for row in reference_rows("dram_hbm3.csv"):
        yield DramReference(
            simulator=row["sim"],
            standard=row["standard"],
            channel=row["org_preset"],
            pattern=row["pattern"],
            read_queue=int(row["read_q"]),
            write_queue=int(row["write_q"]),
            region_offset_bytes=int(row["region_extra_offset_bytes"]),
            refresh=_REFRESH[row["refresh"]],
            offered_per_cycle=int(row["offered_per_cycle"]),
            fraction_of_peak=float(row["frac_of_peak"]),
            columns=row,
        )


_STREAM = "hbm_"
_OWN_STREAMS = ("read", "copy", "add")


def stream_references() -> list[StreamReference]:
    """Read the rates of memory streams: BabelStream's rows, and those of ``measure_gpu.py``."""
    found = [
        StreamReference(
            gpu=row["gpu"].lower(),
            kernel=row["op"].removeprefix(_STREAM),
            program=row["implementation"],
            gb_per_s=1e3 * float(row["relative"].split(" TB/s")[0]),
        )
        for row in reference_rows("measured_gpus.csv")
        if row["op"].startswith(_STREAM)
    ]
    for gpu in ("h100", "h200"):
        rates = card_reference(gpu).streams_gb_per_s
        found += [
            StreamReference(gpu, kernel, "measure_gpu.py", rates[kernel]) for kernel in _OWN_STREAMS
        ]
    return sorted(found, key=lambda one: one.gpu)


def ring_references() -> list[RingReference]:
    """Read the times that ASTRA-sim gives for ring collectives."""
    return [
        RingReference(
            collective=row["collective"],
            gpus=int(row["gpus"]),
            buffer_bytes=int(row["buffer_bytes"]),
            link_gb_per_s=float(row["link_gb_per_s_per_direction"]),
            link_latency_ns=float(row["link_latency_ns"]),
            time_ns=float(row["time_ns"]),
        )
        for row in reference_rows("ring_collectives.csv")
    ]
