"""Why some of the Verilog cannot be run through, or is not by its block's bench."""

from .lookup import reason_of, without_a_hole

__all__ = ["reason_of", "without_a_hole"]
