"""Bench of the tracker's front: events of four channels for four banks, compared with the golden
model in every cycle.
"""

import random
from collections.abc import Callable, Sequence

import cocotb

from rtl.interface.layouts import TileUpdates, TrackerInput
from rtl.parameters import T3Parameters
from rtl.tracker.front import TrackerFront
from sysmodel.engine.golden.channel.queues import D, Q, has_space
from tb.cover import cover, expect
from tb.cycle import clock_stops, inputs_of, next_cycle, reset, scaled, settled
from tb.golden import bits, golden_state, oldest
from tb.payload import Fields
from tb.stream import Pace, StreamChecker, offer
from tb.tracker_front.model import step_unit

PARAMETERS = T3Parameters(
    channels=4,
    system_channels=4,
    address_bits=20,
    workgroup_bits=6,
    wavefronts=4,
    tile_atom_bits=4,
    sets=16,
    ways=2,
    banks=4,
    contexts=2,
)
_CHANNELS, _BANKS = range(PARAMETERS.channels), range(PARAMETERS.banks)
_FIELDS = {"issue_acks": Fields(TileUpdates(PARAMETERS)), "ends": Fields(TrackerInput(PARAMETERS))}
_EVENT = _FIELDS["ends"]
_COLUMN = {name: column for column, name in enumerate(_EVENT.names)}
_CYCLES = 3000

expect(
    "issue acknowledgement and end at once",
    "all channels want one bank",
    "all channels move",
    "every bank gets one",
    "bank without space",
    "behind a bank without space",
    "candidates full",
    "bank gets events in consecutive cycles",
    "wavefront turns the bank",
    "both contexts at once",
    "one context empty, the other not",
)


def make_dut(block: type = TrackerFront):
    return block(PARAMETERS)


_INPUTS = inputs_of(make_dut())
_Chooser = Callable[[str], dict[str, int]]


class _Bench:
    """The front, its golden state, and the offers of the channels."""

    def __init__(self, dut, event: _Chooser):
        self.dut, self.state = dut, golden_state(PARAMETERS)
        names = [f"{name}__{channel}" for name in _FIELDS for channel in _CHANNELS]
        self.checker = StreamChecker(dut, [*names, *(f"o__{bank}" for bank in _BANKS)])
        self.offered: list[dict[str, dict[str, int]]] = [{} for _ in _CHANNELS]
        self.given: list[list[int] | None] = [None for _ in _BANKS]
        self._event = event

    async def cycle(self, offers: Sequence[Sequence[str]], spaces: Sequence[bool]) -> None:
        """Drive one cycle; each channel makes new offers where it can."""
        dut = self.dut
        for channel, names in enumerate(offers):
            for name, fields in _FIELDS.items():
                port, offered = f"{name}__{channel}", self.offered[channel]
                if name in names and name not in offered:
                    offered[name] = self._event(name)
                offer(dut, port, fields.pack(offered[name]) if name in offered else None)
        dut.space.value = sum(space << bank for bank, space in enumerate(spaces))
        await settled()
        self.checker.sample()
        assert int(dut.empty.value) == self._empty()
        for bank, event in enumerate(self.given):
            assert bool(getattr(dut, f"o__{bank}__valid").value) == (event is not None)
            if event is not None:
                assert _EVENT.unpack(int(getattr(dut, f"o__{bank}__payload").value)) == event
        self._cover(spaces)
        taken, chosen = step_unit(self.state, self.offered, spaces)
        for channel, moved in enumerate(taken):
            for name in self.offered[channel]:
                ready = bool(getattr(dut, f"{name}__{channel}__ready").value)
                assert ready == (name in moved), f"{name} of channel {channel}"
            for name in moved:
                del self.offered[channel][name]
        cover("all channels move", all(taken))
        cover("every bank gets one", all(event is not None for event in chosen))
        both = [a is not None and b is not None for a, b in zip(self.given, chosen, strict=True)]
        cover("bank gets events in consecutive cycles", any(both))
        owners = {event[_COLUMN["owner"]] for event in chosen if event is not None}
        cover("both contexts at once", len(owners) > 1)
        self.given = chosen
        await next_cycle(dut)

    def _empty(self) -> int:
        """Return a bit for each context without a candidate."""
        return bits(self.state.contexts["tracker"]["candidates"] == 0)

    def _cover(self, spaces: Sequence[bool]) -> None:
        candidates = [oldest(channel, "candidates") for channel in self.state.channels]
        wanted = [None if one is None else int(one["bank"]) for one in candidates]
        waits = [bank is not None and not spaces[bank] for bank in wanted]
        cover(
            "issue acknowledgement and end at once",
            any(len(inputs) == 2 for inputs in self.offered),
        )
        cover("all channels want one bank", wanted[0] is not None and len(set(wanted)) == 1)
        cover("bank without space", any(waits))
        cover("one context empty, the other not", self._empty() in (0b01, 0b10))
        queued = self.state.channels["queued"].tolist()
        full = [not has_space(word, Q.candidates, D.candidates) for word in queued]
        cover("candidates full", any(full))
        held = [full[channel] and waits[channel] for channel in _CHANNELS]
        cover("behind a bank without space", any(held))
        for bank, event in enumerate(self.given):
            dispatch_index = None if event is None else event[_COLUMN["dispatch_index"]]
            cover(
                "wavefront turns the bank",
                dispatch_index is not None and dispatch_index % len(_BANKS) != bank,
            )


