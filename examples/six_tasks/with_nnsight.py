"""Six tasks with nnsight, on the same PyTorch model."""

import torch
from nnsight import NNsight
from torch_model import Model, loss_of


def read(model, tokens):
    with model.trace(tokens):
        found = [block.output for block in model.blocks].save()
    return found


def gradients(model, tokens):
    with model.trace(tokens):
        outs = [block.output for block in model.blocks]
        loss = torch.nn.functional.cross_entropy(model.head.output[0, :-1], tokens[0, 1:])
        with loss.backward():
            found = [out.grad for out in reversed(outs)].save()
    return found


def ablate(model, tokens):
    with model.trace(tokens):
        model.blocks[0].attention.output[:] = 0
        out = model.head.output.save()
    return out


def pattern(model, tokens):
    with model.trace(tokens):
        found = model.blocks[0].attention.source.torch_softmax_0.output.save()
    return found


def sweep(model, clean, corrupt, metric):
    kept, results = read(model, clean), []
    for n, block in enumerate(model.blocks):
        for position in range(clean.shape[1]):
            with model.trace(corrupt):
                block.output[:, position] = kept[n][:, position]
                out = model.head.output.save()
            results.append(metric(out))
    return results


def train(model, optimizer, tokens, steps):
    sizes = []
    for _ in range(steps):
        optimizer.zero_grad()
        sizes += [grad.square().mean().sqrt() for grad in gradients(model, tokens)]
        optimizer.step()
    return sizes


if __name__ == "__main__":
    torch.manual_seed(0)
    plain, tokens = Model(), torch.arange(8).reshape(1, 8)
    model = NNsight(plain)
    print([tuple(out.shape) for out in read(model, tokens)], len(gradients(model, tokens)), pattern(model, tokens).shape)
    print(ablate(model, tokens).shape, sweep(model, tokens, tokens + 1, lambda out: out[0, -1, 0].item()))
    print(len(train(model, torch.optim.SGD(plain.parameters(), 0.1), tokens, 3)), loss_of(plain, tokens).item())
