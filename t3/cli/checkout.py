"""Commands that need what only a checkout has."""

from importlib.util import find_spec

__all__ = ["CheckoutError", "require_benches"]


class CheckoutError(RuntimeError):
    """The command needs the benches, which are not installed with the package."""

    def __init__(self, command: str):
        super().__init__(
            f"t3 {command} runs from a checkout of the project: it needs the benches in tb/"
        )


def require_benches(command: str) -> None:
    """Find the benches.

    Raises
    ------
    CheckoutError
        They are not there.
    """
    try:
        found = find_spec("tb.runner") is not None
    except ModuleNotFoundError:
        found = False
    if not found:
        raise CheckoutError(command)
