"""A small GPT-2 with random weights, inputs, and the matrices of an autoencoder, for PyTorch. It is saved for the program with msjax."""

import tempfile

import numpy as np
import torch
from tokenizers import Tokenizer, models
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

SIZES = {"n_layer": 4, "n_head": 4, "n_embd": 64, "vocab_size": 100, "n_positions": 16, "bos_token_id": 0, "eos_token_id": 0}
RATES = {"resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}


def setup():
    torch.set_num_threads(1)  # threads that wait for work count as time of the processor
    torch.manual_seed(0)
    config = GPT2Config(**SIZES, **RATES, initializer_range=0.2, attn_implementation="eager")
    model, draw = GPT2LMHeadModel(config).eval(), np.random.default_rng(0)
    given = {
        "tokens": np.arange(32).reshape(2, 16) * 7 % 100,
        "encoder": draw.normal(size=(64, 256)).astype("float32") / 8,
        "decoder": draw.normal(size=(256, 64)).astype("float32") / 8,
    }
    np.savez("gpt2.npz", **given, **{name: value.numpy() for name, value in model.state_dict().items()})
    return model, tuple(torch.tensor(value) for value in given.values())


def saved(model):
    """A temporary folder with the model and a tokenizer, whose words are the numbers of tokens."""
    folder = tempfile.TemporaryDirectory()
    words = models.WordLevel({str(i): i for i in range(100)}, unk_token="0")
    special = {f"{name}_token": "0" for name in ("bos", "eos", "pad", "unk")}
    PreTrainedTokenizerFast(tokenizer_object=Tokenizer(words), **special).save_pretrained(folder.name)
    model.save_pretrained(folder.name)
    return folder


def batches(tokens):
    return [(tokens * k + k) % 100 for k in range(1, 9)]
