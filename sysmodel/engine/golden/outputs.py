"""What the hardware shows at its ports, but for those of the channels."""

from rtl.registers.map import CONTEXT, GLOBAL
from sysmodel.engine.ports import CHANNEL_OUTPUTS, CONTEXT_OUTPUTS, H, K
from sysmodel.lib.compiled import inlined

from .errors import interrupts
from .queues import natural

__all__ = ["write_units"]


@inlined
def _write_gpu(s, outputs, h):
    bus = s.gpu.bus
    outputs[h + H.bus_awready] = not bus.aw_full
    outputs[h + H.bus_wready] = not bus.w_full
    outputs[h + H.bus_bresp] = bus.b_resp
    outputs[h + H.bus_bvalid] = bus.b_valid
    outputs[h + H.bus_arready] = not bus.ar_full
    outputs[h + H.bus_rdata] = bus.r_data
    outputs[h + H.bus_rresp] = bus.r_resp
    outputs[h + H.bus_rvalid] = bus.r_valid
    outputs[h + H.irq] = interrupts(s, GLOBAL)


@inlined
def _write_context(s, context, outputs, k):
    own = s.contexts[context]
    outputs[k + K.credit_limit_out] = own.credit_limit
    outputs[k + K.generation] = own.told_generation
    outputs[k + K.aborted] = own.given_up
    outputs[k + K.dispatch_limit] = own.dispatch_limit
    outputs[k + K.tiles] = own.tiles
    outputs[k + K.done] = own.done
    outputs[k + K.idle] = own.idle
    outputs[k + K.irq] = interrupts(s, CONTEXT + context)


@inlined
def write_units(s, outputs):
    """All of them, of the next cycle."""
    h = natural(s.config.channels * CHANNEL_OUTPUTS)
    _write_gpu(s, outputs, h)
    for context in range(s.config.contexts):
        _write_context(s, context, outputs, h + natural(context * CONTEXT_OUTPUTS))
