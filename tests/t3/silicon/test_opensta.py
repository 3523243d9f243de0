"""Static timing analysis against OpenSTA, where OpenSTA is installed."""

import re
import subprocess

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.blocks import BLOCKS
from sysmodel.lib.errors import InputError
from t3.silicon.blocks import REFERENCE
from t3.silicon.elaboration import TOP, rtlil_text
from t3.silicon.library import load_library
from t3.silicon.netlist import read_netlist
from t3.silicon.osu018 import osu018
from t3.silicon.route.blif import without_parts
from t3.silicon.sta import worst_paths
from t3.silicon.synthesis import synthesize
from tests.support.optional_tools import needs
from tests.support.tiny_library import TINY

_PERIOD_NS = 1000
_SETUP = """
read_liberty cells.lib
read_verilog netlist.v
link_design top
create_clock -name clk -period {period} {clocks}
set starts(in) [get_ports {{{inputs}}}]
set starts(reg) [all_registers -clock_pins]
set ends(reg) [all_registers -data_pins]
set ends(out) [all_outputs]
set_input_delay 0 -clock clk $starts(in)
set_input_transition {slew_ns} $starts(in)
set_output_delay 0 -clock clk [all_outputs]
set_load {load_pf} [all_outputs]
"""
_REPORT = """
puts "PATH {start}->{end}"
report_checks -path_delay max -from $starts({start}) -to $ends({end}) -digits 6
"""


class Sum(wiring.Component):
    """Registered a * b + c: a few hundred gates with long paths and many fanouts."""

    a: In(10)
    b: In(10)
    c: In(10)
    total: Out(20)

    def elaborate(self, platform):
        m = Module()
        operands = [Signal(10, name=f"held_{name}") for name in "abc"]
        for held, port in zip(operands, (self.a, self.b, self.c), strict=True):
            m.d.sync += held.eq(port)
        a, b, c = operands
        m.d.sync += self.total.eq(a * b + c)
        return m


def _verilog(netlist):
    """Structural Verilog, in which port ``o1`` is net ``n1``."""
    ports = [*(f"n{net}" for net in netlist.inputs), *(f"o{net}" for net in netlist.outputs)]
    lines = [f"module top ({', '.join(ports)});"]
    lines += [f"input n{net};" for net in netlist.inputs]
    lines += [f"output o{net}; assign o{net} = n{net};" for net in netlist.outputs]
    for number, instance in enumerate(netlist.instances):
        pins = ", ".join(f".{pin}(n{net})" for pin, net in instance.pins.items())
        lines.append(f"{instance.cell} u{number} ({pins});")
    return "\n".join([*lines, "endmodule", ""])


def _opensta(netlist, library, liberty, folder):
    """Delay of the longest path of each kind, by OpenSTA."""
    (folder / "netlist.v").write_text(_verilog(netlist))
    (folder / "cells.lib").write_bytes(liberty.read_bytes())
    clocks = {
        instance.pins[arc.source]
        for instance in netlist.instances
        for arc in library.cells[instance.cell].arcs
        if arc.clocked
    }
    script = _SETUP.format(
        period=_PERIOD_NS,
        clocks=" ".join(f"n{net}" for net in clocks),
        inputs=" ".join(f"n{net}" for net in netlist.inputs if net not in clocks),
        slew_ns=library.fo4_slew_ns,
        load_pf=4 * library.inverter_capacitance_pf,
    )
    kinds = [(start, end) for start in ("in", "reg") for end in ("reg", "out")]
    script += "".join(_REPORT.format(start=start, end=end) for start, end in kinds)
    (folder / "check.tcl").write_text(f"{script}exit\n")
    done = subprocess.run(
        ["sta", "-exit", "check.tcl"], cwd=folder, capture_output=True, text=True, check=True
    )
    slacks = re.findall(r"^PATH (\S+)$(?:(?!^PATH).)*?([-\d.]+)\s+slack", done.stdout, re.M | re.S)
    return {kind: _PERIOD_NS - float(slack) for kind, slack in slacks}


def _assert_agrees(component, liberty, folder):
    library = load_library([liberty])
    module = synthesize(rtlil_text(component), TOP, library, [liberty])
    netlist = without_parts(read_netlist(module, library))
    ours = {path.kind: path.delay_ns for path in worst_paths(netlist, library)}
    # OpenSTA distinguishes rise and fall capacitance of a pin; ours is the larger one for both.
    assert _opensta(netlist, library, liberty, folder) == pytest.approx(ours, rel=0.01)
    return ours


@pytest.fixture(autouse=True)
def opensta():
    needs("sta")


@pytest.fixture
def osu018_file():
    try:
        return osu018()
    except InputError as error:
        pytest.skip(str(error))


def test_made_up_library(tmp_path):
    assert _assert_agrees(Sum(), TINY, tmp_path).keys() == {"in->reg", "reg->reg", "reg->out"}


def test_osu018(osu018_file, tmp_path):
    _assert_agrees(Sum(), osu018_file, tmp_path)


@pytest.mark.verify
def test_arbiter_of_the_reference_hardware(osu018_file, tmp_path):
    assert len(_assert_agrees(BLOCKS["arbiter"].make(REFERENCE), osu018_file, tmp_path)) == 4
