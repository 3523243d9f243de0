"""Golden DMA engine behind the ports of the RTL engine."""

from collections.abc import Mapping, Sequence

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.dma.engine import MARK, WALK, engine_is_idle, needs_tables, step_engine
from sysmodel.engine.golden.dma.lane import SEGMENTS
from sysmodel.engine.golden.payloads.layouts import READY
from tb.dma_engine.points import StepResult, Walk, step_result
from tb.golden import golden_state, payload, put

__all__ = ["Model"]


class Model:
    """Golden DMA engine, with the payloads at its ports in one cycle."""

    def __init__(self, p: T3Parameters):
        self.state = golden_state(p)
        self.own, self.engine = self.state.contexts[0], self.state.contexts[0]["engine"]

    busy = property(lambda self: not engine_is_idle(self.engine))
    walking = property(lambda self: self.engine["mode"] == WALK)
    marking = property(lambda self: self.engine["mode"] == MARK)
    tables_free = property(lambda self: not needs_tables(self.engine))

    def step(
        self, ready: Mapping | None, copy: Mapping | None, spaces: Sequence, limits: Sequence[int]
    ) -> StepResult:
        """Advance by one cycle with these payloads, limits of the ranges, and space in these
        lanes.
        """
        self.state.limits[0] = limits
        copies, lanes = self.own["copies"], self.state.channels["lanes"][:, 0]
        copies["copies_level"] = copy is not None
        put(copies["copies"][copies["copies_head"]], copy or {})
        lanes["segments_level"] = [0 if space else SEGMENTS for space in spaces]
        lanes["segments_pushed"] = lanes["segments_head"] = 0
        before, command = Walk(self.engine, len(lanes)), payload(READY, ready)
        done = step_engine(self.state, 0, ready is not None, command)
        copied = copy is not None and not copies["copies_level"]
        return step_result(before, self.engine, done, copied, lanes, self.own["aborted"])
