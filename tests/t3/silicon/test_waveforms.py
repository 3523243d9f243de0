import re

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from t3.silicon.diagrams import diagrams
from t3.silicon.waveforms import Diagram, Lane, record, svg

_LETTER_PX = 7.0  # mean width of a letter of a title


class Delay(wiring.Component):
    """Stream that is delayed by a cycle."""

    i: In(stream.Signature(8, always_ready=True))
    o: Out(stream.Signature(8, always_ready=True))
    offset: In(4)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += [self.o.valid.eq(self.i.valid), self.o.p.eq(self.i.p + self.offset)]
        return m


def delay():
    return Diagram(
        name="delay",
        title="One cycle",
        component=Delay(),
        settings={"offset": 3},
        stimulus={
            1: {"i.valid": 1, "i.payload": 5},
            2: {"i.valid": 1, "i.payload": 5},
            4: {"i.valid": 1, "i.payload": 9},
        },
        lanes=[
            Lane(signal="i.valid"),
            Lane(signal="i.payload", when="i.valid"),
            Lane(signal="o.valid", label="out"),
            Lane(signal="o.payload", when="o.valid"),
        ],
        cycles=6,
    )


def test_waves_show_each_cycle_before_its_edge():
    cycles, *lanes = record(delay())["signal"]
    assert cycles["data"] == list(range(6))
    assert lanes == [
        {"name": "i.valid", "wave": "01.010"},
        {"name": "i.payload", "wave": "x=.x=x", "data": ["5", "9"]},
        {"name": "out", "wave": "0.1.01"},
        {"name": "o.payload", "wave": "x.=.x=", "data": ["8", "12"]},
    ]


def test_drawing_has_the_title_and_every_lane():
    drawing = svg(record(delay()))
    texts = re.findall(r">([^<>]+)</(?:text|tspan)>", drawing)
    for text in ("One cycle", "i.valid", "out", "12"):
        assert text in texts


@pytest.fixture(scope="module")
def recorded():
    """All diagrams with their waves."""
    return [(diagram, record(diagram)) for diagram in diagrams()]


def test_every_diagram_shows_something_happen(recorded):
    for diagram, waves in recorded:
        lanes = waves["signal"][1:]
        assert len({lane["name"] for lane in lanes}) == len(lanes)
        for lane in lanes:
            assert len(lane["wave"]) == diagram.cycles
            assert set(lane["wave"]) & set("1="), (diagram.name, lane["name"])


def test_no_title_is_cut(recorded):
    """Each title, centred above the lanes, ends inside the picture."""
    for diagram, waves in recorded:
        drawing = svg(waves)
        title = re.search(rf'x="([\d.]+)"[^>]*><tspan>{re.escape(diagram.title)}', drawing)
        centre = float(re.search(r"translate\(([\d.]+)", drawing)[1]) + float(title[1])
        width = float(re.search(r'<svg[^>]* width="(\d+)"', drawing)[1])
        assert centre + len(diagram.title) * _LETTER_PX / 2 <= width, diagram.name
