"""The register map as plain data, read from ``t3.rdl``.

The register block, the golden model, the driver and the documentation share it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from systemrdl import RDLCompiler
from systemrdl.node import FieldNode, Node, RegfileNode, RegNode, RootNode
from systemrdl.rdltypes import AccessType, OnWriteType

__all__ = [
    "ALWAYS",
    "CONTEXT",
    "GLOBAL",
    "MOST_CONTEXTS",
    "PAGE_BITS",
    "Field",
    "Register",
    "compiled",
    "load",
    "page",
    "read",
]

_SOURCE = Path(__file__).with_name("t3.rdl")

PAGE_BITS = 12
GLOBAL, CONTEXT = 0, 1  # the first page, and the first of those of the contexts
MOST_CONTEXTS = 8
ALWAYS = "always"  # of a register's lock

# SystemRDL has many properties with side effects. What is not listed here is not implemented.
_ADDRMAP_PROPERTIES = {"name", "desc"}
_REGISTER_PROPERTIES = {"name", "desc", "regwidth", "lock"}
_FIELD_PROPERTIES = {"name", "desc", "sw", "hw", "reset", "singlepulse", "onwrite"}


@dataclass(frozen=True)
class Field:
    """Bits ``low`` to ``low + width - 1`` of a register.

    Parameters
    ----------
    name : str
    low, width : int
    reset : int or None
        Value after reset; None where the hardware alone gives it.
    readable, writable : bool
        What software may do.
    singlepulse : bool
        A one that is written acts for one cycle.
    clears : bool
        A one that is written clears the bit, which the hardware sets.
    description : str
    """

    name: str
    low: int
    width: int
    reset: int | None
    readable: bool
    writable: bool
    singlepulse: bool = False
    clears: bool = False
    description: str = ""

    @property
    def mask(self) -> int:
        """Its bits in the register."""
        return ((1 << self.width) - 1) << self.low


@dataclass(frozen=True)
class Register:
    """A 32-bit register at a byte address.

    Parameters
    ----------
    name : str
    address : int
        A context's register: that of context 0.
    fields : tuple of Field
        From the lowest bit up.
    title, description : str
    lock : str
        Field of its page's lock register that keeps writes of other than privileged software away,
        ``ALWAYS`` if they always are, or nothing.
    """

    name: str
    address: int
    fields: tuple[Field, ...]
    title: str = ""
    description: str = ""
    lock: str = ""

    def __getitem__(self, name: str) -> Field:
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(f"Register {self.name} has no field {name!r}")

    @property
    def page(self) -> int:
        """``GLOBAL`` or ``CONTEXT``."""
        return self.address >> PAGE_BITS

    @property
    def offset(self) -> int:
        """Within its page."""
        return self.address & ((1 << PAGE_BITS) - 1)

    def address_in(self, context: int) -> int:
        """Of a context's register; of another one in any context the same."""
        return self.address + (context << PAGE_BITS if self.page == CONTEXT else 0)

    @property
    def readable(self) -> bool:
        return any(field.readable for field in self.fields)

    @property
    def writable(self) -> bool:
        return any(field.writable for field in self.fields)

    @property
    def reset(self) -> int:
        """What software reads after reset, with 0 where the hardware gives the value."""
        return sum((field.reset or 0) << field.low for field in self.fields if field.readable)

    def pack(self, **values: int) -> int:
        """The word that holds these field values, and the reset values of the other fields.

        Raises
        ------
        KeyError
            If there is no such field.
        ValueError
            If a value does not fit its field.
        """
        word = sum((field.reset or 0) << field.low for field in self.fields)
        for name, value in values.items():
            field = self[name]
            if not 0 <= value < 1 << field.width:
                raise ValueError(
                    f"{self.name}.{name} must be at least 0 and less than {1 << field.width}, "
                    f"not {value!r}"
                )
            word = word & ~field.mask | value << field.low
        return word

    def unpack(self, word: int) -> dict[str, int]:
        """The field values of a word."""
        return {field.name: (word & field.mask) >> field.low for field in self.fields}


def _reject(node: Node, properties: set[str]) -> None:
    for name in node.list_properties():
        if name not in properties:
            raise ValueError(f"{node.get_path()}: property {name} is not supported")


