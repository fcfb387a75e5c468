"""MindRecord files: written with `FileWriter`, read with `FileReader` or `dataset.MindDataset`."""

from msjax.core.base.lazy import on_first_use
from msjax.mindrecord.reader import FileReader as FileReader
from msjax.mindrecord.writer import FileWriter as FileWriter

__all__ = ["FileReader", "FileWriter"]

_READ = "read the other file in Python, and give its rows to FileWriter."
__getattr__, __dir__ = on_first_use(
    __name__, {"*To*MR": _READ, "*ToMR": _READ, "MindPage": "FileReader reads rows by number of their order.", "[A-Za-z]*": _READ}
)
