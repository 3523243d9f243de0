"""Change of the links' payload rates between two kernels whose packets have different overhead."""

from typing import Any

__all__ = ["scale_rates"]


def scale_rates(state: Any, factor: float) -> None:
    """Multiply the payload rates of all links of a machine's state by a factor."""
    link = state.link
    link["most_bytes"] += link["rate_bytes"] * (factor - 1)  # a cycle's bytes, and whole packets
    link["rate_bytes"] *= factor
    state.gpu["link_rate_bytes"] *= factor
