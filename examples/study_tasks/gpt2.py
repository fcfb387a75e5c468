"""The GPT-2 of transformers with the weights of `weights.py`, for PyTorch."""

import tempfile

import torch
from tokenizers import Tokenizer, models
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from weights import batches, given, weights

__all__ = ["batches", "saved", "setup"]

SIZES = {"n_layer": 4, "n_head": 4, "n_embd": 64, "vocab_size": 100, "n_positions": 16, "bos_token_id": 0, "eos_token_id": 0}
RATES = {"resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}


def setup():
    torch.set_num_threads(1)
    model = GPT2LMHeadModel(GPT2Config(**SIZES, **RATES, attn_implementation="eager")).eval()
    model.transformer.load_state_dict({name: torch.tensor(value) for name, value in weights().items()})
    return model, tuple(map(torch.tensor, given()))


def saved(model):
    """A temporary folder with the model and a tokenizer, whose words are the numbers of tokens."""
    folder = tempfile.TemporaryDirectory()
    words = models.WordLevel({str(i): i for i in range(100)}, unk_token="0")
    special = {f"{name}_token": "0" for name in ("bos", "eos", "pad", "unk")}
    PreTrainedTokenizerFast(tokenizer_object=Tokenizer(words), **special).save_pretrained(folder.name)
    model.save_pretrained(folder.name)
    return folder
