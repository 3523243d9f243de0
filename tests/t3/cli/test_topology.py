"""The command ``t3 topology``."""

import math

import pytest
from matplotlib.image import imread

from sysmodel.config.bundled import TOPOLOGIES
from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology
from sysmodel.network.expansion import expand
from t3.cli.main import main
from t3.report.topology import link_kinds
from t3.report.topology_picture import places


def test_list_and_file(capsys):
    assert main(["topology", "list"]) == 0
    printed = capsys.readouterr().out
    for name in TOPOLOGIES.names():
        assert f" {name} " in printed
    assert main(["topology", "file", "H100_nodes"]) == 0
    assert capsys.readouterr().out == TOPOLOGIES.path("h100-nodes", "name").read_text()


def _rows(printed):
    """Words of the lines that have a count."""
    lines = [line.split() for line in printed.splitlines()]
    return [words for words in lines if any(word.isdigit() for word in words[3:4])]


def test_show_prints_count_rates_latency_and_ends(capsys):
    assert main(["topology", "show", "switch", "--gpus", "12", "--system", "h100"]) == 0
    printed = capsys.readouterr().out
    assert _rows(printed) == [
        [*"GPU to switch 12 450 364.5 415.88 125 GPU 0 to switch 0".split()],
        [*"switch to GPU 12 450 364.5 415.88 125 switch 0 to GPU 0".split()],
    ]
    assert "Longest way: 2 links, 250 ns." in printed
    assert "1 switch with queues of 65,536 bytes" in printed


def test_show_a_file_with_the_usual_number_of_gpus(capsys, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('base = "ring"\nforwards = false\n')
    assert main(["topology", "show", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "8 GPUs" in printed
    assert "48 pairs without a way, GPU 0 to GPU 1 first" in printed


def test_many_gpus_have_no_list_of_ways(capsys):
    assert main(["topology", "show", "switch", "--gpus", "512"]) == 0
    assert "The ways between more than 64 GPUs are not listed." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x"], "topology: 'x' is not known; allowed: fully-connected, "),
        (
            ["torus-2d", "--gpus", "12"],
            "--gpus: 12 is not allowed; torus-2d allows 4 x 4; the next",
        ),
        (["ring", "--gpus", "two"], "--gpus: 'two' is not allowed; allowed: an integer"),
        (["ring", "--system", "v100"], "--system: 'v100' is not known; allowed: a100, "),
        (
            ["ring", "--picture", "a.gif"],
            "--picture: 'a.gif' is not allowed; allowed: a file that ",
        ),
        (["ring", "--picture", "/no/a.png"], "--picture: '/no/a.png' cannot be written: No such"),
    ],
)
def test_errors_are_one_line(fails, words, message):
    assert fails(["topology", "show", *words]).startswith(message)


@pytest.mark.parametrize(
    ("algorithm", "problem"),
    [("foo", "'foo' is not known; "), ("send", "'send' does no reduce-scatter; ")],
)
def test_show_refuses_an_algorithm_that_the_library_cannot_have(
    fails, tmp_path, algorithm, problem
):
    file = tmp_path / "mine.toml"
    file.write_text(f'base = "switch"\nalgorithm = "{algorithm}"\n')
    message = f"topology mine: algorithm: {problem}allowed: bidirectional, direct, "
    assert fails(["topology", "show", str(file)]).startswith(message)
    run = ["run", "--m", "512", "--n", "384", "--k", "64", "--tp", "4", "--topology", str(file)]
    assert fails(run).startswith(message)


@pytest.mark.parametrize("name", TOPOLOGIES.names())
def test_a_picture_has_every_vertex_at_a_place_of_its_own(capsys, tmp_path, name):
    file = tmp_path / "picture.png"
    assert main(["topology", "show", name, "--picture", str(file)]) == 0
    assert imread(file).shape[0] > 600
    topology = load_topology(name)
    fabric = expand(topology, topology.usual_gpus, load_system("h100").link)
    at = places(topology, fabric)
    assert len(at) == fabric.gpus + len(fabric.switches)
    assert min(math.dist(a, b) for i, a in enumerate(at) for b in at[:i]) > 0.2


def test_equal_pictures_are_equal_files(tmp_path):
    files = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for file in files:
        assert main(["topology", "show", "h100-nodes", "--picture", str(file)]) == 0
    assert files[0].read_bytes() == files[1].read_bytes()


def test_every_link_has_a_kind():
    fabric = expand(load_topology("h100-nodes"), 24, load_system("h100").link)
    counts = {kind.ends: len(kind.links) for kind in link_kinds(fabric)}
    assert counts == {
        "GPU to switch, in a node": 96,
        "switch to GPU, in a node": 96,
        "GPU to switch, between nodes": 24,
        "switch to GPU, between nodes": 24,
    }
