"""The first value beyond an argument's field is refused by both drivers, before any access."""

import inspect
import re
import subprocess
from dataclasses import fields as fields_of
from dataclasses import replace

import pytest

from rtl.interface.encodings import (
    Datatype,
    Granularity,
    InjectTarget,
    Operation,
    PacketKind,
    Policy,
)
from rtl.registers.map import MAX_CONTEXTS, load
from t3.driver import T3, Context, Recorder, Ring, Transfer
from tests.support.c_driver import build

TRANSFER = Transfer(rows=1, run_atoms=1, stride_atoms=1, wave_rows=1, waves=(1, 1, 1, 1))
RING = Ring(
    workgroups=4, first_workgroup=0, leaving=1, staying=1, credit_window=1, command_window=1
)
WINDOW = dict(workgroups=4, tracked=(0, 4), first_workgroup=0, shift=0, credit_window=1)
WINDOW |= dict(command_window=1, updates_per_atom=1, generation=0)


def beyond(register, field):
    """Return the first value that does not fit a field."""
    return 1 << load()[register][field].width


def log2_beyond(register, field):
    """Return the first power of two whose logarithm does not fit a field."""
    return 1 << beyond(register, field)


INDEX = beyond("REGION_COMMIT", "index")
ADDRESS = 1 << 64
DISPATCH = beyond("RANGE_DISPATCH_INDICES", "first")
OF_RANGE = {
    "first": DISPATCH,
    "count": DISPATCH,  # from dispatch index 1 on
    "region": beyond("RANGE_ACTION", "region"),
    "command": beyond("RANGE_ACTION", "command"),
}
OF_TRANSFER = {
    "rows": beyond("COMMAND_OUTER", "outer_extent"),
    "rows_edge": beyond("COMMAND_OUTER", "outer_extent_edge"),
    "run_atoms": beyond("COMMAND_INNER", "inner_extent"),
    "run_edge_atoms": beyond("COMMAND_INNER", "inner_extent_edge"),
    "stride_atoms": beyond("COMMAND_STRIDE", "stride"),
    "kind": len(PacketKind),
    "op": len(Operation),
    "dtype": len(Datatype),
    "granularity": len(Granularity),
    "group": log2_beyond("COMMAND_TRANSFER", "group_log2"),
    "wave_rows": beyond("COMMAND_WAVES", "wave_outer_extent"),
    # The last code is that of a whole run.
    "wave_run_atoms": log2_beyond("COMMAND_TRANSFER", "wave_inner_log2") >> 1,
    "waves_inner": log2_beyond("COMMAND_TRANSFER", "waves_inner_log2"),
    "waves": tuple((1,) * edge + (beyond("COMMAND_WAVES", f"waves{edge}"),) + (1,) * (3 - edge)
                   for edge in range(4)),
    "offset_bytes": 1 << 63,
}  # fmt: skip
OF_WINDOW = {
    "workgroups": beyond("WORKGROUPS", "count"),
    "tracked": ((beyond("TRACKED_FIRST", "dispatch_index"), 4),
                (0, beyond("TRACKED_END", "dispatch_index"))),
    "first_workgroup": beyond("FIRST_WORKGROUP", "workgroup"),
    "shift": beyond("SHIFT", "dispatch_indices"),
    "credit_window": beyond("CREDIT_WINDOW", "workgroups"),
    "command_window": beyond("COMMAND_WINDOW", "workgroups"),
    "updates_per_atom": beyond("TRACKING", "updates_per_atom"),
    "generation": beyond("TRACKING", "generation"),
}  # fmt: skip
OF_RING = {
    **{name: value for name, value in OF_WINDOW.items() if name not in ("tracked", "shift")},
    "leaving": RING.workgroups,  # no workgroup is left to stay
    "staying": RING.workgroups,
}
ENTRIES = beyond("CUTS", "cut0")
# Valid arguments, and the first value of each argument that is beyond its field, or such values.
OF_CONTEXT = {
    "assign": (dict(local=1, remote=1, ways=1),
               dict(local=beyond("ADDRESS_SPACE", "local"),
                    remote=beyond("ADDRESS_SPACE", "remote"), ways=beyond("WAYS", "mask"))),
    "accept": (dict(stores=[1], updates=[1], ops=[Operation.SUM], dtypes=[Datatype.FP16]),
               dict(stores=[load()["INBOUND_STORES"]["sources"].width],
                    updates=[load()["INBOUND_UPDATES"]["sources"].width],
                    ops=[len(Operation)], dtypes=[len(Datatype)])),
    "lock": (dict(regions=1, assignment=1), dict(regions=2, assignment=2)),
    "region": (dict(index=0, base_bytes=0, limit_bytes=32),
               dict(index=INDEX, base_bytes=ADDRESS, limit_bytes=ADDRESS)),
    "remove_region": (dict(index=0), dict(index=INDEX)),
    "unmap": (dict(ranges=1), dict(ranges=beyond("RANGE_COMMIT", "index") + 1)),
    **dict.fromkeys(("remote_map", "dma_map", "own_map"),
                    (dict(first=1, count=1, region=0, command=0), OF_RANGE)),
    "window": (WINDOW, OF_WINDOW),
    "timeout": (dict(cycles=1), dict(cycles=(beyond("TIMEOUT", "ticks") - 1) * 64)),
}  # fmt: skip
OF_GPU = {
    "set_number": (dict(number=1), dict(number=beyond("GPU_NUMBER", "gpu"))),
    "set_arbitration": (
        dict(policy=Policy.MCA, automatic=0, threshold=1, starvation_cycles=1, measure_log2=1,
             cuts=(0, 0, 0), levels=(0, 0, 0)),
        dict(policy=len(Policy), automatic=2, threshold=beyond("ARBITER", "threshold"),
             starvation_cycles=beyond("STARVATION", "cycles"),
             measure_log2=beyond("MEASURE", "log2"),
             cuts=((ENTRIES, 0, 0), (0, ENTRIES, 0), (0, 0, ENTRIES), (0, 0), (0,) * 4),
             levels=((ENTRIES, 0, 0), (0, ENTRIES, 0), (0, 0, ENTRIES), (0, 0), (0,) * 4)),
    ),
    "inject": (dict(target=InjectTarget.TILES, instance=0, double=0),
               dict(target=len(InjectTarget), instance=beyond("INJECT", "instance"), double=2)),
    "scrub": (dict(interval_cycles=1),
              dict(interval_cycles=beyond("SCRUB_INTERVAL", "cycles"))),
    "enable_interrupts": (dict(error=1), dict(error=2)),
}  # fmt: skip
# Calls without a value that is written to a field: polls, codes that are read, and transfers, whose
# fields have a test of their own.
WITHOUT = {"launch", "measure", "wait", "wait_idle", "abort", "take_errors", "error_count"}
WITHOUT |= {"clear_errors", "take_interrupts", "identify", "context", "reset_epochs"}
OF_STRUCTS = {"command", "copy", "all_gather", "reduce_scatter"}