def _random_event(rng: random.Random, name: str, dispatch_indices: Sequence[int]) -> dict[str, int]:
    p = PARAMETERS
    tile = {
        "owner": rng.randrange(p.contexts),
        "dispatch_index": rng.choice(dispatch_indices),
        "wavefront": rng.randrange(p.wavefronts),
    }
    if name == "issue_acks":
        atom, count = rng.getrandbits(p.atom_address_bits), rng.randint(1, 15)
        return {**tile, "atom": atom, "count": count}
    widths = {
        "tile_atoms": p.tile_atom_bits,
        "outer_edge": 1,
        "inner_edge": 1,
        "shares": p.share_bits,
        "total": p.share_bits,
    }
    marker = {name: rng.getrandbits(width) for name, width in widths.items()}
    return {**tile, **marker, "end": 1, "atom": 0, "count": 0}


@cocotb.test()
async def random_traffic(dut):
    """No event is lost: the banks receive as many events as the channels sent."""
    rng = random.Random(cocotb.RANDOM_SEED)
    dispatch_indices = [5]
    await reset(dut, _INPUTS)
    bench = _Bench(dut, lambda name: _random_event(rng, name, dispatch_indices))
    pace = Pace(rng, [(name, channel) for channel in _CHANNELS for name in _FIELDS])
    space = Pace(rng, _BANKS, rates=(0, 0.3, 0.9, 1, 1, 1), cycles=30)
    for cycle in range(scaled(_CYCLES)):
        if cycle % 80 == 0:
            count = rng.choice([1, 2, 64])
            dispatch_indices[:] = rng.sample(range(1 << PARAMETERS.dispatch_index_bits), count)
        acts = pace.acts()
        offers = [[name for name in _FIELDS if acts[name, channel]] for channel in _CHANNELS]
        await bench.cycle(offers, list(space.acts().values()))
    nothing = [()] * len(_CHANNELS)
    for _ in range(40):
        await bench.cycle(nothing, [True] * len(_BANKS))
    moved = bench.checker.transfers
    given = sum(count for name, count in moved.items() if name.startswith("o__"))
    assert given == sum(moved.values()) - given > 0
    assert not any(bench.offered)
    assert int(dut.empty.value) == 0b11


@cocotb.test()
async def a_busy_bank_is_shared(dut):
    """If all channels request one bank, each channel gets every fourth cycle, and its two inputs
    take turns.
    """
    rng = random.Random(cocotb.RANDOM_SEED + 1)
    await reset(dut, _INPUTS)
    bench = _Bench(dut, lambda name: _random_event(rng, name, [9]) | {"wavefront": 2})
    everything = [tuple(_FIELDS)] * len(_CHANNELS)
    for _ in range(4):
        await bench.cycle(everything, [True] * len(_BANKS))
    before = bench.checker.transfers.copy()
    for _ in range(16 * len(_CHANNELS)):
        await bench.cycle(everything, [True] * len(_BANKS))
    for channel in _CHANNELS:
        for name in _FIELDS:
            port = f"{name}__{channel}"
            assert bench.checker.transfers[port] - before[port] == 8


@cocotb.test()
async def clock_stops_when_idle(dut):
    await clock_stops(dut, _INPUTS)
