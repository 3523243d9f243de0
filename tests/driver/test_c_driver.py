"""The drivers in C and Python make the same writes and reads."""

import re
import subprocess
from dataclasses import replace

import pytest

from driver.c import c_driver
from rtl.export.register_documents import register_documents
from rtl.interface.encodings import ConfigurationError, ErrorCode
from rtl.registers.map import CONTEXT, load, page
from t3.driver import (
    T3,
    AbortedError,
    Collective,
    Context,
    Datatype,
    Exchange,
    Gate,
    Gather,
    Granularity,
    InjectTarget,
    Operation,
    Overlap,
    PacketKind,
    Part,
    Peer,
    Policy,
    RefusedError,
    ReportedError,
    Ring,
    Send,
    Transfer,
    WaitTimeoutError,
)
from tests.support.driver_identity import IDENTITY

# The program prints writes; reads return words from the command line, in turn for each address. It
# identifies itself without printing the reads.
HARNESS = """
#include <stdio.h>
#include <stdlib.h>
#include "t3.h"
#include "t3_registers.h"
static char **next;
static int record(void *self, uint32_t address, uint32_t word)
{ (void)self; printf("w %x %x\\n", address, word); return 1; }
static uint32_t answer(void *self, uint32_t address)
{ (void)self; IDENTITY
  if (!next) return 8; /* contexts */
  printf("r %x\\n", address); return *next ? (uint32_t)strtoul(*next++, 0, 0) : 0; }
static void arrived(void *self, unsigned chunk) { (void)self; printf("arrived %u\\n", chunk); }
int main(int count, char **words)
{
    struct t3_bus bus = {0, record, answer};
    struct t3_context context = t3_context(&bus, 1);
    struct t3_transfer tile = {.rows = 3, .rows_edge = 2, .run_atoms = 5, .run_edge_atoms = 4,
        .stride_atoms = 640,
        .kind = T3_PACKET_KIND_UPDATE, .op = T3_OPERATION_MAX, .dtype = T3_DATATYPE_FP16,
        .granularity = T3_GRANULARITY_WORKGROUP, .group_log2 = 2, .wave_rows = 1,
        .wave_run_atoms_log2 = 3, .waves_inner_log2 = 1, .waves = {4, 3, 2, 1},
        .offset_bytes = -64};
    struct t3_ring ring = {.workgroups = 40, .leaving = 10, .staying = 12,
        .credit_window = 20, .command_window = 30, .shares = 3, .generation = 9};
    struct t3_peer peer = {.gpu = 100, .rank = 3, .space = 9, .sends_updates = 1,
        .takes_stores = 1};
    struct t3_receivers to = {.peers = 0x82, .slot_offset = -5};
    struct t3_gate gate = {.context = 6, .generation = 11, .slot = 1 << 16, .workgroups = 48,
        .slots = 16};
    struct t3_part parts[3] = {{.workgroups = 15, .stores_leave = 1, .shares = 1, .to = to},
        {.workgroups = 0, .shares = 2, .to = to},
        {.workgroups = 7, .shares = 4, .gate = &gate}};
    struct t3_collective collective = {.parts = parts, .count = 3, .tracked_first = 3,
        .accumulate = 1, .progress = 16, .arriving = 6,
        .unused = 5, .credit_window = 7, .command_window = 30, .generation = 9};
    struct t3_transfer stores = tile, far = tile;
    struct t3_gather gather = {.own = 10, .passed = 20, .arriving = 7, .before = 3, .to = to,
        .credit_window = 20, .command_window = 30, .generation = 9};
    struct t3_part sent[2] = {{.workgroups = 4, .to = {.peers = 2, .slot_offset = 8}},
        {.workgroups = 5, .to = {.peers = 128, .slot_offset = -3}}};
    struct t3_exchange exchange = {.sent = sent, .count = 2, .own = 6, .arriving = 11,
        .credit_window = 20, .command_window = 30, .generation = 9};
    struct t3_send send = {.leaving = 12, .arriving = 13, .to = {.peers = 4, .slot_offset = 12},
        .credit_window = 20, .command_window = 30, .generation = 9};
    struct t3_overlap overlap = {.ring = ring, .passed = 21, .arriving = 9};
    struct t3_chunk chunks[2] = {{1 << 16, tile}, {1 << 17, tile}};
    struct t3_error error;
    int result = 0;
    (void)count; (void)arrived; (void)chunks; (void)ring; (void)tile; (void)error; (void)context;
    (void)peer; (void)to; (void)collective; (void)gate;
    (void)stores; (void)far; (void)gather; (void)exchange; (void)send; (void)overlap;
    next = words + 1;
    BODY
    printf("= %d\\n", result);
    return 0;
}
""".replace(
    "IDENTITY",
    " ".join(f"if (address == {address}) return {word}u;" for address, word in IDENTITY.items()),
)
TILE = Transfer(
    rows=3,
    rows_edge=2,
    run_atoms=5,
    run_edge_atoms=4,
    stride_atoms=640,
    op=Operation.MAX,
    granularity=Granularity.WORKGROUP,
    group=4,
    wave_rows=1,
    wave_run_atoms=8,
    waves_inner=2,
    waves=(4, 3, 2, 1),
    offset_bytes=-64,
)
RING = Ring(
    workgroups=40,
    leaving=10,
    staying=12,
    credit_window=20,
    command_window=30,
    shares=3,
    generation=9,
)


