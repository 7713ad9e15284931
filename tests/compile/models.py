"""The models of the compile tests, small, with random weights, and a batch of data for each.

`MODELS` names them all. `Model.make` gives a module whose call on `Model.batch` is a scalar loss;
the language models are those of transformers, the others are written out here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
import transformers
from torch import nn

VOCABULARY, CLASSES = 61, 5


@dataclass(frozen=True)
class Model:
    """`terms`: of the longest sum in the forward or backward pass. `random`: the model draws
    numbers, and those of the CPU are others."""

    make: Callable[[], nn.Module]
    batch: Callable[[], tuple[torch.Tensor, ...]]
    terms: int
    random: bool = False


class Classifier(nn.Module):
    """A loss over the logits of `body`."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x, target):
        return F.cross_entropy(self.body(x), target)


def mlp():
    hidden = (nn.Linear(12, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 32), nn.SiLU())
    return Classifier(nn.Sequential(*hidden, nn.Linear(32, CLASSES)))


# ---- Images --------------------------------------------------------------------------------------


class BasicBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut (He et al. 2016)."""

    def __init__(self, inner, outer, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(outer, outer, 3, padding=1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(outer), nn.BatchNorm2d(outer)
        self.shortcut = nn.Identity()
        if (inner, stride) != (outer, 1):
            projection = nn.Conv2d(inner, outer, 1, stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(outer))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


def resnet18(width=4):
    """ResNet-18 with `width` channels in place of 64."""
    stem = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
    layers = [stem, nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)]
    for stage in range(4):
        inner, outer = width << max(stage - 1, 0), width << stage
        layers += [BasicBlock(inner, outer, 2 if stage else 1), BasicBlock(outer, outer, 1)]
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width << 3, CLASSES))
    return Classifier(nn.Sequential(*layers, *head))


class ViT(nn.Module):
    """Patches, a class token and learned positions before a pre-norm encoder."""

    def __init__(self, size=16, patch=4, width=16, layers=2, heads=2):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width))
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, 0.0, F.gelu, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.encoder(x)[:, 0])


class UNetBlock(nn.Module):
    """A down and an up level of a diffusion UNet: residual blocks that the time's embedding
    shifts, self-attention between them, and a skip connection. The loss is the noise's."""

    def __init__(self, width=8):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.inward = nn.Conv2d(3, width, 3, padding=1)
        self.down = ResidualBlock(width, width)
        self.pool = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(2, width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.up = ResidualBlock(2 * width, width)
        self.outward = nn.Conv2d(width, 3, 3, padding=1)
        self.width = width

    def forward(self, image, noise, time):
        t = self.time(sinusoidal(time, self.width))
        share = torch.cos(time * (torch.pi / 2))[:, None, None, None]
        skip = self.down(self.inward(share * image + (1 - share**2).sqrt() * noise), t)
        x = self.pool(skip)
        tokens = self.norm(x).flatten(2).transpose(1, 2)
        mixed, _ = self.attention(tokens, tokens, tokens, need_weights=False)
        x = x + mixed.transpose(1, 2).reshape(x.shape)
        x = torch.cat([F.interpolate(x, scale_factor=2.0, mode="nearest"), skip], 1)
        return F.mse_loss(self.outward(self.up(x, t)), noise)


class ResidualBlock(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(2, inner), nn.GroupNorm(2, outer)
        self.conv1 = nn.Conv2d(inner, outer, 3, padding=1)
        self.conv2 = nn.Conv2d(outer, outer, 3, padding=1)
        self.shift = nn.Linear(outer, outer)
        self.shortcut = nn.Conv2d(inner, outer, 1)

    def forward(self, x, t):
        y = self.conv1(F.silu(self.norm1(x))) + self.shift(t)[:, :, None, None]
        return self.conv2(F.silu(self.norm2(y))) + self.shortcut(x)


def sinusoidal(time, width):
    frequencies = torch.exp(-torch.arange(0, width, 2, device=time.device) * (9.0 / width))
    angles = time[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], 1)


# ---- Sequences -----------------------------------------------------------------------------------


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 16, num_layers=2, batch_first=True)
        self.head = nn.Linear(16, CLASSES)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class MixtureOfExperts(nn.Module):
    """Each token goes to its two best experts, as far as they have room (Shazeer et al. 2017):
    tokens are scattered into the experts' slots and gathered again, with shapes that are fixed."""

    def __init__(self, width=12, hidden=16, experts=4, chosen=2, room=8):
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)
        self.inward = nn.Parameter(torch.randn(experts, width, hidden) / width**0.5)
        self.outward = nn.Parameter(torch.randn(experts, hidden, CLASSES) / hidden**0.5)
        self.experts, self.chosen, self.room = experts, chosen, room

    def forward(self, x, target):
        gate = self.router(x).softmax(-1)
        weights, expert = gate.topk(self.chosen)
        member = F.one_hot(expert.flatten(), self.experts)
        place = (member.cumsum(0) * member).sum(-1) - 1
        fits = place < self.room
        slot = torch.where(fits, expert.flatten() * self.room + place, self.experts * self.room)
        tokens = x.repeat_interleave(self.chosen, 0)
        slots = x.new_zeros(self.experts * self.room + 1, x.shape[1]).index_add(0, slot, tokens)
        slots = slots[:-1].view(self.experts, self.room, -1)
        y = torch.bmm(F.gelu(torch.bmm(slots, self.inward)), self.outward).flatten(0, 1)
        y = torch.cat([y, y.new_zeros(1, CLASSES)])[slot].view(*expert.shape, -1)
        share = member.view(*expert.shape, -1).sum(1).float().mean(0)
        balance = (share * gate.mean(0)).sum() * self.experts
        return F.cross_entropy((weights.unsqueeze(-1) * y).sum(1), target) + 0.01 * balance


