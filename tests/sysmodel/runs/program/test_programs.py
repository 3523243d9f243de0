"""Programs: their files, the values in Python, and the refusal of those that make no sense."""

import pickle

import pytest

from sysmodel.collectives.registry import algorithms
from sysmodel.config.bundled import PROGRAMS
from sysmodel.lib.activities import MOST_ACTIVITIES
from sysmodel.lib.errors import InputError
from sysmodel.runs.columns import catalogue
from sysmodel.runs.options import RunOptions
from sysmodel.runs.program.activities import Collective, Gemm, Size
from sysmodel.runs.program.files import load_program, program_names, program_of_record
from sysmodel.runs.program.program import Program

SUBLAYER = (
    Gemm("gemm"),
    Collective("rs", "reduce-scatter", "gemm"),
    Collective("ag", "all-gather", "rs"),
)
PAIR = (*SUBLAYER, Gemm("gemm2", ("ag",)))


def test_bundled_programs():
    assert program_names() == ["all-reduce", "pair", "sublayer"]
    assert load_program("sublayer").activities == SUBLAYER
    assert load_program("pair").activities == PAIR
    assert load_program("PAIR").name == "pair"
    for name in program_names():
        assert load_program(name).description


def test_a_file_over_a_base(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'base = "pair"\ndescription = "mine"\n'
        "[activities.gemm2]\nsize = {m = 64, n = 32, k = 16}\n"
        '[activities.ag]\nalgorithm = "direct"\n'
    )
    mine = load_program(tmp_path / "mine.toml")
    assert mine.name == "mine" and mine.names == ("gemm", "rs", "ag", "gemm2")
    assert mine.gemms[1] == Gemm("gemm2", ("ag",), Size(m=64, n=32, k=16))
    assert mine.collectives[1].algorithm == "direct"


def test_every_way_to_give_a_program(tmp_path):
    content = {
        "description": "made here",
        "activities.gemm.kind": "gemm",
        "activities.rs": {"kind": "reduce-scatter", "of": "gemm"},
    }
    program = Program("custom", SUBLAYER[:2], "made here")
    file = tmp_path / "custom.toml"
    file.write_text(
        'description = "made here"\n[activities]\ngemm = {kind = "gemm"}\n'
        'rs = {kind = "reduce-scatter", of = "gemm"}\n'
    )
    for source in (content, file, str(file), program):
        assert load_program(source) == program
        assert RunOptions(program=source).program == program
    assert RunOptions().program.activities == SUBLAYER
    assert pickle.loads(pickle.dumps(RunOptions(program=program))).program == program


def test_the_record_in_a_result_is_the_program():
    activities = (
        *SUBLAYER[:2],
        Collective("ag", "all-gather", "rs", "direct", needs=("other",)),
        Gemm("other", size=(7, 8, 9)),
    )
    program = Program("mine", activities)
    assert program_of_record(program.as_dict(), "x") == program
    for record in ({}, {"name": "x"}, {"name": "x", "activities": [{}]}, 3):
        with pytest.raises(InputError, match="is not a record of a program"):
            program_of_record(record, "x")


def test_order_and_chains():
    program = Program(
        "reversed",
        (
            Gemm("last", "ag"),
            Collective("ag", "all-gather", "rs"),
            Collective("rs", "reduce-scatter", "first"),
            Gemm("first"),
            Gemm("beside"),
        ),
    )
    assert [one.name for one in program.in_order] == ["first", "rs", "ag", "last", "beside"]
    chains = [[one.name for one in chain.activities] for chain in program.chains]
    assert chains == [["first", "rs", "ag"], ["last"], ["beside"]]
    assert [program.number(one) for one in program.chains[0].activities] == [3, 2, 1]


def _with(*more):
    return (*SUBLAYER, *more)


