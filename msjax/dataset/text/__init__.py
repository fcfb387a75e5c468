"""Transforms of text: for `map`, or called on text."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.dataset.text.normalizers import (
    AddToken as AddToken,
    CaseFold as CaseFold,
    Ngram as Ngram,
    NormalizeForm as NormalizeForm,
    NormalizeUTF8 as NormalizeUTF8,
    RegexReplace as RegexReplace,
    SlidingWindow as SlidingWindow,
    Truncate as Truncate,
    TruncateSequencePair as TruncateSequencePair,
    to_bytes as to_bytes,
    to_str as to_str,
)
from msjax.dataset.text.tokenizers import (
    BasicTokenizer as BasicTokenizer,
    BertTokenizer as BertTokenizer,
    PythonTokenizer as PythonTokenizer,
    RegexTokenizer as RegexTokenizer,
    ToNumber as ToNumber,
    UnicodeCharTokenizer as UnicodeCharTokenizer,
    UnicodeScriptTokenizer as UnicodeScriptTokenizer,
    WhitespaceTokenizer as WhitespaceTokenizer,
    WordpieceTokenizer as WordpieceTokenizer,
)
from msjax.dataset.text.vectors import (
    CharNGram as CharNGram,
    FastText as FastText,
    GloVe as GloVe,
    ToVectors as ToVectors,
    Vectors as Vectors,
)
from msjax.dataset.text.vocab import Lookup as Lookup, Vocab as Vocab

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, {"[A-Z]*": "a function of numpy arrays can be given to map in its place."})
