"""Guard of the commands that need a checkout of the project."""

from importlib import import_module

__all__ = ["CheckoutError", "require_checkout"]


class CheckoutError(RuntimeError):
    """Report that a command needs packages that are not installed with the project."""

    def __init__(self, command: str):
        super().__init__(
            f"t3 {command} runs from a checkout of the project: it needs the packages tb and "
            "verification"
        )


def require_checkout(command: str) -> None:
    """Check that the packages of a checkout can be imported.

    Raises
    ------
    CheckoutError
        A package is missing.
    """
    try:
        for package in ("tb", "verification"):
            import_module(package)
    except ModuleNotFoundError as error:
        raise CheckoutError(command) from error
