"""Options of data pipelines that are not numbers."""

import enum


class Named(str, enum.Enum):  # noqa: UP042
    """A text with a name, and printed by it, as MindSpore's are; a StrEnum is printed by its value."""


class Shuffle(Named):
    """What a dataset of files shuffles: GLOBAL files and rows, FILES only files, INFILE rows within each file.

    Example:
        >>> from msjax import dataset as ds
        >>> ds.Shuffle.FILES.value
        'files'
    """

    GLOBAL = "global"
    FILES = "files"
    INFILE = "infile"
    ADAPTIVE = "adaptive"
    PARTIAL = "partial"


class ErrorSamplesMode(enum.IntEnum):
    """What becomes of a row that fails in `map`: RETURN raises its error, SKIP leaves the row out, and REPLACE puts a row that didn't fail at the end.

    Example:
        >>> from msjax import dataset as ds
        >>> ds.config.get_error_samples_mode().name
        'RETURN'
    """

    RETURN = 0
    REPLACE = 1
    SKIP = 2
