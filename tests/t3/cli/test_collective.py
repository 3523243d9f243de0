"""``t3 collective``."""

import json
import re

import pytest

from sysmodel.collectives.mscclpp_writer import mscclpp_plan
from sysmodel.collectives.registry import algorithms
from sysmodel.collectives.schedule import expanded
from t3.cli.main import main


def shown(capsys, *arguments):
    assert main(["collective", *arguments]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def rows(text):
    """Lines of a table, as words."""
    return [line.split() for line in text.splitlines()]


def test_list_has_every_algorithm(capsys):
    printed = shown(capsys, "list")
    for one in algorithms().values():
        assert re.search(rf"^ ?{one.name} ", printed, re.MULTILINE)


def test_show_prints_the_flows_of_a_rank_and_its_costs(capsys):
    printed = shown(capsys, "show", "ring", "--operation", "all-reduce", "--ranks", "4")
    assert "ring: all-reduce, 4 ranks, flows of rank 0" in printed
    assert ["0", "reduces", "2", "yes", "1", "3"] in rows(printed)
    assert ["1", "stores", "3", "1", "yes"] in rows(printed)
    assert ["6", "6", "10", "7", "6", "6"] in rows(printed)


def test_show_of_another_rank(capsys):
    printed = shown(capsys, "show", "direct", "--ranks", "3", "--rank", "1")
    assert ["0", "reduces", "2", "yes", "2"] in rows(printed)
    assert ["0", "reduces", "1", "yes", "2", "yes"] in rows(printed)


def test_show_of_nodes(capsys):
    arguments = ("hierarchical", "--ranks", "12")
    printed = [
        shown(capsys, "show", *arguments, "--ranks-per-node", size) for size in ("3", "4", "6")
    ]
    assert len(set(printed)) == 3
    assert shown(capsys, "show", *arguments) == printed[2]


def test_show_of_peers_in_a_row(capsys):
    assert "1-7 (multicast)" in shown(capsys, "show", "multicast")


def test_show_of_a_window(capsys):
    arguments = ("show", "ring", "--operation", "all-reduce", "--ranks", "4", "--tiles", "6")
    lines = shown(capsys, *arguments).splitlines()
    assert "stage 0: smallest credit window 6 of 18 tile slots" in lines
    assert "stage 1: smallest credit window 1 of 18 tile slots" in lines


def test_show_draws_a_picture(capsys, tmp_path):
    """One arrow for each transfer."""
    picture = tmp_path / "ring.svg"
    printed = shown(capsys, "show", "ring", "--ranks", "3", "--picture", str(picture))
    assert printed.endswith(f"{picture}\n")
    drawn = picture.read_text()
    assert drawn.startswith("<?xml")
    assert main(["collective", "show", "ring", "--ranks", "3", "--picture", str(picture)]) == 0
    assert picture.read_text() == drawn  # equal schedules give equal files


def test_check_proves_every_operation(capsys):
    assert shown(capsys, "check", "direct", "--ranks", "5").splitlines() == [
        "direct: reduce-scatter, 5 ranks: sound",
        "direct: all-gather, 5 ranks: sound",
        "direct: all-to-all, 5 ranks: sound",
        "direct: all-reduce, 5 ranks: sound",
    ]
    one = shown(capsys, "check", "Halving_Doubling", "--operation", "all-gather")
    assert one == "halving-doubling: all-gather, 8 ranks: sound\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("show rign", "name: 'rign' is not known; allowed: bidirectional, direct, "),
        ("show ring --ranks 1", "--ranks: '1' is not allowed; allowed: 2 or more"),
        ("show ring --ranks 129", "--ranks: 129 is not allowed; allowed: 2 to 128"),
        ("show ring --rank 8", "--rank: 8 is not allowed; allowed: 0 to 7"),
        ("show ring --operation send", "--operation: ring has no 'send'; allowed: reduce-scatter,"),
        ("show ring --operation x", "--operation: 'x' is not allowed; allowed: reduce-scatter, "),
        ("check halving-doubling --ranks 6", "--ranks: 6 is not allowed; allowed: a power of two"),
        ("check hierarchical --ranks 7", "--ranks: 7 is not allowed; allowed: several nodes of"),
        (
            "check hierarchical --ranks-per-node 3",
            "--ranks-per-node: 3 is not allowed; allowed: 2, 4",
        ),
        ("show ring --picture a.png", "--picture: 'a.png' is not allowed; allowed: a name that"),
        ("show ring --picture no/a.svg", "--picture: 'no/a.svg' cannot be written: No such file"),
        ("check no/file.txt", "no/file.txt: '.txt' is no known suffix; allowed: .xml, .json"),
        ("check file.xml", "file.xml: the file cannot be read: No such file or directory"),
        ("check a.json --ranks 4", "--ranks: 4 is not allowed with a file, which has its own"),
        ("run ring --topology torus-2d", "--ranks: 8 is not allowed; torus-2d allows 4 x 4; the"),
        ("run ring --ranks 100", "--ranks: 100 is not allowed; allowed: 2 to 72"),
        ("walk ring", "No such command 'walk'. Allowed: list, show, check, run"),
    ],
)
def test_bad_inputs(fails, arguments, line):
    assert fails(["collective", *arguments.split()]).startswith(line)


