"""Parameters of a link endpoint, checked once and shared by its parts."""

from dataclasses import dataclass, fields

__all__ = ["LinkParameters"]


@dataclass(frozen=True, kw_only=True)
class LinkParameters:
    """Sizes and times of a link endpoint.

    A link reaches its full rate if ``replay_depth`` here and ``receive_depth`` on the other side
    hold the packets of a round trip, and ``timeout_cycles`` is longer than a round trip. These
    values affect only the rate, not the delivered packets. :func:`~rtl.link.sizing.fit_link`
    derives them.

    Parameters
    ----------
    channels : int
        Greatest number of memory channels that share an endpoint.
    replay_depth : int
        Packets of a channel that wait to be sent or acknowledged; even, at least 4. The default
        covers a round trip of 1 us at 8 GB/s of 32 B packets: 1/32 of 250 GB/s.
    receive_depth : int
        Received packets of a channel that have not left yet; even, at least 4.
    sequence_bits : int
        Width of a sequence number. While a frame is in flight, its receiver may accept fewer
        packets than half of the sequence numbers.
    timeout_cycles : int
        Cycles without an acknowledgement after which all unacknowledged packets are sent again; a
        power of two, at least 4.
    idle_cycles : int
        A link without changes reports its state every ``idle_cycles + 1`` cycles; a power of two,
        at least 2, at most half of ``timeout_cycles``.
    down_cycles : int
        Cycles without progress after which the link is reported as down; a power of two, larger
        than ``timeout_cycles`` and at least four times ``lifetime_cycles``.
    lifetime_cycles : int
        Bound on the age of a frame: its last flit arrives at most ``lifetime_cycles - 8`` cycles
        after its first one was offered, or never; a power of two, at least 4 and at most a quarter
        of the sequence numbers. A session begins after twice this time.
    contexts : int
        Contexts with control words.
    control_interval : int
        Control words take at most one of ``control_interval`` consecutive places among the packets;
        a power of two, at least 2.

    Raises
    ------
    ValueError
        If a value is too small, or not a power of two or even where it must be, or the sequence
        numbers are too few.
    """

    channels: int = 1
    replay_depth: int = 256
    receive_depth: int = 256
    sequence_bits: int = 16
    timeout_cycles: int = 2048
    idle_cycles: int = 256
    down_cycles: int = 16384
    lifetime_cycles: int = 4096
    contexts: int = 1
    control_interval: int = 16

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{field.name} must be an integer, not {value!r}")
        for name in ("replay_depth", "receive_depth"):
            value = getattr(self, name)
            if value < 4 or value % 2:
                raise ValueError(f"{name} must be an even number, at least 4, not {value!r}")
        for name in ("channels", "contexts"):
            value = getattr(self, name)
            if value < 1:
                raise ValueError(f"{name} must be at least 1, not {value!r}")
        for name, least in (
            ("timeout_cycles", 4),
            ("idle_cycles", 2),
            ("down_cycles", 2),
            ("lifetime_cycles", 4),
            ("control_interval", 2),
        ):
            value = getattr(self, name)
            if value < least:
                raise ValueError(f"{name} must be at least {least}, not {value!r}")
            if value & (value - 1):
                raise ValueError(f"{name} must be a power of two, not {value!r}")
        if 2 * self.idle_cycles > self.timeout_cycles:
            raise ValueError(
                f"idle_cycles must be at most half of timeout_cycles ({self.timeout_cycles}), "
                f"not {self.idle_cycles!r}"
            )
        if self.down_cycles <= self.timeout_cycles:
            raise ValueError(
                f"down_cycles must be more than timeout_cycles ({self.timeout_cycles}), "
                f"not {self.down_cycles!r}"
            )
        if self.down_cycles < 4 * self.lifetime_cycles:
            raise ValueError(
                f"down_cycles must be at least four times lifetime_cycles "
                f"({self.lifetime_cycles}), not {self.down_cycles!r}"
            )
        least = max(self.replay_depth, self.receive_depth).bit_length() + 1
        if self.sequence_bits < least:
            raise ValueError(
                f"sequence_bits must be at least {least} for the depths "
                f"{self.replay_depth} and {self.receive_depth}, not {self.sequence_bits!r}"
            )
        most = 1 << self.sequence_bits - 2
        if self.lifetime_cycles > most:
            raise ValueError(
                f"lifetime_cycles must be at most {most} for {self.sequence_bits} sequence_bits, "
                f"not {self.lifetime_cycles!r}"
            )
