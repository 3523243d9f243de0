"""Counts of a sublayer from their categories, such as ``rs_read``."""

from collections.abc import Mapping

from sysmodel.energy.counts import DramBytes, LinkBytes

__all__ = ["dram_bytes", "link_bytes"]

_NAMES = "gemm", "rs", "ag"


def dram_bytes(moved: Mapping[str, float]) -> DramBytes:
    """Return the traffic of the memory; a category that is not given has none."""
    read, write = (
        {name: moved.get(f"{name}_{way}", 0) for name in _NAMES} for way in ("read", "write")
    )
    return DramBytes(read=read, write=write)


def link_bytes(rs: float, ag: float) -> LinkBytes:
    """Return the payload of a reduce-scatter and an all-gather, without headers."""
    return LinkBytes(payload={"rs": rs, "ag": ag}, overhead={"rs": 0, "ag": 0})
