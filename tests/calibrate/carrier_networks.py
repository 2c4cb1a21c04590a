"""Small networks for carrier_test.py, each with something that a carrier can get wrong."""
import torch
from torch import nn
from torch.nn import functional as F


def block(c_in, c_out, of=nn.Conv2d, norm=nn.BatchNorm2d):
    return nn.Sequential(of(c_in, c_out, 3, padding=1, bias=False), norm(c_out), nn.ReLU(inplace=True),
                         of(c_out, c_out, 3, padding=1), norm(c_out), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Skips that the frame of forward holds until they are used."""

    def __init__(self, of=nn.Conv2d, norm=nn.BatchNorm2d, pool=F.max_pool2d):
        super().__init__()
        self.pool = pool
        self.down = nn.ModuleList([block(1, 8, of, norm), block(8, 16, of, norm)])
        self.bottom = block(16, 32, of, norm)
        self.up = nn.ModuleList([block(48, 16, of, norm), block(24, 8, of, norm)])
        self.head = of(8, 1, 1)

    def forward(self, x):
        skips = []
        for down in self.down:
            x = down(x)
            skips.append(x)
            x = self.pool(x, 2)
        x = self.bottom(x)
        for up in self.up:
            x = up(torch.cat([F.interpolate(x, scale_factor=2), skips.pop()], 1))
        return self.head(x)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x, factor)
        return x * factor

    @staticmethod
    def backward(ctx, gradient):
        x, factor = ctx.saved_tensors
        return gradient * factor, (gradient * x).sum().reshape(1)


class Odd(nn.Module):
    """One weight used twice, an in-place chain, a custom function, a view that the user keeps, dropout."""

    def __init__(self, width=64):
        super().__init__()
        self.first, self.shared = nn.Linear(width, width), nn.Linear(width, width)
        self.factor = nn.Parameter(torch.ones(1))
        self.kept = None

    def forward(self, x):
        x = self.first(x)
        x = x.mul_(1.5).add_(0.1).relu_()
        x = self.shared(F.dropout(x, 0.2, self.training))
        self.kept = x[:, ::2]
        x = Scaled.apply(F.gelu(x), self.factor)
        x = self.shared(F.gelu(x) + F.pad(self.kept, (0, x.shape[1] - self.kept.shape[1])))
        return torch.sigmoid(x)


class Attention(nn.Module):
    """Layer norms, attention with dropout, shortcuts."""

    def __init__(self, width=32, heads=4, blocks=3, words=100):
        super().__init__()
        self.heads, self.words = heads, nn.Embedding(words, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(blocks)])
        self.qkv = nn.ModuleList([nn.Linear(width, 3 * width) for _ in range(blocks)])
        self.wide = nn.ModuleList([nn.Linear(width, width) for _ in range(blocks)])
        self.head = nn.Linear(width, words)

    def forward(self, x):
        x = self.words(x)
        n, length, width = x.shape
        for norm, qkv, wide in zip(self.norms, self.qkv, self.wide):
            q, k, v = qkv(norm(x)).view(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
            weights = F.dropout(torch.softmax(q @ k.transpose(-2, -1), -1), 0.1, self.training)
            x = x + wide((weights @ v).transpose(1, 2).reshape(n, length, width))
        return self.head(x).transpose(1, 2)


class Gated(nn.Module):
    """Products of two maps, each behind a chain: backward of a product takes both at once, and reads one after the other."""

    def __init__(self, width=64, blocks=4):
        super().__init__()
        self.ways = nn.ModuleList([nn.Linear(width, width) for _ in range(blocks)])
        self.gates = nn.ModuleList([nn.Linear(width, width) for _ in range(blocks)])

    def forward(self, x):
        for way, gate in zip(self.ways, self.gates):
            x = torch.tanh(way(x)) * (1 + F.softplus(gate(x)))
        return x


class Residual(nn.Module):
    """Sums and activations in place: run again, each waits for what it adds, which has a chain of its own."""

    def __init__(self, channels=8, blocks=3):
        super().__init__()
        self.first = nn.Conv2d(1, channels, 3, padding=1)
        self.blocks = nn.ModuleList([nn.Sequential(*block(channels, channels)[:5]) for _ in range(blocks)])

    def forward(self, x):
        x = self.first(x)
        for each in self.blocks:
            x = F.leaky_relu_(each(x).add_(x))
        return x.mean(1, keepdim=True)


def mean_square(network, data, target):
    return F.mse_loss(network(data), target)


def cross_entropy(network, data, target):
    return F.cross_entropy(network(data), target)


def words(n):
    return [torch.randint(0, 100, (n, 48)), torch.randint(0, 100, (n, 48))]


# By name: (network, loss of network and batch, batch of so many samples, samples).
NETWORKS = {
    "unet": (UNet, mean_square, lambda n: [torch.randn(n, 1, 32, 32), torch.randn(n, 1, 32, 32)], 4),
    "unet3d": (lambda: UNet(nn.Conv3d, nn.InstanceNorm3d, F.max_pool3d), mean_square,
               lambda n: [torch.randn(n, 1, 16, 16, 16), torch.randn(n, 1, 16, 16, 16)], 1),
    "odd": (Odd, mean_square, lambda n: [torch.randn(n, 64), torch.rand(n, 64)], 256),
    "attention": (Attention, cross_entropy, words, 8),
    "residual": (Residual, mean_square, lambda n: [torch.randn(n, 1, 32, 32), torch.randn(n, 1, 32, 32)], 4),
    "gated": (Gated, mean_square, lambda n: [torch.randn(n, 64), torch.rand(n, 64)], 256),
}