def _field(node: FieldNode) -> Field:
    _reject(node, _FIELD_PROPERTIES)
    path = node.get_path()
    software, hardware = node.get_property("sw"), node.get_property("hw")
    reset, singlepulse = node.get_property("reset"), node.get_property("singlepulse")
    if software not in (AccessType.r, AccessType.w, AccessType.rw):
        raise ValueError(f"{path}: software access must be r, w or rw, not {software.name}")
    if reset is not None and not isinstance(reset, int):
        raise ValueError(f"{path}: a reset value must be a number")
    writable = node.is_sw_writable
    clears = node.get_property("onwrite") is not None
    if clears:
        plain = node.get_property("onwrite") is OnWriteType.woclr and node.is_sw_readable
        if not plain or hardware is not AccessType.w or reset is not None:
            raise ValueError(
                f"{path}: what a write changes is cleared by ones, and hardware gives its value"
            )
    elif writable and (hardware is not AccessType.r or reset is None):
        raise ValueError(f"{path}: what software writes, hardware only reads, and it has a reset")
    if not writable and (hardware is AccessType.w) == (reset is not None):
        raise ValueError(f"{path}: what software only reads is written by hardware or has a reset")
    if singlepulse and (software is not AccessType.w or reset != 0):
        raise ValueError(f"{path}: a single pulse must be a write-only bit that is reset to 0")
    return Field(
        name=node.inst_name,
        low=node.low,
        width=node.width,
        reset=reset,
        readable=node.is_sw_readable,
        writable=writable,
        singlepulse=singlepulse,
        clears=clears,
        description=node.get_property("desc") or "",
    )


def compiled(path: Path = _SOURCE, *, contexts: int | None = None) -> RootNode:
    """A SystemRDL file, ``t3.rdl`` by default, as the compiler gives it to exporters.

    Parameters
    ----------
    path : Path
    contexts : int or None
        Pages of contexts in it, if not the most that there can be.

    Raises
    ------
    systemrdl.RDLCompileError
        If the file is not SystemRDL.
    """
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    return compiler.elaborate(parameters={} if contexts is None else {"PAGES": contexts})


def read(path: Path) -> dict[str, Register]:
    """Read a SystemRDL file: 32-bit registers in the first page, and a register file that repeats
    in the pages behind it.

    Parameters
    ----------
    path : Path

    Returns
    -------
    dict
        Registers by name, from the lowest address up.

    Raises
    ------
    systemrdl.RDLCompileError
        If the file is not SystemRDL.
    ValueError
        If it uses what the register block does not implement: side effects, other arrays and
        register files, other widths, an access that is not plain.
    """
    top = compiled(path).top
    _reject(top, _ADDRMAP_PROPERTIES)
    registers = {}
    for node in _registers(top):
        if not isinstance(node, RegNode) or node.is_array or node.external or node.is_alias:
            raise ValueError(f"{node.get_path()}: only single registers are supported")
        _reject(node, _REGISTER_PROPERTIES)
        if node.get_property("regwidth") != 32:
            raise ValueError(f"{node.get_path()}: registers must have 32 bits")
        registers[node.inst_name] = Register(
            name=node.inst_name,
            address=node.absolute_address,
            fields=tuple(_field(field) for field in node.fields()),
            title=node.get_property("name"),
            description=node.get_property("desc") or "",
            lock=node.get_property("lock", default="") or "",
        )
    return registers


def _registers(top: Node) -> Iterator[Node]:
    """Those of the first page, then those of the first context."""
    for node in top.children():
        if not isinstance(node, RegfileNode):
            yield node
            continue
        _reject(node, _ADDRMAP_PROPERTIES)
        place = (node.raw_absolute_address, node.array_dimensions, node.array_stride)
        if place != (1 << PAGE_BITS, [MOST_CONTEXTS], 1 << PAGE_BITS):
            raise ValueError(
                f"{node.get_path(empty_array_suffix='')}: a register file must be one of "
                f"{MOST_CONTEXTS} pages of {1 << PAGE_BITS} bytes behind the first one"
            )
        yield from next(iter(node.unrolled())).children()


def page(number: int) -> dict[str, Register]:
    """Registers of a page, ``GLOBAL`` or ``CONTEXT``, by name."""
    return {name: register for name, register in load().items() if register.page == number}


@cache
def load() -> Mapping[str, Register]:
    """Registers of ``t3.rdl`` by name, from the lowest address up."""
    return MappingProxyType(read(_SOURCE))
