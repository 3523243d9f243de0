"""Outputs of the hardware, except for the outputs of the channels."""

from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.engine.ports import CHANNEL_OUTPUTS, CONTEXT_OUTPUTS, H, K
from sysmodel.lib.compiled import inlined

from .index import natural
from .records import Words
from .registers.interrupts import interrupts
from .registers.words import F, get_field
from .state import GoldenState

__all__ = ["write_units"]


@inlined
def _write_gpu(s: GoldenState, outputs: Words, h: int) -> None:
    """Write the outputs of the bus and of the GPU's interrupt."""
    bus = s.gpu.bus
    outputs[h + H.bus_awready] = not bus.aw_full
    outputs[h + H.bus_wready] = not bus.w_full
    outputs[h + H.bus_bresp] = bus.b_resp
    outputs[h + H.bus_bvalid] = bus.b_valid
    outputs[h + H.bus_arready] = not bus.ar_full
    outputs[h + H.bus_rdata] = bus.r_data
    outputs[h + H.bus_rresp] = bus.r_resp
    outputs[h + H.bus_rvalid] = bus.r_valid
    outputs[h + H.irq] = interrupts(s.registers, GLOBAL)
    outputs[h + H.link_off] = get_field(s.registers[GLOBAL], F.LINK_OFF_links)


@inlined
def _write_context(s: GoldenState, context: int, outputs: Words, k: int) -> None:
    """Write the outputs of a context."""
    own = s.contexts[context]
    outputs[k + K.credit_limit_out] = own.window.credit_limit
    outputs[k + K.generation] = own.external.own_generation
    outputs[k + K.aborted] = own.external.own_aborted
    outputs[k + K.dispatch_limit] = own.range_limits.dispatch_limit
    outputs[k + K.tiles] = own.trigger.tiles
    outputs[k + K.done] = own.window.done
    outputs[k + K.idle] = own.status.idle
    outputs[k + K.irq] = interrupts(s.registers, CONTEXT + context)


@inlined
def write_units(s: GoldenState, outputs: Words) -> None:
    """Write the outputs of the next cycle."""
    h = natural(s.config.channels * CHANNEL_OUTPUTS)
    _write_gpu(s, outputs, h)
    for context in range(s.config.contexts):
        _write_context(s, context, outputs, h + natural(context * CONTEXT_OUTPUTS))
