"""Public datasets of sentences in two languages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np

from msjax.core.base.checks import check_kind, check_one_of
from msjax.dataset.checks import check_folder, check_usage
from msjax.dataset.enums import Shuffle
from msjax.dataset.sources.text_files import RowsOfFiles

__all__ = ["IWSLT2016Dataset", "IWSLT2017Dataset", "Multi30kDataset"]


def sentences(path: str) -> Iterator[str]:
    """The sentences of a file: the lines that are neither empty nor begin with a tag, or the ``seg`` elements of an XML file."""
    if path.endswith(".xml"):
        yield from ((part.text or "").strip() for part in ElementTree.parse(path).getroot().iter("seg"))
        return
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.lstrip().startswith("<"):
                yield line.strip()


class _Translations(RowsOfFiles):
    """Pairs of sentences, of files whose names differ by the language."""

    _languages: tuple[str, ...] = ()

    def _columns(self):
        return ["text", "translation"]

    def _other(self, path):
        """The file of the second language."""
        first, second = self._languages
        start, _, end = path.rpartition(f".{first}")
        return f"{start}.{second}{end}"

    def _read(self, path):
        try:
            for texts in zip(sentences(path), sentences(self._other(path))):
                yield tuple(map(np.array, texts))
        except (OSError, ValueError, ElementTree.ParseError) as error:
            raise RuntimeError(f"{type(self).__name__}: {path} can't be read: {type(error).__name__}: {error}") from error


def _languages(pair: Any, default: tuple[str, str], who: str) -> tuple[str, ...]:
    check_kind(pair, pair is None or isinstance(pair, (list, tuple)), "be a list of two names", "language_pair", who)
    return default if pair is None else tuple(pair)


class Multi30kDataset(_Translations):
    """Sentences in two languages.

    Columns: `text` and `translation`.

    Args:
        dataset_dir (str): the folder.
        usage (str, optional): "train", "test", "valid" or "all". Default: "all".
        language_pair (list of str, optional): ``["en", "de"]`` or ``["de", "en"]``. Default: the first.
        num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache: as in `TextFileDataset`.

    Example:
        >>> import os
        >>> os.makedirs("training")
        >>> for language, text in (("en", "yes"), ("de", "ja")):
        ...     with open(f"training/train.{language}", "w") as f:
        ...         _ = f.write(text)
        >>> [(str(text), str(other)) for text, other in ds.Multi30kDataset(".", "train", ["de", "en"])]
        [('ja', 'yes')]
    """

    _PARTS = {"train": "training/train", "test": "mmt16_task1_test/test", "valid": "validation/val"}

    def __init__(
        self, dataset_dir: str, usage: str | None = None, language_pair: list[str] | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Any = None, num_shards: int | None = None, shard_id: int | None = None,
        cache: object = None,
    ):  # fmt: skip
        who = "Multi30kDataset"
        folder, usage = check_folder(dataset_dir, who), check_usage(usage, (*self._PARTS, "all"), who)
        self._languages = _languages(language_pair, ("en", "de"), who)
        if self._languages not in (("en", "de"), ("de", "en")):
            raise ValueError(f"For '{who}', 'language_pair' should be ['en', 'de'] or ['de', 'en'], but got {language_pair}.")
        parts = [part for use, part in self._PARTS.items() if usage in (use, "all")]
        files = [os.path.join(folder, f"{part}.{self._languages[0]}") for part in parts]
        super().__init__(
            files, num_samples, num_parallel_workers, True if shuffle is None else shuffle, num_shards, shard_id, cache
        )


class _Talks(_Translations):
    _sorts = False


class IWSLT2016Dataset(_Talks):
    """Talks in two languages, English and ``ar``, ``cs``, ``de`` or ``fr``.

    Columns: `text` and `translation`.

    Args:
        dataset_dir (str): the folder.
        usage (str, optional): "train", "valid", "test" or "all". Default: "all".
        language_pair (sequence of str, optional): the languages. Default: ``("de", "en")``.
        valid_set, test_set (str, optional): which set is used, such as "dev2010" or "tst2014". Default: "tst2013", "tst2014".
        num_samples, shuffle, num_shards, shard_id, num_parallel_workers, cache: as in `TextFileDataset`.

    Example:
        >>> import os
        >>> os.makedirs("texts/de/en/de-en")
        >>> for language, text in (("en", "yes"), ("de", "ja")):
        ...     with open(f"texts/de/en/de-en/train.tags.de-en.{language}", "w") as f:
        ...         _ = f.write(f"<url>somewhere</url>\\n {text}\\n")
        >>> [(str(text), str(other)) for text, other in ds.IWSLT2016Dataset(".", "train")]
        [('ja', 'yes')]
    """

    def __init__(
        self, dataset_dir: str, usage: str | None = None, language_pair: tuple[str, str] | list[str] | None = None,
        valid_set: str | None = None, test_set: str | None = None, num_samples: int | None = None, shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None, shard_id: int | None = None, num_parallel_workers: int | None = None, cache: object = None,
    ):  # fmt: skip
        who = "IWSLT2016Dataset"
        folder, usage = check_folder(dataset_dir, who), check_usage(usage, ("train", "valid", "test", "all"), who)
        self._languages = first, second = _checked_pair(language_pair, _TALKS_16, who)
        sets = {"train": None, "valid": valid_set or "tst2013", "test": test_set or "tst2014"}
        for name in (sets["valid"], sets["test"]):
            check_one_of(name, _SETS_16, "valid_set and test_set", who)
        folder = os.path.join(folder, "texts", first, second, f"{first}-{second}")
        files = _talk_files(folder, "IWSLT16", self._languages, sets, usage)
        super().__init__(files, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)


class IWSLT2017Dataset(_Talks):
    """Talks in two of the languages ``de``, ``en``, ``it``, ``nl`` and ``ro``.

    Columns: `text` and `translation`.

    Args:
        dataset_dir (str): the folder.
        usage (str, optional): "train", "valid", "test" or "all". Default: "all".
        language_pair (sequence of str, optional): the languages. Default: ``("de", "en")``.
        num_samples, shuffle, num_shards, shard_id, num_parallel_workers, cache: as in `TextFileDataset`.
    """

    def __init__(
        self, dataset_dir: str, usage: str | None = None, language_pair: tuple[str, str] | list[str] | None = None,
        num_samples: int | None = None, shuffle: Any = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None,
        num_parallel_workers: int | None = None, cache: object = None,
    ):  # fmt: skip
        who = "IWSLT2017Dataset"
        folder, usage = check_folder(dataset_dir, who), check_usage(usage, ("train", "valid", "test", "all"), who)
        self._languages = _checked_pair(language_pair, _TALKS_17, who)
        name = "DeEnItNlRo"
        files = _talk_files(
            os.path.join(folder, "texts", name, name, f"{name}-{name}"), "IWSLT17", self._languages,
            {"train": None, "valid": "dev2010", "test": "tst2010"}, usage,
        )  # fmt: skip
        super().__init__(files, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)


_TALKS_16 = [pair for other in ("ar", "cs", "de", "fr") for pair in (("en", other), (other, "en"))]
_TALKS_17 = [(a, b) for a in ("de", "en", "it", "nl", "ro") for b in ("de", "en", "it", "nl", "ro") if a != b]
_SETS_16 = ("dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014")


def _checked_pair(pair, known, who):
    languages = _languages(pair, ("de", "en"), who)
    if languages not in known:
        raise ValueError(f"For '{who}', 'language_pair' should be one of {known}, but got {pair}.")
    return languages


def _talk_files(folder, start, languages, sets, usage):
    """The files of the first language."""
    first, pair = languages[0], "-".join(languages)
    return [
        os.path.join(folder, f"train.tags.{pair}.{first}" if name is None else f"{start}.TED.{name}.{pair}.{first}.xml")
        for use, name in sets.items()
        if usage in (use, "all")
    ]
