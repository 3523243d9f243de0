"""Version of the register interface, in which driver and hardware must agree."""

from typing import NamedTuple

from rtl.registers.map import load

from .bus import Bus
from .errors import T3Error

__all__ = ["Version", "VersionError", "check_version"]


class Version(NamedTuple):
    """Version of the register interface.

    Parameters
    ----------
    major : int
        Number that a change increments which breaks drivers of the version before.
    minor : int
        Number that an addition increments.
    """

    major: int
    minor: int

    @classmethod
    def of_driver(cls) -> "Version":
        """Return the version for which the driver was written: that of the register map."""
        return cls._from_word(load()["VERSION"].reset)

    @classmethod
    def of_hardware(cls, bus: Bus) -> "Version":
        """Read the version of the hardware behind a bus."""
        return cls._from_word(bus.read(load()["VERSION"].address))

    @classmethod
    def _from_word(cls, word: int) -> "Version":
        return cls(**load()["VERSION"].unpack(word))

    def works_with(self, hardware: "Version") -> bool:
        """Test whether a driver of this version works with hardware of another one."""
        return self.major == hardware.major and self.minor <= hardware.minor

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class VersionError(T3Error):
    """The driver does not work with the hardware's version of the register interface.

    Parameters
    ----------
    driver, hardware : Version
        Versions of the register interface.
    """

    def __init__(self, driver: Version, hardware: Version):
        super().__init__(
            f"the driver needs version {driver} of the register interface, or a later minor "
            f"version; the hardware has version {hardware}"
        )
        self.driver, self.hardware = driver, hardware


def check_version(bus: Bus) -> None:
    """Check that T3 is behind the bus, and that the driver works with its version.

    Raises
    ------
    VersionError
        If the major versions differ, or the hardware's minor version is less than the driver's.
    T3Error
        If the identification is wrong.
    """
    register = load()["ID"]
    found = bus.read(register.address)
    if found != register.reset:
        raise T3Error(f"the identification must be {register.reset:#010x}, not {found:#010x}")
    driver, hardware = Version.of_driver(), Version.of_hardware(bus)
    if not driver.works_with(hardware):
        raise VersionError(driver, hardware)
