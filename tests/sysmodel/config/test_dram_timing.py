from dataclasses import replace

import pytest

from tests.support.dram_harness import BARE, GPGPUSIM_V100


def test_defaults():
    assert BARE.banks == 16 and BARE.queue_depth == 64
    assert replace(BARE, tCCD_L=3, tCCD_WL=None).tCCD_WL == 6
    assert GPGPUSIM_V100.tCCD_WL == 4
    assert GPGPUSIM_V100.read_latency == 15
    # GPGPU-Sim's: one queue for reads and writes.
    assert GPGPUSIM_V100.write_queue == 0


@pytest.mark.parametrize(
    "change,error,message",
    [
        ({"tRP": 1.5}, TypeError, "tRP must be an integer, not 1.5"),
        ({"tRP": True}, TypeError, "tRP must be an integer, not True"),
        ({"tRP": -1}, ValueError, "tRP must be at least 0, not -1"),
        ({"burst": 0}, ValueError, "burst must be at least 1, not 0"),
        ({"banks": 12}, ValueError, "banks must be a power of two up to 64, not 12"),
        ({"banks": 128}, ValueError, "banks must be a power of two up to 64, not 128"),
        ({"stack_ids": 3}, ValueError, "stack_ids must be a power of two up to 4, not 3"),
        (
            {"pseudo_channels": 4},
            ValueError,
            "pseudo_channels must be a power of two up to 2, not 4",
        ),
        ({"shared_queue": 1}, TypeError, "shared_queue must be true or false, not 1"),
        ({"banks": 2}, ValueError, r"bank_groups must be at most 2 \(banks of a stack ID\), not 4"),
        ({"bank_groups": 0}, ValueError, "bank_groups must be a power of two up to 8, not 0"),
        ({"columns": 4}, ValueError, r"address_map '.*' has 6 bits for the column, which needs 2"),
        (
            {"address_map": "col:6"},
            ValueError,
            "address_map 'col:6' is not allowed; allowed: column",
        ),
        ({"address_map": "column"}, ValueError, "address_map 'column' is not allowed"),
        ({"queue_depth": 257}, ValueError, r"queue_depth must be at most 256 \(reads.*, not 257"),
        ({"queue_depth": 513}, ValueError, r"queue_depth must be at most 512 .*, not 513"),
        ({"data_permille": 1001}, ValueError, "data_permille must be at most 1000 .*, not 1001"),
        ({"data_permille": 0}, ValueError, "data_permille must be at least 1, not 0"),
        ({"burst": 2}, ValueError, r"tCCD_S must be at least 2 \(burst.*, not 1"),
        ({"tCCD_S": 2}, ValueError, r"tCCD_L must be at least 2 \(tCCD_S\), not 1"),
        ({"tCCD_L": 2}, ValueError, r"tCCD_WL must be at least 2 \(tCCD_L\), not 1"),
        ({"tRRD_S": 2}, ValueError, r"tRRD_L must be at least 2 \(tRRD_S\), not 1"),
        ({"tWTR_S": 2}, ValueError, r"tWTR_L must be at least 2 \(tWTR_S\), not 0"),
        ({"tCL": 5}, ValueError, r"tRTW must be at least 5 \(tCL \+ burst - tCWL.*, not 1"),
        ({"refresh": "some"}, ValueError, "refresh must be one of .*, not 'some'"),
        ({"refresh": "all-bank", "tREFI": 9, "tRFC": 9}, ValueError, "tRFC must be at most 8"),
        ({"refresh": "all-bank", "tREFI": 9}, ValueError, "tRFC must be at least 1"),
        ({"refresh": "per-bank", "tREFI": 9}, ValueError, "tRFC_pb must be at least 1"),
        ({"write_high": 1}, ValueError, "write_high must be 0 without a write queue, not 1"),
        ({"write_queue": 64}, ValueError, r"write_queue must be at most 63 .*, not 64"),
        ({"write_queue": 8}, ValueError, r"write_high must be at least 1 .*, not 0"),
        ({"write_queue": 8, "write_high": 9}, ValueError, "write_high must be at most 8 .*, not 9"),
        (
            {"write_queue": 8, "write_high": 6, "write_low": 6},
            ValueError,
            r"write_low must be at most 5 \(below write_high\), not 6",
        ),
        ({"turnaround_cap": 0}, ValueError, "turnaround_cap must be at least 1, not 0"),
    ],
)
def test_refused(change, error, message):
    with pytest.raises(error, match=message):
        replace(BARE, **change)