PEER = Peer(gpu=100, rank=3, space=9, sends_updates=True, takes_stores=True)
GATE = Gate(context=6, generation=11, slot=1 << 16, workgroups=48, slots=16)
TO = {"peers": [7, 1], "slot_offset": -5}
COLLECTIVE = Collective(
    parts=(
        Part(15, stores_leave=True, peers=(7, 1), slot_offset=-5),
        Part(0, shares=2, peers=(7, 1), slot_offset=-5),
        Part(7, shares=4, gate=GATE),
    ),
    tracked_first=3,
    unused=5,
    arriving=6,
    credit_window=7,
    command_window=30,
    generation=9,
    accumulate=True,
    progress=16,
)
WINDOWS = {"credit_window": 20, "command_window": 30, "generation": 9}
GATHER = Gather(own=10, passed=20, arriving=7, before=3, peers=(7, 1), slot_offset=-5, **WINDOWS)
EXCHANGE = Exchange(
    sent=(Part(4, peers=(1,), slot_offset=8), Part(5, peers=(7,), slot_offset=-3)),
    own=6,
    arriving=11,
    **WINDOWS,
)
SEND = Send(leaving=12, arriving=13, peer=2, slot_offset=12, **WINDOWS)
STORES, FAR = replace(TILE, kind=PacketKind.STORE), replace(TILE, offset_bytes=1 << 20)
OF_THREE = replace(
    COLLECTIVE,
    parts=tuple(
        replace(part, transfer=one)
        for part, one in zip(COLLECTIVE.parts, (FAR, None, STORES), strict=True)
    ),
)


class Record:
    """Bus that records the driver's accesses, and answers its reads in turn; it identifies itself
    without a record.
    """

    def __init__(self, words):
        self.lines, self._words = [], list(words)

    def write(self, address, word):
        self.lines.append(f"w {address:x} {word:x}")
        return True

    def read(self, address):
        if address in IDENTITY:
            return IDENTITY[address]
        self.lines.append(f"r {address:x}")
        return self._words.pop(0) if self._words else 0


def attached(words=()):
    """Make a bus with these answers, and the driver of a context that is behind it."""
    bus = Record([8])  # contexts
    context = Context(bus, 1)
    assert bus.lines == [f"r {load()['CONTEXTS'].address:x}"]
    bus.__init__(words)
    return bus, context


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("driver")
    for name, content in (register_documents() | c_driver()).items():
        if name.endswith((".c", ".h")):
            (folder / name).write_bytes(content)
    return folder


