"""Arbitration policies: hardware, golden model and register map have all that ``Policy`` names."""

import re

from rtl.channel.arbitration.policies import POLICIES as HARDWARE
from rtl.interface.encodings import Policy
from rtl.registers.map import load
from sysmodel.engine.golden.channel.arbitration.policies import POLICIES as GOLDEN


def test_hardware_and_golden_model_have_every_policy():
    assert list(HARDWARE) == list(GOLDEN) == list(Policy)


def test_a_policy_is_called_as_its_code():
    for policy in Policy:
        name = policy.name.lower()
        for policies in (HARDWARE, GOLDEN):
            assert policies[policy].__module__.rpartition(".")[2] == name


def test_the_register_map_describes_every_policy():
    description = load()["ARBITER"]["policy"].description
    assert [int(number) for number in re.findall(r"(\d+) ", description)] == [
        p.value for p in Policy
    ]
