"""Coverage waivers: points of the Verilog that no bench, or not the block's own, can hit."""

from .lookup import reason_of, unused_waivers

__all__ = ["reason_of", "unused_waivers"]
