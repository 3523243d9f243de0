"""Page of nextpnr's report on a small design (``report.json``, of :class:`SmallMemory`)."""

import json
from pathlib import Path

import pytest

from rtl.parameters import T3Parameters
from t3.silicon.fpga.flow import Routed
from t3.silicon.fpga.harness import ScanHarness
from t3.silicon.fpga.parts import PARTS
from t3.silicon.fpga.report import Fitted, as_dict, as_markdown
from tests.support.small_memory import SmallMemory


@pytest.fixture
def fitted():
    report = json.loads((Path(__file__).parent / "report.json").read_text())
    harness = ScanHarness(SmallMemory())
    routed = Routed(PARTS[0], report)
    return Fitted("small", T3Parameters(), harness.inputs, harness.outputs, routed)


def test_numbers_are_those_of_the_report(fitted):
    found = json.loads(json.dumps(as_dict([fitted])))["designs"][0]
    assert found["part"] == "LFE5U-25F"
    assert found["resources"]["block RAMs"] == {"used": 1, "available": 56, "share": 1 / 56}
    # 16 sums, and the harness; a shift register of 10 + 16 + 1 bits before it and one of 16 behind.
    assert found["resources"]["flip-flops"]["used"] == 16 + found["harness_flip_flops"] == 59
    assert found["mhz"] == pytest.approx(120.627, abs=1e-3)


def test_wires_of_the_longest_path(fitted):
    """The rest is clock to output of the block RAM, the carry chain and setup."""
    period_ns = 1e3 / fitted.mhz
    assert period_ns * (1 - fitted.wire_share) > 5.609 + 0.447
    assert period_ns * fitted.wire_share == pytest.approx(1.346, rel=0.3)


def test_page(fitted):
    page = as_markdown([fitted])
    assert "| small | LFE5U-25F | 38 (0%) | 59 (0%) | 1 (2%) | 0 (0%) | 120.6 |" in page
    assert "The shift registers of small: 43 flip-flops and about 16 LUTs." in page
