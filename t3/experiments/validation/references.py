"""The reference figures as records."""

import csv
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DramReference", "RingReference", "dram_references", "ring_references"]

_FOLDER = Path(__file__).parent / "reference"


@dataclass(frozen=True)
class DramReference:
    """A row of ``dram_channel.csv``: share of its peak that a channel gives."""

    simulator: str
    pattern: str
    timing: str
    read_queue: int
    write_queue: int
    region_offset_bytes: int
    refresh: bool
    fraction_of_peak: float


@dataclass(frozen=True)
class RingReference:
    """A row of ``ring_collectives.csv``: time of a collective on a ring."""

    collective: str
    gpus: int
    buffer_bytes: int
    link_gb_per_s: float
    link_latency_ns: float
    time_ns: float


def _rows(name: str) -> list[dict[str, str]]:
    with (_FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def dram_references() -> list[DramReference]:
    """Figures of one HBM2 channel, by Ramulator 2.1 and DRAMsim3."""
    return [
        DramReference(
            simulator=row["sim"],
            pattern=row["pattern"],
            timing=row["timing"],
            read_queue=int(row["queue_read"]),
            write_queue=int(row["queue_write"]),
            region_offset_bytes=int(row["region_offset_bytes"]),
            refresh=row["refresh"] != "none",
            fraction_of_peak=float(row["fraction_of_peak"]),
        )
        for row in _rows("dram_channel.csv")
    ]


def ring_references() -> list[RingReference]:
    """Times of ring collectives, by ASTRA-sim."""
    return [
        RingReference(
            collective=row["collective"],
            gpus=int(row["gpus"]),
            buffer_bytes=int(row["buffer_bytes"]),
            link_gb_per_s=float(row["link_gb_per_s_per_direction"]),
            link_latency_ns=float(row["link_latency_ns"]),
            time_ns=float(row["time_ns"]),
        )
        for row in _rows("ring_collectives.csv")
    ]
