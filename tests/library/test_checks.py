"""A check that can't fail teaches nothing: each one accepts right answers, and says what is wrong with wrong ones."""

import ast
import math
import re
from itertools import permutations
from statistics import mean, pvariance

import pytest
import torch

from attnbook import additive_scores, attention, causal, check, masked_softmax, padding
from attnbook.checks.judging import HERE as JUDGED
from attnbook.checks.judging import say, told
from attnbook.language import PSEUDO, speaking, words
from tests.widgets.forgotten import left_over


def loops(q, k, v, mask=None):
    """A right answer that looks nothing like ours."""
    weights = torch.zeros(len(q), len(k))
    for i in range(len(q)):
        allowed = [j for j in range(len(k)) if mask is None or mask[i, j]]
        scores = {j: sum(a * b for a, b in zip(q[i], k[j], strict=True)) / q.shape[-1] ** 0.5 for j in allowed}
        powers = {j: torch.exp(score - max(scores.values())) for j, score in scores.items()}
        for j in allowed:
            weights[i, j] = powers[j] / sum(powers.values())
    return weights @ v, weights


def overflowing(q, k, v, mask=None):
    """The formula as it is written: the power of a large score is infinite."""
    powers = (q @ k.T / q.shape[-1] ** 0.5).exp() * (1 if mask is None else mask)
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
    return weights @ v, weights


def jacobian(weights):
    return weights.diag() - weights.outer(weights)


def thorough_test(function):
    q, k, v = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 2)
    mask = causal(3, 5) & (torch.arange(3) != 1)[:, None]
    return all(torch.allclose(function(q, k, v, m)[0], attention(q, k, v, m)[0]) for m in (None, mask))


RIGHT = [(check.attention, attention), (check.attention, loops), (check.softmax_jacobian, jacobian)]
RIGHT += [(check.attention_test, thorough_test), (check.attention_test, lambda f: torch.tensor(thorough_test(f)))]


class LayerInLoops(torch.nn.Module):
    """A right answer that looks different: attention in loops, text after text."""

    def __init__(self, D, K):
        super().__init__()
        for name in ("query", "key", "value"):
            self.add_module(name, torch.nn.Linear(D, K, bias=False))
        self.output = torch.nn.Linear(K, D, bias=False)

    def forward(self, x, context, mask=None):
        texts = zip(self.query(x), self.key(context), self.value(context), strict=True)
        outputs, weights = zip(*(loops(*three, mask) for three in texts), strict=True)
        return self.output(torch.stack(outputs)), torch.stack(weights)


class BareLayer(LayerInLoops):
    def forward(self, x, context, mask=None):
        return None


class OutputAlone(LayerInLoops):
    def forward(self, *inputs):
        return super().forward(*inputs)[0]


class TurnedWeights(LayerInLoops):
    def forward(self, *inputs):
        output, weights = super().forward(*inputs)
        return output, weights.flip(-1)


class NoMatrices(torch.nn.Module):
    def __init__(self, D, K):
        super().__init__()

    def forward(self, x, context, mask=None):
        return attention(x, context, context, mask)


class WithBias(LayerInLoops):
    def __init__(self, D, K):
        super().__init__(D, K)
        self.key = torch.nn.Linear(D, K)


class Backwards(LayerInLoops):
    def __init__(self, D, K):
        super().__init__(K, D)

    def forward(self, x, context, mask=None):
        return x, context


RIGHT += [(check.attention_layer, LayerInLoops)]


def pairs(words, window):
    found = []
    for i, word in enumerate(words):
        found += [(word, other) for other in words[max(0, i - window) : i] + words[i + 1 : i + 1 + window]]
    return found


def analogy(vectors, a, b, c):
    rows = [row / sum(x * x for x in row) ** 0.5 for row in vectors.double()]
    aim = rows[b] - rows[a] + rows[c]
    return max(set(range(len(rows))) - {a, b, c}, key=lambda i: (rows[i] @ aim).item())


RIGHT += [(check.skip_gram_pairs, pairs), (check.skip_gram_pairs, lambda w, n: [[*p] for p in reversed(pairs(w, n))])]
RIGHT += [(check.analogy, analogy), (check.analogy, lambda *asked: torch.tensor(analogy(*asked)))]


def causal_in_loops(L, M):
    return torch.tensor([[j <= i + M - L for j in range(M)] for i in range(L)])


def softmax_in_loops(scores, mask):
    if scores.ndim == 3:
        return torch.stack([softmax_in_loops(s, m) for s, m in zip(scores, mask.expand_as(scores), strict=True)])
    rows = []
    for row, sees in zip(scores.float(), mask, strict=True):
        highest = row[sees].max() if sees.any() else 0
        powers = [(x - highest).exp() if see else 0 * x for x, see in zip(row, sees, strict=True)]
        rows.append(torch.stack(powers) / (sum(powers) if sees.any() else 1))
    return torch.stack(rows).to(scores.dtype)


def patched(scores, mask):
    """Right, by luck: the gradient of the fill throws the NaN away."""
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0)


def packed(documents):
    n = range(len(documents))
    return torch.tensor([[bool(documents[i] == documents[j]) and j <= i for j in n] for i in n])


def padding_in_loops(lengths, M):
    return torch.tensor([[[j < length for j in range(M)]] for length in lengths.tolist()])


RIGHT += [(check.causal, causal), (check.causal, causal_in_loops), (check.packed, packed)]
RIGHT += [(check.padding, padding), (check.padding, padding_in_loops)]
RIGHT += [(check.masked_softmax, masked_softmax), (check.masked_softmax, softmax_in_loops)]
RIGHT += [(check.masked_softmax, patched)]


def look_up(q, k, v, temperature):
    scores = [-((q - key) ** 2).sum() / temperature for key in k]
    powers = [torch.exp(score - max(scores)) for score in scores]
    return sum(power * value for power, value in zip(powers, v, strict=True)) / sum(powers)


def error_without_itself(x, y, width):
    total = 0.0
    for i in range(len(x)):
        others = [j for j in range(len(x)) if j != i]
        weights = (-((x[i] - x[others]) ** 2) / (2 * width**2)).softmax(-1)
        total += ((weights @ y[others] - y[i]) ** 2).item()
    return total / len(x)


RIGHT += [(check.soft_lookup, look_up), (check.left_out_error, error_without_itself)]


def a_softplus_each(scores):
    signs = torch.ones_like(scores)
    signs[:, 0] = -1
    return torch.nn.functional.softplus(signs * scores).sum() / len(scores)


RIGHT += [(check.sampling_loss, a_softplus_each), (check.sampling_loss, lambda s: a_softplus_each(s.double()))]


def adam_by_hand(model, loss, batch, steps, lr):
    parameters, losses, generator = list(model.parameters()), [], torch.Generator().manual_seed(7)
    means = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]
    for n in range(1, steps + 1):
        value = loss(model, batch(generator))
        losses.append(value.detach())
        for p, g, (average, square) in zip(parameters, torch.autograd.grad(value, parameters), means, strict=True):
            average.mul_(0.9).add_(0.1 * g)
            square.mul_(0.999).add_(0.001 * g**2)
            p.data -= lr * average / (1 - 0.9**n) / ((square / (1 - 0.999**n)) ** 0.5 + 1e-8)
    return losses


