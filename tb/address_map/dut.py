"""Both steps of the lookup, with a register between them in place of a queue."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring

from rtl.channel.address_map import LocationLookup, RangeLookup
from rtl.parameters import T3Parameters

__all__ = ["AddressMap"]


class AddressMap(wiring.Component):
    """Module with both steps of the lookup; :class:`RangeLookup` gives its outputs one cycle later.

    Parameters
    ----------
    p : T3Parameters
    location, range_ : type
        The steps, or copies of them.
    """

    def __init__(
        self,
        p: T3Parameters,
        location: type[wiring.Component] = LocationLookup,
        range_: type[wiring.Component] = RangeLookup,
    ):
        self._location, self._range = location(p), range_(p)
        members = self._range.signature.members
        self._results = {
            name: members[name] for name in ("action", "number", "shares", "op", "dtype", "beyond")
        }
        members = {**self._location.signature.members, "wavefront": members["wavefront"]}
        super().__init__({**members, **self._results})

    def elaborate(self, platform):
        m = Module()
        m.submodules.location = location = self._location
        m.submodules.range = range_ = self._range
        located, dispatch_index = Signal.like(location.location), Signal.like(self.dispatch_index)
        end = Signal()
        m.d.sync += [
            located.eq(location.location),
            dispatch_index.eq(self.dispatch_index),
            end.eq(self.end),
        ]
        m.d.comb += [
            self.location.eq(location.location),
            range_.location.eq(located),
            range_.dispatch_index.eq(dispatch_index),
            range_.wavefront.eq(self.wavefront),
            range_.end.eq(end),
            range_.contexts.eq(self.contexts),
        ]
        inputs = ("atom", "context", "dispatch_index", "end", "contexts")
        m.d.comb += [getattr(location, name).eq(getattr(self, name)) for name in inputs]
        m.d.comb += [getattr(self, name).eq(getattr(range_, name)) for name in self._results]
        return m
