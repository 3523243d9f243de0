"""Stimulus of the top in which one of two tenants, and the neighbours, attack the other tenant, and
T3 is reset in mid-run.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rtl.interface.encodings import PacketKind
from rtl.registers import map as register_map
from sysmodel.engine.ports import (
    CHANNEL_INPUTS,
    CHANNEL_OUTPUTS,
    CONTEXT_INPUTS,
    CONTEXT_OUTPUTS,
    G,
    I,
    J,
    K,
    O,
)
from tb.top.host import Host, Kernel
from tb.top.reprogramming import Reprogramming
from tb.top.traffic import Traffic, of_peers
from tests.support.lockstep_contexts import P, kernels

__all__ = ["ATTACKER", "VICTIM", "Attack", "generation_of"]

MAP = register_map.load()
VICTIM, ATTACKER = 0, 1
UNANSWERED_CYCLES = 60  # in front of a reset, so that the memory owes answers when the reset comes
ABORT_CYCLES = 40


def generation_of(session: int) -> int:
    """Return the generation of both tenants' first launch after this number of resets; it is never
    that after a reset, and differs from that of the session before."""
    return (5 + 6 * session) % 16


class Operations:
    """Writes of the attacker: launches, aborts and tables of its own, and any value to any register
    of its page and of the GPU's; in a storm mostly launches, one after the other, and aborts."""

    def __init__(self, rng: np.random.Generator, kernel: Kernel, storm: bool):
        self._rng, self._storm = rng, storm
        self._sensible = Reprogramming(rng, P, kernel)
        self._addresses = [register.address_in(ATTACKER) for register in MAP.values()]
        self._generation = kernel.generation
        self._pending: list[tuple[int, int] | None] = []

    def __call__(self) -> tuple[int, int] | None:
        rng = self._rng
        if self._storm and not self._pending and rng.random() < 0.98:
            self._pending = self._launch()
        if self._pending:
            return self._pending.pop(0)
        if rng.random() < 0.6:
            return self._sensible()
        address = self._addresses[rng.integers(0, len(self._addresses))]
        return address, int(rng.integers(0, 1 << 32))

    def _launch(self) -> list[tuple[int, int] | None]:
        """Return writes of a launch, mostly without a kernel, and sometimes its abort with a pause,
        without which the next abort would begin before this one ends."""
        rng = self._rng
        self._generation = (self._generation + 1) % 16
        empties = ("WORKGROUPS", "TRACKED_FIRST", "TRACKED_END")
        words = [
            *((name, {}) for name in empties if rng.random() < 0.1),
            ("TRACKING", {"generation": self._generation}),
            ("CONTROL", {"launch": 1}),
        ]
        aborts = rng.random() < 0.1
        if aborts:
            words.append(("CONTROL", {"abort": 1}))
        writes = [
            (MAP[name].address_in(ATTACKER), MAP[name].pack(**values)) for name, values in words
        ]
        return writes + [None] * (ABORT_CYCLES if aborts else 0)


class Privileged(Host):
    """Host that programs both tenants after a reset, and launches them once they may be launched.

    Until then it launches them again and again, which has to be refused: first because the memory
    owes answers, at last because no peer is enabled and no epoch is left.
    """

    def __init__(self, rng: np.random.Generator, programs: list[Kernel], operations: Operations):
        self._launch_writes = [word for one in programs for word in one.start()]
        writes = [word for one in programs for word in one.tables(P)]
        super().__init__(rng, P, writes, operations)
        self._programs = programs
        self._early = [one.start()[-1] for one in programs]

    def __call__(self, outputs: np.ndarray, inputs: np.ndarray) -> None:
        if not self._writes and self._launch_writes and self.is_between:
            self._writes += self._early
            first = P.channels * CHANNEL_OUTPUTS + K.idle
            if outputs[first::CONTEXT_OUTPUTS][: P.contexts].all():
                self._writes += self._launch_writes
                self._launch_writes = []
        super().__call__(outputs, inputs)