def run(folder, body, words=(), harness=HARNESS):
    """Run a program with these statements; return the lines of its output, and its result."""
    (folder / "main.c").write_text(harness.replace("BODY", body))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    command = ["cc", *flags, "-o", folder / "main", folder / "main.c", folder / "t3.c"]
    subprocess.run(command, check=True)
    done = subprocess.run(
        [folder / "main", *map(str, words)], check=True, capture_output=True, text=True
    )
    *lines, result = done.stdout.splitlines()
    return lines, int(result.removeprefix("= "))


def only_writes(lines):
    return [line for line in lines if line.startswith("w")]


@pytest.mark.parametrize(
    "body, call",
    [
        ("result = t3_assign(&context, 5, T3_UNCHANGED);", lambda c: c.assign(5)),
        ("result = t3_assign(&context, 5, 0);", lambda c: c.assign(5, ways=0)),
        ("result = t3_assign(&context, 5, 0xF0);", lambda c: c.assign(5, ways=0xF0)),
        ("result = t3_set_rank(&context, 99);", lambda c: c.set_rank(99)),
        ("result = t3_peer(&context, 5, &peer);", lambda c: c.peer(5, PEER)),
        ("result = t3_remove_peer(&context, 7);", lambda c: c.remove_peer(7)),
        ("result = t3_accept(&context, T3_ALL, T3_ALL);", lambda c: c.accept()),
        (("result = t3_accept(&context, 1u << T3_OPERATION_MAX,"
          " 1u << T3_DATATYPE_BF16 | 1u << T3_DATATYPE_FP32);"),
         lambda c: c.accept(ops=[Operation.MAX], dtypes=[Datatype.BF16, Datatype.FP32])),
        ("result = t3_lock(&context, 1, 0);", lambda c: c.lock(assignment=False)),
        ("result = t3_lock(&context, 0, 1);", lambda c: c.lock(regions=False)),
        ("result = t3_hold(&context);", lambda c: c.hold()),
        ("result = t3_timeout(&context, 0);", lambda c: c.timeout(0)),
        ("result = t3_timeout(&context, 128);", lambda c: c.timeout(128)),
        ("result = t3_timeout(&context, 129);", lambda c: c.timeout(129)),
        ("result = t3_timeout(&context, 0xFFFFFFFF);", lambda c: c.timeout(0xFFFF_FFFF)),
        ("result = t3_measure(&context);", lambda c: c.measure()),
        ("result = t3_clear_errors(&context);", lambda c: c.clear_errors()),
        ("result = t3_region(&context, 3, 64, 1ull << 36);", lambda c: c.region(3, 64, 1 << 36)),
        (
            "result = t3_share_region(&context, 1, 0, 64);",
            lambda c: c.region(1, 0, 64, share=True),
        ),
        ("result = t3_remove_region(&context, 2);", lambda c: c.remove_region(2)),
        ("result = t3_command(&context, 1, &tile, 2);", lambda c: c.command(1, TILE, region=2)),
        ("tile.marks = 1; result = t3_command(&context, 1, &tile, 2);",
         lambda c: c.command(1, replace(TILE, marks=True), region=2)),
        ("to.peers = 1; to.slot_offset = 0; result = t3_dma_map(&context, 4, 9, 1, 2, 1, to, 0);",
         lambda c: c.dma_map(4, 9, region=1, command=2)),
        ("result = t3_dma_map(&context, 4, 9, 1, 2, 63, to, &gate);",
         lambda c: c.dma_map(4, 9, region=1, command=2, shares=63, gate=GATE, **TO)),
        ("result = t3_remote_map(&context, 4, 9, 1, 2, 63, to, &gate);",
         lambda c: c.remote_map(4, 9, region=1, command=2, shares=63, gate=GATE, **TO)),
        ("result = t3_own_map(&context, 4, 9, 1, 2, 63, &gate);",
         lambda c: c.own_map(4, 9, region=1, command=2, shares=63, gate=GATE)),
        ("result = t3_await_map(&context, 4, 9, 1, &gate);",
         lambda c: c.await_map(4, 9, GATE, region=1)),
        ("result = t3_may_await(&context, 0xA0);", lambda c: c.may_await([7, 5])),
        ("result = t3_reduce_scatter(&context, &ring, &tile, 3);",
         lambda c: c.reduce_scatter(RING, TILE, region=3)),
        ("result = t3_collective(&context, &collective, &tile, 3);",
         lambda c: c.collective(COLLECTIVE, TILE, region=3)),
        (("stores.kind = T3_PACKET_KIND_STORE; far.offset_bytes = 1 << 20;"
          "parts[0].transfer = &far; parts[2].transfer = &stores;"
          "result = t3_collective(&context, &collective, &tile, 3);"),
         lambda c: c.collective(OF_THREE, TILE, region=3)),
        ("result = t3_all_gather(&context, &gather, &tile, 3);",
         lambda c: c.all_gather(GATHER, TILE, region=3)),
        ("result = t3_all_to_all(&context, &exchange, &tile, 3);",
         lambda c: c.all_to_all(EXCHANGE, TILE, region=3)),
        ("result = t3_send(&context, &send, &tile, 3);", lambda c: c.send(SEND, TILE, region=3)),
        ("result = t3_gemm_overlap(&context, &overlap, &tile, 3);",
         lambda c: c.gemm_overlap(Overlap(RING, passed=21, arriving=9), TILE, region=3)),
        (("t3_own_map(&context, 1, 2, 0, 0, 5, 0); t3_remote_map(&context, 3, 1, 0, 0, 0, to, 0);"
         "result = t3_unmap(&context);"),
         lambda c: (c.own_map(1, 2, shares=5), c.remote_map(3, 1, **TO), c.unmap())),
        ("result = t3_reset_epochs(&context, 3);", lambda c: c.reset_epochs(polls=3)),
        ("result = t3_launch(&context);", lambda c: c.launch()),
        ("result = t3_copy(&context, 4096, &tile, 1, 1);", lambda c: c.copy(4096, TILE, region=1)),
        ("result = t3_copy(&context, 4096, &tile, 1, 0x82);",
         lambda c: c.copy(4096, TILE, region=1, peers=[1, 7])),
        ("result = t3_abort(&context, 3);", lambda c: c.abort(polls=3)),
        ("result = t3_enable_interrupts(&context, T3_DONE | T3_COPY);",
         lambda c: c.enable_interrupts(done=True, copy=True)),
        ("result = t3_enable_interrupts(&context, T3_PROGRESS);",
         lambda c: c.enable_interrupts(progress=True)),
    ],
)  # fmt: skip
def test_same_writes(folder, body, call):
    bus, context = attached()
    call(context)
    lines, result = run(folder, body)
    assert lines == bus.lines and only_writes(lines)
    assert result == 0


