"""Channel that ignores the context."""

from .bug import SeededBug

__all__ = ["CHANNEL"]

CHANNEL = SeededBug(
    module="rtl.channel.channel",
    block="Channel",
    fault="every store and packet is taken for one of the first region's context",
    right="lookup.context.eq(port.p.context),",
    wrong="lookup.context.eq(self.maps.regions[0].context),",
)
