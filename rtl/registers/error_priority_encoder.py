"""Error priority encoder: finds the errors of each context and of the GPU."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import ErrorCode
from rtl.interface.signatures import ErrorSignature, OwnErrorsSignature
from rtl.lib.select import one_hot_first, one_hot_select
from rtl.parameters import T3Parameters

__all__ = ["ErrorPriorityEncoder"]

_Codes = Sequence[Sequence[ErrorCode]]


class ErrorPriorityEncoder(wiring.Component):
    """Error priority encoder: collects, for each owner, the kinds of all errors of a cycle and the
    report of the rarest error.

    A context owns the errors of its unit, of issue acknowledgements, banks, stores and packets, in
    this order; the GPU owns those of links, and of packets without a context. In each group the
    order is that of the ports. No error keeps the kind of another one from being collected.

    Errors of banks and units are registered first, because all other errors come from registers of
    the cycle before.

    Parameters
    ----------
    own, issue_acks, banks, stores, packets, links : sequence of sequences of ErrorCode
        For each error, the codes that it can have; ``own`` those of one context's unit.

    Members
    -------
    own : In(:class:`ErrorSignature`).array(contexts, len(own))
    issue_acks, banks, stores, packets, links : In(:class:`ErrorSignature`).array
        All but those of banks come from registers.
    contexts : Out(:class:`OwnErrorsSignature`).array(contexts)
    gpu : Out(:class:`OwnErrorsSignature`)
        Errors of no context.
    """

    def __init__(
        self,
        p: T3Parameters,
        *,
        own: _Codes,
        issue_acks: _Codes,
        banks: _Codes,
        stores: _Codes,
        packets: _Codes,
        links: _Codes,
    ):
        self._p, self._own_codes = p, own
        self._codes = {
            "links": links,
            "issue_acks": issue_acks,
            "banks": banks,
            "stores": stores,
            "packets": packets,
        }
        error = ErrorSignature(p)
        super().__init__(
            {
                "own": In(error).array(p.contexts, len(own)),
                **{name: In(error).array(len(codes)) for name, codes in self._codes.items()},
                "contexts": Out(OwnErrorsSignature(p)).array(p.contexts),
                "gpu": Out(OwnErrorsSignature(p)),
                "clock_enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        banks, *own = (self._register(m, errors) for errors in (self.banks, *self.own))
        ports = {name: list(getattr(self, name)) for name in self._codes} | {"banks": banks}
        shared = ("issue_acks", "banks", "stores", "packets")
        for number, out in enumerate(self.contexts):
            owned = [
                error.valid & ~error.report.unowned & (error.report.owner == number)
                for name in shared
                for error in ports[name]
            ]
            valid = [error.valid for error in own[number]]
            errors = [*own[number], *(error for name in shared for error in ports[name])]
            codes = [*self._own_codes, *(one for name in shared for one in self._codes[name])]
            self._collect(m, errors, [*valid, *owned], codes, out)
        errors = [*self.links, *self.packets]
        unowned = [error.valid & error.report.unowned for error in errors]
        codes = [*self._codes["links"], *self._codes["packets"]]
        self._collect(m, errors, unowned, codes, self.gpu)
        come = [error.valid for errors in (self.banks, *self.own) for error in errors]
        came = [error.valid for errors in (banks, *own) for error in errors]
        m.d.comb += self.clock_enable.eq(Cat(come, came).any())
        return m

    def _register(self, m: Module, errors: Sequence) -> list:
        registers = [ErrorSignature(self._p).create() for _ in errors]
        for register, error in zip(registers, errors, strict=True):
            m.d.sync += register.valid.eq(error.valid)
            with m.If(error.valid):
                m.d.sync += register.report.eq(error.report)
        return registers

    def _collect(
        self, m: Module, errors: Sequence, valid: Sequence[Value], codes: _Codes, out
    ) -> None:
        """Collect an owner's errors, the rarest first."""
        # Signals keep the expressions from being duplicated for each bit of the report.
        here, first = Signal(len(errors)), Signal(len(errors))
        kinds: dict[ErrorCode, list[Value]] = {code: [] for code in ErrorCode}
        for error, bit, possible in zip(errors, here, codes, strict=True):
            for code in possible:
                only = len(possible) == 1
                kinds[code].append(bit if only else bit & (error.report.code == code))
        m.d.comb += [
            here.eq(Cat(valid)),
            first.eq(one_hot_first(here)),
            out.valid.eq(here.any()),
            out.report.eq(one_hot_select(first, [error.report for error in errors])),
            out.kinds.eq(Cat(Cat(bits).any() if bits else Const(0, 1) for bits in kinds.values())),
        ]
