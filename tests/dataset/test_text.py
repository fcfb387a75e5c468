"""Transforms of text and of any arrays, the vocab, and the names of MindSpore 1."""

import importlib

import numpy as np
import pytest

import msjax as ms
from msjax import dataset as ds
from msjax.dataset import text, transforms


def test_a_pipeline_of_text(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("Deep learning is Fun\nfun is learning\n")
    lines = ds.TextFileDataset(str(path), shuffle=False).map([text.CaseFold(), text.WhitespaceTokenizer()], "text")
    vocab = text.Vocab.from_dataset(lines, "text", special_tokens=["<pad>", "<unk>"])
    assert vocab.vocab() == {"<pad>": 0, "<unk>": 1, "fun": 2, "is": 3, "learning": 4, "deep": 5}
    ids = lines.map([text.Lookup(vocab, "<unk>"), transforms.PadEnd([4], 0)], "text").batch(2)
    assert next(ids.create_dict_iterator())["text"].asnumpy().tolist() == [[5, 4, 3, 2], [2, 3, 4, 0]]


@pytest.mark.parametrize(
    "transform, line, expected",
    [
        (text.WhitespaceTokenizer(), " two  words ", ["two", "words"]),
        (text.WhitespaceTokenizer(), "", [""]),
        (text.UnicodeScriptTokenizer(keep_whitespace=True), "ab \u6df1.", ["ab", " ", "\u6df1", "."]),
        (text.RegexTokenizer(r"\s+", r"\s+"), "a b", ["a", " ", "b"]),
        (text.BasicTokenizer(True), "Caf\u00e9, \u6df1\u5ea6[CLS]!", ["cafe", ",", "\u6df1", "\u5ea6", "[CLS]", "!"]),
        (text.BasicTokenizer(keep_whitespace=True), "a b", ["a", " ", "b"]),
        (text.PythonTokenizer(list), "ab", ["a", "b"]),
        (text.RegexReplace("a", "b", replace_all=False), "aa", "ba"),
        (text.NormalizeUTF8(text.NormalizeForm.NFD), "\u00e9", "e\u0301"),
    ],
)
def test_tokens(transform, line, expected):
    assert transform(line).tolist() == expected


def test_offsets_count_bytes():
    tokens, starts, ends = text.WhitespaceTokenizer(with_offsets=True)("\u6df1\u5ea6 ab")
    assert (tokens.tolist(), starts.tolist(), ends.tolist()) == (["\u6df1\u5ea6", "ab"], [0, 7], [6, 9])


def test_ngrams_with_padding():
    assert text.Ngram([2, 3], ("_", 9), ("_", 1), "-")(["a", "b"]).tolist() == ["_-a", "a-b", "b-_", "_-_-a", "_-a-b", "a-b-_"]


@pytest.mark.parametrize(
    "build, error, message",
    [
        (lambda: text.Vocab.from_list(["a", "a"]), ValueError, "'word_list' should not hold a word twice, but has 'a'"),
        (lambda: text.Vocab.from_list(["a"], ["a"]), ValueError, "'special_tokens' should not be words, too"),
        (lambda: text.Vocab.from_dict({"a": -1}), ValueError, "'word_dict' should not be negative"),
        (lambda: text.Vocab.from_file("nowhere"), RuntimeError, "'nowhere' could not be read"),
        (lambda: text.Lookup({}), TypeError, "For 'Lookup', 'vocab' should be a Vocab, but got dict"),
        (lambda: text.Lookup(text.Vocab.from_list(["a"]))(["b"]), RuntimeError, "the token 'b' is not in the vocab"),
        (lambda: text.ToNumber(ms.int8)("300"), RuntimeError, "ToNumber: "),
        (lambda: text.ToNumber(ms.float16)("1e9"), RuntimeError, "out of the range of float16"),
        (lambda: text.CaseFold()(3), RuntimeError, "CaseFold: the input should be text, but got"),
        (lambda: transforms.OneHot(3)(3), RuntimeError, r"OneHot: labels should be in \[0, 3\), but got int 3"),
        (lambda: transforms.PadEnd([2])([[1]]), RuntimeError, r"'pad_shape' is \[2\], but the array has 2 axes"),
        (lambda: transforms.Slice(5)([1]), RuntimeError, "Slice: "),
        (lambda: transforms.TypeCast("nonsense"), TypeError, "'data_type' should be a data type"),
        (lambda: transforms.RandomApply([abs], 2), ValueError, "For 'RandomApply', 'prob' should be in"),
        (lambda: transforms.Compose([transforms.Fill]), TypeError, "'transforms' should hold functions or transforms"),
    ],
)
def test_errors(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_slices():
    array = np.arange(12).reshape(3, 4)
    assert transforms.Slice(slice(None, None, -1), [0, -1])(array).tolist() == array[::-1][:, [0, -1]].tolist()
    assert transforms.Slice(..., -1)(array).tolist() == array[:, -1:].tolist()


def test_unique_puts_values_back_together():
    array = np.random.default_rng(0).integers(9, size=(4, 8))
    values, index, counts = transforms.Unique()(array)
    assert (values[index] == array.ravel()).all() and counts.sum() == array.size
    assert values.tolist() == list(dict.fromkeys(array.ravel().tolist()))


@pytest.mark.parametrize(
    "module, names",
    [
        ("mindspore.dataset.vision.c_transforms", "Resize RandomCrop Inter"),
        ("mindspore.dataset.vision.py_transforms", "ToTensor ToPIL Decode"),
        ("mindspore.dataset.vision.utils", "Inter Border"),
        ("mindspore.dataset.transforms.c_transforms", "TypeCast OneHot Compose"),
        ("mindspore.dataset.transforms.py_transforms", "OneHotOp Compose"),
        ("mindspore.dataset.transforms.vision.c_transforms", "Resize"),
        ("mindspore.dataset.text.utils", "Vocab"),
        ("mindspore.dataset.engine", "MnistDataset SequentialSampler"),
        ("mindspore.dataset.engine.datasets", "GeneratorDataset"),
        ("mindspore.dataset.core.config", "set_seed"),
        ("mindspore._c_expression.typing", "Float BFloat"),
        ("mindspore.dataset.core.validator_helpers", "INT32_MAX UINT8_MAX"),
    ],
)
def test_modules_of_mindspore(module, names, no_alias_left):
    ms.install_as_mindspore()
    found = importlib.import_module(module)
    for name in names.split():
        assert getattr(found, name)
    exec(f"from {module} import {names.replace(' ', ', ')}")


@pytest.mark.parametrize("module", ["text.utils", "transforms.c_transforms", "transforms.py_transforms", "vision.py_transforms"])
def test_other_names_of_modules_have_placeholders_too(module):
    found = importlib.import_module(f"msjax.dataset.{module}")
    with pytest.raises(NotImplementedError, match="NoSuchTransform: a function of"):
        found.NoSuchTransform()
    with pytest.raises(AttributeError, match="no_such_name"):
        found.no_such_name  # noqa: B018


def test_vectors_of_words(tmp_path):
    path = tmp_path / "words.vec"
    path.write_text("2 2\nthe 0.5 1\nof 2 3\n")
    vectors = text.FastText.from_file(str(path))
    look_up = text.ToVectors(vectors, unk_init=[9, 9], lower_case_backup=True)
    assert [look_up(word).tolist() for word in ("of", "The", "no")] == [[2, 3], [0.5, 1], [9, 9]]
    assert text.ToVectors(text.FastText.from_file(str(path), max_vectors=1))("of").tolist() == [0, 0]
    with pytest.raises(RuntimeError, match=r"GloVe: invalid file, can not find file 'glove.6B.\*.txt'"):
        text.GloVe.from_file(str(path))
    (tmp_path / "words.txt").write_text("the 1 2\nof 1 x\n")
    with pytest.raises(RuntimeError, match=r"Vectors: line 2 of '.*words\.txt' could not be read: .*'x'"):
        text.Vectors.from_file(str(tmp_path / "words.txt"))
    with pytest.raises(RuntimeError, match="unk_init must be the same length"):
        text.ToVectors(vectors, [1.0])
    path.write_text("the 0.5 1\nof 2 3 4\n")
    with pytest.raises(RuntimeError, match=r"but got dim 3 in line 2 .* while expecting 2"):
        text.FastText.from_file(str(path))
    grams = tmp_path / "grams.txt"
    grams.write_text("2gram-#BEGIN#a 1 2\n3gram-#BEGIN#a#END# 3 4\n2gram-ab 9 9\n")
    assert text.ToVectors(text.CharNGram.from_file(str(grams)))("a").tolist() == [2, 3]


def test_vectors_of_several_words(tmp_path):
    path = tmp_path / "words.vec"
    path.write_text("the 0.5 1\nof 2 3\n")
    look_up = text.ToVectors(text.FastText.from_file(str(path)))
    assert look_up(["of", "no", "the"]).tolist() == [[2, 3], [0, 0], [0.5, 1]]


@pytest.mark.parametrize(
    "replacement, made",
    [("<$1>", "f<o>"), ("$0$2", "fo__"), ("$21", "f_1"), (r"\$1\n\u0041", "f$1nA"), (r"\\", "f\\"), ("a\\", "fa")],
)
def test_replacements_name_groups_by_a_dollar(replacement, made):
    assert text.RegexReplace("(o)(_)", replacement)("fo_").item() == made


def test_small_letters_are_those_of_unicode_s_compatible_forms():
    folded = {"Straße": "strasse", "\uff41\uff22": "ab", "①x²": "1x2", "a\u200bb\xadc": "abc", "A\u3000B": "a b", "Ⅷ": "viii"}
    assert [text.CaseFold()(given).item() for given in folded] == list(folded.values())
    assert text.BasicTokenizer(lower_case=True)("Éﬁ\uff08x\uff09").tolist() == ["efi", "(", "x", ")"]


@pytest.mark.parametrize(
    "line, tokens",
    [
        ("€5 5°C a→b ©x", ["€5", "5°C", "a→b", "©x"]), ("नमस्ते a\u0301b", ["नमस्ते", "a\u0301b"]), ("a\u200bb x\x00y", ["a", "b", "x", "y"]),
        ("a—b «q» $5+3", ["a", "—", "b", "«", "q", "»", "$", "5", "+", "3"]),
    ],
)  # fmt: skip
def test_basic_tokens_end_at_punctuation_but_not_at_symbols_and_marks(line, tokens):
    assert text.BasicTokenizer()(line).tolist() == tokens


def test_marks_belong_to_their_script():
    assert text.UnicodeScriptTokenizer()("नमस्ते deep").tolist() == ["नमस्ते", "deep"]


def test_empty_lines_of_a_vocab_file_are_words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("a\n\nb\n")
    assert text.Vocab.from_file(str(path)).vocab() == {"a": 0, "": 1, "b": 2}


def test_numbers_are_truncated_too():
    assert text.Truncate(2)(np.arange(6).reshape(2, 3)).tolist() == [[0, 1], [3, 4]]


def test_names_of_types_are_numpy_s():
    assert [transforms.TypeCast(name)([1]).dtype.name for name in ("int", "float", float, "half")] == [
        "int64",
        "float64",
        "float64",
        "float16",
    ]


def test_a_mask_s_constant_has_the_type_of_the_array():
    assert transforms.Mask(transforms.Relational.LT, 1.5)([0, 1]).tolist() == [True, False]
    assert transforms.Mask(transforms.Relational.EQ, 2)([True, False]).tolist() == [True, False]


@pytest.mark.parametrize(
    "group", [transforms.Compose, transforms.RandomChoice, transforms.RandomOrder, lambda f: transforms.RandomApply(f, 1.0)]
)
def test_functions_in_groups_and_filters_get_numbers_that_widen(group):
    data = ds.NumpySlicesDataset({"v": np.array([3, 100], np.int8)}, shuffle=False)
    rows = list(data.map(group([lambda v: v * 100]), "v").create_tuple_iterator(output_numpy=True))
    assert [(int(v), v.dtype) for (v,) in rows] == [(300, np.int64), (10000, np.int64)]
    assert [int(v) for (v,) in data.filter(lambda v: v * 100 > 1000)] == [100]
    batches = data.bucket_batch_by_length("v", [1000], [1, 1], lambda v: v * 100)
    assert batches.get_dataset_size() == 2
