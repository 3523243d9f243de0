"""The first value beyond an argument's field is refused by the C driver, before any access."""

import re
import subprocess

from rtl.interface.encodings import InjectTarget, Policy
from rtl.registers.map import MAX_CONTEXTS, load
from tests.support.c_driver import build
from tests.support.driver_identity import IDENTITY
from tests.support.driver_limits import (
    COLLECTIVE,
    DISPATCH,
    ENTRIES,
    GATE,
    INDEX,
    OF_COLLECTIVE,
    OF_GATE,
    OF_PART,
    OF_PATTERNS,
    OF_PEER,
    OF_RING,
    OF_TRANSFER,
    OF_WINDOW,
    PATTERNS,
    PEER,
    RING,
    SHARES,
    SLOT_OFFSET,
    WINDOW,
    beyond,
)

# Statements of C, with valid arguments; each argument, the first value beyond its field. A value
# that its C type cannot hold is left out: those of 32 and 64 bits.
C_RANGE = dict(first=(1, DISPATCH), count=(1, DISPATCH), region=(0, INDEX), command=(0, INDEX))
C_TRACKED = C_RANGE | {"shares": (1, SHARES)}
MASK = beyond("RANGE_PEERS", "peers")
C_RECEIVERS = {"peers": (1, MASK), "slot_offset": (1, SLOT_OFFSET)}
C_GATE = {name: (getattr(GATE, name), value) for name, value in OF_GATE.items()}
C_PEER = {name: (int(getattr(PEER, name)), value) for name, value in OF_PEER.items()}
C_WINDOW = {
    **{name: (WINDOW[name], value) for name, value in OF_WINDOW.items() if name != "tracked"},
    "tracked_first": (0, beyond("TRACKED_FIRST", "dispatch_index")),
    "tracked_end": (4, beyond("TRACKED_END", "dispatch_index")),
}
C_TRANSFER = {
    **{name: (1, OF_TRANSFER[name]) for name in ("rows", "rows_edge", "run_atoms", "wave_rows")},
    **{name: (1, OF_TRANSFER[name]) for name in ("run_edge_atoms", "stride_atoms")},
    **{name: (0, OF_TRANSFER[name]) for name in ("kind", "marks", "op", "dtype", "granularity")},
    "group_log2": (0, beyond("COMMAND_TRANSFER", "group_log2")),
    "wave_run_atoms_log2": (0, beyond("COMMAND_TRANSFER", "wave_inner_log2")),
    "waves_inner_log2": (0, beyond("COMMAND_TRANSFER", "waves_inner_log2")),
    **{f"waves[{edge}]": (1, beyond("COMMAND_WAVES", f"waves{edge}")) for edge in range(4)},
}
C_RING = {name: (getattr(RING, name), value) for name, value in OF_RING.items()}
C_COLLECTIVE = {
    name: (int(getattr(COLLECTIVE, name)), value) for name, value in OF_COLLECTIVE.items()
}
C_PATTERNS = {
    call: {
        name: (int(getattr(PATTERNS[call], name)), value)
        for name, value in names.items()
        if name not in ("peer", "peers", "slot_offset")
    }
    | (
        {f"to.{name}": value for name, value in C_RECEIVERS.items()}
        if "slot_offset" in names
        else {}
    )
    for call, names in OF_PATTERNS.items()
}
C_PARTS = {
    f"[{place}].{name}": (None, value)
    for place in range(2)
    for name, value in {
        **{name: OF_PART[name] for name in ("workgroups", "shares")},
        **{f"to.{name}": value for name, (_, value) in C_RECEIVERS.items()},
    }.items()
}
C_ARBITRATION = {
    "policy": (0, len(Policy)), "automatic": (0, 2),
    "threshold": (0, beyond("ARBITER", "threshold")),
    "starvation_cycles": (0, beyond("STARVATION", "cycles")),
    "measure_log2": (0, beyond("MEASURE", "log2")),
    **{f"{name}[{index}]": (0, ENTRIES) for name in ("cuts", "levels") for index in range(3)},
}  # fmt: skip
ALL_KINDS = 1 << len(load()["INTERRUPT_ENABLE"].fields)
C_CALLS = {
    "t3_inject(&bus, {target}, {instance}, {two_bits})": dict(
        target=(0, len(InjectTarget)), instance=(0, beyond("INJECT", "instance")), two_bits=(0, 2)),
    "t3_scrub(&bus, {cycles})": dict(cycles=(1, beyond("SCRUB_INTERVAL", "cycles"))),
    "t3_gpu_enable_interrupts(&bus, {error})": dict(error=(1, 2)),
    "t3_assign(&context, {local}, {ways})": dict(
        local=(1, beyond("ADDRESS_SPACE", "local")), ways=(1, "INT64_C(1) << 32")),
    "t3_set_rank(&context, {rank})": dict(rank=(1, beyond("RANK", "rank"))),
    "t3_peer(&context, {index}, &peer)": dict(index=(0, INDEX)),
    "t3_remove_peer(&context, {index})": dict(index=(0, INDEX)),
    "t3_accept(&context, {ops}, {dtypes})": dict(
        ops=(1, beyond("INBOUND_KINDS", "ops")), dtypes=(1, beyond("INBOUND_KINDS", "dtypes"))),
    "t3_lock(&context, {regions}, {assignment})": dict(regions=(1, 2), assignment=(1, 2)),
    "t3_reset_epochs(&context, 1)": {},
    "t3_region(&context, {index}, 0, 32)": dict(index=(0, INDEX)),
    "t3_share_region(&context, {index}, 0, 32)": dict(index=(0, INDEX)),
    "t3_remove_region(&context, {index})": dict(index=(0, INDEX)),
    "t3_command(&context, {index}, &transfer, {region})": dict(index=(0, INDEX),
                                                              region=(0, INDEX)),
    **{f"t3_{name}(&context, {{first}}, {{count}}, {{region}}, {{command}}, {{shares}}, {rest})":
       C_TRACKED for name, rest in (
           ("remote_map", "to, &gate"), ("dma_map", "to, &gate"), ("own_map", "&gate"))},
    "t3_await_map(&context, {first}, {count}, {region}, &gate)": {
        name: C_RANGE[name] for name in ("first", "count", "region")},
    "t3_may_await(&context, {contexts})": dict(contexts=(1, beyond("MAY_AWAIT", "contexts"))),
    "t3_window(&context, &window)": {},
    "t3_collective(&context, &collective, &transfer, {region})": dict(region=(0, INDEX)),
    "t3_reduce_scatter(&context, &ring, &transfer, {region})": dict(region=(0, INDEX)),
    **{f"t3_{name}(&context, &{name}, &transfer, {{region}})": dict(region=(0, INDEX))
       for name in PATTERNS},
    "t3_copy(&context, 0, &transfer, {region}, {peers})": dict(region=(0, INDEX), peers=(1, MASK)),
    "t3_copy_chunks(&context, chunks, 2, {region}, {peers}, arrived, 0)": dict(
        region=(0, INDEX), peers=(1, MASK)),
    "t3_enable_interrupts(&context, {kinds})": dict(kinds=(1, ALL_KINDS)),
    "t3_set_arbitration(&bus, &arbitration)": {},
}  # fmt: skip
_OF_STORES = ("t3_all_gather", "t3_all_to_all", "t3_send")
_OF_TILES = ("t3_collective", "t3_reduce_scatter", "t3_gemm_overlap", *_OF_STORES)
C_STRUCTS = {
    "transfer": (C_TRANSFER, ("t3_command", "t3_copy", *_OF_TILES)),
    "collective": (C_COLLECTIVE, ("t3_collective",)),
    "window": (C_WINDOW, ("t3_window",)),
    "peer": (C_PEER, ("t3_peer",)),
    "to": (C_RECEIVERS, ("t3_remote_map", "t3_dma_map")),
    "gate": (C_GATE, ("t3_remote_map", "t3_dma_map", "t3_own_map", "t3_await_map")),
    "ring": (C_RING, ("t3_reduce_scatter",)),
    **{name: (C_PATTERNS[name], (f"t3_{name}",)) for name in PATTERNS},
    "arbitration": (C_ARBITRATION, ("t3_set_arbitration",)),
}
# Calls of C whose arguments are not written, or are of 32 bits as their fields.
C_WITHOUT = {"t3_identify", "t3_version", "t3_next_epoch", "t3_gpu_lock", "t3_armed"}
C_WITHOUT |= {"t3_corrected", "t3_scrub_corrected", "t3_mapped", "t3_context", "t3_timeout"}
C_WITHOUT |= {"t3_is_foreign"}
C_WITHOUT |= {"t3_unmap", "t3_launch", "t3_measure", "t3_wait", "t3_wait_idle", "t3_abort"}
C_WITHOUT |= {"t3_hold", "t3_hand_over"}
C_WITHOUT |= {f"t3_{name}" for name in ("status", "tiles", "oldest")}
C_WITHOUT |= {
    f"t3_{page}{name}"
    for page in ("", "gpu_")
    for name in ("take_error", "error_count", "clear_errors", "take_interrupts")
}

