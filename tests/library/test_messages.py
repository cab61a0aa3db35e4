"""What a reader is told who gives the package something else than it wants: what was wrong, what to try."""

import pickle

import numpy as np
import pytest
import torch

import attnbook
from attnbook import FileError, ShapeError, widgets

SPACE = {name: getattr(attnbook, name) for name in attnbook.__all__} | {"attnbook": attnbook, "np": np, "torch": torch}
SPACE |= {name: getattr(widgets, name) for name in widgets.__all__}
SPACE |= {name: torch.zeros(shape) for name, shape in {"q": (2, 5, 8), "k": (2, 7, 8), "v": (2, 7, 6)}.items()}
SPACE |= {"x": torch.zeros(2, 5, 8), "s": torch.zeros(2, 5, 7)}
SPACE |= {"layer": attnbook.MultiHeadAttention(8, 2), "model": attnbook.LanguageModel(20, 8, 2, 16, 1, 0.0)}

SAID = {
    "attention(q, k, v, np.ones((5, 7), bool))": (
        "mask must be a boolean tensor with True = may attend, got a numpy array, bool of (5, 7). Try "
        "torch.from_numpy(mask)."
    ),
    "attention(q, k, v, [[True] * 7] * 5)": (
        "mask must be a boolean tensor with True = may attend, got a list. Try torch.tensor(mask)."
    ),
    "attention(q, k, v, torch.ones(2, 7, dtype=torch.bool))": (
        "mask must have shape (..., L, M) = (5, 7), got (2, 7). One row a sequence, (B, M)? Its queries share"
        " it: try mask[:, None]."
    ),
    "attention(q, k, v, torch.zeros(5, 7))": (
        "mask must be a boolean tensor with True = may attend, got torch.float32 of (5, 7). For a mask of "
        "zeros and ones, try mask.bool(); for one of 0 and -inf, try mask == 0."
    ),
    "attention(q, k, v, torch.ones(5, 7, dtype=torch.int64))": (
        "mask must be a boolean tensor with True = may attend, got torch.int64 of (5, 7). For a mask of zeros"
        " and ones, try mask.bool(); for one of 0 and -inf, try mask == 0."
    ),
    "attention(q, k, v, torch.ones(7, 5, dtype=torch.bool))": (
        "mask must have shape (..., L, M) = (5, 7), got (7, 5). Rows are queries, columns are keys; try mask.mT."
    ),
    'attention(q, k, v, "causal")': (
        "mask must be a boolean tensor with True = may attend, got a str. Masks are made by functions: try "
        "attnbook.causal(L) or attnbook.padding(lengths)."
    ),
    "attention(q, k, v, True)": (
        "mask must be a boolean tensor with True = may attend, got a bool. A query sees all keys without a "
        "mask: leave it out."
    ),
    "attention([[1.0]], k, v)": "q must be a tensor (..., length, width), got a list. Try torch.tensor(q).",
    "attention(q.numpy(), k, v)": (
        "q must be a tensor (..., length, width), got a numpy array, float32 of (2, 5, 8). Try torch.from_numpy(q)."
    ),
    "attention(torch.ones(2, 5, 8, dtype=torch.int64), k, v)": (
        "q must hold floating-point numbers, got torch.int64; try q.float(); token ids go through an embedding first."
    ),
    "attention(q[..., :4], k, v)": (
        "k must have shape (..., M, K) = (..., 7, 4), got (2, 7, 8). A dot product needs queries and keys of "
        "one width; try a linear layer on either."
    ),
    "attention(q[0, 0], k, v)": "q must have shape (..., length, width), got (8,). A single vector? Try x[None].",
    "attention(q, k, v[:, :3])": (
        "v must have shape (..., M, width) = (..., 7, 6), got (2, 3, 6). k and v come in pairs: there must be"
        " as many of both."
    ),
    "attention(q[:1], k, v)": (
        "k must have shape (batch..., M, width) = (1, 7, 8), got (2, 7, 8). The batch of q is (1,); to share "
        "one set of k, try .expand."
    ),
    "attention(q.double(), k, v)": (
        "k must be of the same type as the queries, torch.float64, got torch.float32; try k.to(torch.float64)."
    ),
    "masked_softmax([1.0, 2.0])": "scores must be a tensor (..., M), got a list. Try torch.tensor(scores).",
    "masked_softmax(np.ones((2, 2)))": (
        "scores must be a tensor (..., M), got a numpy array, float64 of (2, 2). Try torch.from_numpy(scores)."
    ),
    "masked_softmax(torch.ones(2, 2, dtype=torch.int64))": (
        "scores must hold floating-point numbers, got torch.int64; try scores.float()."
    ),
    "masked_softmax(s, np.ones((5, 7), bool))": (
        "mask must be a boolean tensor with True = may attend, got a numpy array, bool of (5, 7). Try "
        "torch.from_numpy(mask)."
    ),
    "masked_softmax(s, torch.ones(2, 7, dtype=torch.bool))": (
        "mask must have shape (..., L, M) = (5, 7), got (2, 7). One row a sequence, (B, M)? Its queries share"
        " it: try mask[:, None]."
    ),
    "masked_softmax(s, torch.tensor([3, 4]))": (
        "mask must be a boolean tensor with True = may attend, got torch.int64 of (2,). For a mask of zeros "
        "and ones, try mask.bool(); for one of 0 and -inf, try mask == 0. For one of lengths, try "
        "attnbook.padding(lengths, M)."
    ),
    "masked_softmax(s, [3, 4])": (
        "mask must be a boolean tensor with True = may attend, got a list. Try torch.tensor(mask)."
    ),
    "causal(5.0)": "L must be an integer, got 5.0, a float. Try 5.",
    'causal("5")': "L must be an integer, got '5', a str. Try 5.",
    "causal(-1)": "L must be at least 0, got -1.",
    "causal(x)": "L must be an integer, got torch.float32 of (2, 5, 8). Try a size, such as 8.",
    "causal(5, 3)": "M must be at least L: the L queries are the last of the M positions. Got L = 5, M = 3.",
    "padding([3, 4], 7)": (
        "lengths must be a tensor of integers of shape (B,) or (B, L), got a list. From a batch of token"
        " ids, try padding(ids, pad=0)."
    ),
    "padding(torch.tensor([9]), 7)": "lengths must lie between 0 and M = 7, got [9].",
    "padding(torch.tensor([3.0]), 7)": (
        "lengths must be a tensor of integers of shape (B,) or (B, L), got torch.float32 of (1,). From a"
        " batch of token ids, try padding(ids, pad=0)."
    ),
    "padding(torch.tensor([True, False]), 2)": (
        "lengths must be a tensor of integers of shape (B,) or (B, L), got torch.bool of (2,). From a "
        "batch of token ids, try padding(ids, pad=0)."
    ),
    "padding(torch.tensor([3]), 7.0)": "M must be an integer, got 7.0, a float. Try 7.",
    "blocked(torch.zeros(3, 3))": (
        "mask must be a boolean tensor, got torch.float32 of (3, 3). For a mask of zeros and ones, try "
        "mask.bool(); for one of 0 and -inf, try mask == 0."
    ),
    "blocked([[True]])": "mask must be a boolean tensor, got a list. Try torch.tensor(mask).",
    'sliding_window(5, window="2")': "window must be an integer, got '2', a str. Try 2.",
    "sliding_window(5, window=-1)": "window must be at least 1 (a query sees itself), got -1.",
    "sliding_window(5, window=0)": "window must be at least 1 (a query sees itself), got 0.",
    'MultiHeadAttention("8", 2)': "D must be an integer, got '8', a str. Try 8.",
    "MultiHeadAttention(8.0, 2)": "D must be an integer, got 8.0, a float. Try 8.",
    "MultiHeadAttention(8, 3)": "D = 8 does not split into 3 heads of one width; try another, or give d_k and d_v.",
    "MultiHeadAttention(8, 0)": "heads must be at least 1, got 0.",
    'MultiHeadAttention(8, "2")': "heads must be an integer, got '2', a str. Try 2.",
    "MultiHeadAttention(8, 4, kv_heads=3)": "heads must be a multiple of kv_heads; got 4 and 3.",
    "MultiHeadAttention(8, 2, dropout=2)": (
        "dropout must be at least 0 and below 1, the share of weights to drop; got 2."
    ),
    'MultiHeadAttention(8, 2, dropout="0.1")': "'<=' not supported between instances of 'int' and 'str'",
    "layer(x[..., :4], x, x)": (
        "x must have shape (..., length, width) = (..., 5, 8), got (2, 5, 4). This layer was made for x of width 8."
    ),
    "layer([1], x, x)": "x must be a tensor (..., length, width), got a list. Try torch.tensor(x).",
    "layer(torch.ones(2, 5, 8, dtype=torch.long), x, x)": (
        "x must hold floating-point numbers, got torch.int64; try x.float(); token ids go through an embedding first."
    ),
    'AdditiveAttention("8", 8, 8)': "query_size must be an integer, got '8', a str. Try 8.",
    "AdditiveAttention(8, 8, 8)(x[..., :3], x, x)": (
        "queries must have shape (..., length, width) = (..., 5, 8), got (2, 5, 3). This layer was made for "
        "queries of width 8."
    ),
    "Rotary(-2)": "rotary turns pairs of features, so K must be even and at least 2; got -2.",
    "Rotary(7)": "rotary turns pairs of features, so K must be even and at least 2; got 7.",
    'Rotary("8")': "K must be an integer, got '8', a str. Try 8.",
    'Rotary(8, pairing="half")': "pairing must be one of 'halves', 'neighbours'; got 'half'.",
    "sinusoidal(4.0, 8)": "length must be an integer, got 4.0, a float. Try 4.",
    'sinusoidal("4", 8)': "length must be an integer, got '4', a str. Try 4.",
    'SinusoidalPositions("8")': "D must be an integer, got '8', a str. Try 8.",
    "LearnedPositions(8, 3)(x)": (
        "x must have shape (..., length, width) = (..., 5, 3), got (2, 5, 8). The last axis holds the "
        "features, the one before it the positions."
    ),
    'ALiBi("2")': "heads must be an integer, got '2', a str. Try 2.",
    'RelativeBias(2, "3")': "max_distance must be an integer, got '3', a str. Try 3.",
    'LanguageModel(20, 8, 2, 16, 1, 0.0, norms="pre")': (
        "EncoderBlock has no option 'norms'. Did you mean 'norm'? It takes D, heads, hidden, dropout, norm, "
        "norm_layer, feed_forward, activation, bias, attention, key_size, value_size, d_k, d_v, kv_heads, rotary, "
        "score_bias, qk_norm, softcap, window, sinks, learned_sink."
    ),
    'LanguageModel(20, 8, 2, 16, 1, 0.0, norm="middle")': "norm must be 'pre' or 'post', got 'middle'.",
    'LanguageModel("20", 8, 2, 16, 1, 0.0)': "N must be an integer, got '20', a str. Try 20.",
    'LanguageModel(20, 8, 2, 16, "1", 0.0)': "layers must be an integer, got '1', a str. Try 1.",
    "model(torch.ones(1, 4))": (
        "token ids must be a tensor (..., L) of int64, got torch.float32 of (1, 4); try ids.long()."
    ),
    "model([1, 2])": "token ids must be a tensor (..., L) of int64, got a list; try torch.tensor(ids).",
    "model(torch.tensor([[25]]))": "token ids must lie between 0 and 19, got 25 to 25.",
    'LanguageModel(20, 8, 2, 16, 1, 0.0, positions="rope")': (
        "positions must be 'sinusoidal', 'learned', 'rotary', 'alibi' or 'none', or a Rotary or LearnedPositions; "
        "got 'rope'."
    ),
    "EncoderBlock(8, 3, 16, 0.0)": (
        "D = 8 does not split into 3 heads of one width; try another, or give d_k and d_v."
    ),
    "greedy(model, [1, 2], stop=0, length=5)": (
        "prompt must be a tensor of token ids (B, L), got a list. Try torch.tensor(prompt)."
    ),
    'greedy(model, torch.tensor([[1]]), stop=0, length="5")': "length must be an integer, got '5', a str. Try 5.",
    "sample(model, torch.tensor([[1]]), stop=2, length=5, temperature=-1, seed=0)": (
        "temperature must be a number from 0 on, got -1."
    ),
    "sample(model, torch.tensor([[1]]), stop=2, length=5, top_p=2, seed=0)": (
        "top_p must be a probability above 0, up to 1; got 2."
    ),
    "filtered([1.0, 2.0])": "scores must be a tensor (..., N), got a list. Try torch.tensor(scores).",
    "filtered(torch.tensor([1.0, 2.0]), top_k=0)": ("top_k must be an integer, at least 1, or None for all; got 0."),
    "beam(model, torch.tensor([[1]]), stop=0, length=5, width=0)": "width must be at least 1, got 0.",
    'BytePairs.learn("abc", 10)': "N must be at least 256, since every byte is a token; got 10.",
    'BytePairs.learn(b"abc", 300)': "text must be one string, got a bytes; for several, try ''.join(texts).",
    'Vocabulary("abc")': "texts are several strings; for a single one, try ['abc'].",
    "attnbook.MultiheadAttention": "attnbook has no 'MultiheadAttention'. Did you mean 'MultiHeadAttention'?",
    "check.atention(None)": "attnbook.check has no 'atention'. Did you mean 'attention'?",
    'AttentionHeatmap("a b", masks="causal")': (
        "AttentionHeatmap has no option 'masks'. Did you mean 'mask'? It takes blocked, head, k_LK, length, "
        "mask, q_LK, queries, query, scale, stage, temperature, tokens, v_LV, vocabulary, weights."
    ),
    'AttentionHeatmap("a b c d e f g h i j k l")': (
        "AttentionHeatmap computes with 1 to 10 tokens, got 12. Weights of your own, of up to 64 tokens, are "
        "shown by AttentionHeatmap(tokens, weights=…), of up to 1,024 by HeadBrowser(tokens, weights)."
    ),
    'AttentionHeatmap("a b", [[1.0]])': (
        "q_LK, k_LK and v_LV come together, one row for each of the 2 tokens; got [1, 0, 0] rows. Leave all "
        "three out to use word vectors; for other tokens make another AttentionHeatmap."
    ),
    'AttentionHeatmap("a b", [[1.0], [float("nan")]], [[1.0], [1.0]], [[1.0], [1.0]])': (
        "q_LK must hold rows of finite numbers, such as [[1.0, 0.5], [0.0, 2.0]]; got [[1.0], [nan]]."
    ),
    'plots.heatmap(torch.ones(1, 1, 2, 2) / 2, ["a", "b"], ["a", "b"])': (
        "weights must have shape (L, M) = (2, 2), got (1, 1, 2, 2). Maps of several heads or texts? Take one,"
        " weights[0, 0], or look at all of them in a HeadBrowser."
    ),
    'plots.heatmap(torch.full((1, 1), float("nan")), ["a"], ["b"])': (
        "weights must lie between 0 and 1, got nan at weights[0, 0]. A softmax over nothing but -inf? "
        "attnbook.masked_softmax gives zeros there."
    ),
    'plots.heatmap(torch.full((2, 2), 7.7), ["a", "b"], ["a", "b"])': (
        "weights must lie between 0 and 1, got 7.7 at weights[0, 0]. Scores, before softmax? Try "
        "scores.softmax(-1); plots.cells(numbers, low=…, high=…) shows any numbers."
    ),
    'plots.heatmap(torch.ones(2, 2) / 2, ["a"], ["a", "b"])': (
        "weights must have shape (L, M) = (1, 2), got (2, 2). There is a row for each of the 1 queries and a "
        "column for each of the 2 keys."
    ),
    'AttentionHeatmap("a b c", weights=torch.eye(3)[None, None])': (
        "weights must have shape (M,), (L, M) or (H, L, M), got (1, 1, 3, 3). Take the heads of one text, "
        "weights[0], or one head of it, weights[0, 0]."
    ),
    'AttentionHeatmap("a b c", weights=torch.ones(1, 1, 1, 3, 3))': (
        "weights must have shape (M,), (L, M) or (H, L, M), got (1, 1, 1, 3, 3). Take the heads of one text, "
        "weights[0, 0], or one head of it, weights[0, 0, 0]."
    ),
    'AttentionHeatmap("a b c", weights=torch.eye(4))': (
        "weights must have shape (..., L, M) = (..., 3, 3), got (4, 4). There is a column for each of the "
        "tokens and a row for each of the queries; special tokens count."
    ),
    'AttentionHeatmap("a b c", weights=torch.eye(3)[:2])': (
        "weights must have shape (..., L, M) = (..., 3, 3), got (2, 3). Are the rows other tokens than the"
        " columns? Give them, too: queries=[…], 2 of them."
    ),
    'AttentionHeatmap("a b c", weights=torch.tensor([[0.5, float("nan"), 0.5]]))': (
        "weights must lie between 0 and 1, got nan at weights[0, 1]. A softmax over nothing but -inf? "
        "attnbook.masked_softmax gives zeros there."
    ),
    'AttentionHeatmap("a b c", weights=np.array([[0.5, -2.5, 0.5]]))': (
        "weights must lie between 0 and 1, got -2.5 at weights[0, 1]. Scores, before softmax? Try "
        "scores.softmax(-1); plots.cells(numbers, low=…, high=…) shows any numbers."
    ),
    'AttentionHeatmap("a b c", weights=[[1, 0, 0], [0.5, 0.5]])': (
        "weights must be numbers in rows of one length, as a tensor, an array or lists; got [[1, 0, 0], [0.5, 0.5]]."
    ),
    'AttentionHeatmap("a b c", weights="abc")': (
        "weights must be numbers in rows of one length, as a tensor, an array or lists; got 'abc'."
    ),
    'AttentionHeatmap("a b c", weights=torch.eye(3), mask="causal")': (
        "leave out mask: weights that are given are shown as they are."
    ),
    'AttentionHeatmap("a b c", weights=torch.eye(3), head=1)': "head is counted from 0 and must be below 1, got 1.",
    'AttentionHeatmap("a b c", queries="d e")': "queries are names of the rows of weights=…, which are missing.",
    'AttentionHeatmap("a " * 65, weights=torch.eye(65))': (
        "AttentionHeatmap shows weights of up to 64 tokens, got 65. HeadBrowser(tokens, weights) shows up to 1,024."
    ),
    'setattr(AttentionHeatmap("a b", weights=torch.eye(2)), "tokens", ["a"])': (
        "weights must have shape (..., L, M) = (..., 1, 1), got (2, 2). There is a column for each of the "
        "tokens and a row for each of the queries; special tokens count."
    ),
    'setattr(AttentionHeatmap("a b", weights=torch.eye(2)), "weights", torch.eye(3))': (
        "weights must have shape (..., L, M) = (..., 2, 2), got (3, 3). There is a column for each of the "
        "tokens and a row for each of the queries; special tokens count."
    ),
    'setattr(AttentionHeatmap("a b"), "weights", torch.eye(2))': (
        "weights come with the widget: make another, AttentionHeatmap(tokens, weights=…)."
    ),
    'HeadBrowser("a b c", torch.eye(3)[0])': (
        "maps must have shape (L, M), (H, L, M) or (layers, heads, L, M), got (3,). One query's weights? Try "
        "maps[None], with queries=[…]."
    ),
    'HeadBrowser("a b c", torch.eye(3).expand(1, 1, 1, 3, 3))': (
        "maps must have shape (L, M), (H, L, M) or (layers, heads, L, M), got (1, 1, 1, 3, 3). A batch of "
        "texts? Choose one, maps[0]."
    ),
    'HeadBrowser("a b c", torch.eye(3) * float("nan"))': (
        "maps must lie between 0 and 1, got nan at maps[0, 0]. A softmax over nothing but -inf? "
        "attnbook.masked_softmax gives zeros there."
    ),
    'HeadBrowser("a b c", torch.eye(3) - 1)': (
        "maps must lie between 0 and 1, got -1 at maps[0, 1]. Scores, before softmax? Try scores.softmax(-1);"
        " plots.cells(numbers, low=…, high=…) shows any numbers."
    ),
    'HeadBrowser("a b c", torch.eye(3) / 2)': (
        "each row of maps must hold weights that sum to 1, or to 0 with nothing to look at; row 0 of layer 0,"
        " head 0 sums to 0.5. Weights without their normalisation? Try maps / maps.sum(-1, keepdim=True)."
    ),
    "MultiHeadAttention(embed_dim=8, heads=2)": "MultiHeadAttention takes no embed_dim; here it is D.",
    "MultiHeadAttention(8, num_heads=2)": "MultiHeadAttention takes no num_heads; here it is heads.",
    "layer(x, is_causal=True)": "MultiHeadAttention takes no is_causal; here it is mask=causal(L).",
    "attention(q, k, v, attn_mask=None)": (
        "attention takes no attn_mask; here it is mask, which is True where a query may look."
    ),
    "AdditiveAttention(4, 4, 4, num_heads=2)": "AdditiveAttention.__init__() got an unexpected keyword",
    "layer(x, x, x)": (
        "mask must be boolean, got torch.float32 of (2, 5, 8), as queries or keys are. Call layer(x, context, mask):"
        " try layer(x, (keys, values))."
    ),
    "HeadBrowser([3, 7, 9], torch.eye(3))": "tokens must be texts, got a list. Token ids? Give the text of each.",
    "HeadBrowser(torch.eye(3), 'a b c')": (
        "tokens must be texts, got torch.float32 of (3, 3). It is called HeadBrowser(tokens, maps)."
    ),
    "HeadBrowser(['a'] * 1025, torch.eye(1025))": (
        "HeadBrowser shows up to 1,024 tokens, got 1,025. Cut them, and the maps."
    ),
    "model(torch.tensor(3))": "token ids must be a tensor (..., L) of int64, got torch.int64 of (); try ids[None].",
    "fit(model, lambda model, it: it, lambda g: torch.ones(3), 2)": (
        "loss(model, it) must give a tensor of one number, got torch.float32 of (3,). Try .mean()."
    ),
    "fit(model, lambda model, it: 0.5, lambda g: torch.ones(3), 2)": (
        "loss(model, it) must give a tensor of one number, got a float. Leave out .item(): a number has no gradient."
    ),
    "fit(model, None, None, 2, device='gpu')": ("device must be one of PyTorch's, such as 'cpu' or 'cuda', got 'gpu'."),
    "fit(model, None, None, 2.5)": "steps must be an integer, got 2.5, a float. Try 2.",
    "fit(LanguageModel, None, None, 2)": (
        "model must be a torch.nn.Module, got the class LanguageModel. Make one of it first: LanguageModel(…)."
    ),
    "diagnose(3)": "layer must be a torch.nn.Module or a function, got an int.",
    "capture_attention(3).__enter__()": "model must be a torch.nn.Module, got an int.",
    "plots.bars({})": "numbers must have a bar at least, as in bars({'plain': 1024}), got none.",
    "plots.cells([1, 2])": "numbers must be a table, rows of columns, got the shape (2,).",
    'HeadBrowser("a b c", [torch.eye(3), torch.eye(2)])': (
        "maps must be numbers in rows of one length, as a tensor, an array or lists; got [tensor([[1., "
        "...[0., 0., 1.]]), tensor([[1., ...    [0., 1.]])]."
    ),
}


@pytest.mark.parametrize("code", SAID)
def test_a_wrong_input_is_told_what_to_try(code):
    with pytest.raises((ValueError, TypeError, AttributeError)) as caught:
        eval(code, SPACE)
    assert str(caught.value).startswith(SAID[code])


def test_where_python_speaks_it_names_the_option():
    with pytest.raises(TypeError, match="unexpected keyword argument 'masks'"):
        attnbook.attention(SPACE["q"], SPACE["k"], SPACE["v"], masks=None)


def test_an_error_reaches_another_process():
    """A pool waits for ever for an error that can't be made anew."""
    for error in (
        ShapeError("mask", "(..., L, M)", (5, 7), (7, 5), "Try mask.mT."),
        FileError("model.gguf", "it ends at byte 3", "Was it copied whole?"),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))
