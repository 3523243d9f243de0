"""Granularity of triggering: the unit whose complete tile is sent on."""

from typing import Literal, get_args

__all__ = ["GRANULARITIES", "GranularityName"]

GranularityName = Literal["workgroup", "wavefront"]
GRANULARITIES: tuple[GranularityName, ...] = get_args(GranularityName)
