"""Ranges of a context that register writes program."""

from collections.abc import Iterable

from rtl.interface.encodings import Action
from rtl.registers.map import load

__all__ = ["recorded_ranges"]

_WINDOW = ("WORKGROUPS", "TRACKED_FIRST", "TRACKED_END", "CREDIT_WINDOW")


def recorded_ranges(
    writes: Iterable[tuple[int, int]],
) -> tuple[list[dict[str, int | str]], dict[str, int]]:
    """Return the ranges of the first context, with signed slot offsets and names of actions, and
    the values of the launch's registers."""
    names = {register.address: register for register in load().values()}
    staged: dict[str, int | str] = {}
    table: dict[int, dict[str, int | str]] = {}
    values = {}
    for address, word in writes:
        register = names.get(address)
        if register is None:
            continue
        fields = register.unpack(word)
        if register.name in _WINDOW:
            (values[register.name],) = fields.values()
        elif register.name == "RANGE_COMMIT":
            if fields["enable"]:
                table[fields["index"]] = dict(staged)
            else:
                table.pop(fields["index"], None)
        elif register.name.startswith("RANGE_"):
            staged |= fields
            if "action" in fields:
                staged["action"] = Action(fields["action"]).name
            if "slot_offset" in fields:
                offset, half = fields["slot_offset"], 1 << 16
                staged["slot_offset"] = offset - 2 * half if offset & half else offset
    return list(table.values()), values
