"""Ports that several blocks share."""

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.parameters import T3Parameters

from .axi_lite import AxiLiteSignature
from .configuration import GENERATION_BITS
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
    "ChannelSignature",
    "ContextSignature",
    "ErrorSignature",
    "T3Signature",
]


class ErrorSignature(wiring.Signature):
    """An error in this cycle, combinational."""

    def __init__(self, p: T3Parameters):
        super().__init__({"valid": Out(1), "report": Out(ErrorReport(p))})


class ChannelSignature(wiring.Signature):
    """Ports of one memory channel.

    Members
    -------
    reads, stores : In(stream)
        From the compute units, by way of the L2.
    link_in, link_out : stream
        Packets from the upstream GPU, and to the downstream one.
    link_owner : Out
        Context of the packet at ``link_out``.
    link_room : In(contexts)
        At the end of the link there is room for four packets of the context; without it, at most
        as many still come.
    link_down, link_reset : In(1)
        In this cycle an endpoint of the channel's link reports that. Each is reported once to the
        GPU; if the same comes again before that, it is one.
    stores_room : Out(contexts)
        There is room for eight stores of the context that leave over the link. More of them may
        hold up the stores of all contexts.
    dram : Out(stream)
        Accesses for the DRAM queue.
    occupancy : In(7)
        Entries of that queue.
    issue_acks : In(stream)
        Issued updates and communication writes.
    returns : In(stream)
        Data of DMA reads; always taken.
    stored : Out(32)
        Communication writes issued so far.
    nmc_in, nmc_out : stream
        The reduce unit's ends, with ``with_data`` only. Always taken.
    """

    def __init__(self, p: T3Parameters):
        members = {
            "reads": In(stream.Signature(ReadRequest(p))),
            "stores": In(stream.Signature(StoreRequest(p))),
            "link_in": In(stream.Signature(LinkPacket(p))),
            "link_out": Out(stream.Signature(LinkPacket(p))),
            "link_owner": Out(p.owner_bits),
            "link_room": In(p.contexts),
            "link_down": In(1),
            "link_reset": In(1),
            "stores_room": Out(p.contexts),
            "dram": Out(stream.Signature(DramRequest(p))),
            "occupancy": In(7),
            "issue_acks": In(stream.Signature(IssueAck(p))),
            "returns": In(stream.Signature(ReadReturn(p), always_ready=True)),
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
    credit_limit_in, credit_limit_out : credit_limit_bits
        Admission of the downstream GPU, and this GPU's for its upstream one.
    generation_in : In
        Of the launch that ``credit_limit_in`` is of.
    generation : Out
        Of the launch that runs: the limits given out, and what is sent for new tiles, are its.
    aborted_in, aborted : In(1), Out(1)
        The downstream GPU, or this one, has given up the launch of its generation before that was
        done, and has begun no other since.
    dispatch_limit : Out(credit_limit_bits)
        Workgroups of smaller dispatch indices may be dispatched.
    dispatched, finished : In(credit_limit_bits)
        Workgroups of the kernel that the dispatcher has given out, and that have ended: T3 has
        taken all of their stores. They guide the arbiters, and no launch begins before all
        workgroups of the one before have ended.
    kernel_generation : In
        Of the kernel's launch.
    tiles : Out(32)
        Complete tiles since reset.
    done, idle : Out(1)
        Every tracked tile is complete; nothing of a mapped buffer is under way in T3 or at the
        DRAM, no tile has an entry, and no DMA work is left.
    irq : Out(1)
        Something that interrupts is pending; see ``INTERRUPTS``.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "credit_limit_in": In(p.credit_limit_bits),
                "generation_in": In(GENERATION_BITS),
                "generation": Out(GENERATION_BITS),
                "credit_limit_out": Out(p.credit_limit_bits),
                "aborted_in": In(1),
                "aborted": Out(1),
                "dispatch_limit": Out(p.credit_limit_bits),
                "dispatched": In(p.credit_limit_bits),
                "finished": In(p.credit_limit_bits),
                "kernel_generation": In(GENERATION_BITS),
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
        Something that interrupts and is no context's is pending; see ``GPU_INTERRUPTS``.
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "channel": Out(ChannelSignature(p)).array(p.channels),
                "context": Out(ContextSignature(p)).array(p.contexts),
                "bus": In(AxiLiteSignature()),
                "tick": In(1),
                "irq": Out(1),
            }
        )
