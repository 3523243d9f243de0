"""Settings with which all configurations of a repetition simulate a kernel."""

from functools import cached_property
from typing import TYPE_CHECKING

from sysmodel.config.library import Protocol
from sysmodel.config.system import System
from sysmodel.engine.native.engine import Trace
from sysmodel.gpu.kernel import Kernel
from sysmodel.lib.progress import Report
from sysmodel.machine.variation import moved, varied

from .cycle_result import CycleResult
from .library_choice import Choice
from .program.activities import Activity
from .program.program import Chain
from .run_network import RunNetwork

if TYPE_CHECKING:
    from .options import RunOptions

__all__ = ["RunContext", "is_alone"]


def is_alone(chain: Chain, kernel: Kernel) -> bool:
    """Test whether no collective moves the output of one of a chain's kernels."""
    return not chain.collectives or kernel.gpus == 1


class RunContext:
    """Settings that all configurations of a repetition share when they simulate a kernel.

    Parameters
    ----------
    report : callable
        Receives the progress.
    channels : int
        Simulated memory channels.
    mirror : bool
        One GPU represents all.
    network : RunNetwork or None
        Links between the GPUs; None for the system's, for the GPUs of the kernel.
    protocol : Protocol or None
        Protocol of the library's kernels; None for the one that the library takes for chunks of
        the output.
    repetition : int
        Number of the repetition; number 0 has no variation.
    is_first : bool
        The kernel is the plan's first; only for this kernel a waveform may be written.
    chain : Chain, optional
        Activities to run; the first chain of the program by default.
    choice : Choice or None
        Collective that the library runs instead of the chain's; None if it runs these.
    counts_clocks : bool
        Count the clock edges at flip-flops.

    Attributes
    ----------
    step : str
        Number of the simulation among those of the plan, for the progress.
    alone : bool
        No collective moves the kernel's output.
    base : CycleResult or None
        Result of ``sequential`` on the kernel, once it is known.
    """

    def __init__(
        self,
        system: System,
        kernel: Kernel,
        options: "RunOptions",
        report: Report,
        *,
        channels: int,
        mirror: bool,
        network: RunNetwork | None = None,
        protocol: Protocol | None = None,
        repetition: int = 0,
        is_first: bool = True,
        chain: Chain | None = None,
        choice: Choice | None = None,
        counts_clocks: bool = True,
    ):
        self.system, self.options, self.report = system, options, report
        self.repetition, self.channels, self._is_first = repetition, channels, is_first
        self.mirror, self._network, self._protocol = mirror, network, protocol
        self.chain, self.choice = chain or options.program.chains[0], choice
        self.counts_clocks = counts_clocks
        self.step = ""
        self.base: CycleResult | None = None
        self.alone = is_alone(self.chain, kernel)
        self.variation = varied(system, kernel, options.seed, repetition)
        self.kernel = moved(
            system,
            kernel,
            options.seed,
            repetition,
            channels=channels,
            mirror=mirror,
            alone=self.alone,
        )

    def of_every_gpu(
        self, system: System, protocol: Protocol, kernel: Kernel, channels: int
    ) -> "RunContext":
        """Return the context in which every GPU runs kernels of the library of a system, on the
        output of a kernel in a number of channels."""
        context = RunContext(
            system,
            kernel,
            self.options,
            self.report,
            channels=channels,
            mirror=False,
            network=self.network,
            protocol=protocol,
            repetition=self.repetition,
            is_first=False,
            chain=self.chain,
            counts_clocks=self.counts_clocks,
        )
        context.step = self.step
        return context

    @cached_property
    def network(self) -> RunNetwork:
        """Links between the GPUs, and the library's schedules on them."""
        return self._network or RunNetwork(self.system, self.kernel.gpus)

    def number(self, activity: Activity) -> int:
        """Number of an activity of the chain, by which the counters count it."""
        return self.options.program.number(activity)

    @property
    def numbers(self) -> dict[str, int]:
        """Numbers of the chain's activities by name."""
        return {one.name: self.number(one) for one in self.chain.activities}

    @property
    def protocol(self) -> Protocol:
        """Protocol of the library's kernels for chunks of the output."""
        return self._protocol or self.network.protocol(self.kernel.output_bytes / self.kernel.gpus)

    @property
    def stores_payload_share(self) -> float:
        """Share of the line rate that is payload in the packets of the library's kernels."""
        return self.system.link.stores_payload_share * self.protocol.share_of_stores

    def trace(self, name: str) -> Trace | None:
        """Requested waveform, for ``t3-mca`` or, if it is not simulated, ``t3`` or ``sequential``;
        None for all other configurations.
        """
        if self.options.waves is None or self.options.waves_file is None:
            return None
        if self.repetition or not self._is_first:
            return None
        shown = [n for n in ("t3-mca", "t3", "sequential") if n in self.options.configurations]
        if name != (shown[0] if shown else "sequential"):
            return None
        return Trace(self.options.waves_file, *self.options.waves)
