"""Reasons that several patterns have."""

__all__ = ["CODES", "ELSEWHERE", "LONG_RUNS", "OF_A_STREAM", "WIDE_COUNTS"]

CODES = "bits that the codes of these errors have alike"
ELSEWHERE = "in a block with a bench of its own"
LONG_RUNS = "counts of long runs"
OF_A_STREAM = "a field that all requests of this stream lack, or have the same"
WIDE_COUNTS = "blocks of a counter that only long runs reach; benches of others set theirs"
