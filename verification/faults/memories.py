"""Memories of a design, found in its Verilog."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Memory", "find_memories", "memories_header"]

_MODULE = re.compile(r"^module \\?(\S+?)\s*\(")
_MEMORY = re.compile(r"^\s*reg \[(\d+):0\] (\w+) \[(\d+):0\];")
_TOP = "t3.component."


@dataclass(frozen=True)
class Memory:
    """Memory of the compiled hardware.

    Attributes
    ----------
    path : str
        Hierarchical name: the instances above the memory and its own name, joined by dots.
    width, rows : int
        Bits of a row, and number of rows.
    """

    path: str
    width: int
    rows: int

    @property
    def bits(self) -> int:
        return self.width * self.rows


def find_memories(verilog: str) -> list[Memory]:
    """Find the memories in Verilog that Amaranth has written; the names of its modules are
    hierarchical.

    Memories whose paths differ only in numbers are consecutive.
    """
    found, module = [], ""
    for line in verilog.splitlines():
        if match := _MODULE.match(line):
            module = match[1]
        elif match := _MEMORY.match(line):
            path = f"{module}.{match[2]}".removeprefix(_TOP)
            found.append(Memory(path, int(match[1]) + 1, int(match[3]) + 1))
    return sorted(found, key=lambda one: (re.sub(r"\d+", "", one.path), one.path))


def _member(path: str) -> str:
    """Verilator's name of a memory, with codes for characters that C++ does not allow."""
    dotted = (_TOP + path).replace(".", "__DOT__")
    return re.sub(r"[^A-Za-z0-9_]", lambda character: f"__0{ord(character[0]):02X}", dotted)


def memories_header(memories: Sequence[Memory]) -> str:
    """Write C++ that finds the bytes of a Verilator model's memory by its number."""
    lines = [
        "#pragma once",
        "#include <cstdint>",
        "struct Memory { unsigned char* bytes; uint64_t row_bytes, rows; };",
        "template <class Row, std::size_t Rows> Memory of(VlUnpacked<Row, Rows>& words) {",
        "    return {reinterpret_cast<unsigned char*>(&words), sizeof(Row), Rows};",
        "}",
        "template <class Root> Memory memory(Root& root, uint64_t index) {",
        "    switch (index) {",
        *(
            f"        case {index}: return of(root.{_member(one.path)});"
            for index, one in enumerate(memories)
        ),
        "    }",
        "    return {nullptr, 0, 0};",
        "}",
    ]
    return "\n".join(lines) + "\n"
