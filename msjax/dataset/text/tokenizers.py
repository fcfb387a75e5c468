"""Transforms that split text into tokens."""

from __future__ import annotations

import itertools
import re
import string
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_callable, check_int, check_kind, check_str, check_type
from msjax.core.base.errors import describe
from msjax.dataset.text.base import TextTransform, Tokenizer
from msjax.dataset.text.normalizers import NormalizeForm, fold, strip_accents
from msjax.dataset.text.vocab import Vocab
from msjax.dataset.values import leading_int, numpy_dtype

__all__ = [
    "BasicTokenizer", "BertTokenizer", "PythonTokenizer", "RegexTokenizer", "ToNumber", "UnicodeCharTokenizer",
    "UnicodeScriptTokenizer", "WhitespaceTokenizer", "WordpieceTokenizer",
]  # fmt: skip


class WhitespaceTokenizer(Tokenizer):
    """Split a text at spaces, tabs and ends of lines.

    Args:
        with_offsets (bool): also give where the tokens start and end, in bytes of UTF-8, for three columns. Default: False.

    Example:
        >>> text.WhitespaceTokenizer()("Be happy").tolist()
        ['Be', 'happy']
    """

    def _spans(self, text):
        return [match.span() for match in re.finditer(r"\S+", text)]


class UnicodeCharTokenizer(Tokenizer):
    """Split a text into its characters; for the argument, see `WhitespaceTokenizer`.

    Example:
        >>> text.UnicodeCharTokenizer()("a b").tolist()
        ['a', ' ', 'b']
    """

    def _spans(self, text):
        return [(i, i + 1) for i in range(len(text))]


class UnicodeScriptTokenizer(Tokenizer):
    """Split a text where the script changes, as from Latin letters to Chinese ones or to punctuation.

    Args:
        keep_whitespace (bool): spaces are tokens. Default: False.
        with_offsets (bool): as in `WhitespaceTokenizer`. Default: False.

    Example:
        >>> text.UnicodeScriptTokenizer()("deep\u6df1\u5ea6.").tolist()
        ['deep', '\u6df1\u5ea6', '.']
    """

    def __init__(self, keep_whitespace: bool = False, with_offsets: bool = False):
        self.keep_whitespace: bool = check_bool(keep_whitespace, "keep_whitespace", "UnicodeScriptTokenizer")
        self.with_offsets: bool = check_bool(with_offsets, "with_offsets", "UnicodeScriptTokenizer")

    def _spans(self, text):
        spans, start = [], 0
        for end in range(1, len(text) + 1):
            if end == len(text) or _script(text[end]) != _script(text[start]):
                if self.keep_whitespace or not text[start].isspace():
                    spans.append((start, end))
                start = end
        return spans


def _script(character):
    """A word for the script of a character: the first one of its name for letters, otherwise its kind."""
    if character.isspace():
        return "space"
    if unicodedata.category(character)[0] not in "LM":
        return "common"
    return unicodedata.name(character, "unknown").split(" ")[0].split("-")[0]


class RegexTokenizer(Tokenizer):
    """Split a text at what matches a regular expression.

    Args:
        delim_pattern (str): where to split.
        keep_delim_pattern (str): what matches and also this is a token itself. Default: "", none is.
        with_offsets (bool): as in `WhitespaceTokenizer`. Default: False.

    Example:
        >>> text.RegexTokenizer("[,;]", ";")("a,b;c").tolist()
        ['a', 'b', ';', 'c']
    """

    def __init__(self, delim_pattern: str, keep_delim_pattern: str = "", with_offsets: bool = False):
        who = "RegexTokenizer"
        self.delim_pattern: str = check_str(delim_pattern, "delim_pattern", who)
        self.keep_delim_pattern: str = check_str(keep_delim_pattern, "keep_delim_pattern", who)
        self.with_offsets: bool = check_bool(with_offsets, "with_offsets", who)
        self._delim, self._keep = re.compile(delim_pattern), re.compile(keep_delim_pattern)

    def _spans(self, text):
        spans, start = [], 0
        for match in self._delim.finditer(text):
            if match.start() > start:
                spans.append((start, match.start()))
            if self.keep_delim_pattern and match.group() and self._keep.fullmatch(match.group()):
                spans.append(match.span())
            start = match.end()
        return spans + [(start, len(text))] if start < len(text) else spans


