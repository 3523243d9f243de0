"""Full page of a fault campaign, and its summary."""

from typing import Any

from t3.report.markdown import table

from .memories import Memory
from .memory_kinds import PROTECTED
from .report import HEAD, bounded, cells
from .run import Campaign

__all__ = ["as_markdown", "as_summary"]

_FAILURES = ("misreported", "silent corruption", "hang")
_LEAST_ROWS = 8  # shorter memories are flip-flops in any technology

_METHOD = """\
Each run has one fault, at a random time and place. For faults of memories and GPUs, a ring of three
GPUs computes a sum with real values in the compiled RTL, and every bit is compared with NumPy's. In
the kinds that begin with `contexts-`, two contexts each compute a sum on the same ring, and the sum
that the fault does not concern must be right. For faults of links, two compiled link endpoints
exchange random packets in both directions, and the delivered packets are compared with the sent
ones.

- *corrected*: the result is right, and the hardware reports a correction or a replay;
- *reported*: an error is pending, with an expected cause, and with the expected tile where the
  fault determines it;
- *harmless*: the result is right, and there was nothing to correct;
- *misreported*: another cause or tile, or the missing sum of a context without a fault;
- *silent corruption*: a wrong result and no error;
- *hang*: neither the end nor a report within the bound.

The last three are failures. Two columns are in cycles, the longest of all faults and its bound: the
time from the fault to the report, and the delay of the last packet compared with a run without the
fault (an interruption itself not counted)."""

_BOUNDS = """\
A ring must report within the time of a run without a fault (the work before the oldest incomplete
tile takes at most that) plus the ticks of the `TIMEOUT` register. `LINK_DOWN` is an output of the
endpoint, without a tile; all other errors are read from `ERROR`, with their tile."""

_UNPROTECTED = """\
These memories of the GPUs' hardware have no check bits, and the campaign puts no fault into them: a
bit error there changes an address or a value. The link endpoint's replay memory and receive buffer
have none either; they hold packets before and after the flit's check bits. Flip-flops have no check
bits, which includes all queues of fewer than {rows} entries."""


def as_markdown(campaign: Campaign) -> str:
    """Write the full page: every kind of fault, its outcomes, and the unprotected memories."""
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
            "## Unprotected memories",
            _UNPROTECTED.format(rows=_LEAST_ROWS),
            table(["memory", "rows", "bits of a row"], rows),
        ]
    return "\n\n".join(part.strip() for part in parts)


def _is_unprotected(memory: Memory) -> bool:
    protected = any(pattern in memory.path for pattern in PROTECTED)
    return memory.rows >= _LEAST_ROWS and not protected


def as_summary(result: dict[str, Any]) -> str:
    """Summarize the outcomes of each kind of fault."""
    rows = [
        [
            kind["kind"],
            f"{kind['faults']:,}",
            *(f"{kind['outcomes'][name]:,}" for name in ("corrected", "reported", "harmless")),
            f"{sum(kind['outcomes'][name] for name in _FAILURES):,}",
            bounded(kind["report_cycles"], kind["report_bound_cycles"]),
            bounded(kind["delay_cycles"], kind["delay_bound_cycles"]),
        ]
        for kind in result["kinds"]
    ]
    headings = [
        "kind:",
        "faults",
        "corrected",
        "reported",
        "harmless",
        "failures",
        "report",
        "delay",
    ]
    closing = (
        "`t3 faults` also writes the full page, `faults.md`: the error codes of each kind, the "
        "injected faults and required outcomes in words, and the memories without check bits."
    )
    counts = f"**{result['faults']:,} faults, {result['failures']:,} failures.**"
    return "\n\n".join([counts, _METHOD, table(headings, rows).strip(), closing])
