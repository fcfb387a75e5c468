"""Pieces of words, by the package sentencepiece (``pip install 'msjax[text]'``)."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import numpy as np

from msjax.core.base.checks import check_int, check_kind, check_number, check_type
from msjax.core.base.whole_files import whole_file
from msjax.dataset.checks import check_columns, check_enum, check_list
from msjax.dataset.dataset import Dataset
from msjax.dataset.text.base import TextTransform

__all__ = [
    "SPieceTokenizerLoadType",
    "SPieceTokenizerOutType",
    "SentencePieceModel",
    "SentencePieceTokenizer",
    "SentencePieceVocab",
]


class SentencePieceModel(Enum):
    """How the pieces are found."""

    UNIGRAM = 0
    BPE = 1
    CHAR = 2
    WORD = 3


class SPieceTokenizerOutType(Enum):
    """What the tokenizer gives: pieces, or their numbers."""

    STRING = 0
    INT = 1


class SPieceTokenizerLoadType(Enum):
    """Where a model comes from: a file, or a `SentencePieceVocab`."""

    FILE = 0
    MODEL = 1


def _sentencepiece() -> Any:
    try:
        import sentencepiece  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ImportError("Pieces of words need the package sentencepiece: pip install 'msjax[text]'") from error
    return sentencepiece


class SentencePieceVocab:
    """A model of pieces of words, made by `from_dataset` or `from_file`. Needs the package sentencepiece.

    Attributes:
        model (bytes): the model, as sentencepiece stores it.
    """

    def __init__(self):
        self.model = b""

    @classmethod
    def from_dataset(
        cls, dataset: Dataset, col_names: str | list[str], vocab_size: int, character_coverage: float,
        model_type: SentencePieceModel, params: Mapping[str, Any],
    ) -> SentencePieceVocab:  # fmt: skip
        """The model of a dataset's text.

        Args:
            dataset (Dataset): what is read, once.
            col_names (str or list of str): the columns with text.
            vocab_size (int): how many pieces.
            character_coverage (float): the share of characters that have pieces, such as 0.9995.
            model_type (SentencePieceModel): how pieces are found.
            params (dict): other settings of sentencepiece's trainer.

        Raises:
            TypeError, ValueError: a wrong argument.
            RuntimeError: sentencepiece can't make a model of so many pieces.
        """
        check_type(dataset, Dataset, "dataset", "from_dataset")
        columns = check_columns(col_names, "col_names", "from_dataset")
        rows = dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
        sentences = (str(text) for row in rows for column in columns for text in np.ravel(row[column]))
        return cls._trained("from_dataset", vocab_size, character_coverage, model_type, params, sentence_iterator=sentences)

    @classmethod
    def from_file(
        cls, file_path: list[str], vocab_size: int, character_coverage: float, model_type: SentencePieceModel,
        params: Mapping[str, Any],
    ) -> SentencePieceVocab:  # fmt: skip
        """The model of text files; see `from_dataset`.

        Args:
            file_path (list of str): the files.
            vocab_size, character_coverage, model_type, params: as in `from_dataset`.
        """
        for path in check_list(file_path, "file_path", "from_file"):
            check_kind(path, isinstance(path, (str, os.PathLike)), "hold paths", "file_path", "from_file")
        return cls._trained("from_file", vocab_size, character_coverage, model_type, params, input=[*map(os.fspath, file_path)])

    @classmethod
    def _trained(
        cls, who, vocab_size, character_coverage, model_type, params: Mapping[str, Any], **source: list[str] | Iterable[str]
    ):
        check_int(vocab_size, "vocab_size", who, low=1)
        check_number(character_coverage, "character_coverage", who, low=0, high=1)
        check_enum(model_type, SentencePieceModel, "model_type", who)
        check_kind(params, isinstance(params, Mapping), "be a dict", "params", who)
        made, file = cls(), io.BytesIO()
        try:
            _sentencepiece().SentencePieceTrainer.train(
                model_writer=file, vocab_size=vocab_size, character_coverage=character_coverage,
                model_type=model_type.name.lower(), **{"minloglevel": 2, **params}, **source,
            )  # fmt: skip
        except (OSError, RuntimeError) as error:
            raise RuntimeError(f"SentencePieceVocab.{who}: no model can be made: {error}") from error
        made.model = file.getvalue()
        return made

    @classmethod
    def save_model(cls, vocab: SentencePieceVocab, path: str, filename: str) -> None:
        """Write a model to a file in a folder, which `SentencePieceTokenizer` reads.

        Args:
            vocab (SentencePieceVocab): the model.
            path (str): the folder.
            filename (str): the file's name.
        """
        check_type(vocab, SentencePieceVocab, "vocab", "save_model")
        with whole_file(os.path.join(path, filename)) as file:
            file.write(vocab.model)


class SentencePieceTokenizer(TextTransform):
    """Splits text into pieces of words. Needs the package sentencepiece.

    Args:
        mode (str or SentencePieceVocab): the model, or the path of its file.
        out_type (SPieceTokenizerOutType): what comes of it.

    Raises:
        TypeError, RuntimeError: a wrong argument, or no such model.
    """

    def __init__(self, mode: str | SentencePieceVocab, out_type: SPieceTokenizerOutType):
        who = "SentencePieceTokenizer"
        fits = isinstance(mode, (str, os.PathLike, SentencePieceVocab))
        check_kind(mode, fits, "be a path or a SentencePieceVocab", "mode", who)
        self.out_type: SPieceTokenizerOutType = check_enum(out_type, SPieceTokenizerOutType, "out_type", who)
        given = {"model_proto": mode.model} if isinstance(mode, SentencePieceVocab) else {"model_file": os.fspath(mode)}
        try:
            self._processor = _sentencepiece().SentencePieceProcessor(**given)
        except (OSError, RuntimeError) as error:
            raise RuntimeError(f"{who}: the model can't be read: {error}") from error

    def _apply(self, array):
        kind = {SPieceTokenizerOutType.STRING: str, SPieceTokenizerOutType.INT: int}[self.out_type]
        found = self._processor.encode(self._one(array), out_type=kind)
        return np.array(found, str if kind is str else np.int32)
