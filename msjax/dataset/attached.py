"""The base of Dataset: empty at run time, when the operations are attached to the class; attached.pyi says what types these have."""


class DatasetMethods:
    """What `msjax.dataset.operations.methods` and `msjax.dataset.text.vocab` attach."""
