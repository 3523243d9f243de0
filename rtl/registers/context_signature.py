"""Signature between the registers of a context and the hardware."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import (
    RANK_BITS,
    AddressSpace,
    ContextView,
    Inbound,
    LaunchConfiguration,
    MapConfiguration,
    PeerLaunch,
)
from rtl.interface.layouts import Copy
from rtl.interface.signatures import OwnErrorsSignature
from rtl.parameters import T3Parameters

from . import map as register_map
from .fields import ADDRESS_SPACE, INBOUND, resets

__all__ = ["ContextRegistersSignature"]


class ContextRegistersSignature(wiring.Signature):
    """Interface between a context's registers and the hardware.

    Members
    -------
    maps, launch_configuration : Out
        Configuration of the current launch. Software programs a copy, which these registers
        take over as a launch begins. A pending launch first closes regions that it changes.
    address_space, rank, inbound : Out
        Registers.
    peers : Out(array of :func:`~rtl.interface.configuration.PeerEntry`)
        Peers. Registers, which change only while the context is idle.
    may_await : Out(await_bits)
        Other contexts that the context may await. Register.
    ways : Out(ways)
        Ways of the tracker's sets that belong to the context.
    launch, abort, start : Out(1)
        Strobes of one cycle: a launch begins, the context is aborted, the arbiters measure.
    launched : Out(1)
        A launch began since the last abort.
    changes : Out(1)
        First cycle of an abort, of a launch, or with regions closed.
    pending : Out(1)
        A launch waits for the launch before to drain. Register.
    cut_short : Out(1)
        Strobe: a launch is aborted before it is done.
    former : Out
        Valid bit and generation of the launch before the current one.
    wavefronts : Out
        Largest number of wavefronts of each range's command, in the current launch. Register.
    slots : Out(credit_limit_bits)
        End of the dispatch indices and slots of the current launch. Register.
    launch_drained : In(1)
        No work is left that needs the configuration of the current launch.
    peer_launches : In(array of :func:`PeerLaunch`)
        State of each peer; one that is not enabled admits nothing. Registers.
    aborting : Out(1)
        High from an abort, or from reset, until the context is ``drained``.
    drained : In(1)
        No work of the context is left except packets in the queues in front of the link.
    copies : Out(stream)
        Copies that software started, two deep.
    done, idle, clearing, tiles, oldest, credit_limit : In
        Status that software reads, sampled when the read takes effect. ``clearing`` is high while
        the tracker or the trigger unit clears tiles.
    reports : In(1)
        Strobe: the launch has come to a step of its progress.
    dma_idle : In(1)
        The context has no DMA work except the copies that wait here.
    error : In(:class:`OwnErrorsSignature`)
        Errors for the log.
    irq : Out(1)
        An enabled interrupt is pending.
    """

    def __init__(self, p: T3Parameters):
        registers = register_map.page(register_map.CONTEXT)
        super().__init__(
            {
                "maps": Out(MapConfiguration(p)),
                "launch_configuration": Out(LaunchConfiguration(p)),
                "address_space": Out(AddressSpace(p), init=resets(ADDRESS_SPACE, registers)),
                "rank": Out(RANK_BITS),
                "peers": Out(ContextView(p).members["peers"]),
                "inbound": Out(Inbound(), init=resets(INBOUND, registers)),
                "may_await": Out(p.await_bits),
                "ways": Out(p.ways),
                "launch": Out(1),
                "abort": Out(1),
                "aborting": Out(1, init=1),
                "launched": Out(1),
                "changes": Out(1),
                "pending": Out(1),
                "cut_short": Out(1),
                "former": Out(ContextView(p).members["former"]),
                "wavefronts": Out(ContextView(p).members["wavefronts"]),
                "slots": Out(p.credit_limit_bits),
                "launch_drained": In(1),
                "peer_launches": In(data.ArrayLayout(PeerLaunch(), p.peers)),
                "start": Out(1),
                "copies": Out(stream.Signature(Copy(p))),
                "done": In(1),
                "idle": In(1),
                "drained": In(1),
                "clearing": In(1),
                "reports": In(1),
                "dma_idle": In(1),
                "tiles": In(32),
                "oldest": In(p.credit_limit_bits),
                "credit_limit": In(p.credit_limit_bits),
                "error": In(OwnErrorsSignature(p)),
                "irq": Out(1),
            }
        )
