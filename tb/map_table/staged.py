"""Staged fields of the tables: their places in the registers."""

import re

from rtl.registers import map as register_map
from sysmodel.engine.golden.registers.words import F

__all__ = ["STAGED"]

_PLAIN = ("RANGE_DISPATCH_INDICES", "RANGE_ACTION", "COMMAND_TRANSFER")
_PLAIN += ("COMMAND_OUTER", "COMMAND_INNER", "COMMAND_STRIDE", "COMMAND_WAVES")
_PLAIN += ("RANGE_PEERS", "PEER")
# Registers whose fields are in a nested layout.
_NESTED = {"RANGE_GATE": "range_gate", "RANGE_BAND": "range_gate"}
_WIDE = ("REGION_BASE", "REGION_LIMIT", "COMMAND_OFFSET", "COPY_START")


def _staged() -> dict[str, tuple[int, int, int]]:
    """Return the place of each staged field in the registers."""
    registers = register_map.load()
    staged = {}
    for name in _PLAIN:
        for field in registers[name].fields:
            # `waves0` of the register is `waves_0` of the layout.
            key = re.sub(r"(\d)$", r"_\1", field.name) if "WAVES" in name else field.name
            staged[f"{name.partition('_')[0].lower()}_{key}"] = f"{name}_{field.name}"
    for name, prefix in _NESTED.items():
        fields = (field.name for field in registers[name].fields)
        staged |= {f"{prefix}_{field}": f"{name}_{field}" for field in fields}
    for name in _WIDE:
        staged |= {f"{name.lower()}_0": f"{name}_LO_bytes", f"{name.lower()}_1": f"{name}_HI_bytes"}
    return {key: getattr(F, name) for key, name in staged.items()}


STAGED = _staged()
"""Word, lowest bit and mask of each field of ``dut.staging``, by its name there."""
