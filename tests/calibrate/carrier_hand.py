"""Networks in which bytes change behind a carrier's back, and plans by hand that let everything leave at every call."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


class Hand(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.norm, self.still = nn.BatchNorm1d(8), nn.BatchNorm1d(8).eval()
        self.register_buffer("scale", torch.ones(8))
        self.kept = []


class ReadThenOverwritten(Hand):
    def forward(self, x):
        x = self.first(x)
        y = (x * 2).exp()
        with torch.no_grad():
            x.add_(1)
        return y * y.tanh() + x


class BufferUpdated(Hand):
    def forward(self, x):
        x = self.first(x)
        y = (x * self.scale.clone()).sigmoid() + (x * self.scale.exp()).tanh()
        with torch.no_grad():
            self.scale.mul_(0.9).add_(0.1 * x.detach().mean(0))
        return y * self.second(y).exp()


class FrozenNorm(Hand):
    def train(self, mode=True):
        super().train(mode)
        self.still.eval()
        return self

    def forward(self, x):
        return self.norm(self.still(self.first(x)).relu()).tanh()


class Dense(Hand):
    def times(self, values, place, right):
        return torch.mm(torch.diag(values), right)

    def forward(self, x):
        values = self.first(x)[:, 0].exp()
        return self.times(values, torch.arange(6), self.second(x)).tanh().exp() * self.second(x)


class Sparse(Dense):
    """Carried out by the plan of the dense one; the recorder refuses it."""
    recorded = Dense

    def times(self, values, place, right):
        return torch.sparse.mm(torch.sparse_coo_tensor(torch.stack([place, place]), values, (6, 6)), right)


class Conjugated(Hand):
    def forward(self, x):
        spectrum = torch.fft.fft(self.first(x))
        mirrored = spectrum.conj()
        self.kept = [mirrored.detach(), spectrum.imag.detach()]
        return (mirrored * spectrum.exp()).real.tanh() + mirrored.imag


class Several(Hand):
    def forward(self, x):
        parts = list(self.first(x).exp().split(2, 1))
        more = [part * 0.5 for part in parts]
        with torch.no_grad():
            self.kept = list(torch._foreach_mul([part.detach() for part in parts], 2.0))
            torch._foreach_add_(self.kept, 1.0)
            mask = torch.empty(0)
            torch.ge(parts[0], 1.0, out=mask.resize_(0).bool())
        a, b, c, d = more
        return torch.cat([a * b.exp(), F.layer_norm(c, (2,)), d.tanh(), a], 1)


class Drawn(Hand):
    def forward(self, x):
        generator = torch.Generator().manual_seed(3)
        x = F.dropout(self.first(x), 0.3) * torch.rand(x.shape, generator=generator)
        return (x * torch.bernoulli(torch.full_like(x, 0.5), generator=generator)).exp() * x.new_empty(8).bernoulli_(0.5)


class FilledUnseen(Hand):
    def forward(self, x):
        x = self.first(x)
        factor = torch.empty(8)
        factor.numpy()[:] = 3.0
        return (x * factor.mul(1.5)).exp().tanh() * x


class Instances(Hand):
    def forward(self, x):
        x = self.first(x)
        mean, var = torch.zeros(8), torch.ones(8)
        y = F.batch_norm(x, mean, var, training=True)
        return y.exp() * (mean * 2).exp() + (var * x).tanh()


class Checkpointed(Hand):
    def forward(self, x):
        x = self.first(x).exp().tanh()
        return checkpoint(lambda y: self.second(y).exp().tanh() * y, x, use_reentrant=False) * x


class Recurrent(Hand):
    """Its call gives a workspace only where gradients are enabled."""

    def __init__(self):
        super().__init__()
        self.cells = nn.LSTM(8, 8)

    def forward(self, x):
        x = self.first(x)
        return self.cells(x[:, None])[0][:, 0].exp() * x


HAND = [ReadThenOverwritten, BufferUpdated, FrozenNorm, Sparse, Conjugated, Several, Drawn, FilledUnseen, Instances,
        Checkpointed, Recurrent]


def loss_of(network, x):
    return network(x).square().mean()


def trained(make, carrier, steps=2):
    """Losses, gradients, state and what the network kept, after steps with a second gradient of the input."""
    torch.manual_seed(1)
    network, found = make().train(), []
    for _ in range(steps):
        x = torch.randn(6, 8)
        with carrier:
            loss = loss_of(network, x)
            loss.backward()
        found += [loss.detach()] + [p.grad.clone() for p in network.parameters() if p.grad is not None]
        with torch.no_grad():
            for parameter in network.parameters():
                if parameter.grad is not None:
                    parameter.sub_(parameter.grad, alpha=0.01)
        network.zero_grad(set_to_none=True)
    return found + list(network.state_dict().values()) + [torch.view_as_real(t.resolve_conj()) if t.is_complex() else t
                                                         for t in network.kept]


def plan_of(make, record, copies):
    """Before each call everything made so far leaves; `copies`: by way of the host."""
    torch.manual_seed(1)
    network = getattr(make, "recorded", make)().train()

    def update():
        network.zero_grad(set_to_none=True)

    step = record(lambda x: loss_of(network, x), [torch.randn(6, 8)], update, how="run", repetitions=2)
    made, before = [], {}
    for call in step["nodes"]:
        before[call["id"]] = [[kind, name] for name in made for kind in (["out"] if copies else []) + ["leave"]]
        made += [result["id"] for result in call["results"] if "bytes" in result]
    return {"format": "spillway-carry", "version": 1, "network": make.__name__, "strategy": "hand", "capacity_bytes": 1,
            "peak_bytes": 1, "step_time_ns": 1, "host_bytes": 1 << 20 if copies else 0, "values": step["values"],
            "calls": step["nodes"], "before": before}