class PythonTokenizer(TextTransform):
    """Split a text with a function, `tokenizer`, that gets a str and returns a list of them.

    Example:
        >>> text.PythonTokenizer(lambda line: line.split("-"))("a-b").tolist()
        ['a', 'b']
    """

    def __init__(self, tokenizer: Callable[..., Any]):
        self.tokenizer: Callable[..., Any] = check_callable(tokenizer, "tokenizer", "PythonTokenizer")

    def _apply(self, array):
        return np.array(self.tokenizer(self._one(array)))


class BasicTokenizer(TextTransform):
    """Split a text at spaces and around punctuation and Chinese characters, after cleaning it.

    Args:
        lower_case (bool): small letters as of `CaseFold`, without accents. Default: False.
        keep_whitespace (bool): spaces are tokens. Default: False.
        normalization_form (NormalizeForm): which form of Unicode to bring the text into. Default: `NormalizeForm.NONE`.
        preserve_unused_token (bool): tokens such as "[CLS]" and "[MASK]" stay whole. Default: True.
        with_offsets (bool): not offered.

    Example:
        >>> text.BasicTokenizer(lower_case=True)("Hello, World!").tolist()
        ['hello', ',', 'world', '!']
    """

    def __init__(
        self, lower_case: bool = False, keep_whitespace: bool = False,
        normalization_form: NormalizeForm = NormalizeForm.NONE, preserve_unused_token: bool = True,
        with_offsets: bool = False,
    ):  # fmt: skip
        who = type(self).__name__
        self.lower_case: bool = check_bool(lower_case, "lower_case", who)
        self.keep_whitespace: bool = check_bool(keep_whitespace, "keep_whitespace", who)
        self.preserve_unused_token: bool = check_bool(preserve_unused_token, "preserve_unused_token", who)
        self.normalization_form: NormalizeForm = check_type(normalization_form, NormalizeForm, "normalization_form", who)
        if check_bool(with_offsets, "with_offsets", who):
            raise NotImplementedError(f"For '{who}', msjax has no 'with_offsets'; WhitespaceTokenizer and RegexTokenizer have.")

    def _apply(self, array):
        return np.array(self._tokens(self._one(array)) or [""])

    def _tokens(self, text):
        unused = r"\[(?:CLS|SEP|UNK|PAD|MASK|unused\d+)\]" if self.preserve_unused_token else r"(?!)"
        tokens = []
        for piece in re.split(f"({unused})", text):
            if re.fullmatch(unused, piece):
                tokens.append(piece)
                continue
            piece = strip_accents(fold(piece)) if self.lower_case else self.normalization_form.normalize(piece)
            # What controls a terminal is no text.
            piece = "".join(" " if unicodedata.category(c) in ("Cc", "Cf") else c for c in piece)
            tokens += ["".join(c for _, c in group) for _, group in itertools.groupby(enumerate(piece), _token_of)]
        return [token for token in tokens if self.keep_whitespace or not token.isspace()]


def _token_of(numbered):
    """What is the same for neighbouring characters of one token: punctuation and Chinese characters stand alone."""
    at, character = numbered
    alone = character in string.punctuation or unicodedata.category(character)[0] == "P" or _CHINESE.match(character)
    return at if alone else " " if character.isspace() else "word"


_CHINESE = re.compile("[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]")