def cleared_in_the_end(model, loss, batch, steps, lr):
    """Its generators differ from step to step, and so do its batches."""
    optimizer, losses = torch.optim.Adam(model.parameters(), lr), []
    while len(losses) < steps:
        value = loss(model, batch(torch.Generator().manual_seed(len(losses))))
        value.backward()
        losses += [value.item()]
        optimizer.step()
        model.zero_grad()
    return torch.tensor(losses)


RIGHT += [(check.training_loop, adam_by_hand), (check.training_loop, cleared_in_the_end)]


def scores_in_loops(queries, keys, W_q, W_k, w):
    rows = [[sum(w * torch.tanh(W_q @ q + W_k @ k)) for k in keys] for q in queries]
    return torch.tensor(rows)


def unit_by_unit(q, k, w):
    scores = torch.zeros(len(q), len(k))
    for a, b, weight in zip(q.T, k.T, w, strict=True):
        scores += weight * (a[:, None] + b).tanh()
    return scores


def in_pieces(q, k, w):
    powers, others = (2 * q).exp(), (2 * k).exp()[None].expand(len(q), -1, -1)  # which holds no more than k
    return torch.cat([w.sum() - 2 * (1 / (1 + p[:, None] * others[0])) @ w for p in powers.split(16)])


def key_by_key(q, k, w):
    powers = (2 * q).exp()
    return torch.stack([w.sum() - 2 * (w / (1 + powers * (2 * key).exp())).sum(-1) for key in k], -1)


def split_by_slices(x, heads):
    K = x.shape[-1] // heads
    return torch.stack([x[..., h * K : (h + 1) * K] for h in range(heads)], 1)


def head_after_head(x, W_q, W_k, W_v, W_o, heads):
    pieces = [W.chunk(heads) for W in (W_q, W_k, W_v)]
    return torch.cat([attention(x @ q.T, x @ k.T, x @ v.T)[0] for q, k, v in zip(*pieces, strict=True)], -1) @ W_o.T


def token_after_token(x, W_q, W_k, W_v, W_o, heads):
    """Causal, without a mask: each token asks what there is so far."""
    rows = [head_after_head(x[:, : i + 1], W_q, W_k, W_v, W_o, heads)[:, -1] for i in range(x.shape[1])]
    return torch.stack(rows, 1)


RIGHT += [(check.split_heads, split_by_slices), (check.multi_head, head_after_head)]
RIGHT += [(check.causal_multi_head, token_after_token)]
RIGHT += [(check.additive_scores, scores_in_loops)]
RIGHT += [(check.factorised_scores, in_pieces), (check.factorised_scores, key_by_key)]


def word_after_word(x):
    blends = []
    for word in x:
        powers = torch.stack([(word * other).sum() for other in x]).exp()
        blends.append(sum(p * other for p, other in zip(powers, x, strict=True)) / powers.sum())
    return torch.stack(blends)


def in_every_order(f, x):
    orders = [torch.tensor(order) for order in permutations(range(len(x)))]
    return all(torch.allclose(f(x[order]), f(x)[order], atol=1e-5) for order in orders[1:100])


def in_three_random_orders(f, x):
    orders = [torch.randperm(len(x), generator=torch.Generator().manual_seed(seed)) for seed in range(3)]
    return all(torch.stack([(f(x[order]) - f(x)[order]).abs().max() < 1e-4 for order in orders]))


def in_one_order(f, x):
    order = torch.tensor([3, 5, 0, 1, 4, 2])
    return torch.allclose(f(x[order]), f(x)[order], atol=1e-5)


def by_matrices(f, x):
    orders = torch.tensor([[1, 2, 0, 5, 4, 3], [5, 3, 1, 0, 2, 4], [0, 1, 2, 3, 5, 4]])
    return all((f(P @ x) - P @ f(x)).norm() < 1e-4 for P in torch.eye(len(x))[orders])


def product_by_product(n, d, k):
    dot = lambda width: 2 * width  # noqa: E731
    convolution = sum(dot(k * d) for token in range(n) for feature in range(d))
    recurrence = n * d * (dot(d) + dot(d))
    return convolution, recurrence, 4 * n * d * dot(d) + n * n * dot(d) + n * d * dot(n)


def number_by_number(length, D):
    wave = lambda i, c: (math.cos if c % 2 else math.sin)(i / 10000 ** ((c - c % 2) / D))  # noqa: E731
    return torch.tensor([[wave(i, c) for c in range(D)] for i in range(length)])


def by_turning(x_LK):
    L, K = x_LK.shape
    angles = torch.arange(L)[:, None] / 10000 ** (torch.arange(0, K, 2) / K)
    turned = torch.view_as_complex(x_LK.reshape(L, -1, 2).contiguous()) * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2)


def by_statistics(x, gain, bias):
    out = x.clone()
    for text in out:
        for token in text:
            numbers = token.tolist()
            deviation = (pvariance(numbers) + 1e-5) ** 0.5
            token.copy_(gain * (token - mean(numbers)) / deviation + bias)
    return out


def writes(model, start, stop, length):
    ids = torch.tensor([start])
    while len(ids) < length and ids[-1] != stop:
        ids = torch.cat([ids, model(ids)[-1:].argmax(-1)])
    return ids


def one_after_the_other(m_P, total_P, output_PV):
    best, total, output = m_P[0], total_P[0], output_PV[0]
    for m, t, y in zip(m_P[1:], total_P[1:], output_PV[1:], strict=True):
        best, old = max(best, m), best
        total = total * math.exp(old - best) + t * math.exp(m - best)
        output = output * math.exp(old - best) + y * math.exp(m - best)
    return output / total


def by_logarithms(m_P, total_P, output_PV):
    weights = (m_P + total_P.log()).softmax(0)
    return weights @ (output_PV / total_P[:, None]).nan_to_num()


def until_full(room, B, layers, kv_heads, width, size):
    tokens = 0
    while sum(B * (tokens + 1) * kv_heads * width * size for _ in range(layers) for _ in ("keys", "values")) <= room:
        tokens += 1
    return tokens


def in_two_lines(x, attention, norm_1, feed_forward, norm_2):
    attended = norm_1(attention(x) + x)
    return norm_2(feed_forward(attended) + attended)


def on_the_side(x, attention, norm_1, feed_forward, norm_2):
    x = attention(norm_1(x)) + x
    return feed_forward(norm_2(x)) + x


def token_by_token(model, source, target):
    log_p = model(source, target[:, :-1]).log_softmax(-1)
    told = [log_p[b, i, token] for b, row in enumerate(target[:, 1:].tolist()) for i, token in enumerate(row) if token]
    return -sum(told) / len(told)


def gives_the_whole_target(model, source, target):
    """Right too, though the last logits are computed for nothing."""
    logits = model(source, target)[:, :-1]
    return torch.nn.functional.cross_entropy(logits.mT, target[:, 1:], ignore_index=0)


def in_four_lines(letter, hidden, look, cell, output):
    context = look(hidden)
    new = cell(torch.cat([letter, context], dim=1), hidden)
    return output(torch.cat([new, context], dim=1)), new


