"""Energy of single events, with sources: ``constants.toml``."""

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import model_validator

from sysmodel.config.schema import Strict, number, read_toml, text, validate
from sysmodel.lib.errors import InputError

__all__ = ["Constant", "Constants", "known_constants", "load_constants"]


class Constant(Strict):
    """Figure from the literature; see ``constants.toml``."""

    what: str = text()
    unit: Literal["pJ", "pJ/B", "pJ/bit", "pJ/bit/mm", "mm", "bit"]
    value: float = number(0, 1e4)
    low: float = number(0, 1e4)
    high: float = number(0, 1e4)
    source: str = text()
    confidence: Literal["H", "M", "L"]

    @model_validator(mode="after")
    def _in_range(self) -> "Constant":
        if not self.low <= self.value <= self.high:
            raise InputError(
                "value",
                f"{self.value:g} is not allowed; allowed: from low, {self.low:g}, to high, "
                f"{self.high:g}",
            )
        return self


class Constants(Strict):
    """All constants; see ``constants.toml``."""

    dram_activate: Constant
    dram_array: Constant
    dram_bus: Constant
    dram_io: Constant
    nmc_add: Constant
    link: Constant
    wire: Constant
    crossing: Constant
    instruction: Constant
    fp16_add: Constant
    sram: Constant
    tracker_entry: Constant
    flip_flop: Constant

    def moved(self, end: Literal["low", "high"], *names: str) -> "Constants":
        """Copy the constants, with the named ones at an end of their range."""
        changed = {}
        for name in names:
            one = getattr(self, name)
            changed[name] = one.model_copy(update={"value": getattr(one, end)})
        return self.model_copy(update=changed)


def load_constants(path: Path) -> Constants:
    """Read a file of constants.

    Raises
    ------
    InputError
        A value is wrong; the message names file, key, value and the allowed values.
    """
    return validate(Constants, read_toml(path), path.name)


@cache
def known_constants() -> Constants:
    """Load the bundled constants."""
    return load_constants(Path(__file__).parent / "constants.toml")
