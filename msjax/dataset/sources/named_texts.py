"""Public text datasets, translations among them: which files a folder has, how they are read, and what their columns are."""

from __future__ import annotations

import csv
import functools
import itertools
import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np

from msjax.core.base.checks import check_kind, check_one_of
from msjax.dataset.checks import check_folder, check_list, check_usage
from msjax.dataset.enums import Shuffle
from msjax.dataset.sources.text_files import RowsOfFiles, TextFileDataset

__all__ = [
    "AGNewsDataset", "AmazonReviewDataset", "CLUEDataset", "CoNLL2000Dataset", "DBpediaDataset", "EnWik9Dataset", "IWSLT2016Dataset",
    "IWSLT2017Dataset", "Multi30kDataset", "PennTreebankDataset", "SQuADDataset", "SST2Dataset", "SogouNewsDataset", "UDPOSDataset",
    "USPSDataset", "WikiTextDataset", "YahooAnswersDataset", "YelpReviewDataset",
]  # fmt: skip


# ---- formats: each gives the rows of a file as tuples of texts


def _csv(path: str, width: int) -> Iterator[tuple[str, ...]]:
    with open(path, encoding="utf-8", newline="") as file:
        for fields in csv.reader(file):
            if fields and len(fields) != width:
                raise ValueError(f"a line has {len(fields)} fields in the place of {width}")
            if fields:
                yield tuple(fields)


def _lines(path: str, _width: int) -> Iterator[tuple[str, ...]]:
    with open(path, encoding="utf-8", newline="\n") as file:
        yield from ((line.rstrip("\n"),) for line in file if line.strip("\n"))


def _blocks(separator: str, path: str, width: int) -> Iterator[tuple[list[str], ...]]:
    """Sentences, a word with its tags in a line, with an empty line after each."""
    with open(path, encoding="utf-8") as file:
        for empty, lines in itertools.groupby(map(str.strip, file), key=lambda line: not line):
            if not empty:
                words = [line.split(separator) for line in lines]
                if any(len(word) != width for word in words):
                    raise ValueError(f"a line has another number of fields than {width}")
                yield tuple(map(list, zip(*words)))


def _tsv(names: Sequence[str], path: str, _width: int) -> Iterator[tuple[str, ...]]:
    """Some columns of a file whose first line names them."""
    with open(path, encoding="utf-8") as file:
        head = file.readline().rstrip("\n").split("\t")
        places = [head.index(name) for name in names]
        for line in file:
            fields = line.rstrip("\n").split("\t")
            yield tuple(fields[place] for place in places)


def _squad(path: str, _width: int) -> Iterator[tuple[Any, ...]]:
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    for article in content["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                answers = question["answers"]
                yield (
                    paragraph["context"], question["question"], [answer["text"] for answer in answers] or [""],
                    np.array([answer["answer_start"] for answer in answers] or [0], np.uint32),
                )  # fmt: skip


def _svm(path: str, _width: int) -> Iterator[tuple[np.ndarray, ...]]:
    """USPS: a digit from 1 to 10, and 256 pixels from -1 to 1 with their numbers."""
    with open(path) as file:
        for line in file:
            label, *pixels = line.split()
            image = np.array([pixel.partition(":")[2] for pixel in pixels], np.float32).astype(float)
            image = ((image + 1) / 2 * 255).astype(np.uint8)
            yield image.reshape(16, 16, 1), np.array(int(label) - 1, np.uint32)


def _sentences(path: str) -> Iterator[str]:
    """The sentences of a file: the lines that are neither empty nor begin with a tag, or the ``seg`` elements of an XML file."""
    if path.endswith(".xml"):
        yield from ((part.text or "").strip() for part in ElementTree.parse(path).getroot().iter("seg"))
        return
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.lstrip().startswith("<"):
                yield line.strip()


# ---- datasets


class _OfTexts(RowsOfFiles):
    """A dataset whose files have a format that is known."""

    _titles: tuple[str, ...]
    _format: Callable[[str, int], Iterator[tuple[Any, ...]]]

    def _columns(self):
        return list(self._titles)

    def _read(self, path):
        for row in self._format(path, len(self._titles)):
            yield tuple(map(np.asarray, row))


class _Named(_OfTexts):
    """A dataset of a folder whose files have names that are known: {usage: name of the file}."""

    _usages: dict[str, str]

    def __init__(
        self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None, cache: object = None,
    ):  # fmt: skip
        who, files = type(self).__name__, self._usages
        folder = check_folder(dataset_dir, who)
        usage = check_usage(usage, (*files, "all"), who)
        paths = [os.path.join(folder, name) for use, name in files.items() if usage in (use, "all")]
        super().__init__(paths, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)


class _NamedWorkersLast(_Named):
    """The same, with the order that some datasets have of their arguments, and of their files: that of the table."""

    _sorts = False

    def __init__(
        self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None, shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None, shard_id: int | None = None, num_parallel_workers: int | None = None, cache: object = None,
    ):  # fmt: skip
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)


