"""Golden DMA engine behind the ports of the RTL's."""

from collections.abc import Mapping, Sequence

import numpy as np

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.dma.copies import pop_copy, push_copy
from sysmodel.engine.golden.dma.engine import engine_is_idle, needs_tables, step_engine
from sysmodel.engine.golden.dma.lane import SEGMENTS
from sysmodel.engine.golden.payloads import COPY, READY
from tb.dma_engine.points import StepResult, Walk, step_result
from tb.golden import golden_state, put

__all__ = ["Model"]


class Model:
    """The engine, with the payloads at its ports in one cycle."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        self.own = self.state.contexts[0]
        self._engine, self._copies = self.own["engine"], self.own["copies"]

    busy = property(lambda self: not engine_is_idle(self._engine))
    tables_free = property(lambda self: not needs_tables(self._engine))
    region = property(lambda self: self._engine["region"])

    def step(
        self,
        ready: Mapping[str, int] | None,
        copy: Mapping[str, int] | None,
        spaces: Sequence[bool],
        credit_limit_in: int,
        *,
        aborting: bool = False,
    ) -> StepResult:
        """Move on by one cycle with these payloads, and space in these lanes."""
        command, given = np.zeros(1, READY)[0], np.zeros(1, COPY)[0]
        put(command, ready or {})
        while self._copies["copies_level"]:
            pop_copy(self._copies)
        if copy:
            put(given["command"], copy["command"])
            put(given["region"], copy["region"])
            push_copy(self._copies, given["command"], given["region"], copy["start"])
        self.own["aborted"] = aborting
        lanes = self.state.channels["lanes"][:, 0]
        lanes["segments_level"] = [0 if space else SEGMENTS for space in spaces]
        lanes["segments_pushed"] = lanes["segments_head"] = 0
        before = Walk(self._engine)
        done = step_engine(self.state, 0, ready is not None, command, credit_limit_in)
        copied = copy is not None and not self._copies["copies_level"]
        return step_result(before, self._engine, done, copied, lanes, aborting)