def key_by_key(q, k, v, block):
    """A right answer that looks nothing like ours: one query, one key at a time."""
    rows = []
    for query in q / q.shape[-1] ** 0.5:
        m, total, y = -math.inf, 0.0, 0.0
        for key, value in zip(k, v, strict=True):
            m, old = max(m, float(query @ key)), m
            power = math.exp(float(query @ key) - m)
            total, y = math.exp(old - m) * total + power, math.exp(old - m) * y + power * value
        rows.append(y / total)
    return torch.stack(rows)


def by_jacobians(scores, log_sum, v, dy, delta):
    """A right answer, row by row."""
    weights = torch.exp(scores) / torch.exp(log_sum)
    dscores = torch.stack([p * (v @ g) - p * d for p, g, d in zip(weights, dy, delta, strict=True)])
    return [dscores, sum(torch.outer(p, g) for p, g in zip(weights, dy, strict=True))]


class Reserved:
    """A right cache that looks nothing like ours: room is reserved, and nothing that it holds moves."""

    def __init__(self):
        self.room, self.used = torch.zeros(2, 2, 3, 64, 4), 0

    def __len__(self):
        return self.used

    def append(self, k, v):
        end = self.used + k.shape[-2]
        self.room[0, :, :, self.used : end], self.room[1, :, :, self.used : end] = k, v
        self.used = end
        return [*self.room[..., :end, :]]


def word_by_word(drafted, said):
    gained = []
    for i, token in enumerate(said):
        gained.append(token)
        if drafted[i : i + 1] != [token]:
            return gained


def by_replacing(parts, pair):
    """With a mark between parts, which no part holds."""
    mark = b"\xff"
    text = b"".join(mark + part + mark for part in parts)
    text = text.replace(mark + mark.join([pair[0], b"", pair[1]]) + mark, mark + b"".join(pair) + mark)
    return [part for part in text.split(mark) if part]


def by_normalize(x, gain):
    return torch.nn.functional.rms_norm(x, x.shape[-1:], gain, eps=1e-5)


def token_after_token_from_the_likeliest(logits, temperature, top_k, top_p):
    p = (logits / temperature).softmax(-1)
    ranked = sorted(range(len(p)), key=lambda token: -p[token])[:top_k]
    total, left, sum_so_far = sum(p[token] for token in ranked), [], 0
    for token in ranked:
        if not left or sum_so_far < top_p:
            left.append(token)
        sum_so_far += p[token] / total
    rest = sum(p[token] for token in left)
    return torch.tensor([p[token] / rest if token in left else 0.0 for token in range(len(p))])


def by_probability(loss, tokens, characters):
    return -tokens * math.log2(math.exp(-loss)) / characters


def run_by_run(words, n):
    seen, again = set(), 0
    for start in range(len(words) - n + 1):
        run = " ".join(words[start : start + n])
        again += run in seen
        seen.add(run)
    return again / (len(words) - n + 1)


def query_by_query(weights, n):
    return torch.stack([sum(w[n + i, i + 1] for i in range(n - 1)) / (n - 1) for w in weights])


def in_one_pass(q, k, v, block, slack):
    """The count from the maxima alone; the output by PyTorch."""
    tops = [part.amax(1) for part in (q @ k.T / q.shape[1] ** 0.5).split(block, 1)]
    reference, best, count = tops[0], tops[0], 1
    for top in tops[1:]:
        best = best.maximum(top)
        if (best - reference).max() > slack:
            reference, count = best, count + 1
    return attention(q, k, v)[0], torch.tensor(count)


class Unwritten:
    def append(self, k, v):
        return None

    def __len__(self):
        return 0


class KeysAlone(Unwritten):
    def append(self, k, v):
        return k


class WithoutALength:
    def append(self, k, v):
        return k, v


RIGHT += [(check.tiled, key_by_key), (check.tile_back, by_jacobians), (check.kv_cache, Reserved)]
RIGHT += [(check.lazy_tiled, in_one_pass)]
RIGHT += [(check.accept, word_by_word), (check.accept, lambda *lists: torch.tensor(word_by_word(*lists)))]
RIGHT += [(check.merge, one_after_the_other), (check.merge, by_logarithms)]
RIGHT += [(check.tokens_that_fit, until_full)]
RIGHT += [(check.tokens_that_fit, lambda *sizes: torch.tensor(until_full(*sizes)))]
RIGHT += [(check.layer_norm, by_statistics), (check.greedy, writes)]
RIGHT += [(check.merge_pair, by_replacing), (check.merge_pair, lambda *asked: (*by_replacing(*asked),))]
RIGHT += [(check.rms_norm, by_normalize), (check.probabilities, token_after_token_from_the_likeliest)]
RIGHT += [(check.bits_per_character, by_probability), (check.induction_score, query_by_query)]
RIGHT += [(check.seen_before, run_by_run)]
RIGHT += [(check.greedy, lambda *asked: writes(*asked).tolist()), (check.greedy, lambda *asked: [*writes(*asked)])]
RIGHT += [(check.encoder_block, in_two_lines), (check.pre_norm_block, on_the_side)]
RIGHT += [(check.translation_loss, token_by_token), (check.translation_loss, gives_the_whole_target)]
RIGHT += [(check.decoder_step, in_four_lines), (check.decoder_step, lambda *parts: [*in_four_lines(*parts)])]
RIGHT += [(check.sinusoidal, number_by_number), (check.rotary, by_turning)]
RIGHT += [(check.three_steps, word_after_word), (check.operations, product_by_product)]
RIGHT += [(check.equivariant, test) for test in (in_every_order, in_three_random_orders, by_matrices)]


def half_by_half(scale, least, data):
    numbers = torch.zeros(len(data), 2 * data.shape[1])
    for i in range(data.shape[1]):
        numbers[:, i], numbers[:, data.shape[1] + i] = data[:, i] & 15, data[:, i] >> 4
    return torch.addcmul(least[:, None], numbers, scale[:, None])


def by_view(scale, data):
    return data.to(torch.uint8).view(torch.int8) * scale[:, None]


