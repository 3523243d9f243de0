import json

import pytest

import t3


def test_hardware_of_a_system(tmp_path):
    """The hardware of a system has the parameters that the system describes."""
    least = {"commands": 1, "regions": 1, "ranges": 1, "wavefronts": 1, "ways": 1, "banks": 1}
    least |= {"channels": 1, "contexts": 1, "with_data": False}
    files = t3.export(tmp_path / "h200", system="h200", **least)
    assert all(file.exists() for file in files)
    found = json.loads((tmp_path / "h200" / "manifest.json").read_text())["parameters"]
    h200 = t3.system("h200")
    assert found["channels"] == 1 and found["contexts"] == 1
    assert found["system_channels"] == h200.dram.channels
    assert found["sets"] == h200.t3.tracker_sets


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"system": "h900"}, "system: 'h900' is not known; allowed: a100, "),
        ({"channels": 0}, "channels: must be"),
        ({"channel": 1}, "channel: no such parameter; allowed: channels, "),
        ({"contexts": 0}, "contexts: must be"),
    ],
)
def test_bad_input_leaves_nothing(tmp_path, options, said):
    with pytest.raises(t3.InputError, match=said):
        t3.export(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
