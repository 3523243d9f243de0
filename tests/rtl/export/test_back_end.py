import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.dma.lane import DmaLane
from rtl.export.back_end import verilog_text
from rtl.parameters import T3Parameters

ROOT = Path(__file__).parents[3]
SCRIPT = """
import sys
from rtl.export.back_end import verilog_text
from rtl.parameters import T3Parameters
from rtl.channel.channel import Channel
sys.stdout.write(verilog_text(Channel(T3Parameters()), "channel"))
"""


class Adder(wiring.Component):
    a: In(4)
    unused: In(1)
    total: Out(4)
    constant: Out(2, init=2)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.total.eq(self.total + self.a)
        return m


def ports_of(text):
    return {
        (direction, name)
        for direction, name in re.findall(r"^  (input|output) (?:\[[0-9:]+\] )?(\w+);", text, re.M)
    }


def export_in_new_process(**environment):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_ports():
    """Unused and undriven ports keep their direction, too."""
    ports = ports_of(verilog_text(Adder(), "adder"))
    inputs, outputs = ("clk", "rst", "a", "unused"), ("total", "constant")
    assert ports == {("input", name) for name in inputs} | {("output", name) for name in outputs}


def test_streams_that_are_always_ready():
    text = verilog_text(DmaLane(T3Parameters(contexts=1)), "lane")
    assert text.count("module lane(") == 1
    ports = ports_of(text)
    assert {("input", "returns__valid"), ("output", "segments__ready")} <= ports
    assert not any("returns__ready" in name for _, name in ports)


def test_no_wires_without_bits():
    assert "[-1:0]" not in verilog_text(DmaLane(T3Parameters(contexts=1)), "lane")


def test_same_text_in_every_process():
    """The text does not depend on the order of hashing or on the Yosys that the environment
    selects.
    """
    first = export_in_new_process(PYTHONHASHSEED="1")
    assert len(first) > 50_000
    again = export_in_new_process(
        PYTHONHASHSEED="2", AMARANTH_USE_YOSYS="system", YOSYS="no-such-yosys"
    )
    assert again == first
    assert str(ROOT) not in first
    assert ".py" not in first


def test_environment_is_left_alone(monkeypatch):
    monkeypatch.setenv("AMARANTH_USE_YOSYS", "system")
    verilog_text(Adder(), "adder")
    assert os.environ["AMARANTH_USE_YOSYS"] == "system"
    monkeypatch.delenv("AMARANTH_USE_YOSYS")
    verilog_text(Adder(), "adder")
    assert "AMARANTH_USE_YOSYS" not in os.environ


class NoComponent(Elaboratable):
    a = Signal()


@pytest.mark.parametrize(
    ("component", "name", "error", "message"),
    [
        (NoComponent(), "t3", TypeError, r"Component must be a wiring.Component, not <.*>"),
        (Adder(), 3, TypeError, r"Name must be a string, not 3"),
        (Adder(), "3t", ValueError, r"Name must be a Verilog identifier, not '3t'"),
        (Adder(), "t-3", ValueError, r"Name must be a Verilog identifier, not 't-3'"),
    ],
)
def test_wrong_arguments(component, name, error, message):
    with pytest.raises(error, match=message):
        verilog_text(component, name)