_DOC = """Rows of the files {files} in a folder.

    Columns: {columns}.

    Args:
        dataset_dir (str): the folder.
        usage (str, optional): {usages} or "all". Default: "all".
        num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache: as in `TextFileDataset`.

    Raises:
        TypeError, ValueError: a wrong argument, such as a folder or file that is not there.
        RuntimeError: a file is no such file (when reading).
    """


def _made(name: str, names: tuple[str, ...], usages: dict[str, str], rows: Any, base: type[_Named] = _Named) -> type[_Named]:
    doc = _DOC.format(
        files=", ".join(usages.values()), columns=", ".join(f"`{c}`" for c in names),
        usages=", ".join(f'"{use}"' for use in usages),
    )  # fmt: skip
    members = {"_titles": names, "_usages": usages, "_format": staticmethod(rows), "__doc__": doc, "__module__": __name__}
    return type(name, (base,), members)


_CSV = {"train": "train.csv", "test": "test.csv"}
_TXT = {"train": "train.txt", "test": "test.txt"}
_PTB = {use: f"ptb.{use}.txt" for use in ("train", "valid", "test")}
_WIKI = {use: f"wiki.{use}.tokens" for use in ("train", "valid", "test")}
_EN_UD = {"train": "en-ud-tag.v2.train.txt", "test": "en-ud-tag.v2.test.txt", "valid": "en-ud-tag.v2.dev.txt"}
_SQUAD = {"train": "train-v*.json", "dev": "dev-v*.json"}
_USPS = {"train": "usps", "test": "usps.t"}
AGNewsDataset = _made("AGNewsDataset", ("index", "title", "description"), _CSV, _csv)
AmazonReviewDataset = _made("AmazonReviewDataset", ("label", "title", "content"), _CSV, _csv)
CoNLL2000Dataset = _made(
    "CoNLL2000Dataset", ("word", "pos_tag", "chunk_tag"), _TXT, functools.partial(_blocks, " "), _NamedWorkersLast
)
DBpediaDataset = _made("DBpediaDataset", ("class", "title", "content"), _CSV, _csv)
PennTreebankDataset = _made("PennTreebankDataset", ("text",), _PTB, _lines)
SogouNewsDataset = _made("SogouNewsDataset", ("index", "title", "content"), _CSV, _csv, _NamedWorkersLast)
SQuADDataset = _made("SQuADDataset", ("context", "question", "text", "answer_start"), _SQUAD, _squad)
UDPOSDataset = _made(
    "UDPOSDataset", ("word", "universal", "stanford"), _EN_UD, functools.partial(_blocks, "\t"), _NamedWorkersLast
)
USPSDataset = _made("USPSDataset", ("image", "label"), _USPS, _svm)
WikiTextDataset = _made("WikiTextDataset", ("text",), _WIKI, _lines)
YahooAnswersDataset = _made("YahooAnswersDataset", ("class", "title", "content", "answer"), _CSV, _csv)
YelpReviewDataset = _made("YelpReviewDataset", ("label", "text"), _CSV, _csv, _NamedWorkersLast)


