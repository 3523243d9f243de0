"""Proofs of the error path: every error reaches its counter and its interrupt in bounded time."""

from typing import Any

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.interface.encodings import ErrorCode
from rtl.link.errors import LinkErrors
from rtl.parameters import T3Parameters
from rtl.registers.error_log import ErrorLog
from rtl.registers.error_priority_encoder import ErrorPriorityEncoder

from .invariant import invariant
from .proof import Proof
from .registers import GEOMETRY
from .streams import free

__all__ = ["ENCODER_CODES", "LOG_KINDS", "PROOFS"]

ENCODER_CODES: dict[str, Any] = {
    "own": [(ErrorCode.TIMEOUT,), (ErrorCode.TRIGGER_CORRUPT,)],
    "issue_acks": [(ErrorCode.TRACKER_CORRUPT,)],
    "banks": [(ErrorCode.TRACKER_CORRUPT, ErrorCode.SET_FULL)] * 2,
    "stores": [(ErrorCode.STORE_LATE, ErrorCode.STORE_AHEAD)] * 2,
    "packets": [(ErrorCode.PACKET_UNMAPPED, ErrorCode.PACKET_LATE)] * 2,
    "links": [(ErrorCode.LINK_DOWN, ErrorCode.LINK_RESET)],
}
"""Codes of an encoder of the proven size."""
LOG_KINDS = (ErrorCode.PACKET_LATE, ErrorCode.TIMEOUT)
"""Counted kinds of a log of the proven size."""

_LATE = ("own", "banks")  # groups that come a cycle later
_OF_CONTEXT = ("own", "issue_acks", "banks", "stores", "packets")
_OF_GPU = ("links", "packets")


class EncoderHarness(Elaboratable):
    """Harness with arbitrary errors of the codes that each source may have.

    ``wavefront`` marks a report with its group; the rest of a report is arbitrary.
    """

    def __init__(self, encoder: type = ErrorPriorityEncoder):
        self._encoder = encoder

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._encoder(GEOMETRY, **ENCODER_CODES)
        groups = {name: list(getattr(dut, name)) for name in ENCODER_CODES if name != "own"}
        seen: dict[str, list] = {}
        for name, errors in groups.items():
            seen[name] = [
                self._drive(m, name, error, codes)
                for error, codes in zip(errors, ENCODER_CODES[name], strict=True)
            ]
        for number, out in enumerate(dut.contexts):
            own = [
                self._drive(m, "own", error, codes)
                for error, codes in zip(dut.own[number], ENCODER_CODES["own"], strict=True)
            ]
            here = {"own": [(valid, report) for valid, report in own]}
            for name in _OF_CONTEXT[1:]:
                here[name] = [
                    (valid & ~report.unowned & (report.owner == number), report)
                    for valid, report in seen[name]
                ]
            self._check(m, out, here, f"context {number}")
        of_gpu = {
            name: [(valid & report.unowned, report) for valid, report in seen[name]]
            for name in _OF_GPU
        }
        self._check(m, dut.gpu, of_gpu, "GPU")
        both = dut.contexts[0].valid & dut.contexts[1].valid & dut.gpu.valid
        m.d.comb += Cover(both, "errors of every owner in one cycle")
        return m

    def _drive(self, m: Module, name: str, error, codes) -> tuple[Value, Value]:
        """Drive an error; return it as of the cycle in which the encoder outputs it."""
        free(m, error.valid, error.report)
        m.d.comb += [
            Assume(Cat(error.report.code == code for code in codes).any()),
            Assume(error.report.wavefront == (name in _OF_CONTEXT[:3])),
        ]
        if name not in _LATE:
            return error.valid, error.report
        valid, report = Signal(name=f"{name}_came"), Signal.like(error.report)
        m.d.sync += [valid.eq(error.valid), report.eq(error.report)]
        return valid, report

    def _check(self, m: Module, out, here, owner: str) -> None:
        """Assert the outputs for an owner with these errors, by group, the rarest first."""
        errors = [error for group in here.values() for error in group]
        for code in ErrorCode:
            occurs = Cat(valid & (report.code == code) for valid, report in errors).any()
            m.d.comb += Assert(
                out.kinds[code.value] == occurs, f"{owner}: {code.name} is not collected as such"
            )
        any_error = Cat(valid for valid, _ in errors).any()
        m.d.comb += Assert(out.valid == any_error, f"{owner}: an error is lost, or made up")
        before: list[Value] = []
        for name, group in here.items():
            fits = [valid & (out.report == report) for valid, report in group]
            first = Cat(valid for valid, _ in group).any() & ~Cat(before).any()
            m.d.comb += [
                Assert(~first | Cat(fits).any(), f"{owner}: the report is not of {name}"),
                Cover(first, f"{owner}: an error of {name} is the rarest"),
            ]
            before += [valid for valid, _ in group]


