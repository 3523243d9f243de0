"""The register port: AXI4-Lite, what software reads, and the decoded configuration."""

from sysmodel.engine.ports import G
from sysmodel.lib.compiled import compiled

from .state import KNOWN, READABLE, VALUE, WRITABLE, C, F, R, U

__all__ = [
    "OKAY",
    "REJECT",
    "decode",
    "get_field",
    "put_field",
    "read_register",
    "step_bus",
    "store_register",
]

OKAY, REJECT = 0, 2


@compiled
def get_field(registers, field):
    word, low, mask = field
    return (registers[word, VALUE] >> low) & mask


@compiled
def put_field(field, value):
    _, low, mask = field
    return (value & mask) << low


@compiled
def read_register(s, address, clearing):
    """What a read of this address gives.

    Returns
    -------
    data, resp : int
    """
    gpu, registers = s.gpu, s.registers
    word = address >> 2
    if address & 3 or word >= registers.shape[0] or not registers[word, KNOWN]:
        return 0, REJECT
    if word == R.STATUS:
        return (
            put_field(F.STATUS_done, gpu[U.done])
            | put_field(F.STATUS_idle, gpu[U.idle])
            | put_field(F.STATUS_error, gpu[U.error])
            | put_field(F.STATUS_clearing, clearing)
            | put_field(F.STATUS_configuration_error, gpu[U.configuration_error])
        ), OKAY
    if word == R.ERROR:
        report = gpu[U.report]
        return (
            put_field(F.ERROR_code, report & 255)
            | put_field(F.ERROR_wavefront, (report >> 8) & 0xFFFF)
            | put_field(F.ERROR_dispatch_index, report >> 24)
        ), OKAY
    if word == R.ERRORS:
        return gpu[U.errors], OKAY
    if word == R.TILES:
        return gpu[U.tiles], OKAY
    if word == R.OLDEST:
        return put_field(F.OLDEST_dispatch_index, gpu[U.oldest]), OKAY
    if word == R.CREDIT_LIMIT:
        return put_field(F.CREDIT_LIMIT_dispatch_index, gpu[U.credit_limit]), OKAY
    return registers[word, VALUE] & registers[word, READABLE], OKAY


@compiled
def decode(s):
    """The plain registers as words of the configuration."""
    config, registers = s.config, s.registers
    config[C.first_workgroup] = get_field(registers, F.FIRST_WORKGROUP_workgroup)
    config[C.workgroups] = get_field(registers, F.WORKGROUPS_count)
    config[C.tracked_first] = get_field(registers, F.TRACKED_FIRST_dispatch_index)
    config[C.tracked_end] = get_field(registers, F.TRACKED_END_dispatch_index)
    config[C.shift] = get_field(registers, F.SHIFT_dispatch_indices)
    config[C.credit_window] = get_field(registers, F.CREDIT_WINDOW_workgroups)
    config[C.command_window] = get_field(registers, F.COMMAND_WINDOW_workgroups)
    config[C.updates_per_atom] = get_field(registers, F.TRACKING_updates_per_atom)
    config[C.epoch] = get_field(registers, F.TRACKING_epoch)
    config[C.timeout] = get_field(registers, F.TIMEOUT_cycles)
    config[C.policy] = get_field(registers, F.ARBITER_policy)
    config[C.automatic] = get_field(registers, F.ARBITER_automatic)
    config[C.threshold] = get_field(registers, F.ARBITER_threshold)
    config[C.starvation_limit] = get_field(registers, F.STARVATION_cycles)
    config[C.measure_log2] = get_field(registers, F.MEASURE_log2)
    config[C.cut0] = get_field(registers, F.CUTS_cut0)
    config[C.cut1] = get_field(registers, F.CUTS_cut1)
    config[C.cut2] = get_field(registers, F.CUTS_cut2)
    config[C.level0] = get_field(registers, F.LEVELS_level0)
    config[C.level1] = get_field(registers, F.LEVELS_level1)
    config[C.level2] = get_field(registers, F.LEVELS_level2)


@compiled
def store_register(s, word, value):
    """Write a register that is no commit and no strobe."""
    registers = s.registers
    kept = registers[word, WRITABLE]
    registers[word, VALUE] = (registers[word, VALUE] & ~kept) | (value & kept)
    decode(s)


@compiled
def step_bus(s, inputs, g, clearing):
    """Both handshakes and the read, on the state before this cycle.

    Returns
    -------
    bool
        A write acts in this cycle: its address and data are in the state.
    """
    gpu = s.gpu
    acts = gpu[U.aw_full] and gpu[U.w_full] and not gpu[U.b_valid]
    reads = gpu[U.ar_full] and not gpu[U.r_valid]

    if gpu[U.b_valid] and inputs[g + G.bus_bready]:
        gpu[U.b_valid] = 0
    if gpu[U.r_valid] and inputs[g + G.bus_rready]:
        gpu[U.r_valid] = 0
    if inputs[g + G.bus_awvalid] and not gpu[U.aw_full]:
        gpu[U.aw_full] = 1
        gpu[U.awaddr] = inputs[g + G.bus_awaddr]
    elif acts:
        gpu[U.aw_full] = 0
    if inputs[g + G.bus_wvalid] and not gpu[U.w_full]:
        gpu[U.w_full] = 1
        gpu[U.wdata] = inputs[g + G.bus_wdata]
        gpu[U.wstrb] = inputs[g + G.bus_wstrb]
    elif acts:
        gpu[U.w_full] = 0
    if reads:
        gpu[U.ar_full] = 0
        gpu[U.r_valid] = 1
        gpu[U.r_data], gpu[U.r_resp] = read_register(s, gpu[U.araddr], clearing)
    elif inputs[g + G.bus_arvalid] and not gpu[U.ar_full]:
        gpu[U.ar_full] = 1
        gpu[U.araddr] = inputs[g + G.bus_araddr]
    if acts:
        gpu[U.b_valid] = 1
    return acts
