"""FuseSoC core file of an export."""

from collections.abc import Sequence

__all__ = ["core_file"]

_CORE = """\
CAPI=2:
# Generated beside the Verilog. Targets: default (the sources, for a design that depends on this
# core), lint, sim (Verilator's model of the top in C++, for a bench of your own), and test.
name: "::{name}:{version}"
description: "{summary}"

filesets:
  rtl:
    files:
      - {top}
{headers}
    file_type: verilogSource
  cells:
    files:
{cells}
    file_type: verilogSource
  blocks:
    files:
{blocks}
    file_type: verilogSource
  waivers:
    files:
      - {waivers}
    file_type: vlt
  test:
    files:
      - {name}_test.sv
    file_type: systemVerilogSource

targets:
  default:
    filesets: [rtl, cells]
    toplevel: {name}
  lint:
    default_tool: verilator
    filesets: [rtl, cells, waivers]
    toplevel: {name}
    tools:
      verilator:
        mode: lint-only
        verilator_options: [-Wall]
  sim:
    default_tool: verilator
    filesets: [rtl, cells, waivers]
    toplevel: {name}
    tools:
      verilator:
        mode: cc
        verilator_options: [-Wall]
  test:
    default_tool: verilator
    filesets: [rtl, cells, waivers, test]
    toplevel: {name}_test
    tools:
      verilator:
        mode: binary
        verilator_options: [-CFLAGS, -std=c++20, -Wno-fatal, --assert, -DT3_ASSERT]
"""


def core_file(
    name: str,
    version: str,
    summary: str,
    *,
    headers: Sequence[str],
    blocks: Sequence[str],
    cells: Sequence[str],
    waivers: str,
) -> str:
    """Generate a core file in the format CAPI=2.

    The blocks are a file set that no target uses, since the top needs only its file and the cells.

    Parameters
    ----------
    name, version, summary : str
        Name, version and summary of the core; the top is the module ``name`` in ``name.v``.
    headers, blocks, cells : sequence of str
        Files of the headers, the blocks and the cells' models.
    waivers : str
        File with waivers for Verilator.
    """
    return _CORE.format(
        name=name,
        version=version,
        summary=summary.replace('"', "'"),
        top=f"{name}.v",
        headers="\n".join(f"      - {file}: {{is_include_file: true}}" for file in headers),
        blocks="\n".join(f"      - {file}" for file in blocks),
        cells="\n".join(f"      - {file}" for file in cells),
        waivers=waivers,
    )