def test_same_writes_where_the_ranges_end(folder):
    """The removal of ranges ends at the first index that the hardware lacks, and at no other
    refusal."""
    unknown, in_use = (
        load()["STATUS"].pack(configuration_error=code.value)
        for code in (ConfigurationError.UNKNOWN_INDEX, ConfigurationError.IN_USE)
    )
    for words in ([0, 0, unknown] + [0] * 50, [0, in_use]):
        bus, context = attached(words)
        lines, result = run(folder, "result = t3_reduce_scatter(&context, &ring, &tile, 3);", words)
        try:
            context.reduce_scatter(RING, TILE, region=3)
            expected = 0
        except RefusedError as refused:
            expected = refused.code.value
        assert (lines, result) == (bus.lines, expected)
        assert expected == (ConfigurationError.IN_USE.value if in_use in words else 0)


def test_hand_over(folder):
    """The context still aborts at first, and is not idle then."""
    status, body = load()["STATUS"], "result = t3_hand_over(&context, 3);"
    counters = [0] * sum(name.startswith(("ERRORS", "COUNT_")) for name in page(CONTEXT))
    words = [0, status.pack(aborting=1), 0, *counters, 0, status.pack(idle=1), 0]
    bus, context = attached(words)
    context.hand_over(polls=3)
    lines, result = run(folder, body, words)
    assert lines == bus.lines and result == 0
    assert len(only_writes(lines)) == 4
    # Without an idle context, its tables stay as they are.
    with pytest.raises(WaitTimeoutError):
        attached()[1].hand_over(polls=3)
    lines, result = run(folder, body)
    assert len(only_writes(lines)) == 2 and result == -1


