"""Share of the line that is payload, of the rows of a sweep."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["payload_share"]


def payload_share(row: "pd.Series") -> float:
    """Share of the line that is payload in the packets of a row's reduce-scatter."""
    payload_bytes = float(row["link_rs_bytes"])
    return payload_bytes / (payload_bytes + float(row["link_rs_overhead_bytes"]))
