"""Transforms of text: for `map`, or called on text."""

from typing import TYPE_CHECKING

from msjax.dataset.text.normalizers import (
    AddToken,
    CaseFold,
    Ngram,
    NormalizeForm,
    NormalizeUTF8,
    RegexReplace,
    SlidingWindow,
    Truncate,
    TruncateSequencePair,
    to_bytes,
    to_str,
)
from msjax.dataset.text.tokenizers import (
    BasicTokenizer,
    BertTokenizer,
    PythonTokenizer,
    RegexTokenizer,
    ToNumber,
    UnicodeCharTokenizer,
    UnicodeScriptTokenizer,
    WhitespaceTokenizer,
    WordpieceTokenizer,
)
from msjax.dataset.text.vocab import Lookup, Vocab
from msjax.lazy import class_placeholders

if not TYPE_CHECKING:
    __getattr__ = class_placeholders(__name__, "a function of numpy arrays can be given to map in its place.")
