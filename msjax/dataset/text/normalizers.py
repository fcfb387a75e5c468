"""Transforms that change text or lists of tokens."""

from __future__ import annotations

import enum
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np

from msjax.common.typing import ArrayLike
from msjax.core.base.checks import check_bool, check_int, check_kind, check_str, check_type, is_int
from msjax.core.base.errors import describe
from msjax.dataset.checks import check_data, check_list
from msjax.dataset.text.base import TextTransform
from msjax.dataset.transforms.base import Transform

__all__ = [
    "AddToken", "CaseFold", "Ngram", "NormalizeForm", "NormalizeUTF8", "RegexReplace", "SlidingWindow", "Truncate",
    "TruncateSequencePair", "to_bytes", "to_str",
]  # fmt: skip


class NormalizeForm(enum.IntEnum):
    """The forms of Unicode: NONE, NFC, NFKC, NFD, NFKD.

    Example:
        >>> from msjax.dataset.text import NormalizeForm
        >>> NormalizeForm.NFD.normalize("\u00e9") == "e\u0301"
        True
    """

    NONE = 0
    NFC = 1
    NFKC = 2
    NFD = 3
    NFKD = 4

    def normalize(self, text: str) -> str:
        """A text in this form."""
        return text if self is NormalizeForm.NONE else unicodedata.normalize(self.name, text)


def strip_accents(text: str) -> str:
    """A text without accents."""
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


class _EachText(TextTransform):
    """A change of each text, which `_change` defines."""

    _change: Callable[[str], str]

    def _apply(self, array):
        changed = [self._change(text) for text in array.ravel().tolist()]
        return np.array(changed, None if changed else "U").reshape(array.shape)


# Characters that Unicode's case folding leaves out: they have no width of their own.
_IGNORED = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0]"
)


