"""Coverage waivers that apply to every block."""

__all__ = ["EVERYWHERE"]

EVERYWHERE: tuple[tuple[str, str], ...] = (
    (
        r"toggle .*\$\d+",
        "no signal of the source: an intermediate step of an expression, or a second name",
    ),
    (r"toggle .*_count\.clear", "a counter that is never cleared"),
    (r"toggle .*\.drop", "a queue whose payloads are not dropped"),
    (
        r"toggle .*(\b|_)report(\$\d+)?(\.\w+)?",
        "a block reports few causes, and few causes fill every field",
    ),
)
