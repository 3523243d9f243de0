"""Ports that several blocks share."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.parameters import T3Parameters

from .axi_lite import AxiLiteSignature
from .configuration import ABORT_BITS, GENERATION_BITS, GPU_BITS
from .encodings import ErrorCode
from .layouts import (
    DramRequest,
    ErrorReport,
    IssueAck,
    LinkPacket,
    NmcRequest,
    NmcResult,
    ReadRequest,
    ReadReturn,
    StoreRequest,
)

__all__ = [
    "MOST_LINKS",
    "ChannelSignature",
    "ContextSignature",
    "ErrorSignature",
    "OwnErrorsSignature",
    "T3Signature",
]


MOST_LINKS = 32
"""Most links that privileged software takes down: the bits of a register."""


class ErrorSignature(wiring.Signature):
    """Error of the current cycle, combinational."""

    def __init__(self, p: T3Parameters):
        super().__init__({"valid": Out(1), "report": Out(ErrorReport(p))})


class OwnErrorsSignature(wiring.Signature):
    """Errors that a context, or the GPU, has in a cycle.

    Members
    -------
    valid : Out(1)
        There is an error.
    report : Out(:func:`ErrorReport`)
        Report of the rarest error.
    kinds : Out(number of error codes)
        Bit for each code: there is an error with this code.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {"valid": Out(1), "report": Out(ErrorReport(p)), "kinds": Out(len(ErrorCode))}
        )


class ChannelSignature(wiring.Signature):
    """Ports of one memory channel.

    Members
    -------
    reads, stores : In(stream)
        Reads and stores of the compute units, from the L2.
    link_in, link_out : stream
        Packets from other GPUs, and to them.
    link_owner : Out
        Context of the packet at ``link_out``.
    link_space : In(contexts)
        The link has space for four packets of the context. After the bit falls, at most four
        more packets are sent.
    link_down, link_reset : In(1)
        An endpoint of the channel's link reports this error in this cycle. Repetitions before the
        error is counted are merged.
    store_space : Out(contexts)
        There is space for eight stores of the context that leave over the link. Stores beyond that
        are dropped and reported while ``link_space`` is low, and otherwise delay the stores of all
        contexts.
    dram : Out(stream)
        Accesses for the DRAM queue.
    occupancy : In(7)
        Entries of the DRAM queue.
    issue_acks : In(stream)
        Issue acknowledgements of updates and communication writes.
    returns : In(stream)
        Data of DMA reads; always accepted.
    memory_owes : In(1)
        The memory owes an issue acknowledgement or the data of a DMA read, also of an access from
        before a reset of T3.
    stored : Out(32)
        Number of issued communication writes.
    nmc_in, nmc_out : stream
        Requests to and results of the reduce unit, with ``with_data`` only. Always accepted.
    """

    def __init__(self, p: T3Parameters):
        members = {
            "reads": In(stream.Signature(ReadRequest(p))),
            "stores": In(stream.Signature(StoreRequest(p))),
            "link_in": In(stream.Signature(LinkPacket(p))),
            "link_out": Out(stream.Signature(LinkPacket(p))),
            "link_owner": Out(p.owner_bits),
            "link_space": In(p.contexts),
            "link_down": In(1),
            "link_reset": In(1),
            "store_space": Out(p.contexts),
            "dram": Out(stream.Signature(DramRequest(p))),
            "occupancy": In(7),
            "issue_acks": In(stream.Signature(IssueAck(p))),
            "returns": In(stream.Signature(ReadReturn(p), always_ready=True)),
            "memory_owes": In(1),
            "stored": Out(32),
        }
        if p.with_data:
            members |= {
                "nmc_in": In(stream.Signature(NmcRequest(p), always_ready=True)),
                "nmc_out": Out(stream.Signature(NmcResult(p), always_ready=True)),
            }
        super().__init__(members)


class ContextSignature(wiring.Signature):
    """Ports of one context.

    Members
    -------
    credit_limit_in : In(array of credit_limit_bits)
        Credit limit of each peer.
    generation_in : In(array)
        Generation of each peer's launch, to which its credit limit belongs.
    aborted_in : In(array of 8 bits)
        Bit *n* of a peer: the peer aborted its launch *n* generations before its current
        generation, before that launch was done.
    credit_limit_out : Out(credit_limit_bits)
        Credit limit for all peers.
    generation : Out
        Generation of the current launch, to which the limits and packets of new tiles belong.
    aborted : Out(8)
        Bit *n*: this GPU aborted its launch *n* generations before its current generation, before
        that launch was done.
    dispatch_limit : Out(credit_limit_bits)
        Workgroups of smaller dispatch indices may be dispatched.
    dispatched, finished : In(credit_limit_bits)
        Numbers of the kernel's workgroups that were dispatched, and that finished: T3 has accepted
        all of their stores. The arbiters use both, and a launch begins only after all workgroups of
        the launch before have finished.
    kernel_generation : In
        Generation of the kernel's launch.
    lost : In(1)
        A packet of the context to another GPU is lost in this cycle: its port is down or was reset,
        or there is no port to this GPU.
    lost_gpu, lost_port : In
        Numbers of this GPU and of the port, 0 without a port. Meaningful with ``lost``.
    tiles : Out(32)
        Complete tiles since reset.
    done, idle : Out(1)
        ``done``: every tracked tile is complete. ``idle``: no access of a mapped buffer is
        outstanding in T3 or at the DRAM, no tile has an entry, and no DMA work is left.
    irq : Out(1)
        An enabled interrupt is pending; see ``INTERRUPTS``.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "credit_limit_in": In(data.ArrayLayout(p.credit_limit_bits, p.peers)),
                "generation_in": In(data.ArrayLayout(GENERATION_BITS, p.peers)),
                "aborted_in": In(data.ArrayLayout(ABORT_BITS, p.peers)),
                "generation": Out(GENERATION_BITS),
                "credit_limit_out": Out(p.credit_limit_bits),
                "aborted": Out(ABORT_BITS),
                "dispatch_limit": Out(p.credit_limit_bits),
                "dispatched": In(p.credit_limit_bits),
                "finished": In(p.credit_limit_bits),
                "kernel_generation": In(GENERATION_BITS),
                "lost": In(1),
                "lost_gpu": In(GPU_BITS),
                "lost_port": In(range(p.channels)),
                "tiles": Out(32),
                "done": Out(1),
                "idle": Out(1),
                "irq": Out(1),
            }
        )


class T3Signature(wiring.Signature):
    """Ports of the top.

    Members
    -------
    channel : array of :class:`ChannelSignature`
    context : array of :class:`ContextSignature`
    bus : In(:class:`AxiLiteSignature`)
        The register port.
    tick : In(1)
        The GPU's timebase: high in one cycle of every 64 (``TICK_CYCLES``).
    irq : Out(1)
        An enabled interrupt of no context is pending; see ``GPU_INTERRUPTS``.
    link_off : Out
        One bit for each channel, at most 32: privileged software takes the link, or the port, of
        this number down. Register.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "channel": Out(ChannelSignature(p)).array(p.channels),
                "context": Out(ContextSignature(p)).array(p.contexts),
                "bus": In(AxiLiteSignature()),
                "tick": In(1),
                "irq": Out(1),
                "link_off": Out(min(p.channels, MOST_LINKS)),
            }
        )
