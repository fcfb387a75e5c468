"""MindRecord files: written with `FileWriter`, read with `FileReader` or `dataset.MindDataset`."""

from msjax.core.base.lazy import on_first_use
from msjax.mindrecord.converters import Cifar10ToMR, Cifar100ToMR, CsvToMR, ImageNetToMR, MnistToMR, TFRecordToMR
from msjax.mindrecord.reader import FileReader
from msjax.mindrecord.writer import FileWriter

__all__ = ["Cifar10ToMR", "Cifar100ToMR", "CsvToMR", "FileReader", "FileWriter", "ImageNetToMR", "MnistToMR", "TFRecordToMR"]

_ENCRYPTION = "files are not encrypted here."
__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "MindPage": "FileReader reads rows by number of their order.", "set_*": _ENCRYPTION,
        "[A-Za-z]*": "read the other file in Python, and give its rows to FileWriter.",
    },
)  # fmt: skip
