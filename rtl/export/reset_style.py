"""Reset styles of an export."""

from typing import Literal, get_args

__all__ = ["RESET_STYLES", "ResetStyle"]

ResetStyle = Literal["synchronous", "asynchronous", "none"]
"""Effect of ``rst`` on registers with a reset value.

All registers also have initial values, the only initialisation in an export without a reset.
"""
RESET_STYLES: tuple[ResetStyle, ...] = get_args(ResetStyle)