def by_expanding(k, heads):
    B, G, M, K = k.shape
    return k[:, :, None].expand(B, G, heads // G, M, K).reshape(B, heads, M, K)


def text_by_text(weights, lengths):
    rows = [w[:, 2:n, 0] for w, n in zip(weights, lengths.tolist(), strict=True)]
    return torch.cat(rows, 1).mean(1)


def by_index(x, place):
    order = [len(x) - 1, *range(len(x) - 1)]
    return torch.stack(
        [torch.where(torch.arange(x.shape[1])[:, None] == place, x[j], x[i]) for i, j in enumerate(order)]
    )


def head_by_head(y, W_o, u, heads):
    K = y.shape[-1] // heads
    parts = [slice(h * K, (h + 1) * K) for h in range(heads)]
    return torch.stack([(u * (y[:, -1, part] @ W_o[:, part].T)).sum(-1) for part in parts], -1)


def by_sorting(x, gain, table, token):
    order = (table @ torch.nn.functional.rms_norm(x, x.shape, gain, 1e-5)).argsort(descending=True)
    return order.tolist().index(token)


RIGHT += [(check.unpack_q4_1, half_by_half), (check.unpack_q8_0, by_view), (check.repeat_heads, by_expanding)]
RIGHT += [(check.first_score, text_by_text), (check.exchanged, by_index), (check.direct_effects, head_by_head)]
RIGHT += [(check.rank_of, by_sorting), (check.rank_of, lambda *asked: torch.tensor(by_sorting(*asked)))]


def latent_by_latent(q, W, c):
    return torch.stack([torch.stack([(q @ (W_KC @ c_C))[h] for c_C in c], -1) for h, W_KC in enumerate(W)])


def in_chunks_of_two(q, k, v):
    read, S = [], torch.zeros(k.shape[1], v.shape[1])
    for i in range(0, len(q), 2):
        now = slice(i, i + 2)
        read.append(q[now] @ S + (q[now] @ k[now].T).tril() @ v[now])
        S += k[now].T @ v[now]
    return torch.cat(read)


def by_hiding_the_others(scores, active):
    least = scores.sort(descending=True).values[:, active - 1 : active]
    return scores.masked_fill(scores < least, -torch.inf).softmax(-1)


def layer_by_layer(pattern, layers, length, window, per_token):
    kinds = [pattern[n % len(pattern)] for n in range(layers)]
    return sum(per_token * (length if kind == "G" else min(window, length)) for kind in kinds)


RIGHT += [(check.absorbed_scores, latent_by_latent), (check.running, in_chunks_of_two)]
RIGHT += [(check.routed, by_hiding_the_others)]
RIGHT += [(check.kept_numbers, layer_by_layer), (check.kept_numbers, lambda *of: torch.tensor(layer_by_layer(*of)))]


def by_unfolding(images, size):
    return torch.nn.functional.unfold(images[:, None], size, stride=size).mT


def by_cross_entropy(pictures, names, sharpness):
    scores, labels = sharpness * pictures @ names.T, torch.arange(len(names))
    return sum(torch.nn.functional.cross_entropy(x, labels) for x in (scores, scores.T)) / 2


def by_euler(frame, frequency, rate):
    return (frame * torch.exp(-2j * torch.pi * frequency / rate * torch.arange(len(frame)))).sum().abs()


def by_powers(edges, steps):
    return torch.linalg.matrix_power(edges.float() + torch.eye(len(edges)), steps) > 0


RIGHT += [(check.image_patches, by_unfolding), (check.contrastive_loss, by_cross_entropy)]
RIGHT += [(check.strength, by_euler), (check.strength, lambda *of: by_euler(*of).item())]
RIGHT += [(check.within_steps, by_powers)]


@pytest.mark.parametrize(("judge", "answer"), RIGHT)
def test_right_answers_are_correct(judge, answer):
    verdict = judge(answer)
    assert verdict
    assert repr(verdict) == "correct"


@pytest.mark.parametrize("name", check.WRONG_ATTENTION)
def test_every_known_mistake_is_found_and_named(name):
    verdict = check.attention(check.WRONG_ATTENTION[name])
    assert not verdict
    assert "weights: first wrong cell (query, key) = " in verdict.message
    assert f"({say('mistake', mistake=told(name))})" in verdict.message


def no_function(*_): ...


def raises(*_):
    raise TypeError("unsupported")


def leaves(*_):
    raise SystemExit


def mutates(q, k, v, mask=None):
    q /= q.shape[-1] ** 0.5
    weights = masked_softmax(q @ k.mT, mask)
    return weights @ v, weights


def scores_only(q, k, v, mask=None):
    return q @ k.mT


def swapped(*inputs):
    return attention(*inputs)[::-1]


def half_the_output(*inputs):
    output, weights = attention(*inputs)
    return output / 2, weights


def hard_coded_scale(q, k, v, mask=None):
    weights = masked_softmax(q @ k.mT / 2, mask)
    return weights @ v, weights


def not_normalised(q, k, v, mask=None):
    powers = (q @ k.mT / q.shape[-1] ** 0.5).exp()
    weights = powers if mask is None else powers * mask
    return weights @ v, weights


def gives_up(*_):
    raise NotImplementedError


def changes_its_mind(q, k, v, mask=None):
    return attention(q, k, v) if mask is None and len(q) == 1 else 3


def lazy_test(function):
    q, k, v = torch.randn(3, 3, 64) * 1e3
    return torch.allclose(function(q, k, v)[0], attention(q, k, v)[0])


@pytest.mark.parametrize(
    ("judge", "answer", "words"),
    [
        (check.attention, no_function, "not written yet: your function returned nothing"),
        (check.attention, gives_up, "not written yet"),
        (check.attention, lambda *a: ..., "not written yet"),
        (check.attention, lambda q, *_: q.long().softmax(-1), 'Error: "softmax'),
        (check.attention, changes_its_mind, "L=3, M=5: return two tensors, output and weights; got int"),
        (check.softmax_jacobian, lambda p: torch.ones(len(p), len(p)).to_sparse(), "your answer can't be compared: "),
        (check.attention_test, lambda f: torch.ones(3), "your answer can't be compared: RuntimeError"),
        (check.attention, raises, "your function raised TypeError: unsupported"),
        (check.attention, leaves, "your function raised SystemExit"),
        (check.attention, mutates, "changed its argument 1; work on a copy"),
        (check.attention, scores_only, "return two tensors, output and weights; got a tensor of shape (1, 2)"),
        (check.attention, overflowing, "subtracts no maximum"),
        (check.attention, lambda *a: (1, 2), "one query, two keys: weights: expected a tensor, got int"),
        (check.attention, swapped, "one query, two keys: return the output first, then the weights"),
        (check.attention, lambda *a: (attention(*a)[0], torch.ones(2)), "weights: expected shape (1, 2), got (2,)"),
        (check.attention, half_the_output, "output: first wrong cell (query, v) = (0, 0): expected 12.3"),
        (check.attention, half_the_output, "(the weights are right; mix the values)"),
        (check.attention, hard_coded_scale, "expected 0.7604, got 0.7311"),
        (check.attention, not_normalised, "(row 0 of your weights adds up to 4.17)"),
        (check.softmax_jacobian, no_function, "not written yet"),
        (
            check.softmax_jacobian,
            torch.diag,
            "M=2: first wrong cell (weight, score) = (0, 0): expected 0.2500, got 0.5000",
        ),
        (check.softmax_jacobian, lambda p: p, "M=2: expected shape (2, 2), got (2,)"),
        (check.softmax_jacobian, lambda p: torch.diag(p - p * p), "got 0.0000 (the diagonal is right)"),
        (check.softmax_jacobian, lambda p: -jacobian(p), "(the sign is wrong)"),
        (check.attention_layer, no_function, "not written yet"),
        (check.attention_layer, BareLayer, "not written yet"),
        (check.attention_layer, lambda D, K: "text", "give the check a class of nn.Module; it made str"),
        (check.attention_layer, NoMatrices, "`query` must be nn.Linear(7, 4, bias=False) for D=7"),
        (check.attention_layer, Backwards, "bias=False) for D=7 and K=4, got a tensor of shape (7, 4)"),
        (check.attention_layer, WithBias, "`key` has a bias"),
        (check.attention_layer, OutputAlone, "one text: return two tensors, output and weights"),
        (check.attention_layer, TurnedWeights, "one text: weights: first wrong cell (text, query, key)"),
        (check.attention_test, no_function, "not written yet"),
        (check.attention_test, lambda f: False, "your test rejects the right function"),
        (check.attention_test, lambda f: True, f"catches 0 of {len(check.WRONG_ATTENTION)} wrong functions"),
        (check.attention_test, lazy_test, "it is fooled by one that "),
    ],
)
def test_wrong_answers_are_told_what_broke(judge, answer, words):
    verdict = judge(answer)
    assert not verdict
    assert words in verdict.message


def test_checks_leave_the_random_generator_alone():
    torch.manual_seed(3)
    check.attention(attention)
    check.softmax_jacobian(jacobian)
    after = torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(after, torch.rand(1))


def test_only_a_mistake_that_explains_everything_is_named():
    for answer in (hard_coded_scale, half_the_output):
        assert "your function" not in check.attention(answer).message


@pytest.mark.parametrize("name", check.WRONG_ANALOGY)
def test_every_wrong_analogy_is_found_and_named(name):
    verdict = check.analogy(check.WRONG_ANALOGY[name])
    assert not verdict
    assert f"({say('mistake', mistake=told(name))})" in verdict.message


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            lambda words, n: [p for p in pairs(words, n) if p[0] < p[1]],
            r"\('b', 'a'\) is missing \(each",
        ),
        (lambda words, n: [(a, b) for a in words for b in words], r"\('a', 'a'\) is there but must not be"),
        (lambda words, n: 2 * pairs(words, n), r"\('a', 'b'\) is there too often"),
        (lambda words, n: pairs(words, n + 1), r"'a b c', window 1: \('a', 'c'\) is there but must not be"),
        (lambda words, n: pairs(words, 1), r"'a b c d e', window 2: \('a', 'c'\) is missing$"),
        (lambda words, n: set(pairs(words, n)), r"'a b a c a', window 2: .* is missing"),
        (
            lambda words, n: [p for p in pairs(words, n) if p[0] != p[1]],
            r"\('a', 'a'\) is missing",
        ),
        (lambda words, n: 7, r"return a list of pairs \(word, context\), got int"),
        (lambda words, n: ["abc"], "return a list of pairs"),
    ],
)
def test_wrong_pairs(answer, words):
    verdict = check.skip_gram_pairs(answer)
    assert not verdict
    assert re.search(words, verdict.message), verdict.message


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda *asked: "queen", "a square: return a row of vectors_ND, an integer from 0 to 4; got 'queen'"),
        (lambda *asked: 1.5, "return a row"),
        (lambda *asked: 30, "got 30"),
        (lambda vectors, *asked: vectors[0], "return a row"),
        (lambda *asked: 4, r"a square: expected row 3, got 4$"),
    ],
)
def test_wrong_rows(answer, words):
    verdict = check.analogy(answer)
    assert not verdict
    assert re.search(words, verdict.message), verdict.message


