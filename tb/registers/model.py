"""Golden registers behind the ports of the RTL's register port."""

from collections.abc import Mapping, Sequence

import numpy as np

from rtl.parameters import T3Parameters
from rtl.registers.map import CONTEXT, GLOBAL, PAGE_BITS
from sysmodel.engine.golden.context.unit import end_context
from sysmodel.engine.golden.dma.copies import pop_copy
from sysmodel.engine.golden.registers.bus import respond, step_bus
from sysmodel.engine.golden.registers.errors import error, place_of
from sysmodel.engine.golden.registers.interrupts import step_context_page, step_global_page
from sysmodel.engine.golden.registers.launch import ABORT, step_launch, take_strobes
from sysmodel.engine.golden.registers.words import R
from sysmodel.engine.golden.registers.write import write_register
from sysmodel.engine.golden.scrub import step_scrubber
from sysmodel.engine.ports import GPU_INPUTS, G
from tb.golden import golden_state

__all__ = ["Model"]


class Model:
    """The registers, the tables and the copies of all contexts."""

    def __init__(self, p: T3Parameters):
        self.state, self._inputs = golden_state(p), np.zeros(GPU_INPUTS, np.int64)

    def bus(self) -> dict[str, int | None]:
        """Return the outputs of the bus; a response that is not offered is None."""
        bus = {name: int(self.state.gpu["bus"][name]) for name in self.state.gpu["bus"].dtype.names}
        outputs = {f"{name}ready": 1 - bus[f"{name}_full"] for name in ("aw", "w", "ar")}
        for channel, name in (("b", "resp"), ("r", "data"), ("r", "resp")):
            outputs[f"{channel}valid"] = valid = bus[f"{channel}_valid"]
            outputs[f"{channel}{name}"] = bus[f"{channel}_{name}"] if valid else None
        return outputs

    def _report(self, page: int, failure: Mapping[str, int] | None) -> None:
        """Report an error to the log of a page."""
        log = self.state.logs[page]
        log["failure"] = log["failure_place"] = 0
        if failure:
            names = ("code", "owner", "dispatch_index", "wavefront")
            log["failure"] = error(*(failure[name] for name in names))
            names = ("atom", "source", "channel", "unowned")
            log["failure_place"] = place_of(*(failure[name] for name in names))

    def _step_context(
        self, context: int, status: Mapping[str, int], copies: int
    ) -> tuple[bool, bool, bool]:
        """Move a context on by one cycle; return whether the context was in use, whether a launch
        waited, and whether the context was aborted, at the cycle's start."""
        own = self.state.contexts[context]
        control = own["control"]
        own["cycle"]["strobes_on"] = strobes = int(take_strobes(control))
        aborts, before = strobes & ABORT != 0, control.copy()
        pending, aborted = bool(before["pending"]), bool(before["aborting"]) or aborts
        signals = (bool(status[name]) for name in ("done", "launch_drained", "drained", "clearing"))
        end_context(self.state, context, step_launch(control, aborts, *signals))
        ended = bool(control["launches_done"] != before["launches_done"])
        idle, sent = bool(status["idle"]), bool(status["dma_idle"])
        step_context_page(self.state, context, strobes, idle, sent, ended, copies)
        return bool(before["running"]) or pending or aborted, pending, aborted

    def step(
        self,
        bus: Mapping[str, int],
        corrected: int,
        armed: bool,
        scrub_corrected: int,
        statuses: Sequence[Mapping[str, int]],
        failures: Sequence[Mapping[str, int] | None],
        takes: Sequence[bool],
    ) -> None:
        """Move on by one cycle with these values of the ports: absent inputs of the bus are 0;
        ``failures`` are the contexts' and then the global one; ``takes``: a context's copy is
        taken if one is offered."""
        state, gpu = self.state, self.state.gpu
        for context, (own, status) in enumerate(zip(state.contexts, statuses, strict=True)):
            for name in ("done", "oldest", "credit_limit"):
                own["window"][name] = status[name]
            own["trigger"]["tiles"], own["status"]["idle"] = status["tiles"], status["idle"]
            self._report(CONTEXT + context, failures[context])
        self._report(GLOBAL, failures[-1])
        registers = state.registers["contents"][GLOBAL]
        registers[R.CORRECTED], registers[R.SCRUB_CORRECTED] = corrected, scrub_corrected
        gpu["injection"]["strobe"], gpu["injection"]["armed_shown"] = 0, armed
        self._inputs[:] = 0
        for name, value in bus.items():
            self._inputs[getattr(G, f"bus_{name}")] = value
        acts, copies = step_bus(state, self._inputs, 0), state.contexts["copies"]["copies_level"]
        waiting, contexts = copies.tolist(), np.zeros(3, np.int64)
        for context, status in enumerate(statuses):
            contexts |= np.array(self._step_context(context, status, waiting[context])) << context
            if takes[context] and waiting[context]:
                pop_copy(state.contexts[context]["copies"])
        step_global_page(state)
        step_scrubber(gpu["scrubber"], state.registers)
        if acts:
            port = [int(gpu["bus"][name]) for name in ("awaddr", "wstrb", "privileged", "wdata")]
            written = (port[0] >> PAGE_BITS) - CONTEXT
            copied = waiting[written] if 0 <= written < len(waiting) else 0
            response = write_register(state, *port, copied, *contexts.tolist())
            respond(gpu["bus"], response)
