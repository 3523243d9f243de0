"""How the registers of an export are reset."""

from typing import Literal, get_args

__all__ = ["RESET_STYLES", "ResetStyle"]

ResetStyle = Literal["synchronous", "asynchronous", "none"]
"""What ``rst`` does to the registers that have a reset value.

All registers have initial values, too: without a reset these are all that there is.
"""
RESET_STYLES: tuple[ResetStyle, ...] = get_args(ResetStyle)
