"""NMC unit: the pipeline that adds an update to the stored atom."""

import numpy as np

from rtl.nmc.unit import NmcUnit
from sysmodel.engine.ports import CHANNEL_INPUTS, CHANNEL_OUTPUTS, I, O
from sysmodel.lib.compiled import compiled

from ..index import natural
from ..payloads.layouts import DATA_WORDS, NMC_RESULT
from ..payloads.tables import assign_epoch
from ..records import Record, Records, Words, record, store_record
from .arithmetic import reduce_word

__all__ = ["NMC", "NMC_LATENCY", "step_nmc"]

NMC_LATENCY: int = NmcUnit.LATENCY
NMC = record(
    "nmc_left",
    [("nmc_valid", np.int64, (NMC_LATENCY,)), ("nmc_result", NMC_RESULT, (NMC_LATENCY,))],
)
"""Cycles until the pipeline is empty, and its stages as a circular buffer."""


@compiled
def step_nmc(
    own: Record, number: int, cycle: int, contexts: Records, inputs: Words, outputs: Words
) -> bool:
    """Advance channel `number`'s unit by one cycle, and write its outputs of the next cycle.

    Returns
    -------
    bool
        A register of the unit may change.
    """
    i, o = number * CHANNEL_INPUTS, number * CHANNEL_OUTPUTS
    comes = inputs[i + I.nmc_in_valid]
    if not comes and not own.nmc_left:
        return False
    own.nmc_left = NMC_LATENCY if comes else own.nmc_left - 1
    stage = natural(cycle % NMC_LATENCY)
    own.nmc_valid[stage] = comes
    if comes:
        result = own.nmc_result[stage]
        launch = contexts[natural(inputs[i + I.nmc_in_owner])].launch
        epoch = launch.epoch
        adds = launch.accumulate != 0 or inputs[i + I.nmc_in_stored_epoch] == epoch
        assign_epoch(result, epoch)
        for word in range(DATA_WORDS):
            value = inputs[i + I.nmc_in_operand_0 + word]
            if adds:
                value = reduce_word(
                    inputs[i + I.nmc_in_op],
                    inputs[i + I.nmc_in_dtype],
                    inputs[i + I.nmc_in_stored_0 + word],
                    value,
                )
            result.value[word] = value
    stage = stage + 1 if stage + 1 < NMC_LATENCY else 0
    outputs[o + O.nmc_in_ready] = 1
    outputs[o + O.nmc_out_valid] = own.nmc_valid[stage]
    if own.nmc_valid[stage]:
        store_record(outputs, o + O.nmc_out_value_0, own.nmc_result[stage])
    return True
