"""Operations that the hardware runs in one launch."""

__all__ = ["OPERATIONS"]

OPERATIONS = [
    ("ring", "reduce-scatter"),
    ("direct", "reduce-scatter"),
    ("ring", "all-gather"),
    ("direct", "all-gather"),
    ("ring", "all-reduce"),
    ("ring", "all-to-all"),
    ("direct", "all-to-all"),
    ("send", "send"),
]
"""Algorithm and operation of each."""
