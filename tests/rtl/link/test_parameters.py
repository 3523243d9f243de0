import pytest

from rtl.link.parameters import LinkParameters


@pytest.mark.parametrize(
    "name",
    [
        "channels",
        "replay_depth",
        "receive_depth",
        "sequence_bits",
        "timeout_cycles",
        "idle_cycles",
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
        ({"channels": 0}, "channels must be at least 1, not 0"),
        ({"replay_depth": 2}, "replay_depth must be an even number, at least 4, not 2"),
        ({"receive_depth": 7}, "receive_depth must be an even number, at least 4, not 7"),
        ({"timeout_cycles": 2}, "timeout_cycles must be at least 4, not 2"),
        ({"idle_cycles": 1}, "idle_cycles must be at least 2, not 1"),
        ({"idle_cycles": 48}, "idle_cycles must be a power of two, not 48"),
        (
            {"idle_cycles": 2048},
            r"idle_cycles must be at most half of timeout_cycles \(2048\), not 2048",
        ),
        ({"down_cycles": -2}, "down_cycles must be at least 2, not -2"),
        ({"timeout_cycles": 96}, "timeout_cycles must be a power of two, not 96"),
        ({"down_cycles": 9000}, "down_cycles must be a power of two, not 9000"),
        (
            {"timeout_cycles": 64, "idle_cycles": 32, "down_cycles": 64},
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
        channels=1,
        replay_depth=4,
        receive_depth=4,
        sequence_bits=4,
        timeout_cycles=4,
        idle_cycles=2,
        down_cycles=16,
        lifetime_cycles=4,
        contexts=1,
        control_interval=2,
    )
