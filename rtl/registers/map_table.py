"""Tables of regions, ranges, commands and peers, with checks of their entries."""

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import CommandEntry, Gate, MapConfiguration, PeerEntry
from rtl.interface.encodings import Action, ConfigurationError
from rtl.interface.layouts import Copy
from rtl.lib.queue import Queue
from rtl.lib.select import one_hot_select
from rtl.parameters import T3Parameters

from .receivers import any_refuses

__all__ = ["INDEX_BITS", "MapTable", "Staging", "Table"]

INDEX_BITS = 8
_ADDRESS = data.ArrayLayout(32, 2)  # a byte address as two registers, the low one first


class Table(enum.Enum, shape=3):
    """Table that a commit writes; CLEAR removes all regions, ranges and peers."""

    NONE = 0
    REGION = 1
    RANGE = 2
    COMMAND = 3
    COPY = 4
    CLEAR = 5
    PEER = 6


def Staging(p: T3Parameters):
    """Staging registers of software. Addresses, indices and masks have all bits of the registers,
    because a commit checks them."""
    peer = {name: field.shape for name, field in PeerEntry(p) if name != "enable"}
    command = {name: field.shape for name, field in CommandEntry(p) if name != "atom_offset"}
    command |= {"region": INDEX_BITS, "offset": _ADDRESS}
    return data.StructLayout(
        {
            "region": data.StructLayout({"base": _ADDRESS, "limit": _ADDRESS}),
            "range": data.StructLayout(
                {
                    "region": INDEX_BITS,
                    "first": p.dispatch_index_bits,
                    "last": p.dispatch_index_bits,
                    "action": Action,
                    "command": INDEX_BITS,
                    "shares": p.share_bits,
                    "peers": INDEX_BITS,
                    "slot_offset": p.credit_limit_bits,
                    "gate": Gate(p),
                }
            ),
            "command": data.StructLayout(command),
            "peer": data.StructLayout(peer),
            "copy": data.StructLayout({"start": _ADDRESS}),
        }
    )


# Fields of a range that software stages.
_RANGE = ("region", "first", "last", "action", "command", "shares", "peers", "slot_offset", "gate")
# Reasons to refuse an entry, highest priority first.
_Causes = list[tuple[ConfigurationError, Value]]


def _any_of(values) -> Value:
    return Cat(values).any()