def calls_of(kind):
    return {name for name, one in vars(kind).items() if inspect.isfunction(one) and name[0] != "_"}


def test_every_call_and_argument_is_tried():
    contexts = calls_of(Context) - WITHOUT - OF_STRUCTS - {"enable_interrupts"}
    assert contexts == set(OF_CONTEXT)
    assert calls_of(T3) - WITHOUT - {"lock"} == set(OF_GPU)
    for kind, table in ((Context, OF_CONTEXT), (T3, OF_GPU)):
        for name, (valid, invalid) in table.items():
            parameters = set(inspect.signature(getattr(kind, name)).parameters) - {"self"}
            assert parameters == set(valid) == set(invalid), name
    assert {field.name for field in fields_of(Transfer)} == set(OF_TRANSFER)
    assert {field.name for field in fields_of(Ring)} == set(OF_RING)


def variants(value):
    """Return the values, of which a tuple of tuples has several."""
    several = isinstance(value, tuple) and isinstance(value[0], tuple)
    return value if several else (value,)


CASES = [
    pytest.param(kind, name, {**valid, argument: value}, id=f"{name}-{argument}-{number}")
    for kind, table in ((Context, OF_CONTEXT), (T3, OF_GPU))
    for name, (valid, invalid) in table.items()
    for argument, values in invalid.items()
    for number, value in enumerate([*variants(values), -1])
    # A tuple or a list has no negative value.
    if not (value == -1 and isinstance(values, tuple | list))
]


class Accesses(Recorder):
    """Recorder that also counts reads."""

    def __init__(self):
        super().__init__()
        self.reads = 0

    def read(self, address):
        self.reads += 1
        return 0


def refused(call, *arguments, **named):
    """Return whether a call is refused without an access."""
    bus = Accesses()
    kind = call.__qualname__.split(".")[0]
    instance = Context(bus, 1) if kind == "Context" else T3(bus)
    try:
        call(instance, *arguments, **named)
    except ValueError:
        return not bus.writes and not bus.reads
    assert bus.writes
    return False


@pytest.mark.parametrize("kind, name, arguments", CASES)
def test_python(kind, name, arguments):
    table = OF_CONTEXT if kind is Context else OF_GPU
    assert not refused(getattr(kind, name), **table[name][0])
    assert refused(getattr(kind, name), **arguments)


