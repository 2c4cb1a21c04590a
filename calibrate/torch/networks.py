"""Two small networks to try the recorder on: a transformer and a residual network."""
import math

import torch
from torch import nn


class Block(nn.Module):
    """Of a transformer: attention and two layers, each behind a layer norm and beside a shortcut."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(0.1)

    def attention(self, x):
        n, length, width = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(width // self.heads), -1)
        return self.out((self.dropout(weights) @ v).transpose(1, 2).reshape(n, length, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(nn.functional.gelu(self.wide(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, words=1000, length=128, width=128, heads=4, blocks=4):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(blocks)])
        self.head = nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.blocks(self.words(x) + self.places)).transpose(1, 2)


class Residual(nn.Module):
    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU(inplace=True),
            nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False), nn.BatchNorm2d(c_out))
        self.shortcut = nn.Identity() if stride == 1 and c_in == c_out else nn.Conv2d(c_in, c_out, 1, stride, bias=False)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        result = self.main(x)
        result += self.shortcut(x)
        return self.relu(result)


def resnet():
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
    c_in = 16
    for c_out in (16, 32, 64):
        for index in range(3):
            layers.append(Residual(c_in, c_out, 2 if index == 0 and c_out > 16 else 1))
            c_in = c_out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


NETWORKS = {
    "transformer": (Transformer, lambda n: [torch.randint(0, 1000, (n, 128)), torch.randint(0, 1000, (n, 128))]),
    "resnet": (resnet, lambda n: [torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))]),
}
