"""The golden DMA engine's walks against plain loops."""

from collections import Counter

import numpy as np
import pytest

from rtl.interface.encodings import ErrorCode, Granularity, PacketKind
from sysmodel.engine.golden.dma.copies import push_copy
from sysmodel.engine.golden.dma.engine import step_engine
from sysmodel.engine.golden.registers.errors import error
from sysmodel.engine.golden.trigger.ready import first_ready, push_ready, ready_valid, step_ready
from sysmodel.lib.interleave import channel_of_atom
from tests.support.golden_state import fresh_state


def _state(**parameters):
    """A state whose regions have almost all of the space."""
    state = fresh_state(**parameters)
    for regions in (state.regions, state.programmed_regions):
        regions["enable"] = 1
        regions["limit"] = state.config["atom_mask"]
    return state


def step(state, limit):
    """Run one cycle of the engine, with the limit of all ranges; return whether a ready command was
    taken, whether it was the last one, and the error."""
    valid, ready = ready_valid(state.contexts[0]["ready"]), first_ready(state, 0)
    state.limits[0] = limit
    return step_engine(state, 0, valid, ready)[1:]


def copy(state, start):
    """Queue a copy of the first command."""
    command = state.programmed_commands[0, 0]
    region = state.programmed_regions[0, command["region"]]
    push_copy(state.contexts[0]["copies"], command, region, start, 2)


