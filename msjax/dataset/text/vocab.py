"""Vocab, the numbers of tokens, and Lookup, which puts them in the place of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from msjax.common.dtype import int32
from msjax.common.typing import DTypeLike
from msjax.core.base.checks import check_bool, check_int, check_kind, check_str, check_type, check_value, is_int
from msjax.core.base.errors import describe
from msjax.dataset.checks import check_columns, check_list
from msjax.dataset.dataset import Dataset
from msjax.dataset.text.base import TextTransform
from msjax.dataset.values import numpy_dtype


class Vocab:
    """Tokens and their numbers; made by one of its ``from_...`` methods.

    Example:
        >>> vocab = text.Vocab.from_list(["deep", "learning"], special_tokens=["<unk>"])
        >>> vocab.vocab()
        {'<unk>': 0, 'deep': 1, 'learning': 2}
        >>> vocab.tokens_to_ids(["learning", "deep"]), vocab.ids_to_tokens(1)
        ([2, 1], 'deep')
    """

    def __init__(self):
        self._ids, self._tokens = {}, {}

    @classmethod
    def _of(cls, ids):
        made = cls()
        made._ids = dict(ids)
        made._tokens = {number: token for token, number in made._ids.items()}
        return made

    @classmethod
    def _numbered(cls, words, special_tokens, special_first, who):
        check_bool(special_first, "special_first", who)
        special = [] if special_tokens is None else _texts(special_tokens, "special_tokens", who)
        words = list(words)
        if set(special) & set(words):
            raise ValueError(f"For '{who}', 'special_tokens' should not be words, too: {sorted(set(special) & set(words))}.")
        tokens = special + words if special_first else words + special
        return cls._of({token: number for number, token in enumerate(tokens)})

    @classmethod
    def from_list(cls, word_list: list[str], special_tokens: list[str] | None = None, special_first: bool = True) -> Vocab:
        """Number the words of a list.

        Args:
            word_list (list of str): different words.
            special_tokens (list of str, optional): tokens such as "<unk>".
            special_first (bool): these come first. Default: True.

        Raises:
            TypeError, ValueError: no list of str, or a word twice.
        """
        return cls._numbered(_texts(word_list, "word_list", "from_list", empty=True), special_tokens, special_first, "from_list")

    @classmethod
    def from_dict(cls, word_dict: dict[str, Any]) -> Vocab:
        """Take the numbers of a dict, {word: number}, which are not negative.

        Raises:
            TypeError, ValueError: something else.
        """
        check_type(word_dict, dict, "word_dict", "from_dict")
        for word, number in word_dict.items():
            check_str(word, "word_dict", "from_dict")
            check_int(number, "word_dict", "from_dict", low=0)
        return cls._of(word_dict)

    @classmethod
    def from_file(
        cls,
        file_path: str,
        delimiter: str = "",
        vocab_size: int | None = None,
        special_tokens: Sequence[str] | None = None,
        special_first: bool = True,
    ) -> Vocab:
        """Number the words of a file, one a line; an empty line is the word "".

        Args:
            file_path (str): the file, in UTF-8.
            delimiter (str): what ends the word of a line; the rest of the line doesn't count. Default: "", the line's end.
            vocab_size (int, optional): take only so many. Default: all.
            special_tokens, special_first: as in `from_list`.

        Raises:
            RuntimeError: the file can't be read, or has a word twice.
        """
        check_str(file_path, "file_path", "from_file")
        check_str(delimiter, "delimiter", "from_file")
        if vocab_size is not None:
            check_int(vocab_size, "vocab_size", "from_file", low=1)
        try:
            with open(file_path, encoding="utf-8") as file:
                lines = [line.rstrip("\r\n") for line in file]
        except (OSError, UnicodeDecodeError) as error:
            raise RuntimeError(f"Vocab.from_file: {file_path!r} could not be read: {error}") from error
        words = [line.split(delimiter, 1)[0] if delimiter else line for line in lines][:vocab_size]
        if len(set(words)) != len(words):
            raise RuntimeError(f"Vocab.from_file: {file_path!r} has {Counter(words).most_common(1)[0][0]!r} twice.")
        return cls._numbered(words, special_tokens, special_first, "from_file")

    @classmethod
    def from_dataset(
        cls, dataset: Dataset, columns: str | list[str] | None = None, freq_range: tuple[int | None, int | None] | None = None,
        top_k: int | None = None, special_tokens: Sequence[str] | None = None, special_first: bool = True,
    ) -> Vocab:  # fmt: skip
        """Number the tokens of a dataset: frequent ones first, equally frequent ones by the alphabet.

        Args:
            dataset (Dataset): its columns hold text.
            columns (str or list of str, optional): the columns that count. Default: all.
            freq_range (tuple of two, optional): the least and the largest frequency; None leaves a side open.
            top_k (int, optional): only the most frequent ones.
            special_tokens, special_first: as in `from_list`.

        Raises:
            TypeError, ValueError: a wrong argument.
            RuntimeError: the dataset can't be read.
        """
        who = "from_dataset"
        check_type(dataset, Dataset, "dataset", who)
        low, high = _frequencies(freq_range)
        if top_k is not None:
            check_int(top_k, "top_k", who, low=1)
        counts = Counter()
        columns = None if columns is None or columns == [] else check_columns(columns, "columns", who)
        for row in dataset.create_tuple_iterator(columns, num_epochs=1, output_numpy=True):
            for value in row:
                if isinstance(value, dict) or value.dtype.kind != "U":
                    raise RuntimeError(f"Vocab.from_dataset: the columns should hold text, but got {describe(value)}.")
                counts.update(value.ravel().tolist())
        words = [word for word, count in counts.items() if low <= count <= high]
        words.sort(key=lambda word: (-counts[word], word))
        return cls._numbered(words[:top_k], special_tokens, special_first, who)

    def vocab(self) -> dict[str, Any]:
        """{token: number}."""
        return dict(self._ids)

    def tokens_to_ids(self, tokens: str | list[str]) -> int | list[int]:
        """The number of a token, or a list of those of several; -1 for one that is not there."""
        listed = tokens.tolist() if isinstance(tokens, np.ndarray) else tokens
        if isinstance(listed, str):
            return self._ids.get(listed, -1)
        if isinstance(listed, list) and not listed:
            return []
        found = [self._ids.get(token, -1) for token in _texts(listed, "tokens", "tokens_to_ids", different=False)]
        return found[0] if len(found) == 1 else found

    def ids_to_tokens(self, ids: int | list[int]) -> str | list[str]:
        """The token of a number, or a list of those of several; "" for one that is not there."""
        listed = ids.tolist() if isinstance(ids, np.ndarray) else ids
        if is_int(listed):
            return self._tokens.get(check_int(listed, "ids", "ids_to_tokens", low=0), "")
        for number in check_list(listed, "ids", "ids_to_tokens"):
            check_int(number, "ids", "ids_to_tokens", low=0)
        found = [self._tokens.get(number, "") for number in listed]
        return found[0] if len(found) == 1 else found


class Lookup(TextTransform):
    """The numbers of tokens.

    Args:
        vocab (Vocab): tokens and numbers.
        unknown_token (str, optional): the token in whose place others count. Default: others are an error.
        data_type: the type of the numbers. Default: ``ms.int32``.

    Raises:
        TypeError: a wrong argument.
        RuntimeError: a token has no number.

    Example:
        >>> vocab = text.Vocab.from_list(["deep", "learning", "<unk>"])
        >>> text.Lookup(vocab, "<unk>")(["learning", "fast"])
        array([1, 2], dtype=int32)
    """

    def __init__(self, vocab: Vocab, unknown_token: str | None = None, data_type: DTypeLike = int32):
        self._vocab = check_type(vocab, Vocab, "vocab", "Lookup")
        self.unknown_token: str | None = None if unknown_token is None else check_str(unknown_token, "unknown_token", "Lookup")
        self.data_type: Any = numpy_dtype(data_type, "data_type", "Lookup")

    def _apply(self, array):
        ids = self._vocab._ids
        default = None
        if self.unknown_token is not None:
            default = ids.get(self.unknown_token)
            if default is None:
                raise RuntimeError(f"Lookup: 'unknown_token' {self.unknown_token!r} is not in the vocab.")
        numbers = [ids.get(token, default) for token in array.ravel().tolist()]
        if None in numbers:
            token = array.ravel()[numbers.index(None)]
            raise RuntimeError(
                f"Lookup: the token {str(token)!r} is not in the vocab; 'unknown_token' can stand for such tokens."
            )
        return np.array(numbers, self.data_type).reshape(array.shape)


def _texts(value, name, who, empty=False, different=True):
    check_kind(value, all(isinstance(word, str) for word in check_list(value, name, who, empty)), "be a list of str", name, who)
    if different and len(set(value)) != len(value):
        raise ValueError(f"For '{who}', '{name}' should not hold a word twice, but has {Counter(value).most_common(1)[0][0]!r}.")
    return list(value)


def _frequencies(freq_range):
    if freq_range is None:
        return 0, float("inf")
    fits = isinstance(freq_range, tuple) and len(freq_range) == 2 and all(f is None or is_int(f) for f in freq_range)
    check_kind(freq_range, fits, "be a tuple of two ints or None", "freq_range", "from_dataset")
    low, high = 0 if freq_range[0] is None else freq_range[0], float("inf") if freq_range[1] is None else freq_range[1]
    check_value(freq_range, 0 <= low <= high, "not fall or be negative", "freq_range", "from_dataset")
    return low, high


def build_vocab(
    self: Dataset,
    columns: str | list[str] | None,
    freq_range: tuple[int | None, int | None] | None,
    top_k: int | None,
    special_tokens: list[str] | None,
    special_first: bool,
) -> Vocab:
    """The tokens of columns with text and their numbers; see `text.Vocab.from_dataset`.

    Example:
        >>> ds.NumpySlicesDataset(["b", "a", "b"], ["t"]).build_vocab("t", None, None, ["<unk>"], True).vocab()
        {'<unk>': 0, 'b': 1, 'a': 2}
    """
    return Vocab.from_dataset(self, columns, freq_range, top_k, special_tokens, special_first)


Dataset.build_vocab = build_vocab
