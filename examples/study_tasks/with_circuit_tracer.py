"""With circuit-tracer 0.5.0, on TransformerLens 3.2: attribution graphs of transcoders' features, which stand in the place of the MLPs."""

import gpt2
import torch
from circuit_tracer import attribute
from circuit_tracer.replacement_model.replacement_model_transformerlens import TransformerLensReplacementModel
from circuit_tracer.transcoder.single_layer_transcoder import SingleLayerTranscoder, TranscoderSet
from transformer_lens import HookedTransformerConfig
from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights
from transformers import AutoTokenizer


def setup():
    plain, given = gpt2.setup()
    sizes = {"n_layers": 4, "n_heads": 4, "d_model": 64, "d_head": 16, "d_mlp": 256, "d_vocab": 100, "n_ctx": 16}
    config = HookedTransformerConfig(**sizes, act_fn="gelu_new", normalization_type="LN", device="cpu")
    coders = {i: SingleLayerTranscoder(64, 256, torch.nn.functional.relu, i, dtype=torch.float32) for i in range(4)}
    for coder in coders.values():
        coder.W_enc.data, coder.W_dec.data, coder.b_enc.data = given[1].T.clone(), given[2].clone(), coder.b_enc - 2
    coders = TranscoderSet(coders, "ln2.hook_normalized", "hook_mlp_out")
    model = TransformerLensReplacementModel.from_config(config, coders)
    with gpt2.saved(plain) as folder:
        model.tokenizer = AutoTokenizer.from_pretrained(folder)
    names = {".mlp.": ".mlp.old_mlp.", "unembed.": "unembed.old_unembed."}
    for name, value in convert_gpt2_weights(plain, config).items():
        for old, new in names.items():
            name = name.replace(old, new)
        model.state_dict()[name].copy_(value)
    return model, given


def features(model, tokens, encoder, decoder):
    return attribute(tokens[0], model, max_n_logits=3).adjacency_matrix
