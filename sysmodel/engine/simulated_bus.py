"""Register port of a simulated GPU, clocked by its accesses, with DRAM and link around it."""

import ctypes
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from driver.python import Context, Ring
from rtl.interface.encodings import Access, Origin, PacketKind, StoreKind
from rtl.interface.timebase import TICK_CYCLES
from rtl.parameters import T3Parameters
from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    CONTEXT_INPUTS,
    G,
    H,
    I,
    J,
    O,
    input_words,
    output_words,
)

__all__ = ["SMALL", "SimulatedBus", "simulated_bus"]

SMALL = T3Parameters(
    channels=1, system_channels=1, address_bits=28, sets=8, ways=4, credit_window=16,
    command_depth=16, egress_slots=8, contexts=2,
)  # fmt: skip
"""Parameters of a small GPU, for examples."""

_ACKNOWLEDGED = ("access", "atom", "owner", "dispatch_index", "wavefront")
_ATOMS, _ATOM_BYTES = 4, 32  # atoms of a tile
_STEP = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_void_p] * 3)


class _Engine(Protocol):
    """Hardware that is simulated: the compiled RTL, or the golden model."""

    handle: Any
    step_address: int | None

    def reset(self, outputs: np.ndarray) -> None: ...


class SimulatedBus:
    """Bus of a GPU with one channel that takes everything at once, as its peers do.

    Parameters
    ----------
    p : T3Parameters
        Parameters of the hardware.
    engine : GoldenEngine or Engine
        The golden model or the compiled RTL of this hardware.

    Attributes
    ----------
    sent : list of dict
        Packets that left.
    privileged : bool
        True while the accesses are privileged.
    cycles : int
        Cycles since reset.
    """

    def __init__(self, p: T3Parameters, engine: _Engine):
        self._inputs = np.zeros(input_words(p), np.uint64)
        self._outputs = np.zeros(output_words(p), np.uint64)
        engine.reset(self._outputs)
        assert engine.step_address is not None
        self._engine, self._step = engine, _STEP(engine.step_address)
        self._bus_in, self._bus_out = self._inputs[CHANNEL_INPUTS:], self._outputs[CHANNEL_OUTPUTS:]
        for context in range(p.contexts):
            given = self._inputs[CHANNEL_INPUTS + context * CONTEXT_INPUTS :]
            limits = J.credit_limit_in_0 + np.arange(p.peers)
            given[limits] = given[J.dispatched] = given[J.finished] = 1 << 16
        self._inputs[[I.dram_ready, I.link_out_ready]] = 1
        self._contexts, self._tile_atom_bits = p.contexts, p.tile_atom_bits
        self._generations_in = J.generation_in_0 + np.arange(p.peers)
        self.stop_link(())
        self._acks: list[dict[str, Any]] = []
        self._returns: list[dict[str, Any]] = []
        self._stores: list[dict[str, Any]] = []
        self._packets: list[dict[str, Any]] = []
        self.sent: list[dict[str, int]] = []
        self.privileged, self.cycles = True, 0

    def write(self, address: int, word: int) -> bool:
        """Write a word, with all handshakes; return False if the bus reports an error."""
        bus, out = self._bus_in, self._bus_out
        bus[[G.bus_awvalid, G.bus_wvalid, G.bus_bready]] = 1
        bus[G.bus_awaddr], bus[G.bus_wdata], bus[G.bus_wstrb] = address, word, 15
        bus[G.bus_awprot] = self.privileged
        self.cycle()  # an idle port takes address and data at once
        bus[[G.bus_awvalid, G.bus_wvalid]] = 0
        while not out[H.bus_bvalid]:
            self.cycle()
        okay = out[H.bus_bresp] == 0
        self.cycle()
        return bool(okay)

    def read(self, address: int) -> int:
        """Read a word, with all handshakes.

        Raises
        ------
        ValueError
            If there is no register at the address.
        """
        bus, out = self._bus_in, self._bus_out
        bus[[G.bus_arvalid, G.bus_rready]] = 1
        bus[G.bus_araddr], bus[G.bus_arprot] = address, self.privileged
        self.cycle()
        bus[G.bus_arvalid] = 0
        while not out[H.bus_rvalid]:
            self.cycle()
        if out[H.bus_rresp]:
            raise ValueError(f"there is no register at address {address:#x}")
        word = int(out[H.bus_rdata])
        self.cycle()
        return word

    def stop_link(self, contexts: Iterable[int]) -> None:
        """Block the packets of these contexts from now on."""
        others = set(range(self._contexts)) - set(contexts)
        self._inputs[I.link_space] = sum(1 << context for context in others)

    def store(self, **fields: int) -> None:
        """Offer a store of a compute unit, after those that were offered before."""
        self._stores.append({"kind": StoreKind.STORE.value, **fields})

    def packet(self, **fields: int) -> None:
        """Offer a packet from the link, after those that were offered before."""
        self._packets.append({"kind": PacketKind.UPDATE.value, **fields})

    def play(
        self,
        ring: Ring,
        number: int,
        space: int,
        base_bytes: int,
        *,
        generation: int | None = None,
        workgroups: int | None = None,
    ) -> None:
        """Offer the stores of a kernel in dispatch order, and the packets of the peer of rank 0.

        Each workgroup has a tile of two rows of two atoms, eight atoms apart; the tiles begin 100
        atoms apart.

        Parameters
        ----------
        ring : Ring
            Part of the GPU in the ring.
        number, space : int
            Number of the context, and its address space.
        base_bytes : int
            Address of the first tile.
        generation : int or None
            Generation of the kernel; None: that of the ring.
        workgroups : int or None
            Workgroups that store before the kernel hangs; None: all.
        """
        generation = ring.generation if generation is None else generation
        given = self._inputs[CHANNEL_INPUTS + number * CONTEXT_INPUTS :]
        given[self._generations_in] = given[J.kernel_generation] = generation
        for index in range(ring.workgroups if workgroups is None else workgroups):
            of_tile = {"context": space, "generation": generation}
            for atom in range(_ATOMS):
                of_tile["atom"] = base_bytes // _ATOM_BYTES + 100 * index + atom % 2 + atom // 2 * 8
                self.store(**of_tile, dispatch_index=index)
                if index >= ring.leaving:
                    self.packet(**of_tile, slot=index)
            end = {"kind": StoreKind.END_OF_TILE.value, "tile_atoms": _ATOMS, "shares": 1}
            self.store(**of_tile | end, dispatch_index=index)
            if index >= ring.leaving:
                marker = _ATOMS | 1 << self._tile_atom_bits + 2
                end = {"kind": PacketKind.END.value, "atom": marker}
                self.packet(**of_tile | end, slot=index)

    def cycle(self) -> None:
        """Simulate one cycle."""
        inputs, outputs = self._inputs, self._outputs
        self._bus_in[G.tick] = self.cycles % TICK_CYCLES == 0
        self.cycles += 1
        self._offer("stores", self._stores)
        self._offer("link_in", self._packets)
        self._offer("issue_acks", self._acks)
        self._offer("returns", self._returns)
        if outputs[O.link_out_valid]:
            names = ("destination", "kind", "atom", "generation", "slot")
            packet = {name: int(outputs[getattr(O, f"link_out_{name}")]) for name in names}
            self.sent.append(packet | {"owner": int(outputs[O.link_owner])})
        if outputs[O.dram_valid]:
            communication = outputs[O.dram_origin] == Origin.COMMUNICATION.value
            if outputs[O.dram_access] == Access.READ.value:
                self._returns.append({"slot": outputs[O.dram_tag]})
            elif communication or outputs[O.dram_access] == Access.UPDATE.value:
                update = {name: outputs[getattr(O, f"dram_{name}")] for name in _ACKNOWLEDGED}
                self._acks.append(update)
        self._step(self._engine.handle, inputs.ctypes.data, outputs.ctypes.data)

    def _offer(self, stream: str, waiting: list[dict[str, Any]]) -> None:
        """Offer the oldest payload, which leaves if it is taken."""
        inputs = self._inputs
        inputs[getattr(I, f"{stream}_valid")] = bool(waiting)
        if not waiting:
            return
        for name in I._fields:
            if name.startswith(f"{stream}_") and name != f"{stream}_valid":
                inputs[getattr(I, name)] = waiting[0].get(name.removeprefix(f"{stream}_"), 0)
        if self._outputs[getattr(O, f"{stream}_ready")]:
            waiting.pop(0)


@contextmanager
def simulated_bus(p: T3Parameters = SMALL) -> Iterator[SimulatedBus]:
    """Simulate a GPU by the golden model, and provide its bus once the hardware's reset has ended.

    Parameters
    ----------
    p : T3Parameters
        Parameters of the hardware, with one channel.
    """
    from .golden.engine import GoldenEngine  # compiles the golden model

    with GoldenEngine(p) as engine:
        bus = SimulatedBus(p, engine)
        while any(Context(bus, number).status["aborting"] for number in range(p.contexts)):
            pass  # each read takes cycles
        yield bus
