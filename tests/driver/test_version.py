"""Both drivers compare their version with the hardware's before any write."""

from ctypes import c_uint

import pytest

from rtl.interface.encodings import Policy
from rtl.registers.map import load
from sysmodel.engine.golden.engine import GoldenEngine
from sysmodel.engine.simulated_bus import SMALL, SimulatedBus
from t3.driver import T3, Context, T3Error, Version, VersionError
from tests.support.c_driver import UNCHANGED, CContext, load_driver
from tests.support.driver_identity import IDENTITY

NOT_FOUND, INVALID, OTHER_VERSION = -3, -6, -7
OURS = load()["VERSION"].unpack(load()["VERSION"].reset)
MAJOR, MINOR = OURS["major"], OURS["minor"]
ID, CONTEXTS = load()["ID"].reset, 2
WORKING = [(MAJOR, MINOR), (MAJOR, MINOR + 1), (MAJOR, 0xFFFF)]
OTHERS = [(MAJOR - 1, MINOR), (MAJOR + 1, MINOR), (MAJOR + 1, MINOR + 1), (0xFFFF, 0), (0, 0)]
OTHERS += [(MAJOR, MINOR - 1)] if MINOR else []


class Hardware:
    """Bus of hardware of a version, which records the accesses."""

    def __init__(self, major, minor, identification=ID):
        self.accesses = []
        self._words = {
            load()["ID"].address: identification,
            load()["VERSION"].address: major << 16 | minor,
            load()["CONTEXTS"].address: CONTEXTS,
        }

    def write(self, address, word):
        self.accesses.append("write")
        return True

    def read(self, address):
        names = {load()[name].address: name for name in ("ID", "VERSION", "CONTEXTS")}
        self.accesses.append(names.get(address, "other"))
        return self._words.get(address, 0)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return load_driver(tmp_path_factory.mktemp("driver"))


def of_gpu_in_c(context):
    """Call the functions of the GPU's page that write, and return their results."""
    return {
        context.of_gpu("gpu_lock"),
        context.of_gpu("inject", 0, 0, 0),
        context.of_gpu("scrub", c_uint(5)),
        context.of_gpu("gpu_clear_errors"),
        context.of_gpu("gpu_enable_interrupts", 1),
    }


def of_context_in_c(context):
    return {
        context.assign(1, UNCHANGED),
        context.region(0, 32, 64),
        context.unmap(),
        context.launch(),
        context.abort(9),
        context.wait(9),
        context.clear_errors(),
    }


def test_version_of_the_simulated_hardware(library):
    """The hardware shows the version of the register map; the driver finds it there."""
    with GoldenEngine(SMALL) as engine:
        bus = SimulatedBus(SMALL, engine)
        assert T3(bus).version == Version(MAJOR, MINOR) == Version.of_driver()
        versions = CContext(library, bus).of_gpu("version")
        assert (versions.driver_major, versions.driver_minor) == (MAJOR, MINOR)
        assert (versions.hardware_major, versions.hardware_minor) == (MAJOR, MINOR)


@pytest.mark.parametrize("version", WORKING)
def test_same_or_later_minor_version(version, library):
    hardware = Hardware(*version)
    gpu = T3(hardware)
    assert gpu.identify() == CONTEXTS and gpu.version == version
    gpu.set_arbitration(Policy.MCA)
    gpu.context(1).launch()
    assert hardware.accesses[:2] == ["ID", "VERSION"]
    assert "write" in hardware.accesses
    hardware = Hardware(*version)
    context = CContext(library, hardware, 1)
    assert context.of_gpu("identify") == CONTEXTS
    assert of_gpu_in_c(context) == {0} and of_context_in_c(context) == {0}
    assert hardware.accesses[:3] == ["ID", "VERSION", "CONTEXTS"]


@pytest.mark.parametrize("version", OTHERS)
def test_other_version_in_python(version):
    """The error names both versions, and nothing is written."""
    for opens in (T3, lambda bus: T3(bus).context(0), Context, lambda bus: Context(bus, 1)):
        hardware = Hardware(*version)
        with pytest.raises(VersionError) as info:
            opens(hardware)
        assert str(info.value) == (
            f"the driver needs version {MAJOR}.{MINOR} of the register interface, or a later minor "
            f"version; the hardware has version {version[0]}.{version[1]}"
        )
        assert (info.value.driver, info.value.hardware) == ((MAJOR, MINOR), version)
        assert hardware.accesses == ["ID", "VERSION"]


@pytest.mark.parametrize("version", OTHERS)
def test_other_version_in_c(version, library):
    """Each call has the same result, and nothing is written; a call shows both versions."""
    hardware = Hardware(*version)
    context = CContext(library, hardware, 1)
    assert hardware.accesses == ["ID", "VERSION"]
    assert context.of_gpu("identify") == OTHER_VERSION
    assert of_gpu_in_c(context) == of_context_in_c(context) == {OTHER_VERSION}
    assert "write" not in hardware.accesses
    versions = context.of_gpu("version")
    assert (versions.driver_major, versions.driver_minor) == (MAJOR, MINOR)
    assert (versions.hardware_major, versions.hardware_minor) == version


def test_minor_versions():
    """The hardware may have more than the driver knows, and not less."""
    driver = Version(3, 5)
    works = [(3, 5), (3, 6), (3, 60)]
    fails = [(3, 4), (3, 0), (2, 5), (2, 9), (4, 5), (4, 0), (4, 9)]
    assert all(driver.works_with(Version(*hardware)) for hardware in works)
    assert not any(driver.works_with(Version(*hardware)) for hardware in fails)


def test_minor_versions_in_c(tmp_path_factory):
    """The same, by a driver whose header has a later minor version."""
    folder = tmp_path_factory.mktemp("driver")
    library = load_driver(folder, version=(3, 5))
    for hardware, result in [
        ((3, 5), CONTEXTS), ((3, 6), CONTEXTS), ((3, 60), CONTEXTS), ((3, 4), OTHER_VERSION),
        ((3, 0), OTHER_VERSION), ((2, 9), OTHER_VERSION), ((4, 0), OTHER_VERSION),
        ((4, 9), OTHER_VERSION),
    ]:  # fmt: skip
        context = CContext(library, Hardware(*hardware), 1)
        assert context.of_gpu("identify") == result, hardware


@pytest.mark.parametrize("identification", [0, 0xFFFF_FFFF, 0x5433_0002])
def test_no_t3(identification, library):
    for opens in (T3, Context):
        hardware = Hardware(MAJOR, MINOR, identification)
        wanted = rf"identification must be 0x54330001, not {identification:#010x}"
        with pytest.raises(T3Error, match=wanted) as info:
            opens(hardware)
        assert not isinstance(info.value, VersionError)
        assert hardware.accesses == ["ID"]
    hardware = Hardware(MAJOR, MINOR, identification)
    context = CContext(library, hardware)
    assert context.of_gpu("identify") == NOT_FOUND
    assert of_gpu_in_c(context) == of_context_in_c(context) == {NOT_FOUND}
    assert "write" not in hardware.accesses


def test_invalid_values_come_first(library):
    """A value that does not fit its field is refused without an access."""
    hardware = Hardware(MAJOR + 1, MINOR)
    context = CContext(library, hardware)
    hardware.accesses.clear()
    assert context.of_gpu("scrub", c_uint(1 << 16)) == INVALID
    assert hardware.accesses == []


def test_identity_of_the_tests():
    assert set(IDENTITY.values()) == {load()["ID"].reset, MAJOR << 16 | MINOR}
