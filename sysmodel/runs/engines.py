"""Names of the engines that simulate the T3 hardware."""

from typing import Literal, get_args

__all__ = ["ENGINES", "EngineName"]

EngineName = Literal["rtl", "golden"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
