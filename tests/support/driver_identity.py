"""Registers by which a driver recognizes the hardware."""

from rtl.registers.map import load

__all__ = ["IDENTITY"]

IDENTITY = {load()[name].address: load()[name].reset for name in ("ID", "VERSION")}
"""Words of the hardware for which the drivers are written, by address."""