C_PROGRAM = """
#include <stdio.h>
#include "t3.h"
static int accesses;
static int put(void *self, uint32_t address, uint32_t word)
{ (void)self; (void)address; (void)word; accesses++; return 1; }
static uint32_t get(void *self, uint32_t address)
{ (void)self; IDENTITY accesses++; return address == CONTEXTS ? 8 : 0; }
static void arrived(void *self, unsigned chunk) { (void)self; (void)chunk; }
int main(void)
{
    struct t3_bus bus = {0, put, get};
BODY
    return 0;
}
"""
PROGRAM = C_PROGRAM.replace("CONTEXTS", str(load()["CONTEXTS"].address)).replace(
    "IDENTITY",
    " ".join(f"if (address == {address}) return {word}u;" for address, word in IDENTITY.items()),
)
C_CASE = """    {
        struct t3_context context = t3_context(&bus, NUMBER);
        struct t3_transfer transfer = {TRANSFER};
        struct t3_window window = {WINDOW};
        struct t3_peer peer = {PEER};
        struct t3_receivers to = {TO};
        struct t3_gate gate = {GATE};
        struct t3_ring ring = {RING};
        struct t3_part parts[] = {{.workgroups = 4, .shares = 1, .to = {.peers = 2}},
                                  {.workgroups = 3, .stores_leave = 1, .to = {.peers = 2}}};
        struct t3_collective collective = {.parts = parts, .count = 2, COLLECTIVE};
        struct t3_gather all_gather = {ALL_GATHER};
        struct t3_part sent[] = {{.workgroups = 1, .to = {.peers = 2}}};
        struct t3_exchange all_to_all = {.sent = sent, .count = 1, ALL_TO_ALL};
        struct t3_send send = {SEND};
        struct t3_overlap gemm_overlap = {.ring = ring, GEMM_OVERLAP};
        struct t3_arbitration arbitration = {ARBITRATION};
        struct t3_chunk chunks[2] = {{0, {TRANSFER}}, {0, {TRANSFER}}};
        int result;
        CHANGE
        chunks[1].transfer = transfer;
        (void)context; (void)window; (void)ring; (void)arbitration; (void)chunks;
        (void)peer; (void)to; (void)collective; (void)gate;
        (void)all_gather; (void)all_to_all; (void)send; (void)gemm_overlap;
        accesses = 0;
        result = CALL;
        printf("%d %d\\n", result, accesses);
    }
"""


