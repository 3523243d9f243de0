"""The outcome of a campaign as a page."""

from sysmodel.lib.markdown import table

from .memories import Memory
from .memory_kinds import PROTECTED
from .report import HEAD, cells
from .run import Campaign

__all__ = ["as_markdown"]

_LEAST_ROWS = 8  # what is shorter is flip-flops in any technology

_METHOD = """\
One fault in each run, at a random time and place. Memories and GPUs: a ring of three GPUs computes
a sum with real values in the compiled RTL, and every bit of it is compared with NumPy's. With two
contexts at work (`contexts-` kinds) each computes a sum of its own on the same ring: what the fault
does not concern must come out right, whatever the other context reports. Links: two
compiled link endpoints exchange random packets both ways, and what is delivered is compared with
what was sent.

- *corrected*: the result is right, and the hardware says that it corrected or sent again;
- *reported*: an error is pending, with an expected cause, and the expected tile where the fault
  tells which;
- *harmless*: the result is right, and there was nothing to correct;
- *misreported*: another cause or tile, or another context whose sum is not there;
- *silent corruption*: a wrong result and no error;
- *hang*: neither the end nor a report within the bound.

The last three must not happen. The last two columns are cycles, the longest of all with the bound:
from the fault to the report, and by which the last packet came later than without the fault (an
interruption itself not counted)."""

_BOUNDS = """\
A ring's report comes at the latest when a run without a fault, which is as much as the work before
the oldest incomplete tile takes, and the ticks of the `TIMEOUT` register are over. `LINK_DOWN` is
an output of the endpoint, without a tile; all other errors are read from `ERROR`, with theirs."""

_UNPROTECTED = """\
These memories of the GPUs' hardware have no check bits, and no fault was put into them: a wrong bit
there goes on as it is, into an address or a value. Nor have the link endpoint's two, its replay
memory and its receive buffer, which hold packets before and after the flit's check bits. Flip-flops
have none either, among them all queues of fewer than {rows} entries."""


def as_markdown(campaign: Campaign) -> str:
    """What the faults were, what became of them, and where none were put."""
    tallies = campaign.tallies
    meanings = [[each.kind.name, each.kind.injected, each.kind.required] for each in tallies]
    parts = [
        f"**{campaign.faults:,} faults, {campaign.failures:,} failures.**",
        _METHOD,
        table([f"{name}:" if name == "errors" else name for name in HEAD], map(cells, tallies)),
        _BOUNDS,
        table(["kind", "injected:", "must happen:"], meanings),
    ]
    if campaign.memories:
        rows = [
            [f"`{one.path}`", f"{one.rows:,}", f"{one.width:,}"]
            for one in campaign.memories
            if _is_unprotected(one)
        ]
        parts += [
            "## What is not protected",
            _UNPROTECTED.format(rows=_LEAST_ROWS),
            table(["memory", "rows", "bits of a row"], rows),
        ]
    return "\n\n".join(part.strip() for part in parts)


def _is_unprotected(memory: Memory) -> bool:
    protected = any(pattern in memory.path for pattern in PROTECTED)
    return memory.rows >= _LEAST_ROWS and not protected