@pytest.mark.parametrize("name", OF_TRANSFER)
def test_python_transfer(name):
    """A field of a transfer is refused by the transfer, or by each call that takes one."""
    for value in [*variants(OF_TRANSFER[name]), *([] if name == "waves" else [-(1 << 64)])]:
        try:
            wrong = replace(TRANSFER, **{name: value})
        except ValueError:
            continue
        assert refused(Context.command, 0, wrong)
        assert refused(Context.reduce_scatter, RING, wrong)
        if name != "kind":  # a copy sends stores
            assert refused(Context.copy, 0, wrong)
            assert refused(Context.all_gather, [(0, TRANSFER), (0, wrong)], print)


def test_python_calls_with_a_transfer():
    for index, region in ((INDEX, 0), (0, INDEX), (-1, 0), (0, -1)):
        assert refused(Context.command, index, TRANSFER, region=region)
    for start, region in ((ADDRESS, 0), (-1, 0), (0, INDEX), (0, -1)):
        assert refused(Context.copy, start, TRANSFER, region=region)
        assert refused(Context.all_gather, [(0, TRANSFER), (start, TRANSFER)], print, region=region)
    assert refused(Context.reduce_scatter, RING, TRANSFER, region=INDEX)
    assert not refused(Context.reduce_scatter, RING, TRANSFER)


@pytest.mark.parametrize("name", OF_RING)
@pytest.mark.parametrize("negative", [False, True])
def test_python_ring(name, negative):
    wrong = replace(RING, **{name: -1 if negative else OF_RING[name]})
    assert refused(Context.reduce_scatter, wrong, TRANSFER)


@pytest.mark.parametrize("number", [-1, MAX_CONTEXTS])
def test_python_context(number):
    with pytest.raises(ValueError, match="the number of a context must be"):
        Context(Recorder(), number)


@pytest.mark.parametrize("call", [lambda c: c.timeout(1.5), lambda c: c.assign(1.0)])
def test_python_fractions(call):
    """A fraction is not cut to an integer."""
    bus = Recorder()
    with pytest.raises((TypeError, ValueError)):
        call(Context(bus, 1))
    assert bus.writes == []


