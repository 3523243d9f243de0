"""The register port of a simulated GPU, clocked by its accesses, with DRAM and link around it."""

import ctypes

import numpy as np

from rtl.interface.encodings import Access, Origin, PacketKind, StoreKind
from rtl.interface.timebase import TICK_CYCLES
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

__all__ = ["SimulatedBus"]

_ACKNOWLEDGED = ("access", "atom", "owner", "dispatch_index", "wavefront")
_ATOMS = 4  # atoms of a tile
_STEP = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_void_p] * 3)


class SimulatedBus:
    """Bus of a GPU with one channel that takes everything at once, as its neighbour does.

    ``engine`` is the compiled RTL or the golden model of the hardware with parameters ``p``.

    Attributes
    ----------
    sent : list of dict
        Packets that left.
    privileged : bool
        True while the writes are privileged.
    cycles : int
        Cycles since reset.
    """

    def __init__(self, p, engine):
        self._inputs = np.zeros(input_words(p), np.uint64)
        self._outputs = np.zeros(output_words(p), np.uint64)
        engine.reset(self._outputs)
        self._engine, self._step = engine, _STEP(engine.step_address)
        self._bus_in, self._bus_out = self._inputs[CHANNEL_INPUTS:], self._outputs[CHANNEL_OUTPUTS:]
        for context in range(p.contexts):
            given = self._inputs[CHANNEL_INPUTS + context * CONTEXT_INPUTS :]
            given[J.credit_limit_in] = given[J.dispatched] = given[J.finished] = 1 << 16
        self._inputs[[I.dram_ready, I.link_out_ready]] = 1
        self._contexts = p.contexts
        self.stop_link(())
        self._acks, self._returns, self._stores, self._packets = [], [], [], []
        self.sent, self.privileged, self.cycles = [], True, 0

    def write(self, address, word):
        bus, out = self._bus_in, self._bus_out
        bus[[G.bus_awvalid, G.bus_wvalid, G.bus_bready]] = 1
        bus[G.bus_awaddr], bus[G.bus_wdata], bus[G.bus_wstrb] = address, word, 15
        bus[G.bus_awprot] = self.privileged
        assert out[H.bus_awready] and out[H.bus_wready]
        self.cycle()
        bus[[G.bus_awvalid, G.bus_wvalid]] = 0
        while not out[H.bus_bvalid]:
            self.cycle()
        okay = out[H.bus_bresp] == 0
        self.cycle()
        return bool(okay)

    def read(self, address):
        bus, out = self._bus_in, self._bus_out
        bus[[G.bus_arvalid, G.bus_rready]] = 1
        bus[G.bus_araddr] = address
        self.cycle()
        bus[G.bus_arvalid] = 0
        while not out[H.bus_rvalid]:
            self.cycle()
        assert out[H.bus_rresp] == 0
        word = int(out[H.bus_rdata])
        self.cycle()
        return word

    def stop_link(self, contexts):
        """Block the packets of these contexts from now on."""
        others = set(range(self._contexts)) - set(contexts)
        self._inputs[I.link_space] = sum(1 << context for context in others)

    def store(self, **fields):
        self._stores.append({"kind": StoreKind.STORE.value, **fields})

    def packet(self, **fields):
        self._packets.append({"kind": PacketKind.UPDATE.value, **fields})

    def play(self, ring, number, context, base, *, generation=5, workgroups=None):
        """Offer the kernel's stores in dispatch order, and the neighbour's updates."""
        given = self._inputs[CHANNEL_INPUTS + number * CONTEXT_INPUTS :]
        given[[J.generation_in, J.kernel_generation]] = generation
        for index in range(ring.workgroups if workgroups is None else workgroups):
            workgroup = (ring.first_workgroup + index) % ring.workgroups
            of_tile = {"context": context, "generation": generation, "workgroup": workgroup}
            for atom in range(_ATOMS):
                of_tile["atom"] = base + 100 * workgroup + atom % 2 + atom // 2 * 8
                self.store(**of_tile)
                if index >= ring.leaving:
                    self.packet(**of_tile)
            self.store(**of_tile | {"kind": StoreKind.END_OF_TILE.value, "tile_atoms": _ATOMS})

    def cycle(self):
        inputs, outputs = self._inputs, self._outputs
        self._bus_in[G.tick] = self.cycles % TICK_CYCLES == 0
        self.cycles += 1
        self._offer("stores", self._stores)
        self._offer("link_in", self._packets)
        self._offer("issue_acks", self._acks)
        self._offer("returns", self._returns)
        if outputs[O.link_out_valid]:
            names = ("kind", "atom", "generation", "workgroup")
            packet = {name: int(outputs[getattr(O, f"link_out_{name}")]) for name in names}
            self.sent.append(packet | {"owner": int(outputs[O.link_owner])})
        if outputs[O.dram_valid]:
            communication = outputs[O.dram_origin] == Origin.COMMUNICATION.value
            if outputs[O.dram_access] == Access.READ.value:
                self._returns.append({"slot": outputs[O.dram_tag]})
            elif communication or outputs[O.dram_access] == Access.UPDATE.value:
                names = _ACKNOWLEDGED
                self._acks.append({name: outputs[getattr(O, f"dram_{name}")] for name in names})
        self._step(self._engine.handle, inputs.ctypes.data, outputs.ctypes.data)

    def _offer(self, stream, waiting):
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
