"""Spillway's networks as PyTorch modules, layer for layer what model/zoo builds: same shapes, same parameters.

ReLU and the sum of a residual block work in place, as in PyTorch's own models; what backward saves is the same.
"""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Network(nn.Module):
    """Blocks, each of which is recomputed as one where `recompute` is set, and a head, which never is."""

    def __init__(self, blocks, head):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Sequential(*head)
        self.recompute = False
        # What a checkpoint computes has a gradient only where an input has one, and the image has none.
        self.anchor = torch.ones(1, requires_grad=True)

    def forward(self, x):
        for block in self.blocks:
            x = self._recomputed(block, x) if self.recompute else block(x)
        return self.head(x)

    def _recomputed(self, block, x):
        # No random numbers to replay: dropout is in the head.
        return checkpoint(lambda x, _: block(x), x, self.anchor, use_reentrant=True, preserve_rng_state=False)


def conv_relu(c_in, c_out, window, stride=1, pad=0):
    return [nn.Conv2d(c_in, c_out, window, stride, pad), nn.ReLU(inplace=True)]


def conv_norm(c_in, c_out, window, stride=1, pad=0):
    return [nn.Conv2d(c_in, c_out, window, stride, pad, bias=False), nn.BatchNorm2d(c_out)]


def conv_norm_relu(*shape):
    return conv_norm(*shape) + [nn.ReLU(inplace=True)]


class Bottleneck(nn.Module):
    """The stride is in the first 1x1 convolution."""

    def __init__(self, c_in, width, stride):
        super().__init__()
        c_out = 4 * width
        self.main = nn.Sequential(*conv_norm_relu(c_in, width, 1, stride), *conv_norm_relu(width, width, 3, 1, 1),
                                  *conv_norm(width, c_out, 1))
        self.shortcut = nn.Sequential(*conv_norm(c_in, c_out, 1, stride)) if c_in != c_out else None
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        result = self.main(x)
        result += x if self.shortcut is None else self.shortcut(x)
        return self.relu(result)


def classifier(features, classes):
    layers = [nn.Flatten()]
    for c_in in (features, 4096):
        layers += [nn.Linear(c_in, 4096), nn.ReLU(inplace=True), nn.Dropout(0.5)]
    return layers + [nn.Linear(4096, classes)]


def resnet50(_image):
    blocks = [nn.Sequential(*conv_norm_relu(3, 64, 7, 2, 3), nn.MaxPool2d(3, 2, 1))]
    c_in = 64
    for stage, count in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for index in range(count):
            blocks.append(Bottleneck(c_in, width, 2 if stage > 0 and index == 0 else 1))
            c_in = 4 * width
    return Network(blocks, [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)])


def vgg16(image):
    blocks, c_in = [], 3
    for c_out, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        layers = []
        for _ in range(count):
            layers += conv_relu(c_in, c_out, 3, 1, 1)
            c_in = c_out
        blocks.append(nn.Sequential(*layers, nn.MaxPool2d(2, 2)))
    return Network(blocks, classifier(512 * (image // 32) ** 2, 1000))


def alexnet(image):
    def norm():  # PyTorch divides alpha by the number of channels
        return nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2.0)

    def pool():
        return nn.MaxPool2d(3, 2, ceil_mode=True)

    size = (image - 11) // 4 + 1
    for _ in range(3):
        size = -(-(size - 3) // 2) + 1
    blocks = [nn.Sequential(*conv_relu(3, 96, 11, 4), norm(), pool()),
              nn.Sequential(*conv_relu(96, 256, 5, 1, 2), norm(), pool()),
              nn.Sequential(*conv_relu(256, 384, 3, 1, 1), *conv_relu(384, 384, 3, 1, 1),
                            *conv_relu(384, 256, 3, 1, 1), pool())]
    return Network(blocks, classifier(256 * size * size, 1000))


BUILDERS = {"resnet50": resnet50, "vgg16": vgg16, "alexnet": alexnet}


def parameters_of(network):
    return sum(p.numel() for p in network.parameters())
