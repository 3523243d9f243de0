"""Random inputs for a compiled component, and the same inputs for Amaranth's simulator."""

import numpy as np
from amaranth.hdl import Cat
from amaranth.sim import Simulator

from sysmodel.engine.native import call_step
from sysmodel.engine.native.flatten import Flat
from sysmodel.lib.compiled import cached_njit

__all__ = ["random_inputs", "run_simulator", "steps"]


@cached_njit()
def steps(address, handle, inputs, outputs):
    """Step through the rows of inputs; write the outputs after each edge."""
    for row in range(len(inputs)):
        call_step(address, handle, inputs[row].ctypes.data, outputs[row].ctypes.data)


def random_inputs(words, cycles: int, length: int, seed: int) -> np.ndarray:
    """Return random inputs; inputs of one bit are set three times out of four."""
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    inputs = random.integers(0, 1 << 64, (cycles, length), np.uint64)
    for word in words:
        if word.direction == "in" and word.width == 1:
            inputs[:, word.index] = random.random(cycles) < 0.75
    return inputs


def run_simulator(component, words, inputs: np.ndarray, length: int) -> np.ndarray:
    """Return the outputs of Amaranth's simulator after power-up and after each edge."""
    flat = Flat(component, words)
    # As one value each way: the simulator settles after every single change.
    driven = Cat(getattr(flat, word.name) for word in flat.inputs)
    seen = Cat(getattr(flat, word.name) for word in flat.outputs)
    outputs = np.zeros((len(inputs) + 1, length), np.uint64)

    def pack(values):
        packed = position = 0
        for word in flat.inputs:
            packed |= (int(values[word.index]) & (1 << word.width) - 1) << position
            position += word.width
        return packed

    def unpack(packed, row):
        for word in flat.outputs:
            outputs[row, word.index] = packed & (1 << word.width) - 1
            packed >>= word.width

    async def drive(ctx):
        unpack(ctx.get(seen), 0)
        for row, values in enumerate(inputs):
            ctx.set(driven, pack(values))
            await ctx.tick()
            unpack(ctx.get(seen), row + 1)

    simulator = Simulator(flat)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    return outputs
