"""Address map that mixes contexts, or ranges."""

from .bug import SeededBug

__all__ = ["LOCATION_LOOKUP", "RANGE_LOOKUP"]

LOCATION_LOOKUP = SeededBug(
    module="rtl.channel.address_map",
    block="LocationLookup",
    fault="the context is not looked at",
    right="& (entry.context == self.context)",
    wrong="",
)
RANGE_LOOKUP = SeededBug(
    module="rtl.channel.address_map",
    block="RangeLookup",
    fault="a range holds one dispatch index more than it should",
    right="& (location.dispatch_index <= entry.last)",
    wrong="& (location.dispatch_index <= entry.last + 1)",
)