@pytest.mark.parametrize(
    ("text", "more", "line"),
    [
        ("0,1\n2,0\n", "--bytes 1MiB", "bytes: 1048576 is not allowed with sizes; allowed: none"),
        ("0,1\n", "", "{file}: 1 rows are not allowed; allowed: 2 or more"),
        ("# bytes\n0,1\n2,0,3\n", "", "{file}, line 3: 3 numbers are not allowed; allowed: 2, as"),
        ("0,1\n-2,0\n", "", "{file}, line 2: '-2' is not allowed; allowed: whole bytes"),
        ("0,0\n0,0\n", "", "--sizes: the largest is 0 bytes; allowed for 2 GPUs: 1 to 536870912"),
        ("0,1\n2,0\n", "--ranks 4", "--sizes: 2 rows of 2 numbers are not allowed; allowed"),
        (
            "0,1\n2,0\n",
            "--operation all-gather",
            "--sizes: direct does all-gather; allowed: all-to",
        ),
    ],
)
def test_bad_sizes(fails, tmp_path, text, more, line):
    file = tmp_path / "sizes.csv"
    file.write_text(text)
    arguments = ["collective", "run", "direct", "--sizes", str(file), *more.split()]
    assert fails(arguments).startswith(line.format(file=file))


@pytest.fixture
def plan(tmp_path):
    file = tmp_path / "plan.json"
    schedule = expanded(algorithms()["ring"].schedule("all-gather", 4))
    file.write_text(mscclpp_plan(schedule))
    return file


def test_check_and_show_of_a_plan(capsys, plan):
    assert shown(capsys, "check", str(plan)) == "ring: all-gather, 4 ranks: sound\n"
    of_the_file = shown(capsys, "show", str(plan), "--rank", "2")
    arguments = ("ring", "--operation", "all-gather", "--ranks", "4", "--rank", "2")
    assert of_the_file == shown(capsys, "show", *arguments)


def test_a_bad_plan_gives_the_path_of_the_key(fails, plan):
    plan.write_text(plan.read_text().replace('"put"', '"putt"', 1))
    assert fails(["collective", "check", str(plan)]).startswith(
        f"{plan}: gpus[0].threadblocks[0].ops[0].name: 'putt' is not supported; allowed: put, "
    )


def test_a_plan_that_is_not_sound(fails, plan):
    """Without the last wait and put, a rank keeps one chunk less."""
    changed = json.loads(plan.read_text())
    ops = changed["gpus"][1]["threadblocks"][0]["ops"]
    at = max(i for i, op in enumerate(ops) if op["name"] == "put")
    del ops[at]
    plan.write_text(json.dumps(changed))
    message = fails(["collective", "check", str(plan)])
    assert message == f"{plan}: rank 0's o[3] holds no data in the end, not chunk 3"
