"""Small networks, written as MindSpore's model zoos write theirs."""

import math

import numpy as np

import msjax as ms
from msjax import Parameter, Tensor, nn, ops
from msjax.common.initializer import HeNormal, Normal, TruncatedNormal, initializer


class Residual(nn.Cell):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, pad_mode="pad", padding=1)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(outputs, outputs, 3)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.down = None
        if stride != 1:
            self.down = nn.SequentialCell([nn.Conv2d(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs)])

    def construct(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += x if self.down is None else self.down(x)
        return self.relu(out)


class ResNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.stem = nn.SequentialCell(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(3, 2, pad_mode="same"))
        self.layers = nn.SequentialCell([Residual(4, 4), Residual(4, 8, 2)])
        self.head = nn.Dense(8, 5)
        for _, cell in self.cells_and_names():
            if isinstance(cell, nn.Conv2d):
                cell.weight.set_data(
                    initializer(HeNormal(mode="fan_out", nonlinearity="relu"), cell.weight.shape, cell.weight.dtype)
                )

    def construct(self, x):
        return self.head(ops.mean(self.layers(self.stem(x)), (2, 3)))


class MobileNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.stem = nn.SequentialCell([nn.Conv2d(3, 4, 3, 2, pad_mode="pad", padding=1), nn.BatchNorm2d(4), nn.ReLU6()])
        self.block = nn.SequentialCell(
            [
                nn.Conv2d(4, 8, 1),
                nn.BatchNorm2d(8),
                nn.ReLU6(),
                nn.Conv2d(8, 8, 3, pad_mode="pad", padding=1, group=8),
                nn.BatchNorm2d(8),
                nn.ReLU6(),
                nn.Conv2d(8, 4, 1),
                nn.BatchNorm2d(4),
            ]
        )
        self.add, self.pool = ops.Add(), ops.ReduceMean(keep_dims=True)
        self.head = nn.SequentialCell([nn.Flatten(), nn.Dropout(p=0.0), nn.Dense(4, 5)])

    def construct(self, x):
        x = self.stem(x)
        return self.head(self.pool(self.add(x, self.block(x)), (2, 3)))


class ViT(nn.Cell):
    def __init__(self, dim=8, heads=2):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, 4, 4, pad_mode="pad", has_bias=True)
        self.cls_token = Parameter(initializer(Normal(sigma=0.02), (1, 1, dim), ms.float32), name="cls", requires_grad=True)
        self.pos_embed = Parameter(initializer(TruncatedNormal(0.02), (1, 5, dim), ms.float32))
        self.norm1, self.norm2, self.norm = (nn.LayerNorm((dim,)) for _ in range(3))
        self.qkv, self.out = nn.Dense(dim, 3 * dim), nn.Dense(dim, dim)
        self.mlp = nn.SequentialCell(nn.Dense(dim, 2 * dim), nn.GELU(approximate=False), nn.Dense(2 * dim, dim))
        self.head = nn.Dense(dim, 5)
        self.heads = heads
        self.unstack, self.softmax = ops.Unstack(axis=0), nn.Softmax(axis=-1)
        self.q_k, self.weights_v = ops.BatchMatMul(transpose_b=True), ops.BatchMatMul()
        self.tile, self.concat, self.transpose = ops.Tile(), ops.Concat(axis=1), ops.Transpose()

    def attend(self, x):
        b, n, c = x.shape
        q, k, v = self.unstack(self.transpose(self.qkv(x).reshape(b, n, 3, self.heads, -1), (2, 0, 3, 1, 4)))
        weights = self.softmax(self.q_k(q, k) / math.sqrt(c // self.heads))
        return self.out(self.transpose(self.weights_v(weights, v), (0, 2, 1, 3)).reshape(b, n, c))

    def construct(self, x):
        x = self.patches(x)
        b, c, h, w = x.shape
        x = ops.transpose(ops.reshape(x, (b, c, h * w)), (0, 2, 1))
        x = self.concat((self.tile(self.cls_token, (b, 1, 1)), x)) + self.pos_embed
        x = x + self.attend(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return self.head(self.norm(x)[:, 0])


class Swin(nn.Cell):
    def __init__(self, dim=4, side=4, window=2, shift=1):
        super().__init__()
        self.side, self.window, self.shift = side, window, shift
        self.patches = nn.Conv2d(3, dim, 2, 2, pad_mode="pad", has_bias=True)
        self.norm = nn.LayerNorm([dim], epsilon=1e-5)
        self.q, self.kv = nn.Dense(dim, dim), nn.Dense(dim, 2 * dim)
        self.table = Parameter(initializer(TruncatedNormal(0.02), ((2 * window - 1) ** 2, 1), ms.float32), name="table")
        at = np.stack(np.meshgrid(np.arange(window), np.arange(window), indexing="ij")).reshape(2, -1)
        apart = at[:, :, None] - at[:, None] + window - 1
        self.index = Tensor((apart[0] * (2 * window - 1) + apart[1]).reshape(-1), ms.int32)
        self.reduce = nn.Dense(4 * dim, 2 * dim, has_bias=False)
        self.head = nn.Dense(2 * dim, 5)

    def construct(self, x):
        x = self.patches(x)
        b, c, s, _ = x.shape
        x = x.view(*x.shape[:-2], -1).transpose(0, 2, 1)
        w, n = self.window, self.window**2
        windows = ops.roll(self.norm(x).view(b, s, s, c), (-self.shift, -self.shift), (1, 2))
        windows = windows.reshape(b, s // w, w, s // w, w, c).transpose(0, 1, 3, 2, 4, 5).view(-1, n, c)
        q = self.q(windows)
        k, v = ops.split(self.kv(windows), c, axis=2)
        scores = ops.matmul(q, k.swapaxes(1, 2)) + ops.gather(self.table, self.index, 0).reshape(1, n, n)
        out = ops.matmul(ops.softmax(scores, axis=-1), v)
        out = out.reshape(b, s // w, s // w, w, w, c).transpose(0, 1, 3, 2, 4, 5).reshape(b, s, s, c)
        x = x + ops.roll(out, (self.shift, self.shift), (1, 2)).view(b, s * s, c)
        x = x.reshape(b, s // 2, 2, s // 2, 2, c).transpose(0, 1, 3, 4, 2, 5).reshape(b, s * s // 4, -1)
        return self.head(self.reduce(x).mean(axis=1))


class UNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.down = nn.SequentialCell([nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.LeakyReLU(0.1)])
        self.pool = nn.MaxPool2d(2, 2)
        self.middle = nn.SequentialCell([nn.Conv2d(4, 6, 3, has_bias=True), nn.GroupNorm(2, 6), nn.SiLU()])
        self.up = nn.Conv2dTranspose(6, 4, 2, 2, pad_mode="same", has_bias=True)
        self.out = nn.Conv2d(8, 5, 1, has_bias=True)

    def construct(self, x):
        skip = self.down(x)
        x = ops.concat((skip, self.up(self.middle(self.pool(skip)))), 1)
        return ops.sigmoid(self.out(x)).mean((2, 3))


class GPT(nn.Cell):
    """Returns logits, and keys and values for the next call."""

    def __init__(self, vocab=11, dim=8, heads=2, length=6):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim, embedding_table=Normal(0.02))
        self.positions = nn.Embedding(length, dim, embedding_table=Normal(0.02))
        self.norm1, self.norm2, self.norm = (nn.LayerNorm((dim,), epsilon=1e-5) for _ in range(3))
        self.qkv, self.proj = nn.Dense(dim, 3 * dim), nn.Dense(dim, dim)
        self.mlp = nn.SequentialCell(nn.Dense(dim, 2 * dim), nn.GELU(), nn.Dense(2 * dim, dim))
        self.mask = Tensor(np.tril(np.ones((length, length))).astype(np.bool_))
        self.heads, self.matmul = heads, ops.MatMul(transpose_b=True)

    def attend(self, x, past):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).swapaxes(1, 2) for y in ops.split(self.qkv(x), c, axis=2))
        if past is not None:
            k, v = ops.cat((past[0], k), axis=-2), ops.cat((past[1], v), axis=-2)
        total = k.shape[-2]
        scores = ops.matmul(q, k.swapaxes(-2, -1)) / math.sqrt(c // self.heads)
        mask = ops.broadcast_to(self.mask[total - t : total, :total], scores.shape)
        weights = ops.softmax(ops.select(mask, scores, ops.full_like(scores, -1e9)), axis=-1)
        return self.proj(ops.matmul(weights, v).swapaxes(1, 2).reshape(b, t, c)), (k, v)

    def construct(self, ids, past=None):
        start = 0 if past is None else past[0].shape[-2]
        x = self.tokens(ids) + self.positions(ops.arange(start, start + ids.shape[1]))
        attended, present = self.attend(self.norm1(x), past)
        x = x + attended
        x = self.norm(x + self.mlp(self.norm2(x)))
        return self.matmul(x.reshape(-1, x.shape[-1]), self.tokens.embedding_table), present


class TextNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 4, padding_idx=0)
        self.rnn = nn.LSTM(4, 3, bidirectional=True, batch_first=True)
        self.head = nn.Dense(6, 5)

    def construct(self, ids):
        x, (h, _) = self.rnn(self.embedding(ids), seq_length=Tensor([2, 6], ms.int32))
        return self.head(ops.concat((h[-2], h[-1]), 1) + x.max(axis=1))


class Translator(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 4)
        self.transformer = nn.Transformer(4, 2, 1, 1, 8, dropout=0.0, batch_first=True)
        self.head = nn.Dense(4, 5)

    def construct(self, ids):
        x = self.embedding(ids)
        mask = Tensor(np.triu(np.ones((6, 6)), 1).astype(np.bool_))
        return self.head(self.transformer(x, x, tgt_mask=mask)).mean(axis=1)
