"""Packets on the link: the payload's rate, and the bytes of headers."""

import pytest

from sysmodel.energy.constants import known_constants
from sysmodel.runs.options import RunOptions
from sysmodel.runs.plan import Plan
from sysmodel.runs.simulate import simulate
from tests.support.small_system import scaled, small_system, workload

_SYSTEM = small_system()
_HALF = _SYSTEM.link.bandwidth_gb_per_s / 2
_END_PACKETS = 3 * 16 * 4
"""END packets of a GPU: it sends three chunks of 16 tiles, each of four wavefronts."""


def _configurations(**link):
    options = RunOptions(engine="golden", configurations=("sequential", "t3"))
    plan = Plan(workload(1024, 768, 64, 4), scaled(_SYSTEM, link=link), options)
    return simulate(plan).configurations


@pytest.fixture(scope="module")
def slow():
    """Link of half the rate whose packets have no headers."""
    return _configurations(bandwidth_gb_per_s=_HALF)


@pytest.mark.parametrize(
    ("sender", "packets"),
    [
        ("sequential", {"stores_payload_share": 0.5}),
        ("t3", {"t3_payload_bytes": 32, "t3_overhead_bytes": 32}),
    ],
)
def test_payload_that_is_half_of_the_line_takes_as_long_as_a_line_of_half_the_rate(
    slow, sender, packets
):
    """The packets of one engine do not slow the other one. END packets, which have no payload,
    take their own time on the line."""
    found = _configurations(**packets)
    fast = _configurations()
    (other,) = found.keys() - {sender}
    sent = found[sender].link_bytes
    ends = {name: sent.overhead[name] - sent.payload[name] for name in sent.payload}
    assert ends == {"rs": _END_PACKETS * packets.get("t3_overhead_bytes", 0), "ag": 0}
    late_ns = found[sender].total_ns - slow[sender].total_ns
    assert 0 <= late_ns <= ends["rs"] / _SYSTEM.link.bandwidth_gb_per_s
    assert found[other].total_ns == fast[other].total_ns
    assert sent.payload == slow[sender].link_bytes.payload
    assert found[other].link_bytes == fast[other].link_bytes


def test_a_packet_has_a_row_of_a_wavefront():
    """In the reduce-scatter, a wavefront's rows have two atoms, and packets of two sources rarely
    part them. Copies of the all-gather belong to no wavefront, and fill every packet."""
    sent = _configurations(t3_payload_bytes=256, t3_overhead_bytes=20)["t3"].link_bytes
    packets = {name: sent.overhead[name] / 20 for name in sent.overhead}
    atoms = {name: sent.payload[name] / 32 for name in sent.payload}
    assert packets["ag"] == atoms["ag"] / 8
    assert 1.8 < atoms["rs"] / (packets["rs"] - _END_PACKETS) <= 2


def test_headers_cost_energy():
    pj = known_constants().link.value
    found = _configurations(t3_overhead_bytes=20)["t3"]
    payload = found.link_bytes.payload["rs"] + found.link_bytes.payload["ag"]
    sent = payload * 52 / 32 + _END_PACKETS * 20
    assert found.link_bytes.total == pytest.approx(sent, abs=1)
    assert found.energy_j.link == pytest.approx(8 * sent * pj * 1e-12)