@pytest.mark.parametrize("walkers", [1, 2, 4, 16])
@pytest.mark.parametrize("seed", range(6))
def test_walk_covers_the_tile(seed, walkers):
    rng = np.random.default_rng(seed)
    state = _state(channels=4, dma_walkers=walkers)
    config, own = state.config, state.contexts[0]
    command = state.commands[0, 0]
    outer_extent, inner_extent, stride = (
        int(n) for n in (rng.integers(1, 40), rng.integers(1, 30), 1021)
    )
    wave_outer_extent, run_log2 = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    for name, value in dict(
        outer_extent=outer_extent,
        inner_extent=inner_extent,
        stride=stride,
        wave_outer_extent=wave_outer_extent,
        wave_inner_log2=run_log2,
        waves_inner_log2=1,
        granularity=Granularity.WORKGROUP.value,
        atom_offset=-300 & config["atom_mask"],
    ).items():
        command[name] = value
    state.ranges[0, 1]["slot_offset"], state.ranges[0, 1]["peers"] = 3, 6
    start = int(rng.integers(0, 1 << 20))
    push_ready(state, 0, 1, 7, 0, start, 0, 0, 1)
    step_ready(state, 0, True, False)
    step_ready(state, 0, False, False)
    step_ready(state, 0, False, False)
    assert step(state, 7) == (False, False, 0)  # not admitted by the receivers
    popped, issued, _ = step(state, 8)
    assert popped and issued
    step_ready(state, 0, False, True)

    found = []
    while own["engine"]["mode"]:
        step(state, 0)
        for channel in range(4):
            lane = state.channels[channel]["lanes"][0]
            if lane["segments_pushed"]:
                segment = lane["segments"][0]
                assert (segment["slot"], segment["peers"]) == (10, 6)
                assert segment["atom_offset"] == -300 & config["atom_mask"]
                for index in range(segment["length"]):
                    atom = segment["atom"] + index
                    assert channel_of_atom(int(atom), 2, 4) == channel
                    wave = (segment["offset"] + index) >> segment["wave_inner_log2"]
                    found.append((atom, (segment["wavefront"] + wave) & 7))
            lane["segments_pushed"] = 0
    expected = [
        (start + row * stride + offset, (row // wave_outer_extent * 2 + (offset >> run_log2)) & 7)
        for row in range(outer_extent)
        for offset in range(inner_extent)
    ]
    assert found == expected if walkers == 1 else sorted(found) == sorted(expected)


@pytest.mark.parametrize("edges", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("granularity", Granularity)
@pytest.mark.parametrize("atoms", [True, False])
def test_markers_announce_the_atoms_of_a_tile(edges, granularity, atoms):
    """An END segment for each wavefront counts the atoms that were sent as the wavefront's."""
    state = _state(channels=4)
    own, command = state.contexts[0], state.commands[0, 0]
    for name, value in dict(
        marks=1,
        outer_extent=10,
        outer_extent_edge=7,
        inner_extent=16,
        inner_extent_edge=11,
        stride=100,
        wave_outer_extent=4,
        wave_inner_log2=3,
        waves_inner_log2=1,
        waves=[6, 4, 6, 4],
        granularity=granularity.value,
    ).items():
        command[name] = value
    start = 64 if atoms else int(state.config["atom_mask"])
    push_ready(state, 0, 0, 7, 3, start, *edges, 1)
    step_ready(state, 0, True, False)
    step_ready(state, 0, False, False)
    step_ready(state, 0, False, False)
    assert step(state, 8)[0]
    step_ready(state, 0, False, True)
    found, markers = Counter(), []
    while own["engine"]["mode"]:
        step(state, 0)
        for channel, lane in enumerate(state.channels["lanes"][:, 0]):
            if lane["segments_pushed"]:
                segment = lane["segments"][0]
                if segment["kind"] == PacketKind.END.value:
                    assert channel == (segment["slot"] + segment["wavefront"]) % 4
                    markers.append((int(segment["wavefront"]), int(segment["atom"])))
                else:
                    waves = np.arange(segment["length"]) + segment["offset"]
                    found.update((segment["wavefront"] + (waves >> 3)).tolist())
            lane["segments_pushed"] = 0
    if granularity == Granularity.WORKGROUP:
        wavefronts = [*range(4 if edges[0] else 6)]
    else:
        wavefronts, found = [3], {3: sum(found.values())}
    assert bool(sum(found.values())) == atoms
    bits = int(state.config["tile_atom_bits"])
    above = edges[0] | edges[1] << 1 | 1 << 2
    expected = [(wave, found.get(wave, 0) | above << bits) for wave in wavefronts]
    assert markers == expected


@pytest.mark.parametrize("wavefront", range(8))
def test_wavefront_command_geometry(wavefront):
    state = _state(channels=4)
    command = state.commands[0, 0]
    for name, value in dict(
        outer_extent=10,
        outer_extent_edge=7,
        inner_extent=16,
        inner_extent_edge=11,
        wave_outer_extent=4,
        wave_inner_log2=3,
        waves_inner_log2=1,
    ).items():
        command[name] = value
    push_ready(state, 0, 0, 0, wavefront, 64, 1, 1, 0)
    step_ready(state, 0, True, False)
    step_ready(state, 0, False, False)
    step_ready(state, 0, False, False)
    assert step(state, 1) == (True, False, 0)
    outer_extent = [4, 3, 0, 0][wavefront // 2]
    inner_extent = [8, 3][wavefront % 2]
    assert (
        state.contexts[0]["engine"]["rows"],
        state.contexts[0]["engine"]["row_atoms"],
    ) == (
        outer_extent,
        inner_extent,
    )
    state.contexts[0]["ready"]["checked"] = 0
    # SCALE and SHAPE; then the walk, if there is something to walk.
    step(state, 1)
    step(state, 1)
    assert (state.contexts[0]["engine"]["mode"] != 0) == (outer_extent > 0)


def test_gap_between_commands():
    """A command is taken in one cycle, its geometry in two; a choice follows the walk's last
    cycle."""
    state = _state(channels=4, dma_walkers=1)
    command = state.programmed_commands[0, 0]
    command["outer_extent"], command["inner_extent"], command["stride"] = 2, 4, 4
    copy(state, 0)
    copy(state, 64)
    segments = []
    for _ in range(14):
        step(state, 0)
        pushed = state.channels["lanes"]["segments_pushed"]
        segments.append(int(pushed.any()))
        pushed[:] = 0
    assert segments == [0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0]
    assert state.contexts[0]["engine"]["mode"] == 0


def test_the_engine_keeps_its_command_and_the_entry_of_its_range():
    state = _state(channels=4)
    launch, entry = state.contexts[0]["launch"], state.ranges[0, 0]
    command = state.commands[0, 0]
    entry["slot_offset"], entry["peers"] = 1, 5
    command["outer_extent"], command["inner_extent"] = 1, 1
    command["granularity"] = Granularity.WORKGROUP.value
    launch["workgroups"] = 20
    push_ready(state, 0, 0, 7, 0, 0, 0, 0, 1)
    step_ready(state, 0, True, False)
    step_ready(state, 0, False, False)
    step_ready(state, 0, False, False)
    for cycle in range(4):
        if cycle == 1:
            entry["slot_offset"] = entry["peers"] = 9
            for name in set(command.dtype.names) - {"waves"}:
                command[name] = 9
        popped, _, _ = step(state, 8)
        assert popped == (cycle == 0)
        step_ready(state, 0, False, popped)
    segment = state.channels[0]["lanes"][0]["segments"][0]
    found = {name: int(segment[name]) for name in ("length", "peers", "slot")}
    assert found == {"length": 1, "peers": 5, "slot": 8}


def test_walkers_share_a_lane():
    """A lane takes a segment of the lowest walker per cycle, unless another walker's offer
    stays."""
    state = _state(channels=4, dma_walkers=4)
    command = state.programmed_commands[0, 0]
    # Rows 0 to 7 lie in channels 0, 1, 2, 3, 1, 0, 3 and 2.
    command["outer_extent"], command["inner_extent"], command["stride"] = 8, 4, 4
    copy(state, 0)
    rows = []
    for cycle in range(9):
        lanes = state.channels["lanes"][:, 0]
        lanes["segments_level"][1] = 2 if cycle < 7 else 0
        step(state, 0)
        pushed = [lane for lane in lanes if lane["segments_pushed"]]
        # The ring of the lane that was full begins with its third segment, at the first place.
        rows.append([int(lane["segments"][0]["atom"]) // 4 for lane in pushed])
        lanes["segments_pushed"][:] = 0
    assert rows == [[], [], [], [0, 2, 3], [7, 6], [], [], [1], [5, 4]]
    assert state.contexts[0]["engine"]["mode"] == 0


@pytest.mark.parametrize("walkers", [1, 4])
def test_segments_outside_the_region_are_dropped(walkers):
    """A segment outside the region is reported, and costs its walker one cycle."""
    state = fresh_state(channels=4, dma_walkers=walkers)
    command = state.programmed_commands[0, 0]
    region = state.programmed_regions[0, 1]
    command["outer_extent"], command["inner_extent"], command["stride"] = 6, 8, 8
    command["region"] = 1
    region["enable"], region["base"], region["limit"] = 1, 9, 34
    copy(state, 0)
    found, failures = [], []
    for _ in range(60):
        _, _, failure = step(state, 0)
        lanes = state.channels["lanes"][:, 0]
        for lane in lanes:
            if lane["segments_pushed"]:
                segment = lane["segments"][0]
                found.append((int(segment["atom"]), int(segment["length"])))
        lanes["segments_pushed"][:] = 0
        failures += [failure] if failure else []
        if not state.contexts[0]["engine"]["mode"]:
            break
    assert sorted(found) == [(12, 4), (16, 4), (20, 4), (24, 4), (28, 4)]
    # One walker reports 7 of its 12 segments; four walkers report the segments of a cycle together.
    assert set(failures) == {error(ErrorCode.DMA_OUT_OF_REGION.value, 0, 0, 0)}
    assert len(failures) == (7 if walkers == 1 else 4)
    assert state.contexts[0]["engine"]["mode"] == 0