def fold(text: str) -> str:
    """A text in small letters and compatible forms (NFKC_Casefold): "1" for a circled one, "a" for a wide letter, "ss" for a sharp s."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _IGNORED.sub("", text).casefold()).casefold())


class CaseFold(_EachText):
    """Small letters, in the forms of Unicode's NFKC_Casefold.

    Example:
        >>> text.CaseFold()("Deep").item()
        'deep'
    """

    def _change(self, text):
        return fold(text)


class NormalizeUTF8(_EachText):
    """A form of Unicode, `normalize_form`. Default: `NormalizeForm.NFKC`.

    Example:
        >>> text.NormalizeUTF8()("\uff21").item()
        'A'
    """

    def __init__(self, normalize_form: NormalizeForm = NormalizeForm.NFKC):
        self.normalize_form: NormalizeForm = check_type(normalize_form, NormalizeForm, "normalize_form", "NormalizeUTF8")

    def _change(self, text):
        return self.normalize_form.normalize(text)


class RegexReplace(_EachText):
    """Replace what matches a regular expression.

    Args:
        pattern (str): the expression.
        replace (str): what stands in its place; ``$1`` is what the first group matches, ``\\$`` a dollar.
        replace_all (bool): everywhere; otherwise only the first. Default: True.

    Example:
        >>> text.RegexReplace("(e+)p", "$1t")("deep tree").item()
        'deet tree'
    """

    def __init__(self, pattern: str, replace: str, replace_all: bool = True):
        who = "RegexReplace"
        self.pattern, self.replace = check_str(pattern, "pattern", who), check_str(replace, "replace", who)
        self.replace_all: bool = check_bool(replace_all, "replace_all", who)
        self._compiled = re.compile(pattern)
        self._template = _REFERENCE.sub(self._in_python, replace)

    def _in_python(self, found):
        code, plain, number = found.groups()
        if number:  # as many digits as there are groups: of 2, $21 is the second one and a 1
            end = next((end for end in range(len(number), 0, -1) if int(number[:end]) <= self._compiled.groups), len(number))
            return rf"\g<{number[:end]}>{number[end:]}"
        return (chr(int(code, 16)) if code else plain).replace("\\", r"\\")

    def _change(self, text):
        return self._compiled.sub(self._template, text, 0 if self.replace_all else 1)


# What stands for something else in a replacement, as MindSpore's library for text reads it.
_REFERENCE = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.?)|\$(\d+)", re.DOTALL)


class Ngram(TextTransform):
    """Sequences of neighbouring tokens, as texts.

    Args:
        n (int or list of int): how many tokens; several lengths come one after the other.
        left_pad, right_pad (tuple): (token, how many) that are put before and after. Default: ("", 0).
        separator (str): what stands between tokens. Default: " ".

    Example:
        >>> text.Ngram(2)(["a", "b", "c"]).tolist()
        ['a b', 'b c']
    """

    def __init__(
        self, n: int | list[int], left_pad: tuple[str, int] = ("", 0), right_pad: tuple[str, int] = ("", 0), separator: str = " "
    ):
        lengths = [n] if is_int(n) else check_list(n, "n", "Ngram")
        self.n: list[int] = [check_int(length, "n", "Ngram", low=1) for length in lengths]
        for name, pad in (("left_pad", left_pad), ("right_pad", right_pad)):
            fits = isinstance(pad, tuple) and len(pad) == 2 and isinstance(pad[0], str) and is_int(pad[1])
            check_kind(pad, fits, "be (str, int)", name, "Ngram")
            check_int(pad[1], name, "Ngram", low=0)
        self.left_pad, self.right_pad = left_pad, right_pad
        self.separator: str = check_str(separator, "separator", "Ngram")

    def _apply(self, array):
        check_data(array, array.ndim == 1, "the input should be a vector of tokens", "Ngram")
        grams = []
        for n in self.n:
            # A sequence never consists of padding only.
            left, right = min(self.left_pad[1], n - 1), min(self.right_pad[1], n - 1)
            tokens = [self.left_pad[0]] * left + array.tolist() + [self.right_pad[0]] * right
            grams += [self.separator.join(tokens[i : i + n]) for i in range(len(tokens) - n + 1)] or [""]
        return np.array(grams)


class SlidingWindow(Transform):
    """Windows over the tokens, or numbers, of a vector.

    Args:
        width (int): how many each window has.
        axis (int): 0.

    Example:
        >>> text.SlidingWindow(2)([1, 2, 3]).tolist()
        [[1, 2], [2, 3]]
    """

    def __init__(self, width: int, axis: int = 0):
        self.width: int = check_int(width, "width", "SlidingWindow", low=1)
        self.axis: int = check_int(axis, "axis", "SlidingWindow")

    def _apply(self, array):
        fits = array.ndim == 1 and self.axis in (0, -1)
        check_data(array, fits, f"the input should be a vector, and 'axis', {self.axis}, 0", "SlidingWindow")
        if len(array) < self.width:
            return np.empty(0, array.dtype)
        return np.lib.stride_tricks.sliding_window_view(array, self.width).copy()


class TruncateSequencePair(Transform):
    """Two vectors cut at their ends, the longer one first, until both together are at most `max_length` long.

    Example:
        >>> text.TruncateSequencePair(4)([1, 2, 3], [4, 5])
        (array([1, 2]), array([4, 5]))
    """

    def __init__(self, max_length: int):
        self.max_length: int = check_int(max_length, "max_length", "TruncateSequencePair", low=0)

    def _apply(self, *arrays):
        if len(arrays) != 2 or any(array.ndim != 1 for array in arrays):
            raise RuntimeError("TruncateSequencePair: it takes two vectors, but got " + ", ".join(map(describe, arrays)) + ".")
        first, second = (len(array) for array in arrays)
        while first + second > self.max_length:
            if first > second:
                first -= 1
            else:
                second -= 1
        return arrays[0][:first], arrays[1][:second]


class Truncate(Transform):
    """A vector of tokens or numbers, or each row of a matrix, cut at its end: at most `max_seq_len` stay.

    Example:
        >>> text.Truncate(2)(["a", "b", "c"]).tolist()
        ['a', 'b']
    """

    def __init__(self, max_seq_len: int):
        self.max_seq_len: int = check_int(max_seq_len, "max_seq_len", "Truncate", low=1)

    def _apply(self, array):
        check_data(array, array.ndim in (1, 2), "the input should be tokens or numbers, or rows of them", "Truncate")
        return array[..., : self.max_seq_len]


class AddToken(TextTransform):
    """A token before or after others.

    Args:
        token (str): the token.
        begin (bool): before; otherwise after. Default: True.

    Example:
        >>> text.AddToken("<s>")(["a", "b"]).tolist()
        ['<s>', 'a', 'b']
    """

    def __init__(self, token: str, begin: bool = True):
        self.token, self.begin = check_str(token, "token", "AddToken"), check_bool(begin, "begin", "AddToken")

    def _apply(self, array):
        check_data(array, array.ndim in (1, 2), "the input should be tokens, or rows of them", "AddToken")
        added = np.full((*array.shape[:-1], 1), self.token)
        return np.concatenate([added, array] if self.begin else [array, added], -1)


def to_str(array: ArrayLike, encoding: str = "utf8") -> Any:
    """Text out of bytes.

    Args:
        array (array or list): bytes.
        encoding (str): how they are encoded. Default: "utf8".

    Example:
        >>> text.to_str([b"ab"]).tolist()
        ['ab']
    """
    return np.char.decode(np.asarray(array), encoding)


def to_bytes(array: ArrayLike, encoding: str = "utf8") -> Any:
    """Bytes out of text.

    Args:
        array (array or list): text.
        encoding (str): how to encode it. Default: "utf8".

    Example:
        >>> text.to_bytes(["ab"]).tolist()
        [b'ab']
    """
    return np.char.encode(np.asarray(array), encoding)
