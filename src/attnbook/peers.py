"""The libraries the book compares itself with."""

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.layers.additive import AdditiveAttention
from attnbook.layers.multihead import MultiHeadAttention
from attnbook.models.transformer import DecoderBlock, EncoderBlock

__all__ = ["copy_weights", "d2l"]


def __dir__() -> list[str]:
    return __all__


def d2l() -> ModuleType:
    """`d2l.torch`, the code of Dive into Deep Learning, also where torchvision is missing.

    Its data sets and transforms need torchvision, its attention does not: an empty stand-in lets the import pass.

    >>> layer = d2l().DotProductAttention(dropout=0)
    >>> layer(torch.ones(1, 2, 4), torch.ones(1, 3, 4), torch.arange(3.0).view(1, 3, 1), torch.tensor([2])).flatten()
    tensor([0.5000, 0.5000])
    """
    missing = "torchvision" not in sys.modules and importlib.util.find_spec("torchvision") is None
    stand_ins = ("torchvision", "torchvision.transforms") if missing else ()
    for name in stand_ins:
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__spec__ = ModuleSpec(name, None)
    if missing:
        stand_in: Any = sys.modules["torchvision"]
        stand_in.transforms = sys.modules["torchvision.transforms"]
    try:
        from d2l import torch as d2l_torch
    except ModuleNotFoundError as error:
        hint = "This cell compares with the code of d2l.ai; no other needs it. Try pip install --no-deps d2l==1.0.3"
        raise ModuleNotFoundError(f"{error}. {hint}", name=error.name) from None
    finally:
        for name in stand_ins:  # others who look for torchvision must not find this one
            del sys.modules[name]
    return d2l_torch


def copy_weights(source: nn.Module, target: nn.Module) -> None:
    """Make `target` compute what `source` computes: one of them is ours, the other PyTorch's or d2l's.

    >>> theirs, ours = nn.MultiheadAttention(8, 2, batch_first=True, bias=False), MultiHeadAttention(8, 2)
    >>> copy_weights(theirs, ours)
    >>> x_BLD = torch.randn(1, 3, 8)
    >>> torch.allclose(ours(x_BLD), theirs(x_BLD, x_BLD, x_BLD)[0], atol=1e-6)
    True
    """
    ours_first = isinstance(source, AdditiveAttention | MultiHeadAttention | EncoderBlock)
    ours, theirs = (source, target) if ours_first else (target, source)
    mine, other = dict(ours.named_parameters()), _by_our_names(ours, theirs)
    for layer in ours.modules():
        if isinstance(layer, MultiHeadAttention) and (layer.rotary is not None or layer.score_bias is not None):
            raise ValueError("rotary and score_bias have no counterpart in other libraries' layers.")
    if mine.keys() != other.keys():
        raise ValueError(
            f"{type(ours).__name__} has {', '.join(mine)}; {type(theirs).__name__} has {', '.join(other)}. "
            "Make both with the same bias, or without."
        )
    heads = [layer.heads for layer in ours.modules() if isinstance(layer, MultiHeadAttention)]
    their_heads = [layer.num_heads for layer in theirs.modules() if hasattr(layer, "num_heads")]
    if heads != their_heads:
        raise ValueError(f"{heads[0]} heads in ours and {their_heads[0]} in theirs: make both of one number.")
    if isinstance(ours, EncoderBlock) and (ours.norm == "pre") != theirs.norm_first:
        raise ValueError(
            f"norm is {ours.norm!r} in ours, norm_first is {theirs.norm_first} in theirs: make both alike."
        )
    for name, parameter in mine.items():
        if other[name].shape != parameter.shape:
            sizes = f"{tuple(parameter.shape)} in ours and {tuple(other[name].shape)} in theirs"
            raise ValueError(f"{name} is {sizes}: make both layers of the same sizes.")
    with torch.no_grad():
        for name, parameter in mine.items():
            here, there = (other[name], parameter) if ours is target else (parameter, other[name])
            there.copy_(here)


def _by_our_names(ours: nn.Module, theirs: nn.Module) -> dict[str, Tensor]:
    """Their parameters under the names we give them."""
    if isinstance(theirs, nn.MultiheadAttention) and isinstance(ours, MultiHeadAttention):
        return _of_torch(theirs)
    for block, layer in ((DecoderBlock, nn.TransformerDecoderLayer), (EncoderBlock, nn.TransformerEncoderLayer)):
        if type(ours) is block and isinstance(theirs, layer):
            return _of_block(theirs)
    layers = {"query": "W_q", "key": "W_k", "value": "W_v", "output": "W_o"}
    if isinstance(ours, AdditiveAttention):
        layers = {"query": "W_q", "key": "W_k", "score": "w_v"}
    if any(not hasattr(theirs, name) for name in layers.values()):
        raise ValueError(
            f"No way is known to copy weights between {type(theirs).__name__} and {type(ours).__name__}: one must be "
            "ours, the other PyTorch's or d2l's. Between two of a kind, try load_state_dict."
        )
    found = {
        f"{our}.{name}": parameter
        for our, their in layers.items()
        for name, parameter in getattr(theirs, their).named_parameters()
    }
    if any(nn.parameter.is_lazy(parameter) for parameter in found.values()):
        raise ValueError("d2l's layers make their weights at the first call: call it once, then copy.")
    return found


def _of_block(theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> dict[str, Tensor]:
    layers = {"feed_forward.0": theirs.linear1, "feed_forward.3": theirs.linear2, "self_attention_norm": theirs.norm1}
    attentions = {"self_attention": theirs.self_attn}
    if isinstance(theirs, nn.TransformerDecoderLayer):
        attentions["cross_attention"] = theirs.multihead_attn
        layers |= {"cross_attention_norm": theirs.norm2, "feed_forward_norm": theirs.norm3}
    else:
        layers["feed_forward_norm"] = theirs.norm2
    found = {f"{our}.{name}": p for our, layer in layers.items() for name, p in layer.named_parameters()}
    return found | {f"{our}.{name}": p for our, layer in attentions.items() for name, p in _of_torch(layer).items()}


def _of_torch(theirs: nn.MultiheadAttention) -> dict[str, Tensor]:
    if theirs.bias_k is not None or theirs.add_zero_attn:
        raise ValueError("add_bias_kv and add_zero_attn have no counterpart in MultiHeadAttention.")
    names = ("query", "key", "value")
    if theirs.in_proj_weight is None:
        weights = (theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight)
    else:
        weights = theirs.in_proj_weight.chunk(3)
    found = {f"{name}.weight": weight for name, weight in zip(names, weights, strict=True)}
    found["output.weight"] = theirs.out_proj.weight
    if theirs.in_proj_bias is not None:
        biases = zip(names, theirs.in_proj_bias.chunk(3), strict=True)
        found |= {f"{name}.bias": bias for name, bias in biases}
        found["output.bias"] = theirs.out_proj.bias
    return found
