"""Reasons that several waivers share."""

__all__ = ["CODES", "ELSEWHERE", "LONG_RUNS", "OF_A_STREAM", "WIDE_COUNTS"]

CODES = "bits that are equal in the codes of all these errors"
ELSEWHERE = "part of a block that has a bench of its own"
LONG_RUNS = "high bits of a counter, reached in long runs only"
OF_A_STREAM = "a field that is unused or constant in all requests of this stream"
WIDE_COUNTS = "high parts of a counter, reached in long runs only; other benches preset theirs"