# Statements of C, with valid arguments; each argument, the first value beyond its field. A value
# that its C type cannot hold is left out: those of 32 and 64 bits.
C_RANGE = dict(first=(1, DISPATCH), count=(1, DISPATCH), region=(0, INDEX), command=(0, INDEX))
C_WINDOW = {
    **{name: (WINDOW[name], value) for name, value in OF_WINDOW.items() if name != "tracked"},
    "tracked_first": (0, beyond("TRACKED_FIRST", "dispatch_index")),
    "tracked_end": (4, beyond("TRACKED_END", "dispatch_index")),
}
C_TRANSFER = {
    **{name: (1, OF_TRANSFER[name]) for name in ("rows", "rows_edge", "run_atoms", "wave_rows")},
    **{name: (1, OF_TRANSFER[name]) for name in ("run_edge_atoms", "stride_atoms")},
    **{name: (0, OF_TRANSFER[name]) for name in ("kind", "op", "dtype", "granularity")},
    "group_log2": (0, beyond("COMMAND_TRANSFER", "group_log2")),
    "wave_run_atoms_log2": (0, beyond("COMMAND_TRANSFER", "wave_inner_log2")),
    "waves_inner_log2": (0, beyond("COMMAND_TRANSFER", "waves_inner_log2")),
    **{f"waves[{edge}]": (1, beyond("COMMAND_WAVES", f"waves{edge}")) for edge in range(4)},
}
C_RING = {name: (getattr(RING, name), value) for name, value in OF_RING.items()}
C_ARBITRATION = {
    "policy": (0, len(Policy)), "automatic": (0, 2),
    "threshold": (0, beyond("ARBITER", "threshold")),
    "starvation_cycles": (0, beyond("STARVATION", "cycles")),
    "measure_log2": (0, beyond("MEASURE", "log2")),
    **{f"{name}[{index}]": (0, ENTRIES) for name in ("cuts", "levels") for index in range(3)},
}  # fmt: skip
ALL_KINDS = 1 << len(load()["INTERRUPT_ENABLE"].fields)
C_CALLS = {
    "t3_set_number(&bus, {gpu})": dict(gpu=(1, beyond("GPU_NUMBER", "gpu"))),
    "t3_inject(&bus, {target}, {instance}, {two_bits})": dict(
        target=(0, len(InjectTarget)), instance=(0, beyond("INJECT", "instance")), two_bits=(0, 2)),
    "t3_scrub(&bus, {cycles})": dict(cycles=(1, beyond("SCRUB_INTERVAL", "cycles"))),
    "t3_gpu_enable_interrupts(&bus, {error})": dict(error=(1, 2)),
    "t3_assign(&context, {local}, {remote}, 1)": dict(
        local=(1, beyond("ADDRESS_SPACE", "local")), remote=(1, beyond("ADDRESS_SPACE", "remote"))),
    "t3_accept(&context, 1, 1, {ops}, {dtypes})": dict(
        ops=(1, beyond("INBOUND_KINDS", "ops")), dtypes=(1, beyond("INBOUND_KINDS", "dtypes"))),
    "t3_lock(&context, {regions}, {assignment})": dict(regions=(1, 2), assignment=(1, 2)),
    "t3_region(&context, {index}, 0, 32)": dict(index=(0, INDEX)),
    "t3_remove_region(&context, {index})": dict(index=(0, INDEX)),
    "t3_command(&context, {index}, &transfer, {region})": dict(index=(0, INDEX),
                                                              region=(0, INDEX)),
    **{f"t3_{name}_map(&context, {{first}}, {{count}}, {{region}}, {{command}})": C_RANGE
       for name in ("remote", "dma", "own")},
    "t3_window(&context, &window)": {},
    "t3_reduce_scatter(&context, &ring, &transfer, {region})": dict(region=(0, INDEX)),
    "t3_copy(&context, 0, &transfer, {region})": dict(region=(0, INDEX)),
    "t3_all_gather(&context, chunks, 2, {region}, arrived, 0)": dict(region=(0, INDEX)),
    "t3_enable_interrupts(&context, {kinds})": dict(kinds=(1, ALL_KINDS)),
    "t3_set_arbitration(&bus, &arbitration)": {},
}  # fmt: skip
C_STRUCTS = {
    "transfer": (C_TRANSFER, ("t3_command", "t3_copy", "t3_reduce_scatter", "t3_all_gather")),
    "window": (C_WINDOW, ("t3_window",)),
    "ring": (C_RING, ("t3_reduce_scatter",)),
    "arbitration": (C_ARBITRATION, ("t3_set_arbitration",)),
}
# Calls of C whose arguments are not written, or are of 32 bits as their fields.
C_WITHOUT = {"t3_identify", "t3_reset_epochs", "t3_next_epoch", "t3_gpu_lock", "t3_armed"}
C_WITHOUT |= {"t3_corrected", "t3_scrub_corrected", "t3_mapped", "t3_context", "t3_timeout"}
C_WITHOUT |= {"t3_unmap", "t3_launch", "t3_measure", "t3_wait", "t3_wait_idle", "t3_abort"}
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
{ (void)self; (void)address; accesses++; return 0; }
static void arrived(void *self, unsigned chunk) { (void)self; (void)chunk; }
int main(void)
{
    struct t3_bus bus = {0, put, get};
BODY
    return 0;
}
"""
C_CASE = """    {
        struct t3_context context = t3_context(&bus, NUMBER);
        struct t3_transfer transfer = {TRANSFER};
        struct t3_window window = {WINDOW};
        struct t3_ring ring = {RING};
        struct t3_arbitration arbitration = {ARBITRATION};
        struct t3_chunk chunks[2] = {{0, {TRANSFER}}, {0, {TRANSFER}}};
        int result;
        CHANGE
        chunks[1].transfer = transfer;
        (void)context; (void)window; (void)ring; (void)arbitration; (void)chunks;
        accesses = 0;
        result = CALL;
        printf("%d %d\\n", result, accesses);
    }
"""


def c_case(call, change="", number=1):
    case = C_CASE.replace("CALL", call).replace("CHANGE", change).replace("NUMBER", str(number))
    for name, (members, _) in C_STRUCTS.items():
        values = {member: valid for member, (valid, _) in members.items() if "[" not in member}
        case = case.replace(
            f"{{{name.upper()}}}", "{" + ", ".join(f".{k} = {v}" for k, v in values.items()) + "}"
        )
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
        for struct, (members, calls) in C_STRUCTS.items():
            for member, (_, wrong) in members.items():
                copies = call.startswith(("t3_copy", "t3_all_gather"))
                if call.startswith(calls) and not (copies and member == "kind"):
                    yield c_case(call.format(**valid), f"{struct}.{member} = {wrong};"), True


def test_c(tmp_path):
    cases = list(c_cases())
    (tmp_path / "main.c").write_text(C_PROGRAM.replace("BODY", "".join(one for one, _ in cases)))
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
