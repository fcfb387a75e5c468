"""Vectors of words, read from the files of GloVe, fastText and character n-grams, and the transform that looks words up in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import ClassVar, Self

import numpy as np

from msjax.core.base.checks import check_bool, check_int, check_str, check_type
from msjax.dataset.checks import LARGEST, check_numbers
from msjax.dataset.text.base import TextTransform

__all__ = ["CharNGram", "FastText", "GloVe", "ToVectors", "Vectors"]


class Vectors:
    """Words and their vectors, made by `from_file`: a line for each, the word and its numbers with spaces between.

    A first line of two numbers, how many words and how many dimensions, is skipped.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "words.txt")
        ...     _ = path.write_text("the 0.5 1\\nof 2 3")
        ...     vectors = text.Vectors.from_file(str(path))
        >>> text.ToVectors(vectors)("of")
        array([2., 3.], dtype=float32)
    """

    # What the file's name has to begin and to end with.
    _beginning: ClassVar[str] = ""
    _ending: ClassVar[str] = ""

    def __init__(self):
        self._vectors: dict[str, np.ndarray] = {}
        self.width: int = 0  # how many numbers a vector has

    @classmethod
    def from_file(cls, file_path: str, max_vectors: int | None = None) -> Self:
        """Read a file.

        Args:
            file_path (str): the file.
            max_vectors (int, optional): how many vectors are read at most. Default: all.

        Raises:
            RuntimeError: the file isn't there, has another name than such files have, is empty, or its vectors differ in length.
        """
        who = f"{cls.__name__}.from_file"
        name = os.path.basename(check_str(file_path, "file_path", who))
        most = None if max_vectors is None else check_int(max_vectors, "max_vectors", who, low=0, high=LARGEST)
        if not (name.startswith(cls._beginning) and name.endswith(cls._ending)):
            raise RuntimeError(
                f"{cls.__name__}: invalid file, can not find file '{cls._beginning}*{cls._ending}', but got {file_path!r}."
            )
        if not os.path.isfile(file_path):
            raise RuntimeError(f"{cls.__name__}: invalid file, get real path failed, path={file_path!r}: there is no such file.")
        made = cls()
        for number, (word, values) in enumerate(_lines(file_path)):
            if number == 0 and len(values) == 1 and word.isdigit() and values[0].isdigit():
                continue
            if len(made._vectors) == most:
                break
            if len(values) == 1:
                raise RuntimeError(f"{cls.__name__}: line {number + 1} of {file_path!r} has a token with 1-dimensional vector.")
            made.width = made.width or len(values)
            if len(values) != made.width:
                raise RuntimeError(
                    f"{cls.__name__}: all vectors must have the same number of dimensions, but got dim {len(values)} in line {number + 1} of "
                    f"{file_path!r} while expecting {made.width}."
                )
            try:
                made._vectors.setdefault(word, np.array(values, np.float32))
            except ValueError as error:
                raise RuntimeError(f"{cls.__name__}: line {number + 1} of {file_path!r} could not be read: {error}") from error
        if not made.width:
            raise RuntimeError(f"{cls.__name__}: invalid file, file is empty: {file_path!r}.")
        return made

    def look_up(self, word: str) -> np.ndarray | None:
        """The vector of a word; None if there is none."""
        return self._vectors.get(word)


class GloVe(Vectors):
    """Vectors of GloVe, from files ``glove.6B.*.txt``."""

    _beginning, _ending = "glove.6B.", ".txt"


class FastText(Vectors):
    """Vectors of fastText, from files ``*.vec``."""

    _ending = ".vec"


class CharNGram(Vectors):
    """Vectors of character n-grams, such as ``2gram-ab``: that of a word is the mean of those of its n-grams of 2 to 4 characters."""

    def look_up(self, word: str) -> np.ndarray | None:
        """The mean of the vectors of the word's n-grams, its ends included; None if there are none."""
        characters = ["#BEGIN#", *word, "#END#"]
        grams = ["".join(characters[at : at + n]) for n in (2, 3, 4) for at in range(len(characters) - n + 1)]
        sizes = [n for n in (2, 3, 4) for _ in range(len(characters) - n + 1)]
        found = [self._vectors.get(f"{n}gram-{gram}") for n, gram in zip(sizes, grams)]
        known = [vector for vector in found if vector is not None]
        return np.mean(known, 0, dtype=np.float32) if known else None


def _lines(path: str) -> Iterator[tuple[str, list[str]]]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            word, *values = line.rstrip().split(" ")
            if values:
                yield word, values


class ToVectors(TextTransform):
    """The vector of a word, or those of several.

    Args:
        vectors (Vectors): the vectors.
        unk_init (sequence, optional): the vector of words that have none. Default: zeros.
        lower_case_backup (bool): whether the word in small letters is looked up, if it has no vector as it is. Default: False.

    Raises:
        TypeError: a wrong argument.
        RuntimeError: `unk_init` has another length than the vectors.
    """

    def __init__(self, vectors: Vectors, unk_init: list[float] | None = None, lower_case_backup: bool = False):
        self._vectors: Vectors = check_type(vectors, Vectors, "vectors", "ToVectors")
        self.lower_case_backup: bool = check_bool(lower_case_backup, "lower_case_backup", "ToVectors")
        unknown = [0.0] * vectors.width if unk_init is None else check_numbers(unk_init, "unk_init", "ToVectors")
        if len(unknown) != vectors.width:
            raise RuntimeError(
                f"ToVectors: unk_init must be the same length as vectors, but got unk_init: {len(unknown)} and vectors: {vectors.width}."
            )
        self._unknown = np.array(unknown, np.float32)

    def _apply(self, array):
        return np.array([self._vector(word) for word in array.ravel().tolist()], np.float32).reshape(*array.shape, -1)

    def _vector(self, word):
        found = self._vectors.look_up(word)
        if found is None and self.lower_case_backup:
            found = self._vectors.look_up(word.lower())
        return self._unknown if found is None else found