@pytest.mark.parametrize(
    ("activities", "message"),
    [
        ((), f"activities: 0 are not allowed; allowed: 1 to {MOST_ACTIVITIES}"),
        ([Gemm(f"g{i}") for i in range(9)], "activities: 9 are not allowed; allowed: 1 to 8"),
        ((3,), "activities.0: 3 is not allowed; allowed: Gemm or Collective"),
        ("gemm", "activities: 'gemm' is not allowed; allowed: a list of activities"),
        ((Gemm("GEMM"),), "activities.0.name: 'GEMM' is not allowed; allowed: .* a letter first"),
        ((Gemm("2nd"),), "activities.0.name: '2nd' is not allowed"),
        ((Gemm("a" * 21),), "activities.0.name: .* is not allowed; allowed: up to 20"),
        ((Gemm("total"),), "activities.0.name: 'total' is the name of another column"),
        ((Gemm("a_throttled"),), "activities.0.name: 'a_throttled' is the name of another"),
        ((Gemm("a"), Gemm("a")), "activities.a: two activities have this name"),
        (_with(Gemm("b", "x")), "activities.b.needs: 'x' is no activity; allowed: gemm, rs, ag"),
        ((Gemm("a", "a"),), "activities.a.needs: 'a' is the activity itself; allowed: none"),
        ((Gemm("a", "b"), Gemm("b", "a")), "activities.a.needs: a, b wait for each other"),
        (
            (Gemm("gemm", "ag"), *SUBLAYER[1:]),
            "activities.gemm.needs: gemm, rs, ag wait for each other",
        ),
        (
            _with(Collective("b", "all-gather", "x")),
            "activities.b.of: 'x' is no activity; allowed: gemm, rs, ag",
        ),
        (
            _with(Collective("b", "reduce-scatter", "ag")),
            "activities.b.of: 'ag' is not a GEMM; allowed: gemm",
        ),
        (
            (Gemm("gemm"), Collective("b", "all-gather", "gemm")),
            "activities.b.of: 'gemm' is not a reduce-scatter; allowed: none",
        ),
        (
            _with(Collective("b", "all-reduce", "gemm")),
            "activities.b.of: 'gemm' is already the input of rs; allowed: one collective",
        ),
        (
            _with(Collective("b", "all-gather", "rs")),
            "activities.b.of: 'rs' is already the input of ag",
        ),
        (
            _with(Collective("b", "all-to-all", "gemm")),
            (
                "activities.b.operation: 'all-to-all' is not allowed; allowed: reduce-scatter, "
                "all-gather, all-reduce"
            ),
        ),
        (
            (Gemm("gemm"), Collective("b", "reduce-scatter", "gemm", "tree")),
            "activities.b.algorithm: 'tree' does no reduce-scatter .*allowed: .*direct.*ring",
        ),
        ((Collective("b", "all-reduce", "b"),), "activities: no GEMM is among them"),
    ],
)
def test_what_is_no_program(activities, message):
    with pytest.raises(InputError, match=f"^program bad: {message}") as caught:
        Program("bad", activities)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gemm("a", needs=3), "a.needs: 3 is not allowed; allowed: names of activities"),
        (lambda: Gemm("a", size=(1, 2)), r"a.size: \(1, 2\) is not allowed; allowed: m, n and k"),
        (lambda: Gemm("a", size=(1, 0, 3)), "a.size.n: 0 is not allowed; allowed: an integer from"),
        (lambda: Program("", SUBLAYER), "program.name: '' is not allowed"),
        (lambda: RunOptions(program="trio"), "program: 'trio' is not known; allowed: all-reduce, "),
        (lambda: RunOptions(program=3), "program: 3 is not allowed; allowed: all-reduce, pair"),
    ],
)
def test_values_that_are_not_allowed(make, message):
    with pytest.raises(InputError, match=f"^{message}"):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "description: missing"),
        ('description = "x"', "activities: missing"),
        ('description = "x"\nname = "x"\n[activities]', "name: unknown key; a program is named by"),
        ('description = "x"\n[activities]', "activities: 0 are not allowed; allowed: 1 to 8"),
        ('description = "x"\nactivities.a = 3', "activities.a.kind: missing; allowed: gemm, "),
        (
            'description = "x"\n[activities.a]\nkind = "send"',
            "activities.a.kind: 'send' is not allowed; allowed: gemm, reduce-scatter, all-gather",
        ),
        (
            'description = "x"\n[activities.a]\nkind = "gemm"\nof = "b"',
            "activities.a: of: unknown key; allowed: kind, needs, size",
        ),
        (
            'description = "x"\n[activities.a]\nkind = "gemm"\nsize = {m = 1, n = 2}',
            "activities.a: size.k: missing",
        ),
        (
            'description = "x"\n[activities.a]\nkind = "gemm"\nneeds = "b"',
            "activities.a: needs: 'b' is not allowed; allowed: a list",
        ),
        (
            'base = "sublayer"\n[activities.rs]\nof = "ag"',
            "activities.rs.of: 'ag' is not a GEMM; allowed: gemm",
        ),
        ('base = "trio"', "base: 'trio' is not known; allowed: all-reduce, pair, sublayer"),
        ("[activities.a]\n[activities.a]", "is not TOML"),
    ],
)
def test_bad_files(tmp_path, text, message):
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(InputError, match=rf"bad\.toml: {message}") as caught:
        load_program(tmp_path / "bad.toml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("names", [("a", "b", "c"), ("dram", "link", "energy"), ("a", "a_2", "rs")])
def test_columns_of_any_names_are_distinct(names):
    gemm, rs, ag = names
    program = Program(
        "mine",
        (
            Gemm(gemm),
            Collective(rs, "reduce-scatter", gemm),
            Collective(ag, "all-gather", rs),
            Gemm("another"),
        ),
    )
    columns = catalogue(program)
    groups = (
        columns.times,
        columns.slots,
        columns.run,
        *map(dict.values, (columns.dram, columns.link, columns.events, columns.energy)),
    )
    assert len(columns.by_key) == sum(map(len, groups)) + 2
    assert {f"{gemm}_ns", f"dram_{rs}_read_bytes", f"link_{ag}_overhead_bytes"} <= {*columns.by_key}


def test_every_algorithm_may_reduce_an_output():
    for one in algorithms().values():
        for operation in {"reduce-scatter", "all-reduce"} & {*one.operations}:
            Program("mine", (Gemm("gemm"), Collective("c", operation, "gemm", one.name)))


def test_every_bundled_file_is_loaded_by_its_name():
    for name in PROGRAMS.names():
        assert load_program(PROGRAMS.path(name, "x")) == load_program(name)