def test_copy_chunks(folder):
    body = "result = t3_copy_chunks(&context, chunks, 2, 1, 0x82, arrived, 0);"
    lines, result = run(folder, body)
    bus, context = attached()

    def arrived(chunk):
        bus.lines.append(f"arrived {chunk}")

    context.copy_chunks([(1 << 16, TILE), (1 << 17, TILE)], arrived, region=1, peers=[1, 7])
    without_reads = [line for line in bus.lines if not line.startswith("r")]
    assert [line for line in lines if not line.startswith("r")] == without_reads
    assert "arrived 1" in lines and result == 0


def test_identify(folder):
    lines, result = run(folder, "result = t3_identify(&bus);", [3])
    bus = Record([3])
    assert T3(bus).identify() == result == 3
    assert lines == bus.lines


@pytest.mark.parametrize(
    "body, call",
    [
        ("result = t3_gpu_lock(&bus);", lambda g: g.lock()),
        ("result = t3_gpu_clear_errors(&bus);", lambda g: g.clear_errors()),
        ("result = t3_gpu_enable_interrupts(&bus, 1);", lambda g: g.enable_interrupts(error=True)),
        ("result = t3_gpu_enable_interrupts(&bus, 0);", lambda g: g.enable_interrupts(error=False)),
        (("struct t3_arbitration by = {.policy = T3_POLICY_MCA, .automatic = 1, .threshold = 30,"
          " .starvation_cycles = 500, .measure_log2 = 9, .cuts = {1, 2, 3}, .levels = {4, 5, 6}};"
          "result = t3_set_arbitration(&bus, &by);"),
         lambda g: g.set_arbitration(
             Policy.MCA, automatic=True, threshold=30, starvation_cycles=500, measure_log2=9,
             cuts=(1, 2, 3), levels=(4, 5, 6))),
    ],
)  # fmt: skip
def test_same_writes_of_the_gpu(folder, body, call):
    bus = Record(())
    call(T3(bus))
    assert run(folder, body) == (bus.lines, 0) and bus.lines


@pytest.mark.parametrize(
    "body, register, field, get",
    [
        ("t3_next_epoch(&context)", "EPOCHS", "next", lambda g, c: c.next_epoch),
        ("t3_tiles(&context)", "TILES", "count", lambda g, c: c.tiles),
        ("t3_oldest(&context)", "OLDEST", "dispatch_index", lambda g, c: c.oldest),
        ("t3_error_count(&context, T3_ERROR_CODE_PEER_ABORTED)", "COUNT_PEER_ABORTED", "count",
         lambda g, c: c.error_count(ErrorCode.PEER_ABORTED)),
        ("t3_gpu_error_count(&bus, T3_ERROR_CODE_LINK_RESET)", "GPU_COUNT_LINK_RESET", "count",
         lambda g, c: g.error_count(ErrorCode.LINK_RESET)),
        ("(t3_status(&context) & T3__CONTEXT__STATUS__CONFIGURATION_ERROR_bm) >> 8", "STATUS",
         "configuration_error", lambda g, c: c.status["configuration_error"]),
    ],
)  # fmt: skip
def test_same_reads(folder, body, register, field, get):
    register = load()[register]
    value = 2 if register[field].width < 8 else 0xB5
    word = value << register[field].low
    bus, context = attached([word])
    assert get(T3(bus), context) == value
    assert run(folder, f"result = (int)({body});", [word]) == (bus.lines, value)