class WordpieceTokenizer(TextTransform):
    """Split words into the longest pieces that a vocab has; pieces within a word begin with "##".

    Args:
        vocab (Vocab): the pieces.
        suffix_indicator (str): how pieces within a word begin. Default: "##".
        max_bytes_per_token (int): longer words are unknown. Default: 100.
        unknown_token (str): replaces words that have no pieces; "" keeps the words. Default: "[UNK]".
        with_offsets (bool): not offered.

    Example:
        >>> vocab = text.Vocab.from_list(["play", "##ing", "##ed"])
        >>> text.WordpieceTokenizer(vocab)(["playing", "sings"]).tolist()
        ['play', '##ing', '[UNK]']
    """

    def __init__(
        self,
        vocab: Vocab,
        suffix_indicator: str = "##",
        max_bytes_per_token: int = 100,
        unknown_token: str = "[UNK]",
        with_offsets: bool = False,
    ):
        who = "WordpieceTokenizer"
        self._vocab = check_type(vocab, Vocab, "vocab", who)
        if check_bool(with_offsets, "with_offsets", who):
            raise NotImplementedError(f"For '{who}', msjax has no 'with_offsets'.")
        self.suffix_indicator: str = check_str(suffix_indicator, "suffix_indicator", who)
        self.max_bytes_per_token: int = check_int(max_bytes_per_token, "max_bytes_per_token", who, low=0)
        self.unknown_token: str = check_str(unknown_token, "unknown_token", who)

    def _apply(self, array):
        return np.array([piece for word in array.ravel().tolist() for piece in self._pieces(word)] or [""])

    def _pieces(self, word):
        unknown = [self.unknown_token or word]
        if len(word.encode()) > self.max_bytes_per_token:
            return unknown
        pieces, start = [], 0
        while start < len(word):
            prefix = self.suffix_indicator if start else ""
            for end in range(len(word), start, -1):
                if prefix + word[start:end] in self._vocab._ids:
                    pieces.append(prefix + word[start:end])
                    start = end
                    break
            else:
                return unknown
        return pieces


class BertTokenizer(BasicTokenizer):
    """`BasicTokenizer`, then `WordpieceTokenizer`.

    Args:
        vocab (Vocab), suffix_indicator (str), max_bytes_per_token (int), unknown_token (str): as in `WordpieceTokenizer`.
        lower_case, keep_whitespace, normalization_form, preserve_unused_token, with_offsets: as in `BasicTokenizer`.

    Example:
        >>> vocab = text.Vocab.from_list(["play", "##ing", "!"])
        >>> text.BertTokenizer(vocab, lower_case=True)("Playing!").tolist()
        ['play', '##ing', '!']
    """

    def __init__(
        self, vocab: Any, suffix_indicator: str = "##", max_bytes_per_token: int = 100, unknown_token: str = "[UNK]",
        lower_case: bool = False, keep_whitespace: bool = False, normalization_form: Any = NormalizeForm.NONE,
        preserve_unused_token: bool = True, with_offsets: bool = False,
    ):  # fmt: skip
        super().__init__(lower_case, keep_whitespace, normalization_form, preserve_unused_token, with_offsets)
        self._wordpiece = WordpieceTokenizer(vocab, suffix_indicator, max_bytes_per_token, unknown_token)

    def _tokens(self, text):
        return [
            piece for token in super()._tokens(text) for piece in ([token] if token.isspace() else self._wordpiece._pieces(token))
        ]


class ToNumber(TextTransform):
    """The numbers that texts stand for; for types of ints, the digits in front: 1 of "1.7".

    Args:
        data_type: a type such as ``ms.int32`` or ``ms.float32``.

    Raises:
        RuntimeError: a text is no number, or one that is out of the type's range.

    Example:
        >>> import msjax as ms
        >>> from msjax.dataset import text
        >>> text.ToNumber(ms.int32)(["1", "-7"])
        array([ 1, -7], dtype=int32)
    """

    def __init__(self, data_type: Any):
        self.data_type: Any = numpy_dtype(data_type, "data_type", "ToNumber")
        check_kind(data_type, self.data_type.kind in "iuf", "be a type of numbers", "data_type", "ToNumber")

    def _apply(self, array):
        kind = float if self.data_type.kind == "f" else leading_int
        try:
            numbers = [kind(token) for token in array.ravel().tolist()]
            with np.errstate(over="ignore"):  # told below
                made = np.array(numbers, self.data_type)
        except (ValueError, OverflowError) as error:
            raise RuntimeError(f"ToNumber: {error}") from error
        if kind is float and not np.isfinite(made).all() and np.isfinite(numbers).all():
            raise RuntimeError(f"ToNumber: {describe(array.tolist())} is out of the range of {self.data_type}.")
        return made.reshape(array.shape)
