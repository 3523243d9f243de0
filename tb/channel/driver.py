"""Driver of a channel behind its ports, which compares every cycle with the golden model."""

import random
from collections.abc import Collection
from typing import Any

from rtl.channel.channel import Channel
from rtl.interface.configuration import ArbiterConfiguration, ContextView
from rtl.interface.encodings import Access, ErrorCode, Origin, PacketKind, Policy
from rtl.interface.layouts import ErrorReport
from sysmodel.engine.ports import O
from tb.channel.model import Model
from tb.channel.points import cover_cycle
from tb.channel.tables import (
    GENERATION,
    PARAMETERS,
    REDUCTION,
    UNUSED,
    WORKGROUPS,
    Traffic,
    one_peer,
    random_arbiter,
)
from tb.cover import cover
from tb.cycle import inputs_of, next_cycle, reset, settled
from tb.golden import (
    EVERY_KIND,
    SIGNALS,
    error_report,
    set_arbiter,
    set_arbiter_inputs,
    set_view,
    slots_of,
    wavefronts_of,
)
from tb.payload import Fields
from tb.stream import StreamChecker, offer

__all__ = ["CONTEXTS", "IN", "OUT", "SEGMENTS", "Bench", "make_dut", "plain", "repeat", "start"]

_VIEW = Fields(ContextView(PARAMETERS))
_ARBITER = Fields(ArbiterConfiguration(PARAMETERS))
_REPORT = Fields(ErrorReport(PARAMETERS))
_OF_PACKETS = 1  # number of the error of packets
_END = PacketKind.END.value
CONTEXTS = range(PARAMETERS.contexts)
SEGMENTS = tuple(f"segments__{context}" for context in CONTEXTS)
IN = ("reads", "stores", "link_in", "issue_acks", *SEGMENTS, "nmc_in")
OUT = ("dram", "link_out", "tile_issue_acks", "end_of_tile_markers", "nmc_out")


def make_dut(block: type = Channel):
    return block(PARAMETERS)


_COMPONENT = make_dut()
_INPUTS = inputs_of(_COMPONENT)
_FIELDS = {
    name: Fields(getattr(_COMPONENT, name).payload.shape())
    for name in (*IN, *OUT)
    if name not in SEGMENTS
} | dict.fromkeys(SEGMENTS, Fields(_COMPONENT.segments[0].payload.shape()))
_RETURNS = Fields(_COMPONENT.returns.payload.shape())


def _without_data(fields: Fields, values: list[int]) -> list[int]:
    return [value for name, value in zip(fields.names, values, strict=True) if "data_" not in name]


def _driven(view: dict[str, Any]) -> dict[str, Any]:
    """Complete a view; the channel ignores the fields that are absent then."""
    maps = view["maps"]
    # A store on its way to the link may be of a range that is unused since then.
    nowhere = {"command": 0, "peers": 0, "slot_offset": 0}
    ranges = [nowhere | entry for entry in maps["ranges"]]
    return view | {
        "wavefronts": wavefronts_of(maps),
        "maps": maps | {"ranges": ranges},
        "slots": slots_of(view["launch_configuration"]),
    }


