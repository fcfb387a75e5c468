"""Options of data pipelines that are not numbers."""

import enum


class Named(str, enum.Enum):  # noqa: UP042
    """A text with a name, and printed by it, as MindSpore's are; a StrEnum is printed by its value. Its docstring gets an example."""

    def __init_subclass__(cls) -> None:
        if cls.__doc__ is not None:  # there is none under python -OO
            first, package = next(iter(cls)), cls.__module__.rpartition(".")[0]
            lines = f">>> from {package} import {cls.__name__}", f">>> {cls.__name__}.{first.name}.value", repr(first.value)
            cls.__doc__ = "\n        ".join((f"{cls.__doc__}\n\n    Example:", *lines))


class Shuffle(Named):
    """What a dataset of files shuffles: GLOBAL files and rows, FILES only files, INFILE rows within each file."""

    GLOBAL = "global"
    FILES = "files"
    INFILE = "infile"
    ADAPTIVE = "adaptive"
    PARTIAL = "partial"


class ErrorSamplesMode(enum.IntEnum):
    """What becomes of a row that fails in `map`: RETURN raises its error, SKIP leaves the row out, and REPLACE puts a row that didn't fail at the end.

    Example:
        >>> ds.config.get_error_samples_mode().name
        'RETURN'
    """

    RETURN = 0
    REPLACE = 1
    SKIP = 2
