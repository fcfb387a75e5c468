"""MindRecord files: written with `FileWriter`, read with `FileReader` or `dataset.MindDataset`."""

from msjax.core.base.lazy import on_first_use
from msjax.mindrecord.converters import (
    Cifar10ToMR as Cifar10ToMR,
    Cifar100ToMR as Cifar100ToMR,
    CsvToMR as CsvToMR,
    ImageNetToMR as ImageNetToMR,
    MnistToMR as MnistToMR,
    TFRecordToMR as TFRecordToMR,
)
from msjax.mindrecord.reader import FileReader as FileReader
from msjax.mindrecord.writer import FileWriter as FileWriter

__all__ = ["Cifar10ToMR", "Cifar100ToMR", "CsvToMR", "FileReader", "FileWriter", "ImageNetToMR", "MnistToMR", "TFRecordToMR"]

_ENCRYPTION = "files are not encrypted here."
__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "MindPage": "FileReader reads rows by number of their order.", "set_*": _ENCRYPTION,
        "[A-Za-z]*": "read the other file in Python, and give its rows to FileWriter.",
    },
)  # fmt: skip
