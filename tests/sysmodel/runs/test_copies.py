"""Copies between GPUs, and GEMMs in pieces around them, against cases computed by hand."""

import pytest

from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.network.expansion import expand
from sysmodel.runs.chunked_times import cut_behind, scattered, whole_behind
from sysmodel.runs.copies import Copies
from tests.support.small_system import scaled

SYSTEM = scaled(
    load_system(),
    link={"bandwidth_gb_per_s": 90.0, "latency_ns": 250.0},
    copy_engine={"payload_share": 0.5, "copy_ns": 10.0},
)


def copies(topology="switch", gpus=4):
    return Copies(SYSTEM, expand(load_topology(topology), gpus, SYSTEM.link))


def test_the_port_of_a_switch_takes_one_copy_after_the_other():
    """900 bytes take 20 ns at half of 90 bytes/ns."""
    engines = copies()
    assert engines.send(1, 900, 5) == pytest.approx(5 + 10 + 20 + 250)
    assert engines.send(2, 900, 5) == pytest.approx(5 + 10 + 40 + 250)
    assert engines.send(3, 900, 100) == pytest.approx(100 + 10 + 20 + 250)


def test_the_links_of_a_mesh_copy_at_the_same_time():
    """Each of three links has a third of the rate."""
    engines = copies("fully-connected")
    assert [engines.send(one, 900, 0) for one in (1, 2, 3)] == pytest.approx([10 + 60 + 250] * 3)


def test_a_copy_over_several_links_of_a_ring_takes_time_on_each():
    """All GPUs send over d links, so every link passes d times the bytes."""
    engines = copies("ring")
    ends = [engines.send(distance, 900, 0) for distance in (3, 2, 1)]
    # To the next higher number are three links, as the ring sends to the next lower one.
    assert ends == pytest.approx([10 + 20 + 250, 10 + 60 + 2 * 250, 10 + 120 + 3 * 250])


def test_a_gather_on_a_switch_takes_the_time_of_its_bytes():
    assert copies().gather(900, 100) == pytest.approx([100, 380, 400, 420])


@pytest.mark.parametrize(
    ("piece_ns", "gemm", "copied", "reduced"),
    [
        (100, 400, 100, 300 + 10 + 20 + 250 + 7),  # the last copy is exposed
        (5, 20, 5, 15 + 3 * 20 + 250 + 7),  # the link binds
        (400, 1600, 400, 1600 + 7),  # the own piece hides the last copy
    ],
)
def test_pieces_are_copied_while_the_next_one_runs(piece_ns, gemm, copied, reduced):
    done = scattered(copies(), 4, 0.0, piece_ns=piece_ns, chunk_bytes=900, addition_ns=7)
    assert done == pytest.approx((gemm, copied, reduced))


def test_pieces_that_wait_for_chunks_begin_with_the_own_one():
    arrivals = [1000.0, 1380.0, 1400.0, 1420.0]
    done = scattered(
        copies(), 4, 1000.0, piece_ns=50, chunk_bytes=900, addition_ns=7, arrivals_ns=arrivals
    )
    assert done == pytest.approx((1530, 1430, 1530 + 10 + 20 + 250 + 7))


def test_a_gemm_in_pieces_follows_the_arrivals():
    assert cut_behind([100, 380, 400, 420], 50) == 530
    assert cut_behind([100, 380, 400, 1000], 50) == 1050
    assert cut_behind([100, 110, 120, 130], 50) == 300


def test_one_gemm_follows_the_flags():
    """The tiles of a late chunk and of all later ones run after its arrival."""
    assert whole_behind([100, 380, 400, 420], 200, flag_ns=1) == 380 + 150 + 1
    assert whole_behind([100, 110, 120, 130], 200, flag_ns=1) == 300 + 1
    assert whole_behind([100, 110, 120, 1000], 200, flag_ns=1) == 1050 + 1
