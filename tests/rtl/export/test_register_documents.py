"""Register map in external formats, read back by independent readers."""

import re
import subprocess
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pyslang
import pytest

from rtl.export.register_documents import register_documents
from rtl.interface.encodings import CODES
from rtl.registers.map import CONTEXT, PAGE_BITS, Register, load

ROOT = Path(__file__).parents[3]


@cache
def documents() -> dict[str, bytes]:
    return register_documents()


def test_same_bytes_twice():
    assert register_documents() == documents()


def test_c_header_has_every_field(tmp_path):
    """A C99 compiler accepts the header, and sees the addresses and fields of the map."""
    for name in ("t3_registers.h", "t3_codes.h"):
        (tmp_path / name).write_bytes(documents()[name])
    checks = []
    for register in load().values():
        of_context = register.page == CONTEXT
        for context in range(8 if of_context else 1):
            member = f"context[{context}].{register.name}" if of_context else register.name
            checks.append(f"offsetof(t3_t, {member}) == {register.address_in(context)}")
        for field in register.fields:
            page = "CONTEXT__" if of_context else ""
            macro = f"T3__{page}{register.name}__{field.name.upper()}"
            checks.append(f"{macro}_bm == {field.mask}u")
            checks.append(f"{macro}_bp == {field.low} && {macro}_bw == {field.width}")
    for shape in CODES:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", shape.__name__).upper()
        checks += [f"T3_{name}_{value.name} == {value.value}" for value in shape]
    lines = [f"if (!({check})) return {number % 255 + 1};" for number, check in enumerate(checks)]
    source = tmp_path / "check.c"
    source.write_text(
        '#include <stddef.h>\n#include "t3_registers.h"\n#include "t3_codes.h"\n'
        f"int main(void) {{\n{chr(10).join(lines)}\nreturn 0;\n}}\n"
    )
    program = tmp_path / "check"
    subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", "-o", program, source], check=True)
    subprocess.run([program], check=True)


def _offset(register: Register) -> int:
    """Return the offset of a context's register within the page."""
    return register.offset if register.page == CONTEXT else register.address


def test_ip_xact_has_every_field():
    space = {"x": "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"}
    root = ElementTree.fromstring(documents()["t3_registers.xml"])

    def number(element, name: str) -> int:
        return int((element.findtext(f"x:{name}", namespaces=space) or "").lstrip("'h"), 16)

    found = {
        (
            register.findtext("x:name", namespaces=space),
            number(register, "addressOffset"),
            field.findtext("x:name", namespaces=space),
            int(field.findtext("x:bitOffset", namespaces=space) or ""),
        )
        for register in root.iterfind(".//x:register", space)
        for field in register.iterfind("x:field", space)
    }
    (pages,) = root.iterfind(".//x:registerFile", space)
    assert number(pages, "addressOffset") == number(pages, "range") == 1 << PAGE_BITS
    assert found == {
        (register.name, _offset(register), field.name, field.low)
        for register in load().values()
        for field in register.fields
    }


def test_uvm_model_is_systemverilog_with_every_register():
    text = documents()["t3_registers_pkg.sv"].decode()
    tree = pyslang.syntax.SyntaxTree.fromText(text.replace('`include "uvm_macros.svh"', ""))
    assert not [str(d.code) for d in tree.diagnostics if d.isError()]
    assert "'h1000 + i0*'h1000" in text
    for register in load().values():
        assert f"add_reg(this.{register.name}, 'h{_offset(register):x})" in text


def test_html_names_every_register():
    pages = b"".join(text for name, text in documents().items() if name.endswith(".html"))
    missing = [name for name in load() if name.encode() not in pages]
    assert not missing


@pytest.mark.parametrize("name", ["t3_registers.h", "t3_registers.xml", "registers.md"])
def test_nothing_of_the_machine(name):
    assert str(ROOT).encode() not in documents()[name]
