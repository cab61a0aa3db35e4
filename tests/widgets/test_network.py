"""The network that widgets share (shared/network.js, shared/stored.js) computes what PyTorch does."""

import base64
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from attnbook import capture_attention
from attnbook.data.stored import to_bytes, to_single_bytes, unpack, unpack_single
from attnbook.layers.masks import causal
from attnbook.layers.positions import Rotary, SinusoidalPositions
from attnbook.models.transformer import DecoderBlock, EncoderBlock, SwiGLU
from tests.browser.pages import bare

D, HEADS, BASE = 24, 4, 100.0


def near(found: list, want: Tensor, name: str = "") -> None:
    assert_close(torch.tensor(found, dtype=want.dtype), want, rtol=1e-5, atol=1e-5, msg=name or None)


class Networks(nn.Module):
    """Blocks of the paper's kind, with biases and LayerNorm; and one of today's, whose heads share keys in pairs."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.ModuleList([EncoderBlock(D, HEADS, 40, norm="pre")])
        self.decoder = nn.ModuleDict({"0": DecoderBlock(D, HEADS, 40, norm="pre"), "norm": nn.LayerNorm(D)})
        self.source = nn.ModuleDict({"embedding": nn.Embedding(9, D)})
        self.today = EncoderBlock(
            D,
            HEADS,
            40,
            norm="pre",
            norm_layer=partial(nn.RMSNorm, eps=1e-5),
            feed_forward=SwiGLU,
            bias=False,
            rotary=Rotary(D // HEADS, pairing="neighbours", base=BASE),
            kv_heads=HEADS // 2,
        )
        for x in self.parameters():
            nn.init.normal_(x, std=0.3)


@pytest.fixture
def run(visit):
    """Evaluate the body of a function over the exports of both modules and what is given as x."""
    page = visit("bare.html", served={"bare.html": bare()})
    load = (
        "const load = (name) => import(new URL(`_static/widgets/shared/${name}.js`, location));"
        "const net = await load('network'), { stored } = await load('stored');"
        "const floats = (rows) => rows.map((row) => Float32Array.from(row));"
        "const plain = (x) => ArrayBuffer.isView(x) ? Array.from(x) : Array.isArray(x) ? x.map(plain) : x;"
    )
    return lambda body, x: page.evaluate(f"async (x) => {{ {load} {body} }}", x)


def test_what_layers_are_made_of(run):
    x, weight, bias, gain = torch.randn(2, D), torch.randn(7, D), torch.randn(7), torch.randn(D)
    found = run(
        """const [a, b] = floats(x.x);
        const [weight, [gain], [bias]] = [x.weight, [x.gain], [x.bias]].map(floats);
        return [
            net.linear({ weight, bias }, a), net.linear({ weight }, a),
            net.norm({ weight: gain, bias: b }, a), net.norm({ weight: gain }, a),
            net.layerNorm(a), net.rmsNorm(a, gain, 1e-3),
            net.gated(a.slice(), b), net.sinusoid(5, a.length), net.meanOf([a, b]), net.turn(b.slice(), 6, 3, 100),
        ].map(plain);""",
        {"x": x.tolist(), "weight": weight.tolist(), "bias": bias.tolist(), "gain": gain.tolist()},
    )
    a, b = x
    wanted = [
        F.linear(a, weight, bias),
        F.linear(a, weight),
        F.layer_norm(a, [D], gain, b),
        F.rms_norm(a, [D], gain, 1e-5),
        F.layer_norm(a, [D]),
        F.rms_norm(a, [D], gain, 1e-3),
        F.silu(a) * b,
        SinusoidalPositions(D)(torch.zeros(1, 6, D))[0, 5],
        x.mean(0),
        Rotary(6, pairing="neighbours", base=100.0)(b.view(4, 1, 6).expand(4, 4, 6))[:, 3].flatten(),
    ]
    for got, want in zip(found, wanted, strict=True):
        near(got, want)


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("M", [1, 2, 7])
def test_attention_of_one_query(run, kv_heads, M):
    """Over keys that heads share, of an odd or even number; a head that is off takes nothing, and still looks."""
    q, k, v = torch.randn(4, 1, 6), torch.randn(kv_heads, M, 6), torch.randn(kv_heads, M, 6)
    flat = [x.transpose(0, 1).flatten(1).tolist() for x in (q, k, v)]
    found = run(
        """const [[query], keys, values] = x.map(floats);
        const isOff = (head) => head === 2;
        return [net.attend(query, keys, values, 4), net.attend(query, keys, values, 4, { isOff })]
            .map(({ weights, mixed }) => [plain(weights), plain(mixed)]);""",
        flat,
    )
    want = F.scaled_dot_product_attention(q[None], k[None], v[None], enable_gqa=True)[0]
    shared = k.repeat_interleave(4 // kv_heads, 0)
    for weights, _ in found:
        near(weights, (q @ shared.mT / 6**0.5).softmax(-1)[:, 0])
    near(found[0][1], want.flatten())
    near(found[1][1], (want * (torch.arange(4) != 2)[:, None, None]).flatten())


@pytest.mark.parametrize("size", [1, 2])
@torch.no_grad()
def test_layers_and_their_file(run, tmp_path, size):
    """With a byte for each number, and with two: the same file, the same numbers, all kinds of attention."""
    model, path = Networks().eval(), tmp_path / "networks.bin"
    path.write_bytes(to_single_bytes(model, heads=HEADS) if size == 1 else to_bytes({"it": model}, heads=HEADS))
    (unpack_single(path, model) if size == 1 else unpack(path, {"it": model}))
    x, memory = torch.randn(1, 7, D), torch.randn(1, 5, D)
    found = run(
        """const bytes = Uint8Array.from(atob(x.file), (letter) => letter.charCodeAt(0)).buffer;
        const { parts, heads } = stored(bytes);
        const [own, xs, memory] = [parts.it ?? parts, floats(x.xs), floats(x.memory)];
        const [block, crossing, today] = [own.encoder[0], own.decoder[0], own.today];
        const looks = net.attention(block.self_attention, block.self_attention_norm, heads).among(xs);
        const cross = net.attention(crossing.cross_attention, crossing.cross_attention_norm, heads);
        cross.remember(memory);
        const kept = net.attention(today.self_attention, today.self_attention_norm, heads, x.base);
        const first = xs.map((x) => kept.next(x));
        kept.forget(3);
        const again = xs.slice(3).map((x) => kept.next(x));
        const next = net.decoder(own, memory, heads);
        return {
            embedded: plain(net.embed(own.source, 8)),
            encoded: looks.map(({ x }) => plain(net.feed(block, x))),
            maps: looks.map(({ weights }) => weights),
            crossed: xs.map((x) => plain(cross.look(x).x)),
            today: [first, again].map((all) => all.map(({ x }) => plain(net.feed(today, x)))),
            rows: first.at(-1).weights,
            chances: [3, 1, 8].map((token) => next(token).chances),
        };""",
        {
            "file": base64.b64encode(path.read_bytes()).decode(),
            "xs": x[0].tolist(),
            "memory": memory[0].tolist(),
            "base": BASE,
        },
    )
    with capture_attention(model) as maps:
        encoded, today = model.encoder[0](x)[0], model.today(x, causal(7))[0]
    block, table = model.decoder["0"], model.source["embedding"].weight
    written = table[[3, 1, 8]] * D**0.5 + SinusoidalPositions(D)(torch.zeros(1, 3, D))[0]
    wanted = {
        "embedded": table[8] * D**0.5,
        "encoded": encoded,
        "maps": maps["encoder.0.self_attention"][0].transpose(0, 1),
        "crossed": (x + block.cross_attention(block.cross_attention_norm(x), memory))[0],
        "rows": maps["today.self_attention"][0, :, -1],
        "chances": (model.decoder["norm"](block(written[None], memory, mask=causal(3)))[0] @ table.T).softmax(-1),
    }
    for name, want in wanted.items():
        near(found[name], want, name)
    near(found["today"][0], today)
    near(found["today"][1], today[3:])