def test_what_is_not_counted(folder):
    assert run(folder, "result = (int)t3_error_count(&context, T3_ERROR_CODE_LINK_DOWN);") == (
        [],
        0,
    )
    assert run(folder, "result = (int)t3_gpu_error_count(&bus, T3_ERROR_CODE_OVERRUN);") == ([], 0)


def test_every_call_is_in_c(folder):
    """The C names match the Python names: a GPU call that shares its name with a context call has
    the prefix ``gpu``, and C takes errors one at a time."""
    header = (folder / "t3.h").read_text()
    of_gpu, of_context = (
        {name for name in dir(kind) if not name.startswith("_")} for kind in (T3, Context)
    )
    of_gpu = {f"gpu_{name}" if name in of_context else name for name in of_gpu}
    wanted = {f"t3_{name}".replace("take_errors", "take_error") for name in of_gpu | of_context}
    assert {name for name in wanted if not re.search(rf"\b{name}\(", header)} == set()
    assert len(wanted) > 40


def test_inject(folder):
    armed = load()["INJECT"].pack() | load()["INJECT"]["armed"].mask
    body = (
        "t3_inject(&bus, T3_INJECT_TARGET_ISSUE_ACKS, 5, 1);"
        "result = t3_armed(&bus) * 100 + (int)t3_corrected(&bus);"
    )
    lines, result = run(folder, body, [0, armed, 7])  # the first is the page's status
    bus = Record([0, armed, 7])
    gpu = T3(bus)
    gpu.inject(InjectTarget.ISSUE_ACKS, 5, double=True)
    assert gpu.armed * 100 + gpu.corrected == result == 107
    assert lines == bus.lines


def test_scrubber(folder):
    lines, result = run(
        folder, "t3_scrub(&bus, 1000); result = (int)t3_scrub_corrected(&bus);", [0, 9]
    )
    bus = Record([0, 9])
    T3(bus).scrub(1000)
    assert T3(bus).scrub_corrected == result == 9
    assert lines == bus.lines


def test_refused(folder):
    code = ConfigurationError.OVERLAP
    status = load()["STATUS"].pack(configuration_error=code.value)
    _, result = run(folder, "result = t3_region(&context, 0, 0, 32);", [status])
    assert result == code.value
    with pytest.raises(RefusedError) as info:
        attached([status, status])[1].region(0, 0, 32)
    assert info.value.code is code


def test_wait(folder):
    """``wait`` reports the end of a launch, a launch that does not end, and an error."""
    status = load()["STATUS"]
    running, pending, error, aborted = (
        status["running"].mask, status["pending"].mask, status["error"].mask, status["aborted"].mask
    )  # fmt: skip
    body = "result = t3_wait(&context, 5);"
    lost = [1, 1]  # ERRORS, and the first counter: STORE_LATE
    refused = [1, 0, 0, 3]  # ERRORS, and the third counter: PACKET_UNMAPPED
    cases = [
        ([], 0), ([pending, 0, running, 0, 0, 0], 0), ([running, 0] * 5, -1),
        ([running, *lost], -2), ([running, 0, aborted, 0], -5), ([aborted, *lost], -2),
        ([0, *refused], 0), ([error, *refused], 0),
    ]  # fmt: skip
    for words, expected in cases:
        lines, result = run(folder, body, words)
        bus, context = attached(words)
        assert result == expected
        assert result_of(lambda: context.wait(polls=5)) == expected  # noqa: B023
        assert bus.lines[: len(lines)] == lines
    idle = status.pack(idle=1)
    body = "result = t3_wait_idle(&context, 3);"
    cases = [([0, 0, 0, 0, idle], 0), ([0], -1), ([running, *lost], -2), ([idle, *refused], 0)]
    for words, expected in cases:
        assert run(folder, body, words)[1] == expected
        context = attached(words)[1]
        assert result_of(lambda: context.wait_idle(polls=3)) == expected  # noqa: B023


