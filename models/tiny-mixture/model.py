"""A mixture of experts of llama.cpp's architecture "llama", in PyTorch."""

from dataclasses import asdict, dataclass

import torch
from torch import nn
from torch.nn import functional


@dataclass(frozen=True)
class Shape:
    """Sizes; all widths are multiples of 32, as Q8_0 asks."""

    vocabulary: int = 2048
    width: int = 160
    layers: int = 6
    heads: int = 5
    experts: int = 16
    used: int = 2
    expert_width: int = 128
    context: int = 512
    rope_base: float = 10000.0
    epsilon: float = 1e-5

    @property
    def head_width(self) -> int:
        """Numbers of a head."""
        return self.width // self.heads

    def as_dict(self) -> dict[str, float]:
        """For a file."""
        return asdict(self)


class Norm(nn.Module):
    """The root mean square made one."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape.width))
        self.epsilon = shape.epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * self.weight


class Attention(nn.Module):
    """Causal attention; pairs of neighbouring numbers are turned by the position (llama.cpp's rope type NORM)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.q, self.k, self.v, self.output = (nn.Linear(shape.width, shape.width, bias=False) for _ in range(4))
        pairs = torch.arange(0, shape.head_width, 2) / shape.head_width
        angles = torch.outer(torch.arange(shape.context), shape.rope_base**-pairs)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def turned(self, x: torch.Tensor) -> torch.Tensor:
        """x: batch × heads × positions × head width."""
        even, odd = x[..., ::2], x[..., 1::2]
        cos, sin = self.cos[: x.shape[-2]], self.sin[: x.shape[-2]]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, positions, width = x.shape
        q, k, v = (
            part(x).view(batch, positions, self.shape.heads, self.shape.head_width).transpose(1, 2)
            for part in (self.q, self.k, self.v)
        )
        mixed = functional.scaled_dot_product_attention(self.turned(q), self.turned(k), v, is_causal=True)
        return self.output(mixed.transpose(1, 2).reshape(batch, positions, width))


class Experts(nn.Module):
    """The router's best experts for each token, weighted by the softmax over the chosen."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.router = nn.Linear(shape.width, shape.experts, bias=False)
        self.gate, self.up = (
            nn.Parameter(torch.randn(shape.experts, shape.expert_width, shape.width) * shape.width**-0.5)
            for _ in range(2)
        )
        self.down = nn.Parameter(torch.randn(shape.experts, shape.width, shape.expert_width) * shape.expert_width**-0.5)
        self.chosen = torch.empty(0)
        self.imbalance = torch.empty(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = x.reshape(-1, self.shape.width)
        logits = self.router(tokens)
        best, self.chosen = logits.topk(self.shape.used, -1)
        weights = best.softmax(-1)
        order = self.chosen.flatten().argsort(stable=True)
        counts = self.chosen.flatten().bincount(minlength=self.shape.experts)
        rows = order // self.shape.used
        ends = counts.cumsum(0).tolist()
        parts = [
            functional.linear(
                functional.silu(functional.linear(part, self.gate[expert])) * functional.linear(part, self.up[expert]),
                self.down[expert],
            )
            for expert, part in enumerate(tokens[rows].tensor_split(ends[:-1]))
        ]
        weighted = torch.cat(parts) * weights.flatten()[order, None]
        share = counts / counts.sum()
        self.imbalance = self.shape.experts * (share * logits.softmax(-1).mean(0)).sum()
        return torch.zeros_like(tokens).index_add(0, rows, weighted).view_as(x)


class Layer(nn.Module):
    """Attention, then experts."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention_norm, self.attention = Norm(shape), Attention(shape)
        self.experts_norm, self.experts = Norm(shape), Experts(shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.experts(self.experts_norm(x))


class Mixture(nn.Module):
    """Tokens (batch × positions, int64) to logits (batch × positions × vocabulary)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = Norm(shape)
        self.output = nn.Linear(shape.width, shape.vocabulary, bias=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)
            if name.endswith(("attention.output.weight", "experts.down")):
                weight.data /= (2 * shape.layers) ** 0.5

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))

    def imbalance(self) -> torch.Tensor:
        """One where the last tokens went to all experts alike, up to their number where one took all."""
        return torch.stack([layer.experts.imbalance for layer in self.layers]).mean()
