"""Register documents in standard formats, by PeakRDL's exporters from ``t3.rdl``."""

import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from amaranth.lib import enum
from peakrdl_cheader.c_standards import CStandard
from peakrdl_cheader.exporter import CHeaderExporter
from peakrdl_html import HTMLExporter
from peakrdl_ipxact import IPXACTExporter
from peakrdl_markdown import MarkdownExporter
from peakrdl_uvm import UVMExporter
from systemrdl.node import RootNode

from rtl.interface.encodings import CODES, FOREIGN_PACKETS, ErrorCode
from rtl.interface.timebase import TICK_CYCLES
from rtl.registers.map import compiled, load

from .names import identifier
from .revision import project_version

__all__ = ["register_documents"]


def register_documents() -> dict[str, bytes]:
    """Make the register map's C headers, Markdown, HTML, IP-XACT and UVM model.

    Returns
    -------
    dict
        Contents by file name, with ``html/...`` for the HTML pages; reproducible with the same map
        and tools.
    """
    root = compiled()
    with TemporaryDirectory() as folder:
        path = Path(folder)
        header = str(path / "t3_registers.h")
        CHeaderExporter().export(root, header, std=CStandard.gnu99)
        # One context represents all contexts, whose pages are identical.
        MarkdownExporter().export(compiled(contexts=1), str(path / "registers.md"), rename="T3")
        # A constant in place of the build time keeps the pages reproducible.
        html = HTMLExporter(generate_source_links=False, user_context={"build_ts": 0})
        html.export(root, str(path / "html"), footer=f"T3 {project_version()}")
        names = {"vendor": "t3", "library": "t3", "version": project_version()}
        IPXACTExporter(**names).export(root, str(path / "t3_registers.xml"))
        UVMExporter().export(_without_keywords(), str(path / "t3_registers_pkg.sv"))
        files = {
            str(file.relative_to(path)): file.read_bytes()
            for file in sorted(path.rglob("*"))
            if file.is_file()
        }
    return files | {"t3_codes.h": _codes().encode()}


def _without_keywords() -> RootNode:
    """Compile the map with names that are valid in SystemVerilog, which the exporter does not
    check."""
    root = compiled()
    for node in root.descendants():
        node.inst.inst_name = identifier(node.inst_name)
    return root


def _codes() -> str:
    """Make a C header with the encodings of register fields."""
    tick = f"// A tick of the timebase.\nenum {{ T3_TICK_CYCLES = {TICK_CYCLES} }};"
    foreign = [code.name for code in ErrorCode if code in FOREIGN_PACKETS]
    lists = [
        _list("T3_COUNTED_OF_GPU", "Errors of the GPU that are counted.", _counted("GPU_COUNT_")),
        _list("T3_COUNTED_OF_CONTEXT", "Errors of a context that are counted.", _counted("COUNT_")),
        _list("T3_FOREIGN_PACKETS", "Refused packets that are not of the launch.", foreign),
    ]
    body = "\n\n".join([*(_enumeration(shape) for shape in CODES), tick, *lists])
    guard = "T3_CODES_H"
    about = "// Encodings of register fields, and lists of errors."
    return f"{about}\n#ifndef {guard}\n#define {guard}\n\n{body}\n\n#endif\n"


def _counted(prefix: str) -> list[str]:
    """List the names of the errors that have a counter register with a prefix."""
    return [register.removeprefix(prefix) for register in load() if register.startswith(prefix)]


def _list(name: str, about: str, codes: Iterable[str]) -> str:
    """Make a list macro of errors."""
    lines = " \\\n".join(f"    of({code})" for code in codes)
    return f"// {about}\n#define {name}(of) \\\n{lines}"


def _enumeration(shape: type[enum.Enum]) -> str:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", shape.__name__).upper()
    values = "\n".join(f"    T3_{name}_{value.name} = {value.value}," for value in shape)
    codes = sorted(value.value for value in shape)
    listed = f"enum t3_{name.lower()} {{\n{values}\n}};"
    if codes != [*range(len(codes))]:
        return listed
    return f"{listed}\nenum {{ T3_{name}_CODES = {len(codes)} }};  // codes from 0 on"