class Attack(Traffic):
    """Two launches, one of which is the attacker's; both begin anew after each reset.

    Parameters
    ----------
    flood : float
        Probability, per channel and cycle, that the attacker takes a free port with a forged store
        or packet.
    resets : sequence of int
        Cycles in which T3 is reset, but not the memory. The caller resets it.
    storm : bool
        The attacker launches and aborts without a pause, and nothing delays its aborts: no traffic
        of its own, and no peers.
    quiet : int
        Cycle from which no packet is forged in the victim's name.

    Attributes
    ----------
    tiles, updates : int
        Tiles and updates of the victim since the last reset, when its launch is done.
    lost : array of int
        Packets in the victim's name that each channel has taken and must reject: since the last
        reset, and since the launches after it.
    owed : list of int
        Answers that the memory owed at each reset.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        flood: float,
        resets: Sequence[int] = (),
        *,
        storm: bool = False,
        quiet: int,
    ):
        self._resets, self._storm, self._flood, self._quiet = tuple(resets), storm, flood, quiet
        self._patience = rng.integers(0, 250, len(self._resets))
        self.owed: list[int] = []
        programs = self._programs(0)
        super().__init__(rng, P, programs[0], self._host_of(rng, programs), programs[1])

    @property
    def _session(self) -> int:
        return len(self.owed)

    def _programs(self, session: int) -> list[Kernel]:
        generation = generation_of(session)
        return [replace(one, generation=generation) for one in kernels(P)]

    def _host_of(self, rng: np.random.Generator, programs: list[Kernel]) -> Host:
        return Privileged(rng, programs, Operations(rng, programs[ATTACKER], self._storm))

    def begin(self, host: Host) -> None:
        super().begin(host)
        self.victim, self._attacker = self._kernels
        work = self._works[VICTIM]
        tracked = [one for one in work.local if one["dispatch_index"] >= self.victim.remote]
        self.tiles = sum("end" in one for one in tracked)
        self.updates = sum("end" not in one for one in (*tracked, *work.remote))
        self.lost = np.zeros((2, P.channels), int)

    def __call__(self, outputs: np.ndarray, inputs: np.ndarray) -> None:
        cycle = self._cycle
        if cycle - 1 in self._resets:
            self.owed.append(sum(map(len, self._issued)) + sum(map(len, self._reads)))
            self._kernels = tuple(self._programs(self._session))
            self.begin(self._host_of(self._rng, list(self._kernels)))
        self.answers = not any(
            reset - UNANSWERED_CYCLES <= cycle < reset + more
            for reset, more in zip(self._resets, self._patience, strict=True)
        )
        super().__call__(outputs, inputs)
        programmed = self._host.programmed
        inputs[P.channels * CHANNEL_INPUTS + G.bus_awprot] = not programmed
        for number in range(P.channels):
            block = inputs[number * CHANNEL_INPUTS : (number + 1) * CHANNEL_INPUTS]
            out = outputs[number * CHANNEL_OUTPUTS : (number + 1) * CHANNEL_OUTPUTS]
            if programmed or self._session:
                self._forge(block, "stores")
                if self._forge(block, "link_in") and out[O.link_in_ready]:
                    self.lost[: 1 + programmed, number] += 1
        of_contexts = inputs[P.channels * CHANNEL_INPUTS :]
        if programmed:
            self._mislead(of_contexts[ATTACKER * CONTEXT_INPUTS :])
        else:  # A peer admits nothing after an abort.
            for number in range(P.contexts):
                of_contexts[number * CONTEXT_INPUTS :][of_peers(P, "credit_limit_in")] = 0

    def _forge(self, block: np.ndarray, port: str) -> bool:
        """Take a port that the victim does not use; return whether a packet is in its name."""
        rng, is_packet = self._rng, port == "link_in"
        used = block[getattr(I, f"{port}_valid")]
        if (used and block[getattr(I, f"{port}_context")] == self.victim.context) or (
            rng.random() >= self._flood
        ):
            return False
        own, spaces = self._attacker.context, range(1 << P.context_bits)
        others = [one for one in spaces if one not in (self.victim.context, own)]
        is_own = rng.random() < 0.8 and not self._storm
        values = {
            "valid": 1,
            "kind": rng.integers(0, 4 if is_packet else 2),
            "context": own if is_own else rng.choice(others),
            "slot" if is_packet else "dispatch_index": rng.integers(0, 1 << P.dispatch_index_bits),
            "wavefront": rng.integers(0, P.wavefronts),
            "generation": rng.integers(0, 16),
            "atom": rng.integers(self.victim.base, self._attacker.limit),
        }
        in_its_name = is_packet and self._cycle < self._quiet and rng.random() < 0.1
        if is_packet:
            values |= {"source": rng.integers(0, rng.choice([8, 128])), "op": rng.integers(0, 3)}
            values |= {"destination": rng.integers(0, 128), "dtype": rng.integers(0, 3)}
            if in_its_name:
                values |= self._foreign(values["kind"])
        else:
            values |= {"tile_atoms": rng.integers(0, 8), "shares": rng.integers(0, 3)}
        for name, value in values.items():
            block[getattr(I, f"{port}_{name}")] = value
        return in_its_name

    def _foreign(self, kind: int) -> dict[str, int]:
        """Return fields of a packet in the victim's name, by a GPU from which it does not accept
        this kind, often a peer of either tenant, or of an older session."""
        rng, values = self._rng, {"context": self.victim.context}
        senders = self.victim.senders(PacketKind(kind))
        if self._session and rng.random() < 0.5:
            former = generation_of(self._session - 1)
            return values | {"source": int(rng.choice(senders)), "generation": former}
        strangers = [one for one in range(rng.choice([8, 128])) if one not in senders]
        return values | {"source": int(rng.choice(strangers))}

    def _mislead(self, given: np.ndarray) -> None:
        """Give the attacker's context any progress of its peers and of its kernel."""
        rng, limits = self._rng, 1 << P.credit_limit_bits
        admitted = 0 if self._storm else rng.integers(0, limits, P.peers)
        given[of_peers(P, "credit_limit_in")] = admitted
        given[of_peers(P, "generation_in")] = rng.integers(0, 16, P.peers)
        given[of_peers(P, "aborted_in")] = rng.integers(0, 256, P.peers)
        given[J.kernel_generation] = rng.integers(0, 16)
        given[[J.dispatched, J.finished]] = rng.integers(0, limits, 2)
