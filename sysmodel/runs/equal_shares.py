"""Equal shares of times and counts that are known only for several activities together."""

import numpy as np

__all__ = ["equal_share"]


def equal_share(whole: int | np.integer, place: int, parts: int) -> int:
    """Share of a number: as equal as whole numbers allow, together the number."""
    return int(whole) * (place + 1) // parts - int(whole) * place // parts