class Bench:
    """Channel, its model, and the payloads offered to both but not yet accepted."""

    def __init__(self, dut, rng: random.Random):
        self.dut, self.rng = dut, rng
        self.model, self.traffic = Model(PARAMETERS), Traffic(rng)
        self.checker = StreamChecker(dut, (*IN, *OUT, "returns"))
        self.offered: dict[str, dict[str, int]] = {}
        self.outstanding: list[int] = []  # slots of the DMA reads that left
        self.updates = 0  # accepted by the tracker
        self.markers: list[dict[str, int]] = []  # accepted by the tracker
        self.packets: list[dict[str, int]] = []  # accepted by the link
        self.failures: list[ErrorCode] = []
        self.views = [self.traffic.view(context) for context in CONTEXTS]
        self.arbiter = random_arbiter(rng)
        self.link_space = (1 << len(CONTEXTS)) - 1
        self.admit(12, 30)
        self.configure()

    def admit(self, oldest: int, credit_limit: int, *contexts: int) -> None:
        """Set the dispatch indices that may be updated, in these contexts or in all."""
        for context in contexts or CONTEXTS:
            self.views[context] |= {"oldest": oldest, "credit_limit": credit_limit}

    def configure(self) -> None:
        """Drive the contexts' views and the policy into channel and model; fields that the channel
        ignores are random.
        """
        dut, state = self.dut, self.model.state
        dut.contexts.value = sum(
            _VIEW.pack(_driven(view), rest=self.rng) << context * _VIEW.width
            for context, view in enumerate(self.views)
        )
        dut.arbiter.value = _ARBITER.pack(self.arbiter)
        dut.link_space.value = self.link_space
        for context, view in enumerate(self.views):
            set_view(state, view, context)
        set_arbiter(state, self.arbiter)

    async def cycle(
        self,
        offers: Collection[str],
        takes: Collection[str],
        *,
        returns: bool = True,
        occupancy: int = 0,
        start: bool = False,
        signals: Collection[str] = ("active",),
    ) -> None:
        """Drive one cycle: inputs that offer a new payload if they can, ready outputs, and high
        signals of the criticality unit.
        """
        dut, model = self.dut, self.model
        for stream in IN:
            if stream in offers and stream not in self.offered:
                self.offered[stream] = self.traffic.next(stream)
            offered = self.offered.get(stream)
            payload = None if offered is None else _FIELDS[stream].pack(offered)
            offer(dut, stream, payload)
        for stream in OUT:
            if stream != "nmc_out":
                getattr(dut, f"{stream}__ready").value = int(stream in takes)
        dut.occupancy.value, dut.start.value = occupancy, int(start)
        for name in SIGNALS:
            getattr(dut, name).value = int(name in signals)
        set_arbiter_inputs(model.state, signals)
        inputs = dict(self.offered)
        comes_back = None
        if returns and self.outstanding:
            slot = self.outstanding.pop(self.rng.randrange(len(self.outstanding)))
            data = {f"data_{index}": self.rng.getrandbits(64) for index in range(4)}
            inputs["returns"] = {"slot": slot, **data}
            comes_back = _RETURNS.pack(inputs["returns"])
        offer(dut, "returns", comes_back)
        await settled()
        self.checker.sample()
        self._compare(takes)
        self._compare_error()
        cover_cycle(model, self.offered, takes, self.arbiter, signals)
        stores_drained = model.stores_drained
        idle, drained = model.step(
            inputs, set(takes), start, occupancy=occupancy, link_space=self.link_space
        )
        assert int(dut.idle.value) == idle
        assert int(dut.drained.value) == drained
        assert int(dut.stores_drained.value) == stores_drained
        for stream in self._taken:
            del self.offered[stream]
        await next_cycle(dut)

    def _compare(self, takes: Collection[str]) -> None:
        """Compare the outputs, and find the inputs that are accepted."""
        dut, model = self.dut, self.model
        assert int(dut.stored.value) == model.outputs[O.stored]
        assert int(dut.store_space.value) == model.outputs[O.store_space]
        assert bool(dut.held_up.value) == model.held_up
        assert not int(dut.corrected.value)
        for stream in OUT:
            fields = _FIELDS[stream]
            expected = model.offers(stream, fields.names)
            assert bool(getattr(dut, f"{stream}__valid").value) == (expected is not None), stream
            if expected is None:
                continue
            found = fields.unpack(int(getattr(dut, f"{stream}__payload").value))
            if stream == "link_out" and expected[fields.names.index("kind")] == _END:
                # Its data mean nothing: those from a lane are of an earlier atom.
                compared = [_without_data(fields, one) for one in (found, expected)]
                assert compared[0] == compared[1], stream
            else:
                assert found == expected, stream
            if stream in takes and stream in ("end_of_tile_markers", "link_out"):
                moved = self.markers if stream == "end_of_tile_markers" else self.packets
                moved.append(dict(zip(fields.names, found, strict=True)))
            if stream == "tile_issue_acks" and stream in takes:
                self.updates += expected[fields.names.index("count")]
            if stream == "dram" and stream in takes:
                request = dict(zip(fields.names, expected, strict=True))
                dma = request["origin"] == Origin.COMMUNICATION.value
                if dma and request["access"] == Access.READ.value:
                    self.outstanding.append(request["tag"])
        self._taken = [name for name in self.offered if name == "nmc_in" or model.ready(name)]
        for stream in IN:
            if stream != "nmc_in":
                ready = bool(getattr(dut, f"{stream}__ready").value)
                assert ready == model.ready(stream), stream

    def _compare_error(self) -> None:
        """Compare the errors of the previous cycle."""
        for number, (failure, place) in enumerate(self.model.errors):
            error = f"errors__{number}"
            assert bool(getattr(self.dut, f"{error}__valid").value) == (failure != 0)
            if failure:
                found = _REPORT.unpack(int(getattr(self.dut, f"{error}__report").value))
                assert found == error_report(failure, place)
                self.failures.append(ErrorCode(failure & 0xFF))
                cover(self.failures[-1].name)
                if number == _OF_PACKETS and self.model.ended:
                    cover(f"marker {self.failures[-1].name}")


async def start(dut, rng: random.Random) -> Bench:
    await reset(dut, _INPUTS)
    bench = Bench(dut, rng)
    await bench.cycle((), ())  # the memory owes nothing from before the reset
    return bench


def plain(bench: Bench) -> None:
    """Set up the bench with all regions and ranges enabled, all dispatch indices admitted, one peer
    of rank 0 that gets everything, no preference in the arbiter, and in all commands the same
    reduction of every wavefront.
    """
    bench.traffic.single = True
    for view in bench.views:
        for command in view["maps"]["commands"]:
            command |= REDUCTION | {"waves": [PARAMETERS.wavefronts] * 4}
        for entry in (*view["maps"]["regions"], *view["maps"]["ranges"], view["address_space"]):
            if entry != UNUSED:
                entry["enable"] = 1
        for entry in view["maps"]["ranges"]:
            if entry != UNUSED:
                entry["peers"] = 1
        view |= {"aborting": 0, "launched": 1, "changes": 0}
        view |= {"inbound": EVERY_KIND, "peers": one_peer()}
        launch = {"workgroups": WORKGROUPS, "tracked_end": 0, "generation": GENERATION}
        view["launch_configuration"] |= launch
    bench.arbiter |= {"policy": Policy.ROUND_ROBIN.value}
    bench.admit(0, 64)
    bench.configure()


def repeat(bench: Bench, stream: str, **fields: int | range) -> None:
    """Make a stream offer payload after payload with these fields; a range stands for any of its
    values.
    """
    following = bench.traffic.next
    drawn = {name: field for name, field in fields.items() if isinstance(field, range)}

    def next_(name: str) -> dict[str, int]:
        if name != stream:
            return following(name)
        of_a_launch = {"generation": GENERATION} if name in ("stores", "link_in") else {}
        chosen = {field: bench.rng.choice(values) for field, values in drawn.items()}
        return following(name) | of_a_launch | fields | chosen

    bench.traffic.next = next_
