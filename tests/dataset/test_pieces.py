"""Pieces of words: what msjax asks the package sentencepiece for, here one that splits text into characters, and what becomes of it."""

import sys
import types
from pathlib import Path

import pytest

from msjax import dataset as ds
from msjax.dataset import text


class Trainer:
    @staticmethod
    def train(model_writer, sentence_iterator=None, input=None, **settings):
        if settings["vocab_size"] > 100:
            raise RuntimeError("Vocabulary size too high")
        lines = [*sentence_iterator] if sentence_iterator is not None else [Path(path).read_text() for path in input]
        model_writer.write(repr(({**settings}, "".join(sorted({c for line in lines for c in line})))).encode())


class Processor:
    def __init__(self, model_proto=None, model_file=None):
        if model_file is not None:
            with open(model_file, "rb") as file:
                model_proto = file.read()
        self.settings, self.known = eval(model_proto)

    def encode(self, line, out_type):
        return [c if out_type is str else self.known.index(c) for c in line]


@pytest.fixture(autouse=True)
def sentencepiece(monkeypatch):
    made = types.SimpleNamespace(SentencePieceTrainer=Trainer, SentencePieceProcessor=Processor)
    monkeypatch.setitem(sys.modules, "sentencepiece", made)


def test_pieces_of_a_dataset_and_of_files(tmp_path):
    data = ds.NumpySlicesDataset({"a": ["ab", "c"], "b": ["ad", "e"]}, shuffle=False)
    vocab = text.SentencePieceVocab.from_dataset(
        data, ["a", "b"], 10, 0.9995, text.SentencePieceModel.BPE, {"max_sentence_length": 9}
    )
    settings, known = eval(vocab.model)
    assert known == "abcde" and settings["model_type"] == "bpe" and settings["max_sentence_length"] == 9
    tokens = text.SentencePieceTokenizer(vocab, text.SPieceTokenizerOutType.INT)
    assert [n.tolist() for (n,) in data.project("b").map(tokens).create_tuple_iterator(output_numpy=True)] == [[0, 3], [4]]
    text.SentencePieceVocab.save_model(vocab, str(tmp_path), "m.model")
    from_file = text.SentencePieceTokenizer(str(tmp_path / "m.model"), text.SPieceTokenizerOutType.STRING)
    assert from_file("cab").tolist() == ["c", "a", "b"]
    (tmp_path / "words.txt").write_text("xyz")
    vocab = text.SentencePieceVocab.from_file([str(tmp_path / "words.txt")], 10, 0.9, text.SentencePieceModel.UNIGRAM, {})
    assert eval(vocab.model)[1] == "xyz"


def test_what_pieces_refuse(tmp_path, monkeypatch):
    make = text.SentencePieceVocab.from_file
    with pytest.raises(ValueError, match="'vocab_size' should be"):
        make(["f"], 0, 0.9, text.SentencePieceModel.WORD, {})
    with pytest.raises(TypeError, match="'model_type' should be a member of SentencePieceModel"):
        make(["f"], 5, 0.9, "bpe", {})
    with pytest.raises(RuntimeError, match="no model can be made: Vocabulary size too high"):
        make(["f"], 101, 0.9, text.SentencePieceModel.WORD, {})
    with pytest.raises(RuntimeError, match="the model can't be read"):
        text.SentencePieceTokenizer(str(tmp_path / "nowhere"), text.SPieceTokenizerOutType.INT)
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ImportError, match=r"pip install 'msjax\[text\]"):
        make(["f"], 5, 0.9, text.SentencePieceModel.WORD, {})
