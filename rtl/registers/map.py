"""Register map as plain data, read from ``t3.rdl``.

The register block, the golden model, the driver and the documentation share this map.
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
    "MAX_CONTEXTS",
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
GLOBAL, CONTEXT = 0, 1  # the GPU's page, and the first context's page
MAX_CONTEXTS = 8
ALWAYS = "always"  # lock of a register that only privileged software writes

# Supported SystemRDL properties; all others, many with side effects, are rejected.
_ADDRMAP_PROPERTIES = {"name", "desc"}
_REGISTER_PROPERTIES = {"name", "desc", "regwidth", "lock"}
_FIELD_PROPERTIES = {"name", "desc", "sw", "hw", "reset", "singlepulse", "onwrite"}


@dataclass(frozen=True)
class Field:
    """Field: bits ``low`` to ``low + width - 1`` of a register.

    Parameters
    ----------
    reset : int or None
        Value after reset; None if the hardware drives the field.
    readable, writable : bool
        Access of software.
    singlepulse : bool
        Writing a one acts for one cycle.
    clears : bool
        Writing a one clears the bit, which the hardware sets.
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
        """Mask of the field's bits in the register."""
        return ((1 << self.width) - 1) << self.low


@dataclass(frozen=True)
class Register:
    """Register of 32 bits at a byte address.

    Parameters
    ----------
    address : int
        Byte address; for a register of a context, its address in context 0.
    fields : tuple of Field
        From the lowest bit up.
    lock : str
        Field of the page's lock register that blocks unprivileged writes, ``ALWAYS`` if they are
        always blocked, or empty.
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
        """Page of the register, ``GLOBAL`` or ``CONTEXT``."""
        return self.address >> PAGE_BITS

    @property
    def offset(self) -> int:
        """Byte offset within the page."""
        return self.address & ((1 << PAGE_BITS) - 1)

    def address_in(self, context: int) -> int:
        """Compute the address in a context; a global register has the same address in all."""
        return self.address + (context << PAGE_BITS if self.page == CONTEXT else 0)

    @property
    def readable(self) -> bool:
        return any(field.readable for field in self.fields)

    @property
    def writable(self) -> bool:
        return any(field.writable for field in self.fields)

    @property
    def reset(self) -> int:
        """Value that software reads after reset, with 0 in fields that the hardware drives."""
        return sum((field.reset or 0) << field.low for field in self.fields if field.readable)

    def pack(self, **values: int) -> int:
        """Pack field values into a word; other fields have their reset values.

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
        """Unpack a word into its field values."""
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
                f"{path}: a field with onwrite must be cleared by ones and driven by hardware"
            )
    elif writable and (hardware is not AccessType.r or reset is None):
        raise ValueError(
            f"{path}: a writable field must have a reset value, and hardware must only read it"
        )
    if not writable and (hardware is AccessType.w) == (reset is not None):
        raise ValueError(
            f"{path}: a read-only field must be driven by hardware or have a reset value"
        )
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
    """Compile a SystemRDL file, ``t3.rdl`` by default, for exporters.

    Parameters
    ----------
    contexts : int or None
        Number of context pages; None for the maximum.

    Raises
    ------
    systemrdl.RDLCompileError
        If the file is not SystemRDL.
    """
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    return compiler.elaborate(parameters={} if contexts is None else {"PAGES": contexts})


def read(path: Path) -> dict[str, Register]:
    """Read a SystemRDL file: 32-bit registers in the first page, and a register file repeated in
    the pages behind it.

    Returns
    -------
    dict
        Registers by name, from the lowest address up.

    Raises
    ------
    systemrdl.RDLCompileError
        If the file is not SystemRDL.
    ValueError
        If the file uses features that the register block does not implement: side effects, other
        arrays and register files, other widths, or unusual accesses.
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
    """Iterate over the registers of the first page, then of the first context."""
    for node in top.children():
        if not isinstance(node, RegfileNode):
            yield node
            continue
        _reject(node, _ADDRMAP_PROPERTIES)
        place = (node.raw_absolute_address, node.array_dimensions, node.array_stride)
        if place != (1 << PAGE_BITS, [MAX_CONTEXTS], 1 << PAGE_BITS):
            raise ValueError(
                f"{node.get_path(empty_array_suffix='')}: a register file must be one of "
                f"{MAX_CONTEXTS} pages of {1 << PAGE_BITS} bytes behind the first one"
            )
        yield from next(iter(node.unrolled())).children()


def page(number: int) -> dict[str, Register]:
    """Registers of a page, ``GLOBAL`` or ``CONTEXT``, by name."""
    return {name: register for name, register in load().items() if register.page == number}


@cache
def load() -> Mapping[str, Register]:
    """Registers of ``t3.rdl`` by name, from the lowest address up."""
    return MappingProxyType(read(_SOURCE))
