# amaranth: UnusedElaboratable=no
"""Wrong bits in the issue acknowledgements that wait in a channel's memory."""

import random

import cocotb

from rtl.channel.channel import Channel
from rtl.interface.encodings import Access, ErrorCode
from rtl.interface.layouts import ErrorReport, IssueAck, TileUpdates
from tb.channel.tables import PARAMETERS
from tb.cover import cover, expect
from tb.cycle import inputs_of, next_cycle, reset, scaled, settled
from tb.inside import inside, turn
from tb.payload import Fields

__all__ = ["one_wrong_bit", "two_wrong_bits"]

_INPUTS = inputs_of(Channel(PARAMETERS))
_ISSUE_ACK, _UPDATES = Fields(IssueAck(PARAMETERS)), Fields(TileUpdates(PARAMETERS))
_REPORT = Fields(ErrorReport(PARAMETERS))
_MEMORY = "issue_ack_buffer.waiting.words.storage"
_EVENTS = 8  # that wait behind the buffer; what comes after them waits in its memory
_ISSUE_ACKS = 24
_ROW = 9
_PAIRS = 10

expect("waiting issue acknowledgement corrected", "waiting issue acknowledgement lost")


def _issue_ack(number: int) -> dict[str, int]:
    """All of different tiles, so that none joins another."""
    dispatch_index, wavefront = divmod(number, PARAMETERS.wavefronts)
    return {"dispatch_index": dispatch_index, "wavefront": wavefront, "owner": number % 2}


async def _pass(dut, *bits: int) -> tuple[list[int], int, list[list[int]]]:
    """Acknowledgements of which one has wrong bits while it waits: those that leave,
    corrections, errors."""
    await reset(dut, _INPUTS)
    for number in range(_ISSUE_ACKS):
        issue_ack = _issue_ack(number) | {"atom": 10 * number, "access": Access.UPDATE.value}
        dut.issue_acks__payload.value = _ISSUE_ACK.pack(issue_ack)
        dut.issue_acks__valid.value = 1
        await settled()
        assert int(dut.issue_acks__ready.value)
        await next_cycle(dut)
    dut.issue_acks__valid.value = 0
    await next_cycle(dut)
    turn(inside(dut, _MEMORY)[_ROW], *bits)
    dut.tile_issue_acks__ready.value = 1
    left, corrected, errors = [], 0, []
    for _ in range(4 * _ISSUE_ACKS):
        await settled()
        corrected += int(dut.corrected.value)
        if int(dut.errors__2__valid.value):
            errors.append(_REPORT.named(int(dut.errors__2__report.value)))
        if int(dut.tile_issue_acks__valid.value):
            event = _UPDATES.named(int(dut.tile_issue_acks__payload.value))
            number = event["dispatch_index"] * PARAMETERS.wavefronts + event["wavefront"]
            expected = _issue_ack(number) | {"atom": 10 * number, "count": 1}
            assert event == expected
            left.append(number)
        await next_cycle(dut)
    return left, corrected, errors


@cocotb.test()
async def one_wrong_bit(dut):
    """Each bit of an issue acknowledgement: it leaves as it came."""
    for bit in range(len(inside(dut, _MEMORY)[0])):
        assert await _pass(dut, bit) == ([*range(_ISSUE_ACKS)], 1, []), bit
        cover("waiting issue acknowledgement corrected")


@cocotb.test()
async def two_wrong_bits(dut):
    """It alone does not leave, and its tile is reported as it reads."""
    rng = random.Random(cocotb.RANDOM_SEED + 5)
    lost = _EVENTS + _ROW
    width = len(inside(dut, _MEMORY)[0])
    tile = _issue_ack(lost)
    for _ in range(scaled(_PAIRS)):
        # Of the check bits, so that the tile reads right.
        bits = rng.sample(range(_ISSUE_ACK.width, width), 2)
        left, corrected, errors = await _pass(dut, *bits)
        assert left == [number for number in range(_ISSUE_ACKS) if number != lost]
        assert not corrected
        code = ErrorCode.TRACKER_CORRUPT.value
        assert errors == [dict.fromkeys(_REPORT.names, 0) | tile | {"code": code}]
        cover("waiting issue acknowledgement lost")