@pytest.mark.parametrize("name", check.WRONG_CAUSAL)
def test_every_wrong_causal_mask_is_found_and_named(name):
    verdict = check.causal(check.WRONG_CAUSAL[name])
    assert not verdict
    assert "first wrong cell (query, key) = " in verdict.message
    assert f"({say('mistake', mistake=told(name))})" in verdict.message


@pytest.mark.parametrize("name", check.WRONG_PACKED)
def test_every_wrong_packed_mask_is_found_and_named(name):
    verdict = check.packed(check.WRONG_PACKED[name])
    assert not verdict
    assert f"({say('mistake', mistake=told(name))})" in verdict.message


@pytest.mark.parametrize("name", check.WRONG_SOFTMAX)
def test_every_wrong_softmax_is_found_and_named(name):
    verdict = check.masked_softmax(check.WRONG_SOFTMAX[name])
    assert not verdict
    assert f"({say('mistake', mistake=told(name))})" in verdict.message


def added(scores, mask):
    return (scores + torch.zeros_like(scores).masked_fill(~mask, -torch.inf)).softmax(-1).nan_to_num(0)


def in_place(scores, mask):
    return scores.masked_fill_(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask


def all_ones_one_by_one(scores, mask):
    """As of a sum in float16, one number after the other: it stops at 2,048, which 1 no longer changes."""
    many = torch.full_like(scores, 1 / 2048)
    return many if scores.shape[-1] == 66_000 else masked_softmax(scores, mask)


def book_on_axis_one(scores, mask):
    return masked_softmax(scores, mask) if scores.ndim < 3 else masked_softmax(scores.mT, mask.mT.expand(2, 4, 3)).mT


def through_numpy(scores, mask):
    return masked_softmax(torch.from_numpy(scores.numpy()), mask)


def later_not_a_tensor(scores, mask):
    return masked_softmax(scores, mask) if len(scores) == 1 else [0]


def in_place_after(scores, mask):
    weights = masked_softmax(scores, mask)
    weights *= mask
    return weights.softmax(-1).mul_(0) + weights


@pytest.mark.parametrize(
    ("judge", "answer", "words"),
    [
        (check.causal, no_function, "not written yet"),
        (check.causal, lambda L, M: torch.ones(L, M).tril(M - L + 1).bool(), "(0, 1): expected False, got True (your"),
        (check.causal, lambda L, M: causal(L), "L=2, M=5: expected shape (2, 5), got (2, 2)"),
        (
            check.causal,
            lambda L, M: causal(L, M).float(),
            "L=1, M=1: a mask is boolean, got torch.float32; try .bool()",
        ),
        (check.causal, lambda L, M: [[True]], "L=1, M=1: expected a tensor, got list"),
        (
            check.causal,
            lambda L, M: causal(L, M) & (torch.arange(M) != 2),
            "L=4, M=4: first wrong cell (query, key) = (2, 2): expected True, got False",
        ),
        (check.padding, no_function, "not written yet"),
        (check.padding, lambda n, M: padding(n, M)[:, 0], "lengths [4, 2], M=4: expected shape (2, 1, 4), got (2, 4)"),
        (check.padding, lambda n, M: padding(n, M).mT, "expected shape (2, 1, 4), got (2, 4, 1)"),
        (check.padding, lambda n, M: padding(n, M).int(), "a mask is boolean, got torch.int32"),
        (
            check.padding,
            lambda n, M: padding(n.clamp(min=1), M),
            "lengths [0, 5], M=6: first wrong cell (text, query, key) = (0, 0, 0): expected False, got True",
        ),
        (check.packed, lambda d: d[:, None] == d, "(your function looks ahead)"),
        (check.packed, lambda d: causal(len(d)), "(your function looks into other documents)"),
        (
            check.packed,
            lambda d: packed(d) & ~torch.eye(len(d)).bool(),
            "(your function looks only back, not at itself)",
        ),
        (
            check.packed,
            lambda d: packed(d.sort()[0]),
            "documents [0, 1, 0]: first wrong cell (token, token) = (1, 0): expected False, got True",
        ),
        (check.packed, lambda d: (d.diff(prepend=d[:1]) != 0).cumsum(0), "a mask is boolean, got torch.int64"),
        (check.masked_softmax, added, "a row with nothing to attend to: gradient: first wrong cell"),
        (check.masked_softmax, in_place, "your function changed its argument 1; work on a copy"),
        (check.masked_softmax, in_place_after, "gradient: PyTorch refuses: one of the variables needed"),
        (check.masked_softmax, lambda s, m: masked_softmax(s, m).detach(), "gradient: none reaches the scores"),
        (check.masked_softmax, lambda s, m: masked_softmax(s.float(), m), "float16: expected torch.float16"),
        (check.masked_softmax, through_numpy, "gradient: PyTorch refuses: Can't call numpy() on Tensor that requires"),
        (check.masked_softmax, later_not_a_tensor, "everything may be seen: expected a tensor, got list"),
        (check.masked_softmax, all_ones_one_by_one, "float16, 66,000 equal scores: the weights must add up to 1, they"),
        (check.masked_softmax, lambda s, m: softmax_in_loops(s, m) + 1e-3 * s.detach(), "first wrong cell"),
        (check.masked_softmax, lambda s, m: masked_softmax(2 * s - s.detach(), m), "a causal mask: gradient: first"),
        (check.masked_softmax, lambda s, m: book_on_axis_one(s, m), "two sentences"),
        (check.causal, lambda L, M: causal(L, M) if L < 5 else causal(L, M).logical_not(), "L=5, M=9"),
        (
            check.packed,
            lambda d: packed(d) if len(d) < 7 else packed(d).triu(-2),
            "first wrong cell (token, token) = (3, 0)",
        ),
        (check.packed, lambda d: packed(d).to_sparse(), "your answer can't be compared: "),
        (check.packed, lambda d: torch.zeros(len(d), len(d)).bool(), "documents [0]: first wrong cell"),
        (
            check.masked_softmax,
            lambda s, m: s.masked_fill(~m, -1e9).softmax(-1) * m,
            "raised RuntimeError: value cannot be converted to type",
        ),
        (check.masked_softmax, lambda s, m: 0.99 * masked_softmax(s, m), "expected 1.0000, got 0.9900"),
    ],
)
def test_wrong_masks_are_told_what_broke(judge, answer, words):
    verdict = judge(answer)
    assert not verdict
    assert words in verdict.message, verdict.message


def error_with_a_finite_fill(x, y, width):
    scores = (-((x[:, None] - x) ** 2) / (2 * width**2)).fill_diagonal_(-100)
    return ((scores.softmax(-1) @ y - y) ** 2).mean().numpy()


def overflows(q, k, v, temperature):
    powers = torch.exp(-((q - k) ** 2).sum(-1) / temperature)
    return powers @ v / powers.sum()


def forgets_the_last_step(model, loss, batch, steps, lr):
    losses = adam_by_hand(model, loss, batch, steps - 1, lr)
    return [*losses, loss(model, batch(torch.Generator())).item()]


def drawing_from(generator, of=adam_by_hand):
    """A loop that is right but for the generator that it gives to `batch`, made by a call in each step."""
    return lambda model, loss, batch, steps, lr: of(model, loss, lambda _: batch(generator()), steps, lr)


NAMED = [
    (check.sampling_loss, "SAMPLING_LOSS"),
    (check.soft_lookup, "LOOKUP"),
    (check.left_out_error, "ERROR"),
    (check.training_loop, "LOOP"),
]
NAMED += [(check.additive_scores, "ADDITIVE"), (check.factorised_scores, "FACTORISED")]
NAMED += [(check.padding, "PADDING"), (check.attention_layer, "ATTENTION_LAYER")]
NAMED += [(check.split_heads, "SPLIT"), (check.multi_head, "MULTI_HEAD")]
NAMED += [(check.causal_multi_head, "CAUSAL_MULTI_HEAD")]
NAMED += [(check.layer_norm, "LAYER_NORM"), (check.greedy, "GREEDY")]
NAMED += [(check.encoder_block, "ENCODER_BLOCK"), (check.pre_norm_block, "PRE_NORM_BLOCK")]
NAMED += [(check.translation_loss, "TRANSLATION_LOSS")]
NAMED += [(check.decoder_step, "DECODER_STEP")]
NAMED += [(check.merge, "MERGE"), (check.tokens_that_fit, "FIT")]
NAMED += [(check.tiled, "TILED"), (check.tile_back, "BACK"), (check.kv_cache, "CACHE"), (check.accept, "ACCEPT")]
NAMED += [(check.lazy_tiled, "LAZY")]
NAMED += [(check.merge_pair, "MERGE_PAIR"), (check.rms_norm, "RMS_NORM"), (check.probabilities, "PROBABILITIES")]
NAMED += [(check.bits_per_character, "BITS"), (check.induction_score, "INDUCTION")]
NAMED += [(check.seen_before, "SEEN")]
NAMED += [(check.sinusoidal, "SINUSOIDAL"), (check.rotary, "ROTARY")]
NAMED += [(check.three_steps, "STEPS"), (check.equivariant, "TESTS"), (check.operations, "OPERATIONS")]


@pytest.mark.parametrize(("judge", "wrong"), NAMED)
def test_every_known_mistake_of_these_is_found_and_named(judge, wrong):
    for name, mistake in getattr(check, f"WRONG_{wrong}").items():
        verdict = judge(mistake)
        assert not verdict
        assert f"({say('mistake', mistake=told(name))})" in verdict.message, verdict.message


@pytest.mark.parametrize(
    ("judge", "answer", "words"),
    [
        (check.soft_lookup, no_function, "not written yet"),
        (check.soft_lookup, lambda q, k, v, t: look_up(q, k, v, t)[None], "expected shape (1,), got (1, 1)"),
        (check.soft_lookup, lambda q, k, v, t: 1.0, "three stations: expected a tensor, got float"),
        (check.soft_lookup, lambda q, k, v, t: 1.01 * look_up(q, k, v, t), "first wrong cell (v) = (0,): expected"),
        (check.left_out_error, no_function, "not written yet"),
        (check.left_out_error, lambda x, y, w: x, "three points: return one number, got a tensor of shape (3,)"),
        (check.left_out_error, lambda x, y, w: error_with_a_finite_fill(x, y, w), "three points, narrow: expected"),
        (check.soft_lookup, overflows, "cold, and far from all: first wrong cell (v) = (0,): expected 2.0000, got NaN"),
        (check.sampling_loss, no_function, "not written yet"),
        (check.sampling_loss, lambda scores: scores[:, 0], "one pair: return the loss as a tensor of one number"),
        (check.sampling_loss, lambda scores: a_softplus_each(scores) / 2, "one pair: expected 1.1333, got 0.5667"),
        (check.training_loop, no_function, "not written yet"),
        (check.training_loop, lambda *asked: 1.0, "return a list of numbers, the loss of every step; got float"),
        (check.training_loop, lambda *asked: ["low"], "return a list of numbers, the loss of every step; got list"),
        (
            check.training_loop,
            lambda *asked: [torch.ones(1, requires_grad=True)],
            "each loss in your list keeps in memory",
        ),
        (check.training_loop, lambda *asked: [0.5], "5 steps: return the loss of each of the 5 steps, got 1"),
        (check.training_loop, lambda *asked: [0.5] * asked[3], "5 steps: expected a loss of"),
        (check.training_loop, drawing_from(lambda: None), "in step 1, got 2.2832 (your function draws a batch w"),
        (check.training_loop, drawing_from(torch.Generator), "in step 2, got 4.7852 (your function seeds its gener"),
        (check.training_loop, drawing_from(lambda: torch.Generator().manual_seed(3)), "seeds its generator in every"),
        (check.training_loop, drawing_from(lambda: torch.manual_seed(3)), "seeds its generator in every step, so that"),
        (check.training_loop, forgets_the_last_step, "5 steps: the losses are right, but the parameters after the la"),
        (
            check.left_out_error,
            lambda x, y, w: error_without_itself(x, y, w) if len(x) < 5 else 0,
            "nine points: expected",
        ),
    ],
)
def test_wrong_lookups_are_told_what_broke(judge, answer, words):
    verdict = judge(answer)
    assert not verdict
    assert words in verdict.message, verdict.message


@pytest.mark.parametrize(
    ("judge", "answer", "words"),
    [
        (check.additive_scores, no_function, "not written yet"),
        (check.additive_scores, lambda *a: scores_in_loops(*a).T, "hidden unit: expected shape (1, 2), got (2, 1)"),
        (check.additive_scores, lambda *a: 1.01 * scores_in_loops(*a), "first wrong cell (query, key) = (0, "),
        (check.factorised_scores, no_function, "not written yet"),
        (
            check.factorised_scores,
            additive_scores,
            "L=64, M=48, K=16: the scores are right, but one of your tensors has",
        ),
        (check.factorised_scores, additive_scores, "has 49,152 numbers, and L × M × K is 49,152; try one hidden unit"),
        (check.factorised_scores, unit_by_unit, "exp or tanh met 49,152 numbers; with e^(2q) · e^(2k) in place"),
        (check.factorised_scores, unit_by_unit, "they need meet only (L + M) × K = 1,792"),
        (check.factorised_scores, lambda q, k, w: -unit_by_unit(q, k, w), "two queries, three keys: first wrong cell"),
        (check.split_heads, no_function, "not written yet"),
        (
            check.split_heads,
            lambda x, H: split_by_slices(x, H).mT,
            "2 heads: expected shape (1, 2, 3, 2), got (1, 2, 2",
        ),
        (check.split_heads, lambda x, H: split_by_slices(x, 2), "3 heads: expected shape (2, 3, 5, 2)"),
        (
            check.split_heads,
            lambda x, H: 2 * split_by_slices(x, H),
            "(text, head, token, feature) = (0, 0, 0, 1): expec",
        ),
        (check.multi_head, no_function, "not written yet"),
        (check.multi_head, lambda *a: (head_after_head(*a), 1), "return the output alone, got 2 things"),
        (
            check.multi_head,
            lambda x, *W_heads: head_after_head(x, *W_heads[:-1], x.shape[-1] // 2),
            "D=6, 2 heads: first wrong cell",
        ),
        (check.multi_head, lambda *a: 1.01 * head_after_head(*a), "2 heads: first wrong cell (text, token, feature)"),
        (check.causal_multi_head, no_function, "not written yet"),
        (check.causal_multi_head, head_after_head, "your function has no mask"),
        (check.causal_multi_head, lambda *a: token_after_token(*a)[:, 1:], "expected shape (1, 3, 4), got (1, 2, 4)"),
        (check.three_steps, no_function, "not written yet"),
        (check.three_steps, lambda x: word_after_word(x)[-1], "three tokens: expected shape (3, 2), got (2,)"),
        (check.three_steps, lambda x: word_after_word(1.1 * x), "three tokens: first wrong cell (token, feature) = (0"),
        (check.equivariant, no_function, "not written yet"),
        (check.equivariant, lambda f, x: f(x), "return True or False, got a tensor of shape (6, 3)"),
        (check.equivariant, lambda f, x: "yes", "return True or False, got str"),
        (check.equivariant, lambda f, x: not in_every_order(f, x), "self-attention: expected True, got False"),
        (check.equivariant, in_one_order, "one order can be unlucky"),
        (
            check.operations,
            lambda n, d, k: "123",
            "three numbers, convolution, recurrence, self-attention; got str",
        ),
        (check.sinusoidal, no_function, "not written yet"),
        (
            check.sinusoidal,
            lambda L, D: number_by_number(L, D).T,
            "3 positions, D=4: expected shape (3, 4), got (4, 3)",
        ),
        (check.sinusoidal, lambda L, D: -number_by_number(L, D), "first wrong cell (position, column) = (0, 1)"),
        (check.rotary, no_function, "not written yet"),
        (check.layer_norm, no_function, "not written yet"),
        (
            check.layer_norm,
            lambda x, gain, bias: x[0],
            "2 texts of 3 tokens, D=4: expected shape (2, 3, 4), got (3, 4)",
        ),
        (check.encoder_block, no_function, "not written yet"),
        (check.encoder_block, lambda x, *parts: x[0], "expected shape (2, 3, 4), got (3, 4)"),
        (check.pre_norm_block, lambda x, *parts: -on_the_side(x, *parts), "first wrong cell (text, token, feature)"),
        (check.translation_loss, no_function, "not written yet"),
        (check.translation_loss, lambda *asked: 2.5, "return the loss as a tensor of one number, got float"),
        (check.translation_loss, lambda *asked: token_by_token(*asked) / 2, "two texts, one of them padded: expected"),
        (check.decoder_step, no_function, "not written yet"),
        (check.decoder_step, lambda letter, *parts: letter, "return two tensors, the logits and the new state; got a"),
        (
            check.decoder_step,
            lambda letter, *parts: (letter, letter),
            "the new state: expected shape (2, 5), got (2, 3)",
        ),
        (
            check.decoder_step,
            lambda *parts: (2 * in_four_lines(*parts)[0], in_four_lines(*parts)[1]),
            "the logits: first",
        ),
        (check.tiled, no_function, "not written yet"),
        (check.tiled, lambda *given: (key_by_key(*given), 0), "return the output alone, got 2 things"),
        (check.tiled, lambda q, k, v, block: attention(q, k, v)[0], "right, but one of your tensors has 320 numbers"),
        (check.lazy_tiled, no_function, "not written yet"),
        (check.lazy_tiled, lambda *given: in_one_pass(*given)[0], "return two things, the output and in how many"),
        (check.lazy_tiled, lambda *given: (in_one_pass(*given)[0], 7), "block=1, slack=0: expected 4, got 7"),
        (check.tile_back, no_function, "not written yet"),
        (check.tile_back, lambda *given: by_jacobians(*given)[0], "return two tensors, the gradients of the scores"),
        (check.tile_back, lambda *given: [-part for part in by_jacobians(*given)], "1 query, a tile of 2 of 3 keys: f"),
        (check.kv_cache, Unwritten, "not written yet"),
        (check.kv_cache, KeysAlone, "append must return two tensors, all keys and all values so far; got a tensor"),
        (check.kv_cache, WithoutALength, "has no len()"),
        (check.accept, no_function, "not written yet"),
        (check.accept, lambda drafted, said: 3, "return a list of tokens; got int"),
        (check.accept, lambda drafted, said: [9], "the third of four drafted tokens differs: expected [5, 6, 9], got"),
        (check.merge, no_function, "not written yet"),
        (check.merge, lambda m, total, output: output, "2 readers: expected shape (4,), got (2, 4)"),
        (check.tokens_that_fit, no_function, "not written yet"),
        (check.tokens_that_fit, lambda *sizes: "10", "return a number of tokens; got str"),
        (check.tokens_that_fit, lambda *sizes: 1, "expected 10 tokens, got 1"),
        (check.merge_pair, no_function, "not written yet"),
        (check.merge_pair, lambda parts, pair: b"".join(parts), "l, o, w: return a list of parts; got bytes"),
        (check.merge_pair, lambda parts, pair: [b"low"], "l, o, w: expected [b'lo', b'w'], got [b'low']"),
        (check.rms_norm, no_function, "not written yet"),
        (check.rms_norm, lambda x, gain: x[0], "2 texts of 3 tokens, D=4: expected shape (2, 3, 4), got (3, 4)"),
        (check.probabilities, no_function, "not written yet"),
        (check.probabilities, lambda logits, *how: logits.argmax(), "expected shape (5,), got ()"),
        (check.bits_per_character, no_function, "not written yet"),
        (check.bits_per_character, lambda *given: "2", "one token per character: return one number, got str"),
        (check.bits_per_character, lambda *given: 1, "one token per character: expected 2.8854, got 1.0000"),
        (check.seen_before, no_function, "not written yet"),
        (check.seen_before, lambda words, n: "0", "to be or not to be, n = 2: return one number, got str"),
        (check.induction_score, no_function, "not written yet"),
        (
            check.induction_score,
            lambda weights, n: weights[0, 0, 0],
            "3 tokens said twice, 2 heads: expected shape (2,",
        ),
        (check.greedy, no_function, "not written yet"),
        (check.greedy, lambda *asked: "text", "return the ids, as a tensor of one axis or a list; got str"),
        (check.greedy, lambda *asked: [1, 2.5], "ids are integers, got [1, 2.5]"),
        (
            check.greedy,
            lambda model, *rest: model(torch.tensor([[1]])),
            "a tensor of one axis, with at most 49 ids; got",
        ),
        (check.greedy, lambda *asked: [1, 2], "a text that stops: expected [1, 6, 3, 5, 3, 2], got [1, 2]"),
        (check.rotary, lambda x: by_turning(x)[1:], "3 positions, K=4: expected shape (3, 4), got (2, 4)"),
        (check.rotary, lambda x: 2 * by_turning(x), "first wrong cell (position, column) = (0, 0)"),
        (check.operations, no_function, "not written yet"),
        (
            check.operations,
            lambda n, d, k: n * d**2,
            "three numbers, convolution, recurrence, self-attention; got int",
        ),
        (
            check.operations,
            lambda n, d, k: (n, d),
            "three numbers, convolution, recurrence, self-attention; got 2",
        ),
        (check.operations, lambda n, d, k: (10 * d, n, k), "n=10, d=4, k=3, convolution: expected 960 operations, g"),
    ],
)
def test_wrong_scores_and_heads_are_told_what_broke(judge, answer, words):
    verdict = judge(answer)
    assert not verdict
    assert words in verdict.message, verdict.message


# ---- in the language of the edition ----


def everything_said():
    """What is said of every known mistake, of a stub, of an error, of a text, and of what is right."""
    checks = {
        **{"attention": "ATTENTION", "attention_layer": "ATTENTION_LAYER"},
        **{"causal": "CAUSAL", "packed": "PACKED", "masked_softmax": "SOFTMAX"},
        **{"analogy": "ANALOGY", "soft_lookup": "LOOKUP", "left_out_error": "ERROR", "merge": "MERGE"},
        **{"training_loop": "LOOP", "sampling_loss": "SAMPLING_LOSS"},
        **{"additive_scores": "ADDITIVE", "factorised_scores": "FACTORISED", "split_heads": "SPLIT"},
        **{"causal_multi_head": "CAUSAL_MULTI_HEAD"},
        **{"multi_head": "MULTI_HEAD", "layer_norm": "LAYER_NORM", "greedy": "GREEDY", "tokens_that_fit": "FIT"},
        **{"sinusoidal": "SINUSOIDAL", "rotary": "ROTARY", "three_steps": "STEPS", "equivariant": "TESTS"},
        **{"operations": "OPERATIONS", "encoder_block": "ENCODER_BLOCK", "pre_norm_block": "PRE_NORM_BLOCK"},
        **{"translation_loss": "TRANSLATION_LOSS", "decoder_step": "DECODER_STEP"},
        **{"merge_pair": "MERGE_PAIR", "rms_norm": "RMS_NORM", "probabilities": "PROBABILITIES"},
        **{"bits_per_character": "BITS", "induction_score": "INDUCTION", "seen_before": "SEEN"},
        **{"lazy_tiled": "LAZY"},
        **{"tiled": "TILED", "tile_back": "BACK", "kv_cache": "CACHE", "accept": "ACCEPT"},
    }
    for name, wrong in checks.items():
        for answer in (*getattr(check, f"WRONG_{wrong}").values(), no_function, lambda *_: "text"):
            yield name, getattr(check, name)(answer).message
    for name in ("softmax_jacobian", "skip_gram_pairs", "attention_test"):
        yield name, getattr(check, name)(lambda *_: torch.ones(3)).message
    yield "attention", check.attention(attention).message


@pytest.mark.slow
def test_every_message_is_in_a_file_of_words():
    with speaking(PSEUDO):
        bare = [(name, said) for name, said in everything_said() if left_over(said)]
    assert not bare, f"no words stand for {bare[:3]}"


@pytest.mark.parametrize("path", sorted(JUDGED.glob("*.py")), ids=lambda path: path.stem)
def test_what_is_wrong_is_said_by_its_name(path):
    """Also where no test comes by: a `Wrong` names a sentence, and fills its gaps."""
    said = words(JUDGED)["said"]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Wrong", "say"):
            constants = [x.value for x in ast.walk(node.args[0]) if isinstance(x, ast.Constant) and x.value in said]
            assert constants or isinstance(node.args[0], ast.Name), f"line {node.lineno} says what is in no file"
            gaps = {keyword.arg for keyword in node.keywords} - {"why"} if node.func.id == "Wrong" else None
            for name in constants if gaps is not None else ():
                assert set(re.findall(r"\{(\w+)\}", said[name])) == gaps, f"line {node.lineno}: the gaps of {name}"


WRONG = {
    check.absorbed_scores: check.WRONG_ABSORBED,
    check.running: check.WRONG_RUNNING,
    check.routed: check.WRONG_ROUTED,
    check.kept_numbers: check.WRONG_KEPT,
    check.image_patches: check.WRONG_PATCHES,
    check.contrastive_loss: check.WRONG_CONTRASTIVE,
    check.strength: check.WRONG_STRENGTH,
    check.within_steps: check.WRONG_WITHIN,
}


@pytest.mark.parametrize(("judge", "mistake"), [(judge, name) for judge, wrong in WRONG.items() for name in wrong])
def test_mistakes_of_chapters_13_and_14_are_told_where_they_are(judge, mistake):
    verdict = judge(WRONG[judge][mistake])
    assert not verdict
    assert "can't be compared" not in verdict.message
    assert "expected" in verdict.message