class MapTable(wiring.Component):
    """Address map of the next launch, and peers; refuses entries that are inconsistent or conflict.

    ``configuration_error`` is combinational in the cycle of ``table``. With
    ``ConfigurationError.NONE`` the whole entry is in ``maps`` or ``peers``, or the copy in
    ``copies``, in the next cycle; otherwise the state is unchanged. One commit per cycle.

    Members
    -------
    table : In(:class:`Table`)
        Table committed in this cycle, ``Table.CLEAR``, which is not refused, or ``Table.NONE``.
    index : In
        Entry to write; for a copy, its command.
    enable : In(1)
        0 removes a region, a range or a peer.
    receivers : In(8)
        Peers that get the copy, a mask.
    staging : In(:func:`Staging`)
    locked : In(1)
        A launch is pending: all entries are locked.
    in_use : In(1)
        The context is not idle: its peers are locked.
    aborting : In(1)
        An abort is in progress: copies are refused.
    foreign : In(1)
        The staged region overlaps a region of another context.
    mixed : In(1)
        The commit shares the staged region, a word of which unprivileged software wrote.
    fixed : In(regions)
        Regions that must not move, since copies may still read them.
    removes : Out(regions)
        An enabled region is removed in this cycle. Combinational.
    configuration_error : Out(:class:`ConfigurationError`)
    maps : Out(:func:`MapConfiguration`)
    peers : Out(array of :func:`PeerEntry`)
        Peers, also of the current launch.
    copies : Out(stream)
        Two copies deep.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    queue : Queue
        Queue of copies.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "table": In(Table),
                "index": In(INDEX_BITS),
                "enable": In(1),
                "receivers": In(INDEX_BITS),
                "staging": In(Staging(p)),
                "locked": In(1),
                "in_use": In(1),
                "aborting": In(1),
                "foreign": In(1),
                "mixed": In(1),
                "fixed": In(p.regions),
                "removes": Out(p.regions),
                "configuration_error": Out(ConfigurationError),
                "maps": Out(MapConfiguration(p)),
                "peers": Out(data.ArrayLayout(PeerEntry(p), p.peers)),
                "copies": Out(stream.Signature(Copy(p))),
            }
        )
        self.queue = Queue(Copy(p), depth=2)

    def elaborate(self, platform):
        m = Module()
        m.submodules.copies = self.queue
        wiring.connect(m, self.queue.o, wiring.flipped(self.copies))
        for table, causes, write in (
            (Table.REGION, self._refuses_region(), self._region),
            (Table.RANGE, self._refuses_range(), self._range),
            (Table.COMMAND, self._refuses_command(), self._command),
            (Table.COPY, self._refuses_copy(), self._copy),
            (Table.PEER, self._refuses_peer(), self._peer),
        ):
            # Computed before the table is decoded; the first cause is selected later.
            refused = _any_of(condition for _, condition in causes)
            with m.If(self.table == table):
                self._refuse(m, causes)
                write(m, ~refused)
        with m.If(self.table == Table.CLEAR):
            # A command without a region is not used.
            entries = (*self.maps.regions, *self.maps.ranges, *self.peers)
            m.d.sync += [entry.enable.eq(0) for entry in entries]
            m.d.comb += self.removes.eq(Cat(entry.enable for entry in self.maps.regions))
        return m

    def _refuse(self, m: Module, causes: _Causes) -> None:
        """Report the first applicable cause as the configuration error."""
        for code, condition in reversed(causes):
            with m.If(condition):
                m.d.comb += self.configuration_error.eq(code)

    @property
    def _offset_bits(self) -> int:
        return self._p.address_bits - self._p.atom_address_bits

    def _misaligned(self, address) -> Value:
        return address.as_value()[: self._offset_bits].any()

    def _atoms(self, address) -> Value:
        return address.as_value()[self._offset_bits : self._p.address_bits]

    def _outside(self, address) -> Value:
        # For an aligned address, this is the same as lying above the last atom of the space.
        return address.as_value()[self._p.address_bits :].any()

    def staged_region(self) -> tuple[Value, Value]:
        """Return base and limit of the staged region, in atoms."""
        staged = self.staging.region
        return self._atoms(staged.base), self._atoms(staged.limit)

    def _any(self, entries, condition) -> Value:
        """Test whether an enabled entry other than the one to write fulfils a condition."""
        return _any_of(
            entry.enable & (self.index != index) & condition(entry)
            for index, entry in enumerate(entries)
        )

    def _refuses_region(self) -> _Causes:
        staged, regions, ranges = self.staging.region, self.maps.regions, self.maps.ranges
        base, limit = self.staged_region()
        named = [entry.enable & (entry.region == self.index) for entry in ranges]
        fixed = [(self.index == index) & fixed for index, fixed in enumerate(self.fixed)]
        return [
            (ConfigurationError.UNKNOWN_INDEX, self.index >= self._p.regions),
            (ConfigurationError.IN_USE, self.locked | (self.enable & _any_of(fixed))),
            (ConfigurationError.LOCKED, self.enable & self.mixed),
            (ConfigurationError.REGION_IN_USE, ~self.enable & _any_of(named)),
            (
                ConfigurationError.MISALIGNED,
                self.enable & (self._misaligned(staged.base) | self._misaligned(staged.limit)),
            ),
            (
                ConfigurationError.ADDRESS_OUT_OF_RANGE,
                self.enable & (self._outside(staged.base) | self._outside(staged.limit)),
            ),
            (ConfigurationError.EMPTY, self.enable & (limit <= base)),
            (
                ConfigurationError.OVERLAP,
                self.enable
                & (
                    self.foreign | self._any(regions, lambda w: (base < w.limit) & (w.base < limit))
                ),
            ),
        ]

    def _region(self, m: Module, accept: Value) -> None:
        base, limit = self.staged_region()
        for index, entry in enumerate(self.maps.regions):
            with m.If(accept & (self.index == index)):
                m.d.sync += entry.enable.eq(self.enable)
                with m.If(self.enable):
                    m.d.sync += [entry.base.eq(base), entry.limit.eq(limit)]
                with m.Else():
                    m.d.comb += self.removes[index].eq(entry.enable)

    def _refuses_range(self) -> _Causes:
        staged, regions, ranges = self.staging.range, self.maps.regions, self.maps.ranges
        enabled = [entry.enable & (staged.region == index) for index, entry in enumerate(regions)]
        leaves = (staged.action == Action.REMOTE) | (staged.action == Action.DMA)
        return [
            (
                ConfigurationError.UNKNOWN_INDEX,
                (self.index >= self._p.ranges)
                | (staged.region >= self._p.regions)
                | (staged.command >= self._p.commands)
                | self._unknown_peers(staged.peers),
            ),
            (ConfigurationError.IN_USE, self.locked),
            (
                ConfigurationError.EMPTY,
                self.enable
                & (
                    (staged.last < staged.first)
                    | ((staged.action == Action.NONE) & ~staged.gate.enable.any())
                    | (leaves & ~staged.peers.any())
                ),
            ),
            (ConfigurationError.REGION_DISABLED, self.enable & ~_any_of(enabled)),
            (
                ConfigurationError.OVERLAP,
                self.enable
                & self._any(
                    ranges,
                    lambda r: (
                        (r.region == staged.region)
                        & (staged.first <= r.last)
                        & (r.first <= staged.last)
                    ),
                ),
            ),
        ]

    def _range(self, m: Module, accept: Value) -> None:
        staged = self.staging.range
        for index, entry in enumerate(self.maps.ranges):
            with m.If(accept & (self.index == index)):
                m.d.sync += entry.enable.eq(self.enable)
                with m.If(self.enable):
                    m.d.sync += [entry[name].eq(staged[name]) for name in _RANGE]

    def _refuses_command(self) -> _Causes:
        staged = self.staging.command
        return [
            (
                ConfigurationError.UNKNOWN_INDEX,
                (self.index >= self._p.commands) | (staged.region >= self._p.regions),
            ),
            (ConfigurationError.IN_USE, self.locked),
            (ConfigurationError.MISALIGNED, self._misaligned(staged.offset)),
        ]

    def _command(self, m: Module, accept: Value) -> None:
        staged = self.staging.command
        for index, entry in enumerate(self.maps.commands):
            with m.If(accept & (self.index == index)):
                m.d.sync += entry.atom_offset.eq(self._atoms(staged.offset))
                m.d.sync += [
                    entry[name].eq(staged[name])
                    for name, _ in CommandEntry(self._p)
                    if name != "atom_offset"
                ]

    def _copied(self) -> tuple[Value, Value]:
        """Decode the command of a copy and the region of that command, one-hot."""
        chosen = Cat(self.index == index for index in range(self._p.commands))
        # The region exists: the commit of a command has checked that.
        region = one_hot_select(chosen, [entry.region for entry in self.maps.commands])
        return chosen, Cat(region == index for index in range(self._p.regions))

    def _refuses_copy(self) -> _Causes:
        start, (command, region) = self.staging.copy.start, self._copied()
        enabled = Cat(entry.enable for entry in self.maps.regions) & region
        kind = one_hot_select(command, [entry.kind for entry in self.maps.commands])
        return [
            (
                ConfigurationError.UNKNOWN_INDEX,
                (self.index >= self._p.commands) | self._unknown_peers(self.receivers),
            ),
            (ConfigurationError.MISALIGNED, self._misaligned(start)),
            (ConfigurationError.ADDRESS_OUT_OF_RANGE, self._outside(start)),
            (ConfigurationError.EMPTY, ~self.receivers.any()),
            (ConfigurationError.REGION_DISABLED, ~enabled.any()),
            (ConfigurationError.NO_PEER, any_refuses(self.receivers, kind, self.peers)),
            (ConfigurationError.IN_USE, self.aborting),
            (ConfigurationError.QUEUE_FULL, ~self.queue.i.ready),
        ]

    def _copy(self, m: Module, accept: Value) -> None:
        (command, region), copies = self._copied(), self.queue.i
        m.d.comb += [
            copies.valid.eq(accept),
            copies.p.command.eq(one_hot_select(command, self.maps.commands)),
            copies.p.region.eq(one_hot_select(region, list(self.maps.regions))),
            copies.p.start.eq(self._atoms(self.staging.copy.start)),
            copies.p.peers.eq(self.receivers),
        ]

    def _unknown_peers(self, mask: Value) -> Value:
        """Test whether a mask names a peer that does not exist."""
        return mask[self._p.peers :].any()

    def _refuses_peer(self) -> _Causes:
        return [
            (ConfigurationError.UNKNOWN_INDEX, self.index >= self._p.peers),
            (ConfigurationError.IN_USE, self.in_use),
        ]

    def _peer(self, m: Module, accept: Value) -> None:
        staged = self.staging.peer
        for index, entry in enumerate(self.peers):
            with m.If(accept & (self.index == index)):
                m.d.sync += entry.enable.eq(self.enable)
                m.d.sync += [entry[name].eq(staged[name]) for name, _ in staged.shape()]
