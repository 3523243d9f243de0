import pytest

from rtl.link.parameters import LinkParameters


@pytest.mark.parametrize(
    "name",
    [
        "replay_depth",
        "receive_depth",
        "sequence_bits",
        "timeout_cycles",
        "down_cycles",
        "lifetime_cycles",
        "contexts",
        "control_interval",
    ],
)
@pytest.mark.parametrize("value", [None, 64.0, True, "64"])
def test_wrong_type(name, value):
    with pytest.raises(TypeError, match=rf"{name} must be an integer, not "):
        LinkParameters(**{name: value})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"replay_depth": 1}, "replay_depth must be at least 2, not 1"),
        ({"receive_depth": 2}, "receive_depth must be at least 4, not 2"),
        ({"timeout_cycles": 0}, "timeout_cycles must be at least 2, not 0"),
        ({"down_cycles": -2}, "down_cycles must be at least 2, not -2"),
        ({"replay_depth": 48}, "replay_depth must be a power of two, not 48"),
        ({"down_cycles": 9000}, "down_cycles must be a power of two, not 9000"),
        (
            {"timeout_cycles": 64, "down_cycles": 64},
            r"down_cycles must be more than timeout_cycles \(64\), not 64",
        ),
        ({"lifetime_cycles": 2}, "lifetime_cycles must be at least 4, not 2"),
        ({"lifetime_cycles": 96}, "lifetime_cycles must be a power of two, not 96"),
        ({"control_interval": 1}, "control_interval must be at least 2, not 1"),
        ({"control_interval": 12}, "control_interval must be a power of two, not 12"),
        ({"contexts": 0}, "contexts must be at least 1, not 0"),
        (
            {"down_cycles": 8192},
            r"down_cycles must be at least four times lifetime_cycles \(4096\), not 8192",
        ),
        (
            {"lifetime_cycles": 1 << 15, "down_cycles": 1 << 17},
            "lifetime_cycles must be at most 16384 for 16 sequence_bits, not 32768",
        ),
        (
            {"replay_depth": 8, "receive_depth": 16, "sequence_bits": 5},
            "sequence_bits must be at least 6 for the depths 8 and 16, not 5",
        ),
    ],
)
def test_refused(values, message):
    with pytest.raises(ValueError, match=message):
        LinkParameters(**values)


def test_least():
    LinkParameters(
        replay_depth=2,
        receive_depth=4,
        sequence_bits=4,
        timeout_cycles=2,
        down_cycles=16,
        lifetime_cycles=4,
        contexts=1,
        control_interval=2,
    )
