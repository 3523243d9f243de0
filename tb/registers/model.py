"""Golden registers behind the ports of the RTL register port."""

from collections.abc import Mapping, Sequence

import numpy as np
from amaranth.lib import data

from rtl.interface.configuration import PeerLaunch
from rtl.parameters import T3Parameters
from sysmodel.engine.golden.context.unit import end_context, step_page
from sysmodel.engine.golden.dma.copies import pop_copy
from sysmodel.engine.golden.model import (
    begin_contexts,
    look_at_write,
    step_port,
    step_write,
)
from sysmodel.engine.golden.outputs import write_units
from sysmodel.engine.golden.registers.errors import RANK
from sysmodel.engine.golden.registers.interrupts import step_global_page
from sysmodel.engine.golden.trigger.trigger import IDLE
from sysmodel.engine.ports import CHANNEL_OUTPUTS, GPU_INPUTS, G, H, output_words
from tb.golden import bits, end_cycle, error_words, get_ports, golden_state, set_ports

__all__ = ["Model"]

# Record and field of each status, as the blocks behind the registers have it.
_STATUS = {name: ("window", name) for name in ("done", "oldest", "credit_limit")}
_STATUS |= {"reports": ("window", "report_due")}
_STATUS |= {name: ("status", name) for name in ("idle", "drained")}
_STATUS |= {"dma_idle": ("status", "dma_done"), "tiles": ("trigger", "tiles")}
_Ports = Sequence[Mapping[str, int]]


class Model:
    """Golden registers, tables and copies of all contexts."""

    def __init__(self, p: T3Parameters):
        self.state, self._inputs = golden_state(p), np.zeros(GPU_INPUTS, np.int64)
        self._outputs, self._at = np.zeros(output_words(p), np.int64), p.channels * CHANNEL_OUTPUTS
        self.state.contexts["trigger"]["state"], self.state.banks["clearing"] = IDLE, 0

    def bus(self) -> dict[str, int]:
        """Return the outputs of the bus."""
        write_units(self.state, self._outputs)
        names = [name for name in H._fields if name.startswith("bus_")]
        values = get_ports(self._outputs[self._at :], H, names)
        return {name[len("bus_") :]: value for name, value in zip(names, values, strict=True)}

    def step(self, bus: Mapping[str, int], statuses: _Ports, errors: _Ports, takes: list[bool]):
        """Advance by one cycle with these values of the ports: absent inputs of the bus are 0;
        ``errors`` are the GPU's and then the contexts', with ``kinds`` and ``frequent``: the error
        comes from a store or a packet; ``takes``: a context's copy is taken if one is offered."""
        state, contexts = self.state, self.state.contexts
        for name, (block, field) in _STATUS.items():
            contexts[block][field] = [status[name] for status in statuses]
        peers = int(state.config["peers"])
        launches = data.ArrayLayout(PeerLaunch(), peers)
        for own, status in zip(contexts, statuses, strict=True):
            seen = launches.from_bits(status["peer_launches"])
            for index in range(peers):
                own["peer_status"][index]["now_admits"] = seen[index].admits
                own["peer_status"][index]["now_generation"] = seen[index].generation
        # Finished workgroups: more than any launch has if the last launch is drained, else -1.
        contexts["external"]["finished"] = [(one["launch_drained"] << 32) - 1 for one in statuses]
        state.banks["clear_pending"] = bits(status["clearing"] for status in statuses)
        for log, failure in zip(state.logs, errors, strict=True):
            log["failure"], log["failure_place"] = error_words(failure)
            log["failure_rank"] = RANK.packet if failure and failure["frequent"] else RANK.bank
            log["kinds"] = failure["kinds"] if failure else 0
        set_ports(self._inputs, G, {f"bus_{name}": value for name, value in bus.items()})
        acts = step_port(state, self._inputs, 0)
        begins, busy, pending, aborted, *_ = begin_contexts(state, acts)
        foreign, fixed = look_at_write(state) if acts else (False, False)
        for context, own in enumerate(contexts):
            step_page(state, context)
            end_context(state, context, begins >> context & 1 != 0)
            if takes[context] and own["cycle"]["copies_before"]:
                pop_copy(own["copies"])
        step_global_page(state)
        end_cycle(state)
        if acts:
            step_write(state, busy, pending, aborted, foreign, fixed)