class LogHarness(Elaboratable):
    """Harness with arbitrary errors and strobes."""

    def __init__(self, log: type = ErrorLog):
        self._log = log

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._log(GEOMETRY, LOG_KINDS)
        error = dut.error
        free(m, error.valid, error.report, error.kinds, dut.clear, dut.drop)
        rare = Cat(
            error.kinds[code.value]
            for code in ErrorCode
            if not code.name.startswith(("STORE_", "PACKET_"))
        ).any()
        level = Signal(range(9))
        puts = error.valid & (dut.clear | Mux(rare, level < 8, level < 6))
        with m.If(dut.clear):
            m.d.sync += level.eq(puts)
        with m.Else():
            m.d.sync += level.eq(level + puts - (dut.drop & (level != 0)))
        m.d.comb += [
            Assert(dut.level == level, "level: not the errors that were logged and not dropped"),
            Assert(dut.pending == (level != 0), "pending: differs"),
            invariant(level <= 8, "level: more than the places"),
            Cover(level == 6, "a log that takes rare errors only"),
            Cover(level == 8, "a full log"),
        ]
        self._check_oldest(m, dut, puts)
        self._check_counts(m, dut)
        return m

    def _check_oldest(self, m: Module, dut: ErrorLog, puts: Value) -> None:
        """Assert that the first error is the oldest one until it is dropped."""
        fresh, held = Signal(), Signal()
        before = Signal.like(dut.oldest)
        m.d.sync += [
            fresh.eq(puts & (dut.clear | ~dut.pending)),
            held.eq(dut.pending & ~dut.clear & ~dut.drop),
            before.eq(Mux(dut.pending & ~dut.clear, dut.oldest, dut.error.report)),
        ]
        m.d.comb += [
            Assert(~(fresh | held) | (dut.oldest == before), "oldest: another error"),
            Assert(dut.pending | (dut.oldest.as_value() == 0), "oldest: an error that was dropped"),
        ]

    def _check_counts(self, m: Module, dut: ErrorLog) -> None:
        """Assert that each kind and each cycle with an error is counted one cycle later."""
        error = dut.error
        came, was_kind = Signal(), Signal(len(LOG_KINDS))
        m.d.sync += [
            came.eq(error.valid),
            was_kind.eq(Cat(error.valid & error.kinds[kind.value] for kind in LOG_KINDS)),
        ]
        total = Signal(32)
        m.d.sync += total.eq(Mux(dut.clear, 0, total + came))
        m.d.comb += Assert(dut.total == total, "total: not the cycles with an error")
        for kind, hit, count in zip(LOG_KINDS, was_kind, dut.counts, strict=True):
            expected = Signal(16, name=f"expected_{kind.name}")
            more = Mux(expected.all(), expected, expected + hit)
            m.d.sync += expected.eq(Mux(dut.clear, 0, more))
            m.d.comb += [
                Assert(count == expected, f"{kind.name}: not the cycles with the error"),
                Cover(count == 2, f"{kind.name}: is counted"),
            ]
        m.d.comb += Cover(was_kind.all(), "two kinds in one cycle")


