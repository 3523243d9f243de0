"""Topologies: bundled ones, files based on them, numbers of GPUs, and one clear line for errors."""

import pytest
import tomlkit

from sysmodel.config.bundled import TOPOLOGIES
from sysmodel.config.system import load_system
from sysmodel.config.topology import load_topology, topology_names
from sysmodel.config.topology_shapes import LARGEST_GPUS
from sysmodel.lib.errors import InputError

_LINK = load_system("h100").link


def _over(topology, sharing=1, latency_ns=1.0):
    return load_topology(topology).link.completed(_LINK, sharing, latency_ns)


@pytest.mark.parametrize("name", topology_names())
def test_a_bundled_topology_loads_and_has_a_usual_number_of_gpus(name):
    topology = load_topology(name)
    assert topology.name == name
    assert topology.fits(topology.usual_gpus)


@pytest.mark.parametrize("name", topology_names())
def test_every_value_of_a_bundled_topology_names_its_source(name):
    document = tomlkit.parse(TOPOLOGIES.path(name, "name").read_text(encoding="utf-8"))
    tables = [document, *(one.value for one in document.values() if isinstance(one, dict))]
    values = [(key.key, item) for table in tables for key, item in table.body if key]
    numbers = [pair for pair in values if not isinstance(pair[1].unwrap(), (str, dict))]
    assert [key for key, item in numbers if len(item.trivia.comment) < len("# [X]")] == []
    assert numbers or {"description", "source"} <= {key for key, _ in values}


@pytest.mark.parametrize("name", ["ring", "ring-both", "fully-connected", "switch"])
@pytest.mark.parametrize("gpus", [2, 3, 5, 6, 7, 12, 16, 64, LARGEST_GPUS])
def test_most_topologies_have_any_number_of_gpus(name, gpus):
    load_topology(name).check_gpus(gpus)


@pytest.mark.parametrize(
    ("source", "gpus", "problem"),
    [
        ("torus-2d", 12, "12 is not allowed; torus-2d allows 4 x 4; the next is 16"),
        ("torus-2d", 20, "20 is not allowed; torus-2d allows 4 x 4; the largest is 16"),
        ("mi300x", 9, "9 is not allowed; mi300x allows 2 to 8; the largest is 8"),
        ("ring", 1, "1 is not allowed; ring allows 2 to 512; the next is 2"),
        (
            "h100-nodes",
            12,
            (
                "12 is not allowed; h100-nodes allows a multiple of 8, the GPUs of a node; "
                "the next is 16"
            ),
        ),
        (
            {"base": "torus-2d", "sizes": [3, 0, 2]},
            8,
            "8 is not allowed; custom allows 3 x any x 2, a multiple of 6; the next is 12",
        ),
    ],
)
def test_a_number_that_does_not_fit_names_the_next_that_does(source, gpus, problem):
    with pytest.raises(InputError) as caught:
        load_topology(source).check_gpus(gpus)
    assert (caught.value.field, caught.value.problem) == ("gpus", problem)


def test_an_open_size_grows_with_the_number_of_gpus():
    torus = load_topology({"base": "torus-2d", "sizes": [4, 0]})
    assert torus.sizes_of(12) == (4, 3)
    assert not torus.fits(10)


def test_links_without_values_share_the_port_of_the_system():
    assert _over("ring") == _LINK.model_copy(update={"latency_ns": 1.0})
    assert _over("fully-connected", 9).bandwidth_gb_per_s == 50
    assert _over("fully-connected", 9).stores_payload_share == _LINK.stores_payload_share


def test_a_topology_gives_the_rate_of_a_link_or_of_a_port():
    assert _over("mi300x", 3).bandwidth_gb_per_s == 64
    assert _over("nvswitch-8", 4).bandwidth_gb_per_s == 112.5
    port = {"base": "mi300x", "link.port_gb_per_s": 70}
    assert _over(port, 7).bandwidth_gb_per_s == 10
    assert (
        _over({"base": "nvswitch-8", "link.bandwidth_gb_per_s": 100}, 4).bandwidth_gb_per_s == 100
    )


