"""Machine whose GPUs step RTL and golden model together and compare every output."""

import numpy as np
from numba import carray, types

from rtl.parameters import T3Parameters
from sysmodel.engine.golden.engine import GoldenEngine
from sysmodel.engine.native.call import call_step
from sysmodel.engine.native.engine import Engine
from sysmodel.engine.ports import CHANNEL_OUTPUTS, CONTEXT_OUTPUTS, H, K, O, output_words
from sysmodel.lib.compiled import cached_cfunc
from sysmodel.machine.machine import Machine

__all__ = ["Lockstep", "LockstepMachine"]

# Words at the start of the step function's block. The valid word of each output follows, then the
# golden model's outputs.
(
    RTL_STEP, RTL, GOLDEN_STEP, GOLDEN, WORDS, CYCLES, DIFFERENCES, FIRST_CYCLE, FIRST_WORD, APART
) = range(10)  # fmt: skip
HEADER = 10


@cached_cfunc(
    types.uint64(
        types.CPointer(types.int64), types.CPointer(types.uint64), types.CPointer(types.uint64)
    ),
)
def _step(pointer, inputs, outputs):
    block = carray(pointer, HEADER)
    words = block[WORDS]
    whole = carray(pointer, HEADER + 2 * words)
    valid = whole[HEADER : HEADER + words]
    golden = whole[HEADER + words :].view(np.uint64)
    rtl = carray(outputs, words)
    given = carray(inputs, 1)
    active = call_step(block[RTL_STEP], block[RTL], given.ctypes.data, rtl.ctypes.data)
    ours = call_step(block[GOLDEN_STEP], block[GOLDEN], given.ctypes.data, golden.ctypes.data)
    block[APART] += (active != 0) != (ours != 0)
    for i in range(words):
        # A stream's payload counts only while it is valid.
        if rtl[i] != golden[i] and (valid[i] < 0 or rtl[valid[i]] or golden[valid[i]]):
            if block[DIFFERENCES] == 0:
                block[FIRST_CYCLE] = block[CYCLES]
                block[FIRST_WORD] = i
            block[DIFFERENCES] += 1
    block[CYCLES] += 1
    return 1  # every cycle is compared


def _names(p: T3Parameters) -> list[str]:
    channels = [f"channel {c}: {name}" for c in range(p.channels) for name in O._fields]
    contexts = [f"context {c}: {name}" for c in range(p.contexts) for name in K._fields]
    return [*channels, *H._fields, *contexts]


def _valid_words(p: T3Parameters) -> list[int]:
    """Return for each output the word that must be set for it to count, or -1."""
    words = []
    for c in range(p.channels):
        for name in O._fields:
            streams = ("link_out", "dram", "nmc_out")
            stream = next((s for s in streams if name.startswith(s)), None)
            if name == "link_owner":
                stream = "link_out"
            handshake = name.endswith(("_valid", "_ready"))
            counted = stream is not None and not handshake
            words.append(c * CHANNEL_OUTPUTS + getattr(O, f"{stream}_valid") if counted else -1)
    for name in H._fields:
        gate = {"bus_bresp": "bus_bvalid", "bus_rdata": "bus_rvalid", "bus_rresp": "bus_rvalid"}
        at = p.channels * CHANNEL_OUTPUTS
        words.append(at + getattr(H, gate[name]) if name in gate else -1)
    return [*words, *[-1] * (p.contexts * CONTEXT_OUTPUTS)]


class Lockstep:
    """Engine of a :class:`~sysmodel.machine.machine.Machine`: the RTL with the golden model beside
    it."""

    def __init__(self, parameters):
        self._rtl, self._golden = Engine(parameters), GoldenEngine(parameters)
        self._clocked: dict[str, int] = {}
        words = output_words(parameters)
        self._names = _names(parameters)
        header = [self._rtl.step_address, self._rtl.handle]
        header += [self._golden.step_address, self._golden.handle, words, *[0] * 5]
        valid = _valid_words(parameters)
        self._block = np.array([*header, *valid, *[0] * words], np.int64)
        self.handle, self.step_address = self._block.ctypes.data, _step.address

    def reset(self, outputs: np.ndarray) -> None:
        self._rtl.reset(outputs)
        self._golden.reset(self._block[HEADER + len(outputs) :].view(np.uint64))

    @property
    def cycles(self) -> int:
        return int(self._block[CYCLES])

    @property
    def clocked(self) -> dict[str, int]:
        """Clocked cycles of the RTL, also when it is closed."""
        return self._rtl.clocked if self._rtl.handle else self._clocked

    def require_agreement(self) -> None:
        assert self.cycles > 0
        word = self._names[self._block[FIRST_WORD]]
        assert self._block[DIFFERENCES] == 0, f"{word} in cycle {self._block[FIRST_CYCLE]}"
        assert self._block[APART] == 0, "cycles in which only one engine was active"
        ours = {kind: cycles for kind, cycles in self._golden.clocked.items() if cycles}
        assert ours == {kind: cycles for kind, cycles in self.clocked.items() if cycles}

    def __enter__(self) -> "Lockstep":
        return self

    def __exit__(self, *exception: object) -> None:
        self._clocked = self._rtl.clocked
        self._rtl.close()


class LockstepMachine(Machine):
    """Machine in which each GPU has both engines."""

    def __init__(self, *arguments, **options):
        self.locksteps: list[Lockstep] = []
        super().__init__(*arguments, engine="both", **options)

    def _engine(self, engine, parameters, trace, progress):
        self.locksteps.append(Lockstep(parameters))
        return self.locksteps[-1]

    def require_agreement(self) -> int:
        """Fail at the first difference; return the number of compared cycles."""
        for one in self.locksteps:
            one.require_agreement()
        return sum(one.cycles for one in self.locksteps)