class Language(nn.Module):
    """A model of transformers whose every token has to tell the next one."""

    def __init__(self, model, *targets):
        super().__init__()
        self.model = model
        self.targets = targets

    def forward(self, ids):
        logits = self.model(ids, **dict.fromkeys(self.targets, ids)).logits
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=32, n_embd=16, n_layer=2, n_head=2,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    return Language(transformers.GPT2LMHeadModel(config))


def llama_model(positions=32):
    """Grouped query attention: four heads share two keys and values."""
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=positions,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def llama():
    model = llama_model()
    model.config.use_cache = False
    return Language(model)


def t5():
    config = transformers.T5Config(
        vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
        dropout_rate=0.0, decoder_start_token_id=0, use_cache=False,
    )  # fmt: skip
    return Language(transformers.T5ForConditionalGeneration(config), "decoder_input_ids")


def bert(dropout):
    def make():
        config = transformers.BertConfig(
            vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=32, max_position_embeddings=32,
            hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout,
        )  # fmt: skip
        return Language(transformers.BertForMaskedLM(config))

    return make


# ---- Data ----------------------------------------------------------------------------------------


def _generator():
    return torch.Generator().manual_seed(1)


def features(*shape):
    """Normal inputs and a class for each."""
    target = torch.arange(shape[0]).remainder(CLASSES)
    return lambda: (torch.randn(*shape, generator=_generator()), target)


def tokens():
    return (torch.randint(1, VOCABULARY, (2, 12), generator=_generator()),)


def noisy_images():
    image, noise = torch.randn(2, 2, 3, 8, 8, generator=_generator())
    return image, noise, torch.tensor([0.2, 0.7])


MODELS = {
    "mlp": Model(mlp, features(6, 12), 32),
    "resnet18": Model(resnet18, features(4, 3, 64, 64), 4 * 32 * 32),
    "vit": Model(lambda: Classifier(ViT()), features(3, 3, 16, 16), 3 * 17),
    "unet": Model(UNetBlock, noisy_images, 4 * 8 * 8),
    "lstm": Model(lambda: Classifier(LSTM()), features(6, 5, 8), 64),
    "moe": Model(MixtureOfExperts, features(16, 12), 32),
    "gpt2": Model(gpt2, tokens, VOCABULARY),
    "llama": Model(llama, tokens, VOCABULARY),
    "t5": Model(t5, tokens, VOCABULARY),
    "bert": Model(bert(0.0), tokens, VOCABULARY),
    "bert with dropout": Model(bert(0.1), tokens, VOCABULARY, random=True),
}