def test_a_file_names_its_base_and_its_inside_relative_to_itself(tmp_path):
    (tmp_path / "pod").mkdir()
    (tmp_path / "pod" / "inside.toml").write_text('base = "mi300x"\nlink.latency_ns = 7\n')
    (tmp_path / "pod" / "pod.toml").write_text('base = "h100-nodes"\ninside = "./inside.toml"\n')
    (tmp_path / "mine.toml").write_text('base = "pod/pod.toml"\nlink.latency_ns = 9\n')
    mine = load_topology(tmp_path / "mine.toml")
    assert mine.name == "mine"
    assert mine.description == "pod/pod.toml with changes"
    assert (mine.inside.kind, mine.inside.link.latency_ns) == ("fully-connected", 7)
    assert (mine.link.latency_ns, mine.link.bandwidth_gb_per_s) == (9, 50)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("hypercube", "topology: 'hypercube' is not known; allowed: fully-connected, fully-"),
        ({}, "topology: kind: missing; allowed: ring, fully-connected, switch, torus, nodes"),
        ({"kind": "bus"}, "topology: kind: 'bus' is not allowed; allowed: ring, "),
        (
            {"base": "ring", "kind": "torus"},
            "topology: kind: 'torus' is not allowed; allowed: 'ring', the kind of the base",
        ),
        ({"base": "ring", "name": "x"}, "topology: name: unknown key"),
        (
            {"base": "ring", "description": "a\nb"},
            "topology: description: 'a\\nb' is not allowed; allowed: a string of 1 to 400 ch",
        ),
        ({"base": "ring", "source": "a\u2028b"}, "topology: source: 'a\\u2028b' is not allowed; "),
        (
            {"base": "switch", "switch.plane": 2},
            "topology: switch.plane: unknown key; did you mean",
        ),
        ({"base": "switch", "switch.planes": 0}, "topology: switch.planes: 0 is not allowed; "),
        ({"base": "switch", "link.latency_ns": -1}, "topology: link.latency_ns: -1 is not allowed"),
        ({"base": "switch", "link": 3}, "topology: link: 3 is not allowed; allowed: a section"),
        (
            {"base": "ring", "link": {"bandwidth_gb_per_s": 1, "port_gb_per_s": 1}},
            "topology: link.port_gb_per_s: is given with bandwidth_gb_per_s; allowed: one",
        ),
        (
            {"base": "torus-2d", "sizes": [4]},
            "topology: sizes: [4] is not allowed; allowed: a list",
        ),
        ({"base": "torus-2d", "sizes": [4, 0, 0]}, "topology: sizes: [4, 0, 0] is not allowed"),
        ({"base": "torus-2d", "sizes": [64, 64]}, "topology: sizes: [64, 64] is not allowed"),
        ({"base": "h100-nodes", "inside": 3}, "topology: inside: 3 is not allowed; allowed: "),
        (
            {"base": "h100-nodes", "inside": "h100-nodes"},
            "topology: inside: 'h100-nodes' is not allowed; allowed: a topology that is not of",
        ),
        (
            {"base": "h100-nodes", "gpus_per_node": 16},
            "topology: gpus_per_node: 16 is not allowed; nvswitch-8 allows 2 to 8; the largest",
        ),
        (
            {"base": "h100-nodes", "between": "switch"},
            'topology: forwards: is true; allowed with between = "switch": false',
        ),
    ],
)
def test_an_error_is_one_line_with_key_value_and_allowed_values(source, message):
    with pytest.raises(InputError) as caught:
        load_topology(source)
    assert str(caught.value).startswith(message)


def test_a_circle_of_a_file_that_is_named_by_its_path(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text('base = "h100-nodes"\ninside = "a.toml"\n')
    with pytest.raises(InputError, match="'a.toml' is inside itself; allowed"):
        load_topology(file)


def test_a_file_is_not_its_own_base(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text('base = "./a.toml"\n')
    with pytest.raises(InputError, match="is the base of itself"):
        load_topology(file)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"a": 'base = "h100-nodes"\ninside = "a.toml"\n'},
            "a.toml: inside: 'a.toml' is inside itself; allowed: a topology that is not of nodes",
        ),
        (
            {"a": 'base = "h100-nodes"\ninside = "b.toml"\n', "b": 'base = "a.toml"\n'},
            "a.toml: inside: 'b.toml' is inside itself, by its base a.toml; allowed: a topology",
        ),
        (
            {"a": 'base = "b.toml"\n', "b": 'base = "h100-nodes"\ninside = "a.toml"\n'},
            "b.toml: inside: 'a.toml' is inside itself, by its base b.toml; allowed: a topology",
        ),
        (
            {
                "a": 'base = "h100-nodes"\ninside = "b.toml"\n',
                "b": 'base = "h100-nodes"\ninside = "a.toml"\n',
            },
            "a.toml: inside: 'b.toml' is not allowed; allowed: a topology that is not of nodes",
        ),
        (
            {"a": 'base = "h100-nodes"\n[inside]\nbase = "ring"\n'},
            "a.toml: inside: a table is not allowed in a file; allowed: fully-connected, ",
        ),
    ],
)
def test_a_topology_is_not_inside_itself(tmp_path, monkeypatch, files, message):
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        (tmp_path / f"{name}.toml").write_text(text)
    (tmp_path / "system.toml").write_text('base = "h100"\ntopology = "a.toml"\n')
    for load in (lambda: load_topology("a.toml"), lambda: load_system("system.toml")):
        with pytest.raises(InputError) as caught:
            load()
        assert str(caught.value).startswith(message)


def test_a_dictionary_may_contain_the_topology_of_a_node():
    given = {"base": "h100-nodes", "inside": {"base": "mi300x", "link.latency_ns": 7}}
    assert load_topology(given).inside.link.latency_ns == 7