class SST2Dataset(_Named):
    """Rows of the files train.tsv, test.tsv and dev.tsv in a folder.

    Columns: `sentence` and `label`; of "test" `sentence` alone.

    Args:
        dataset_dir (str): the folder.
        usage (str, optional): "train", "test" or "dev". Default: "train".
        num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache: as in `TextFileDataset`.

    Example:
        >>> with open("dev.tsv", "w") as f:
        ...     _ = f.write("sentence\\tlabel\\nfine\\t1\\n")
        >>> [(str(text), str(label)) for text, label in ds.SST2Dataset(".", "dev")]
        [('fine', '1')]
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, *args: Any, **kwargs: Any):
        usage = check_usage(usage or "train", ("train", "test", "dev"), "SST2Dataset")
        self._titles = ("sentence",) if usage == "test" else ("sentence", "label")
        self._usages, self._format = {usage: f"{usage}.tsv"}, functools.partial(_tsv, self._titles)
        super().__init__(dataset_dir, usage, *args, **kwargs)


class EnWik9Dataset(TextFileDataset):
    """The lines of the file enwik9 in a folder; empty lines are left out.

    Column: `text`.

    Args:
        dataset_dir (str): the folder.
        num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache: as in `TextFileDataset`.

    Example:
        >>> with open("enwik9", "w") as f:
        ...     _ = f.write("one\\n")
        >>> [str(text) for text, in ds.EnWik9Dataset(".")]
        ['one']
    """

    def __init__(
        self, dataset_dir: str, num_samples: int | None = None, num_parallel_workers: int | None = None, shuffle: Any = True,
        num_shards: int | None = None, shard_id: int | None = None, cache: object = None,
    ):  # fmt: skip
        path = os.path.join(check_folder(dataset_dir, "EnWik9Dataset"), "enwik9")
        super().__init__(path, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)


# {task of CLUE: {usage: columns}}; "/" in a name is a step into an inner table.
_SENTENCES = ("sentence1", "sentence2")
_SPANS = ("target/span1_index", "target/span2_index", "target/span1_text", "target/span2_text", "idx", "text")
_CLUE = {
    "AFQMC": {"train": ("label", *_SENTENCES), "eval": ("label", *_SENTENCES), "test": ("id", *_SENTENCES)},
    "CMNLI": {"train": ("label", *_SENTENCES), "eval": ("label", *_SENTENCES), "test": ("id", *_SENTENCES)},
    "CSL": {**dict.fromkeys(("train", "eval"), ("id", "abst", "keyword", "label")), "test": ("id", "abst", "keyword")},
    "IFLYTEK": {**dict.fromkeys(("train", "eval"), ("label", "label_des", "sentence")), "test": ("id", "sentence")},
    "TNEWS": {
        **dict.fromkeys(("train", "eval"), ("label", "label_desc", "sentence", "keywords")),
        "test": ("id", "sentence", "keywords"),
    },
    "WSC": {**dict.fromkeys(("train", "eval"), (*_SPANS, "label")), "test": _SPANS},
}


class CLUEDataset(RowsOfFiles):
    """Rows of the tasks of CLUE, files with a JSON object in each line.

    Columns: those of the task, by name.

    Args:
        dataset_files (str or list of str): paths, or patterns.
        task (str): "AFQMC", "CMNLI", "CSL", "IFLYTEK", "TNEWS" or "WSC".
        usage (str): "train", "test" or "eval".
        num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache: as in `TextFileDataset`.

    Example:
        >>> with open("train.json", "w") as f:
        ...     _ = f.write('{"label": "1", "sentence1": "a", "sentence2": "b"}')
        >>> [[str(text) for text in row] for row in ds.CLUEDataset("train.json", "AFQMC", "train")]
        [['1', 'a', 'b']]
    """

    def __init__(
        self, dataset_files: str | list[str], task: str = "AFQMC", usage: str = "train", num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Any = Shuffle.GLOBAL, num_shards: int | None = None,
        shard_id: int | None = None, cache: object = None,
    ):  # fmt: skip
        check_one_of(task, tuple(_CLUE), "task", "CLUEDataset")
        check_one_of(usage, ("train", "test", "eval"), "usage", "CLUEDataset")
        self._paths = {path.rpartition("/")[2]: path for path in _CLUE[task][usage]}
        super().__init__(dataset_files, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)

    def _columns(self):
        return sorted(self._paths)

    def _read(self, path):
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield tuple(self._value(line, self._paths[name], f"{path}, line {number}") for name in self._columns())

    def _value(self, line, path, where):
        try:
            value = functools.reduce(lambda table, name: table[name], path.split("/"), json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            raise RuntimeError(f"CLUEDataset: {where} has no {path!r}: {line.strip()[:80]!r}") from error
        if isinstance(value, bool) or not isinstance(value, int):
            return np.array(check_list(value, path, "CLUEDataset") if isinstance(value, list) else str(value))
        return np.array(value, np.uint32)

    def _file_count(self, path):
        with open(path, encoding="utf-8") as file:
            return sum(1 for line in file if line.strip())


# ---- translations


class _Translations(_OfTexts):
    """Pairs of sentences, of files whose names differ by the language."""

    _titles = ("text", "translation")
    _languages: tuple[str, ...] = ()

    def _format(self, path, width):
        first, second = self._languages
        start, _, end = path.rpartition(f".{first}")
        return zip(_sentences(path), _sentences(f"{start}.{second}{end}"))


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