def result_of(wait):
    """Return the result that the C driver has in place of an exception."""
    results = {WaitTimeoutError: -1, ReportedError: -2, AbortedError: -5}
    try:
        wait()
    except tuple(results) as raised:
        return results[type(raised)]
    return 0


@pytest.mark.parametrize("page, body", [("", "&context"), ("GPU_", "&bus")])
def test_take_error(folder, page, body):
    values = {
        "ERROR_LOCATION": load()["ERROR_LOCATION"].pack(errors=1, channel=3, source=17),
        "ERROR": load()["ERROR"].pack(
            code=ErrorCode.STORE_STALE.value, wavefront=2, dispatch_index=777
        ),
        "ERROR_ADDRESS_LO": 0xFFFF_FFE0,
        "ERROR_ADDRESS_HI": 5,
    }
    body = (
        f"result = t3_{page.lower()}take_error({body}, &error);"
        'printf("%d %u %u %u %u %llx\\n", error.code, error.dispatch_index, error.wavefront,'
        " error.channel, error.source, (unsigned long long)error.address);"
    )
    lines, result = run(folder, body, values.values())
    assert result == 1 and lines[-1] == f"{ErrorCode.STORE_STALE.value} 777 2 3 17 5ffffffe0"
    bus, context = attached([values["ERROR_LOCATION"], *values.values()])
    (error,) = (T3(bus) if page else context).take_errors()
    assert (error.code, error.dispatch_index, error.wavefront) == (ErrorCode.STORE_STALE, 777, 2)
    assert (error.channel, error.source, error.address) == (3, 17, 0x5_FFFF_FFE0)
    assert only_writes(lines) == only_writes(bus.lines)
    assert run(folder, body)[1] == 0


def test_interrupts(folder):
    word = load()["INTERRUPTS"].pack() | 0b1001
    lines, result = run(folder, "result = (int)t3_take_interrupts(&context);", [word])
    bus, context = attached([word])
    assert context.take_interrupts() == {"done", "error"}
    assert lines == bus.lines and result == 0b1001
    bus = Record([1])
    assert T3(bus).take_interrupts() == {"error"}
    assert run(folder, "result = t3_gpu_take_interrupts(&bus);", [1]) == (bus.lines, 1)


def test_a_lock_keeps_errors_in_the_log(folder):
    refuse = "static int no(void *self, uint32_t a, uint32_t w) { (void)self; (void)a; (void)w;"
    body = "bus.write = no; result = t3_gpu_take_error(&bus, &error) * 10"
    body += " + t3_gpu_take_interrupts(&bus);"
    place = load()["GPU_ERROR_LOCATION"].pack(errors=1)
    harness = HARNESS.replace("int main", f"{refuse} return 0; }}\nint main")
    _, result = run(folder, body, [place, 0, 0, 0, 1], harness=harness)
    assert result == -44


def test_mapped_registers(folder):
    address = load()["SCRUB_INTERVAL"].address
    identity = "".join(f"memory[{at // 4}] = {word}u;" for at, word in IDENTITY.items())
    body = (
        "static uint32_t memory[2048]; struct t3_bus mapped = t3_mapped(memory);"
        f"{identity}"
        f"t3_scrub(&mapped, 5); result = (int)memory[{address // 4}];"
    )
    assert run(folder, body) == ([], 5)
