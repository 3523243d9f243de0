"""What may be committed to the tables, programmed through the register port."""

import random
from dataclasses import dataclass, field

import pytest
from amaranth.sim import Simulator
from register_bus import read, start_write, write

from rtl import register_map
from rtl.layouts import Action, CommandEntry, Refusal
from rtl.parameters import T3Parameters
from rtl.registers import Registers, Response

P = T3Parameters(address_bits=20, workgroup_bits=5, sets=16, windows=3, ranges=5, commands=3)
MAP = register_map.load()
ATOM = P.atom_bytes
TOP = (1 << P.address_bits) - ATOM  # the highest byte address that is allowed


@dataclass
class Tables:
    """The tables in plain Python, in bytes."""

    p: T3Parameters
    windows: dict = field(default_factory=dict)
    ranges: dict = field(default_factory=dict)
    commands: dict = field(default_factory=dict)
    copies: list = field(default_factory=list)

    def window(self, index, enable, base, limit, context):
        if index >= self.p.windows:
            return Refusal.UNKNOWN_INDEX
        if not enable:
            if any(entry["window"] == index for entry in self.ranges.values()):
                return Refusal.WINDOW_IN_USE
            self.windows.pop(index, None)
            return Refusal.NONE
        highest = (1 << self.p.address_bits) - self.p.atom_bytes
        if base % self.p.atom_bytes or limit % self.p.atom_bytes:
            return Refusal.MISALIGNED
        if base > highest or limit > highest:
            return Refusal.OUT_OF_SPACE
        if limit <= base:
            return Refusal.EMPTY
        for number, (start, end, _) in self.windows.items():
            if number != index and max(start, base) < min(end, limit):
                return Refusal.OVERLAP
        self.windows[index] = (base, limit, context)
        return Refusal.NONE

    def range(self, index, enable, entry):
        if (
            index >= self.p.ranges
            or entry["window"] >= self.p.windows
            or entry["command"] >= self.p.commands
        ):
            return Refusal.UNKNOWN_INDEX
        if not enable:
            self.ranges.pop(index, None)
            return Refusal.NONE
        if entry["last"] < entry["first"] or entry["action"] == Action.NONE:
            return Refusal.EMPTY
        if entry["window"] not in self.windows:
            return Refusal.WINDOW_DISABLED
        for number, other in self.ranges.items():
            if number != index and other["window"] == entry["window"]:
                if max(other["first"], entry["first"]) <= min(other["last"], entry["last"]):
                    return Refusal.OVERLAP
        self.ranges[index] = dict(entry)
        return Refusal.NONE

    def command(self, index, offset, fields):
        if index >= self.p.commands:
            return Refusal.UNKNOWN_INDEX
        if offset % self.p.atom_bytes:
            return Refusal.MISALIGNED
        atoms = offset // self.p.atom_bytes % (1 << self.p.atom_address_bits)
        self.commands[index] = fields | {"atom_offset": atoms}
        return Refusal.NONE

    def copy(self, command, start):
        if command >= self.p.commands:
            return Refusal.UNKNOWN_INDEX
        if start % self.p.atom_bytes:
            return Refusal.MISALIGNED
        if len(self.copies) == 2:
            return Refusal.QUEUE_FULL
        atoms = start // self.p.atom_bytes % (1 << self.p.atom_address_bits)
        self.copies.append({"command": command, "start": atoms})
        return Refusal.NONE

    def maps(self):
        """What can be seen of the hardware's tables; a disabled entry's rest cannot."""
        zero = CommandEntry(self.p).const({})
        return (
            [
                (base // self.p.atom_bytes, limit // self.p.atom_bytes, context)
                if (entry := self.windows.get(index)) and (base := entry[0]) is not None
                and (limit := entry[1]) and (context := entry[2]) is not None
                else None
                for index in range(self.p.windows)
            ],
            [self.ranges.get(index) for index in range(self.p.ranges)],
            [
                CommandEntry(self.p).const(self.commands[index])
                if index in self.commands
                else zero
                for index in range(self.p.commands)
            ],
        )
