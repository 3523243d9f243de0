"""Parsing of the shortened files that qflow's tools wrote for :class:`Accumulator`."""

from pathlib import Path

import pytest

from t3.silicon.route.vesta import cells_placed, die_um2, period_ns, unrouted

_HERE = Path(__file__).parent
_LOG = (_HERE / "accumulator.log").read_text()
_LAYOUT = (_HERE / "accumulator.def").read_text()


def test_period_is_that_of_vestas_frequency():
    (line,) = (line for line in _LOG.splitlines() if "maximum clock frequency" in line)
    mhz = float(line.split()[-2])
    assert period_ns(_LOG) == pytest.approx(1e3 / mhz, rel=1e-5)


def test_paths_of_ports_are_not_of_flip_flops():
    ports = "Path input pin n3 to DFFPOSX1_2/D delay 432.246 ps\n"
    with pytest.raises(ValueError, match="no path from flip-flop to flip-flop"):
        period_ns(ports)
    both = ports + "Path DFFPOSX1_5/CLK to output pin n4 delay 900 ps\n"
    assert period_ns(both + "Path DFFPOSX1_5/CLK to DFFPOSX1_4/D delay 250 ps\n") == 0.25


def test_die_and_cells():
    assert die_um2(_LAYOUT) == pytest.approx((58.4 + 3.2) * (33 + 3))
    assert cells_placed(_LAYOUT) == 33
    with pytest.raises(ValueError, match="no area of the die"):
        die_um2("DESIGN accumulator ;")


def test_a_net_that_is_not_routed():
    assert not unrouted("*** Writing DEF file\nFinal: No failed routes!\n")
    assert unrouted("Final: Failed net routes: 1\n")
