"""25: reset of T3 alone in other cycles than the tests'."""
from common import *
from tests.rtl.test_reset import test_reset_in_mid_run
for cycles in (37, 93, 141, 222):
    try: test_reset_in_mid_run(cycles); print(cycles, "held")
    except AssertionError as e: print(cycles, "FAILED", e)