class LinkErrorsHarness(Elaboratable):
    """Harness with arbitrary errors of two links; it follows one link's error of one kind."""

    _CHANNELS = 2

    def __init__(self, errors: type = LinkErrors):
        self._errors = errors

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._errors(
            T3Parameters(contexts=1, channels=self._CHANNELS, system_channels=self._CHANNELS)
        )
        free(m, dut.down, dut.reset)
        error, places = dut.error, 2 * self._CHANNELS
        number, is_reset = AnyConst(range(self._CHANNELS)), AnyConst(1)
        code = Mux(is_reset, ErrorCode.LINK_RESET, ErrorCode.LINK_DOWN)
        comes = Mux(is_reset, dut.reset, dut.down).bit_select(number, 1)
        is_code = Value.cast(error.report.code) == code
        here = error.valid & is_code & (error.report.channel == number)
        waits, age = Signal(), Signal(range(places + 1))
        m.d.sync += waits.eq(comes | (waits & ~here))
        with m.If(waits & ~here):
            m.d.sync += age.eq(age + 1)
        with m.Else():
            m.d.sync += age.eq(0)
        place = 2 * number + is_reset
        # Turns until the place has its own: the pointer is one-hot.
        turns = Signal(range(places))
        for first in range(places):
            with m.If(dut.pick.first[first]):
                m.d.comb += turns.eq((place + places - first) % places)
        pointer = dut.pick.first
        is_waiting = dut.waiting.bit_select(place, 1)
        m.d.comb += [
            Assert(~here | waits, "an error is reported that no link has"),
            Assert(age < places, "an error is not reported within 2 cycles for each channel"),
            Assert(~waits | error.valid, "no error is reported while one waits"),
            Assert(
                ~error.valid
                | (error.report.code == ErrorCode.LINK_DOWN)
                | (error.report.code == ErrorCode.LINK_RESET),
                "a code of no link",
            ),
            Assert(error.report.unowned, "a link's error belongs to a context"),
            invariant(waits == is_waiting, "waiting: differs"),
            invariant(pointer.any() & ((pointer & (pointer - 1)) == 0), "pointer: not one-hot"),
            invariant(~waits | (age + turns < places), "age: the turn is too far away"),
            Cover(age == places - 1, "an error waits as long as it can"),
            Cover(waits & here & comes, "an error comes again as it is reported"),
        ]
        return m


PROOFS = (
    Proof(
        name="error-priority-encoder",
        statement="In every cycle each context and the GPU get the kinds of all their errors and "
        "of no other owner's, whatever else occurs, and the report of an error of the rarest "
        "group",
        blocks=(ErrorPriorityEncoder,),
        harness=EncoderHarness,
        geometry="2 contexts; 2 errors of each context's unit, 1 of issue acknowledgements, 2 each "
        "of banks, stores and packets, 1 of links",
        reason="the proof depends on no width",
        depth=2,
        cover_depth=4,
    ),
    Proof(
        name="error-log",
        statement="Every kind is counted in the cycle after each cycle in which it occurs, up to "
        "the most; the log takes a report whenever it has a place, and the last two places are for "
        "errors other than those of stores and packets",
        blocks=(ErrorLog,),
        harness=LogHarness,
        geometry="2 counted kinds",
        reason="the proof depends on no width",
        depth=2,
        cover_depth=12,
    ),
    Proof(
        name="link-errors",
        statement="An error of a link is reported within 2 cycles for each channel, whatever other "
        "links report, and only once; while one waits, an error is reported in every cycle",
        blocks=(LinkErrors,),
        harness=LinkErrorsHarness,
        geometry="2 channels",
        reason="a pointer that goes round is proven for one number of channels",
        depth=2,
        cover_depth=8,
    ),
)
