"""Pseudo-channels that share a row- and a column-command bus, and stack IDs."""

from dataclasses import replace

import numpy as np
import pytest

from sysmodel.engine.codes import READ, WRITE
from sysmodel.memory.dram import dram_accepts, dram_push, dram_step, new_dram
from t3.experiments.dram.patterns import Pattern, random_rows, sequential
from t3.experiments.dram.serve import fraction_of_peak, serve
from tests.support.dram_harness import BARE

PAIR = replace(BARE, pseudo_channels=2, burst=2, tCCD_S=2, tCCD_L=2, tCCD_WL=2, tRTW=2)
# An atom of another row and bank each time, pseudo-channels in turn.
ROWS = Pattern(np.arange(20_000) << 8, np.full(20_000, READ))


def _one_row(reads):
    return Pattern(np.arange(reads) % 8 * 2, np.full(reads, READ))


def test_a_pseudo_channel_needs_its_neighbour():
    with pytest.raises(ValueError, match="channels must be a multiple of 2, not 3"):
        new_dram(PAIR, 3)


def test_both_data_buses_are_filled_over_one_column_bus():
    assert fraction_of_peak(PAIR, sequential(READ)) == pytest.approx(1, abs=1e-3)


def test_a_column_command_a_cycle_is_the_most_of_both():
    """With a burst of one cycle each pseudo-channel alone could take a command in every cycle."""
    fast = replace(PAIR, burst=1, tCCD_S=1, tCCD_L=1, tCCD_WL=1, tRTW=1)
    assert fraction_of_peak(fast, sequential(READ)) == pytest.approx(1 / 2, abs=1e-3)


@pytest.mark.parametrize("activate,precharge", [(4, 2), (3, 1), (8, 4), (2, 2)])
def test_row_bus_bounds_random_access(activate, precharge):
    """An atom of a random row takes an activate and a precharge, of both pseudo-channels."""
    t = replace(
        PAIR, banks=64, activate_half_cycles=activate, precharge_half_cycles=precharge,
        address_map="column:3 group:1 column:3 group:1 bank:4",
    )  # fmt: skip
    cycles_of_one = (activate + precharge) / 2
    share = fraction_of_peak(t, random_rows(READ))
    # 2 data cycles of one pseudo-channel for each; commands start on whole cycles.
    assert share <= 1.01 * t.burst / (2 * cycles_of_one)
    assert share >= 0.85 * t.burst / (2 * np.ceil(cycles_of_one))


def test_row_bus_is_the_channels_own():
    """Alone, a pseudo-channel opens rows twice as fast as beside its busy neighbour."""
    t = replace(
        PAIR, banks=64, activate_half_cycles=8, precharge_half_cycles=4,
        address_map="column:3 group:1 column:3 group:1 bank:4",
    )  # fmt: skip
    alone = replace(t, pseudo_channels=1)
    both, one = fraction_of_peak(t, random_rows(READ)), fraction_of_peak(alone, random_rows(READ))
    assert one == pytest.approx(2 * both, rel=0.05)


def test_four_activates_in_a_window_of_each_pseudo_channel():
    t = replace(PAIR, banks=64, tFAW=24, address_map="column:6 group:2 bank:4")
    assert fraction_of_peak(t, random_rows(READ)) == pytest.approx(4 * 2 / 24, rel=0.02)


def test_precharge_on_the_half_follows_an_activate_closely():
    """HBM3: an activate takes 1.5 cycles, a precharge the half that is left."""
    state = new_dram(replace(PAIR, activate_half_cycles=3, precharge_half_cycles=1), 2)
    dram_push(state, 0, 0, READ, 0, 0)  # opens a row in cycle 0
    dram_step(state, 0, 0, True)
    assert state.bus["row_free"][0] == 3
    dram_push(state, 1, 0, READ, 0, 0)
    dram_step(state, 1, 0, True)
    dram_step(state, 1, 1, True)
    assert state.channel["activate_count"].tolist() == [1, 0]  # no whole cycle before the next one
    dram_step(state, 1, 2, True)
    assert state.channel["activate_count"].tolist() == [1, 1]


@pytest.mark.parametrize("queues", [{"queue_depth": 8}, {"queue_depth": 12, "write_queue": 4}])
def test_shared_queues_are_of_both(queues):
    marks = {"write_high": 3, "write_low": 1} if "write_queue" in queues else {}
    state = new_dram(replace(PAIR, shared_queue=True, **queues, **marks), 2)
    for i in range(8):
        assert dram_accepts(state, 0, READ) and dram_accepts(state, 1, READ)
        dram_push(state, i % 2, 0, READ, i, i)
    assert not dram_accepts(state, 0, READ) and not dram_accepts(state, 1, READ)
    assert dram_accepts(state, 0, WRITE) == ("write_queue" in queues)


def test_a_request_whose_row_is_opened_leaves_its_queue():
    t = replace(PAIR, queue_depth=6, write_queue=2, write_high=2, write_low=1, tRCD_RD=20)
    for leaves, accepts in ((False, False), (True, True)):
        state = new_dram(replace(t, opening_leaves=leaves), 2)
        for i in range(4):
            dram_push(state, 0, 0, READ, i << 20, i)
        dram_step(state, 0, 0, True)
        assert state.channel["activate_count"][0] == 1
        assert dram_accepts(state, 0, READ) == accepts


@pytest.mark.parametrize("between", [2, 3, 5])
def test_another_stack_id_takes_longer(between):
    """Reads of two stack IDs in turn, all of open rows."""
    t = replace(
        PAIR, banks=8, bank_groups=4, stack_ids=2, tCCD_R=between, queue_depth=1,
        address_map="column:6 group:2 stack:1",
    )  # fmt: skip
    atoms = np.tile([0, 1 << 8], 2000) * 2
    share = fraction_of_peak(replace(t, pseudo_channels=1), Pattern(atoms // 2, atoms * 0 + READ))
    assert share == pytest.approx(2 / max(between, 2), rel=0.01)


def test_served_counts_all_accepted_requests():
    served = serve(PAIR, _one_row(1000))
    assert served.activates == 1 and served.row_hits == 999
    assert served.share_of_peak == pytest.approx(1 / 2, rel=0.1)  # one pseudo-channel of two