def c_case(call, change="", number=1):
    case = C_CASE.replace("CALL", call).replace("CHANGE", change).replace("NUMBER", str(number))
    for name, (members, _) in C_STRUCTS.items():
        values = {member: valid for member, (valid, _) in members.items() if "[" not in member}
        listed = ", ".join(f".{k} = {v}" for k, v in values.items())
        case = case.replace(f"{{{name.upper()}}}", "{" + listed + "}")
        case = case.replace(f", {name.upper()}}}", ", " + listed + "}")
    return case


def c_cases():
    """Yield (statements, whether they are refused)."""
    for call, arguments in C_CALLS.items():
        valid = {name: value for name, (value, _) in arguments.items()}
        yield c_case(call.format(**valid)), False
        if "&context" in call:
            yield c_case(call.format(**valid), number=MAX_CONTEXTS), True
        for name, (_, wrong) in arguments.items():
            yield c_case(call.format(**valid | {name: wrong})), True
        if call.startswith("t3_await_map"):  # nothing would be awaited
            yield c_case(call.format(**valid).replace("&gate", "0")), True
        if call.startswith("t3_remote_map"):  # no tile arrives
            yield c_case(call.format(**valid | {"shares": 0})), False
        elif "shares" in arguments:  # no tile would be complete
            yield c_case(call.format(**valid | {"shares": 0})), True
            yield c_case(call.format(**valid | {"shares": 0, "count": 0})), True
        if "peers" in arguments:  # no peer would get the copy
            yield c_case(call.format(**valid | {"peers": 0})), True
        if call.startswith(C_STRUCTS["to"][1]):
            for wrong in ("peers = 0", f"slot_offset = {-SLOT_OFFSET - 1}"):
                yield c_case(call.format(**valid), f"to.{wrong};"), True
            least = f"to.slot_offset = {-SLOT_OFFSET};"
            yield c_case(call.format(**valid), least), False
        if call.startswith("t3_collective"):
            wrong = [*((name, value) for name, (_, value) in C_PARTS.items()), ("[0].shares", 0)]
            for member, value in [*wrong, ("[1].to.peers", 0)]:
                yield c_case(call.format(**valid), f"parts{member} = {value};"), True
        for struct, (members, calls) in C_STRUCTS.items():
            for member, (_, wrong) in members.items():
                sets = {"kind"} if call.startswith(("t3_copy", *_OF_STORES)) else set()
                sets |= {"marks"} if call.startswith(_OF_TILES) else set()
                if call.startswith(calls) and member not in sets:
                    yield c_case(call.format(**valid), f"{struct}.{member} = {wrong};"), True


def test_c(tmp_path):
    cases = list(c_cases())
    (tmp_path / "main.c").write_text(PROGRAM.replace("BODY", "".join(one for one, _ in cases)))
    program = build(tmp_path, "main.c", tmp_path / "t3.c")
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split("\n")
    for (case, is_refused), line in zip(cases, lines, strict=False):
        result, accesses = map(int, line.split())
        assert (result, accesses > 0) == ((-6, False) if is_refused else (0, True)), case
    assert len(cases) > 150


def test_every_call_of_c_is_tried(tmp_path):
    build(tmp_path, "t3.c", "-c")
    header = re.sub(r"/\*.*?\*/", "", (tmp_path / "t3.h").read_text(), flags=re.S)
    declared = set(re.findall(r"\b(t3_\w+)\(", header))
    tried = {call.split("(")[0] for call in C_CALLS}
    assert declared - C_WITHOUT == tried
