"""Answers to the stubs of chapters 2, 5, 6 and 9 in many ways, right and wrong: loops, einsum, odd names, prints."""

WAYS = {
    "my_padding": """
def my_padding(lengths, width):
    out = torch.zeros(len(lengths), 1, width, dtype=torch.bool)
    for b, n in enumerate(lengths.tolist()):
        out[b, :, :n] = True
    return out
---
def my_padding(lengths_B, M):
    return torch.stack([torch.arange(M) < n for n in lengths_B])[:, None]
---
def my_padding(lengths_B, M):
    rows = [[j < int(n) for j in range(M)] for n in lengths_B]
    print(f"{rows}")
    return torch.tensor(rows).unsqueeze(1)
---
def my_padding(lengths_B, M):
    return torch.arange(M)[None] < lengths_B[:, None]
---
def my_padding(lengths_B, M):
    return torch.arange(M) <= lengths_B[:, None, None]
---
def my_padding(lengths_B, M):
    return (torch.arange(M) < lengths_B.view(-1, 1, 1)).float()
---
def my_padding(lengths_B, M):
    return torch.arange(M).expand(len(lengths_B), 1, M).lt(lengths_B.reshape(-1, 1, 1))
---
def my_padding(lengths_B, M):
    B = len(lengths_B)
    mask = torch.zeros((B, 1, M), dtype=torch.bool)
    for b in range(B):
        mask[b, 0, :lengths_B[b]] = True
    return mask
---
def my_padding(lengths_B, M):
    rows = [torch.nn.functional.pad(torch.ones(n), (0, M - n)) for n in lengths_B.tolist()]
    return torch.stack(rows).bool()[:, None]
---
def my_padding(lengths_B, M):
    b, m = torch.meshgrid(lengths_B, torch.arange(M), indexing="ij")
    return (m < b).unsqueeze(1)
---
def my_padding(lengths_B, M):
    return torch.vstack([torch.arange(M) < n for n in lengths_B]).unsqueeze(1)
""",
    "my_causal": """
def my_causal(L, M):
    mask = torch.ones(L, M).bool()
    for i in range(L):
        for j in range(M):
            if j > i + M - L:
                mask[i, j] = False
    return mask
---
def my_causal(L, M):
    return ~torch.triu(torch.ones(L, M, dtype=torch.bool), diagonal=M - L + 1)
---
def my_causal(L, M):
    return torch.tril(torch.ones(L, M, dtype=bool))
---
def my_causal(L, M):
    i, j = torch.meshgrid(torch.arange(L), torch.arange(M), indexing="ij")
    return j <= i + M - L
---
my_causal = lambda L, M: torch.full((L, M), True).tril(M - L)
---
def my_causal(L, M):
    return torch.tensor([[j - M <= i - L for j in range(M)] for i in range(L)])
---
def my_causal(L, M):
    return torch.full((L, M), -torch.inf).triu(M - L + 1)
---
def my_causal(L, M):
    mask = torch.zeros(M, M, dtype=torch.bool)
    i, j = torch.tril_indices(M, M)
    mask[i, j] = True
    return mask[M - L :]
---
def my_causal(L, M):
    past = torch.ones(L, M - L, dtype=torch.bool)
    return torch.hstack([past, torch.ones(L, L, dtype=torch.bool).tril()])
""",
    "my_masked_softmax": """
def my_masked_softmax(scores, mask):
    low = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(low, dim=-1).nan_to_num(0)
---
def my_masked_softmax(s, m):
    e = torch.where(m, (s - s.max(dim=-1, keepdim=True).values).exp(), 0)
    return e / e.sum(-1, keepdim=True).clamp(min=1e-9)
---
def my_masked_softmax(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    hidden = torch.where(mask, scores, torch.full_like(scores, lowest))
    print(hidden.shape, f"{hidden.max():.2f}")
    show(hidden)
    return F.softmax(hidden, -1) * mask
---
def my_masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1)
---
def my_masked_softmax(scores, mask):
    w = scores.softmax(-1)
    w *= mask
    return w / w.sum(-1, keepdim=True)
---
def my_masked_softmax(scores, mask):
    scores[~mask] = torch.finfo(scores.dtype).min
    return scores.softmax(-1) * mask
---
def my_masked_softmax(scores, mask):
    scores = scores.clone()
    scores[~mask.expand_as(scores)] = torch.finfo(scores.dtype).min
    return scores.softmax(-1).masked_fill(~mask, 0.0)
""",
    "my_formula": """
def my_formula(scores, mask):
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    top, _ = scores.max(-1, keepdim=True)
    up = torch.exp(scores - top) * mask
    down = up.float().sum(-1, keepdim=True)
    down[down == 0] = 1
    return (up / down).to(scores.dtype)
---
def my_formula(scores, mask):
    powers = scores.exp() * mask
    return powers / powers.sum(-1, keepdim=True)
---
def my_formula(scores, mask):
    kept = scores.masked_fill(~mask, float("-inf"))
    return (kept - kept.logsumexp(-1, keepdim=True)).exp()
""",
    "my_packed": """
def my_packed(d):
    n = len(d)
    return torch.tensor([[bool(d[i] == d[j]) and j <= i for j in range(n)] for i in range(n)])
---
def my_packed(documents_M):
    a, b = documents_M.unsqueeze(1), documents_M.unsqueeze(0)
    return torch.logical_and(a.eq(b), torch.ones(len(a), len(a)).tril().bool())
---
def my_packed(documents_M):
    return documents_M[:, None] == documents_M[None]
---
def my_packed(documents_M):
    start = documents_M.diff().ne(0)
    which = torch.cat([torch.zeros(1).long(), start.long().cumsum(0)])
    return (which[:, None] == which) & causal(len(which), len(which))
---
def my_packed(documents_M):
    same = documents_M[:, None] == documents_M
    return same & causal(len(documents_M), len(documents_M))
---
def my_packed(documents_M):
    _, counts = torch.unique(documents_M, return_counts=True)
    return torch.block_diag(*[torch.ones(n, n).tril() for n in counts]).bool()
""",
    "my_attention": """
def my_attention(q, k, v, mask=None):
    logits = torch.einsum("ld,md->lm", q, k) / q.size(-1) ** 0.5
    if mask is not None:
        logits = logits.masked_fill(mask.logical_not(), torch.finfo(logits.dtype).min)
    probs = torch.nn.functional.softmax(logits, dim=1)
    if mask is not None:
        probs = probs * mask
    return torch.einsum("lm,mv->lv", probs, v), probs
---
def my_attention(Q, K, V, mask_LM=None):
    d = Q.shape[1]
    A = torch.matmul(Q, K.transpose(-2, -1)).div(math.sqrt(d))
    if mask_LM is not None:
        A = A.masked_fill(mask_LM == False, float("-inf"))
    W = A.softmax(dim=-1).nan_to_num()
    print(f"{W.sum():.1f} of {len(W)} rows", W.shape)
    return W.mm(V), W
---
def my_attention(q, k, v, mask=None):
    w = (q @ k.T).softmax(-1)
    return w @ v, w
---
def my_attention(q, k, v, mask=None):
    w = (q @ k.T / len(k) ** 0.5).softmax(-1)
    return w @ v, w
---
def my_attention(q, k, v, mask=None):
    w = (q @ k.T / math.sqrt(q.shape[-1])).softmax(0)
    return w @ v, w
---
def my_attention(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
---
def my_attention(q, k, v, mask=None):
    return attnbook.attention(q, k, v, mask)
---
def my_attention(q, k, v, mask=None):
    raise ValueError("not yet")
---
def my_attention(q, k, v, mask=None):
    s = torch.tensordot(q, k, dims=([1], [1])) / q.shape[1] ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, torch.finfo(s.dtype).min)
    w = s.softmax(1)
    w = w if mask is None else w * mask
    return torch.inner(w, v.T), w
""",
    "MyAttention": """
class MyAttention(nn.Module):
    def __init__(self, D, K):
        super().__init__()
        for name in ["query", "key", "value"]:
            setattr(self, name, nn.Linear(D, K, bias=False))
        self.output = nn.Linear(K, D, bias=False)

    def forward(self, x, context, mask=None):
        q, k, v = self.query(x), self.key(context), self.value(context)
        s = torch.einsum("blk,bmk->blm", q, k) * q.shape[-1] ** -0.5
        if mask is None:
            w = s.softmax(-1)
        else:
            w = s.masked_fill(~mask, -1e30).softmax(-1) * mask
        return self.output(torch.bmm(w, v)), w
---
class MyAttention(nn.Module):
    def __init__(self, D, K):
        super().__init__()
        self.query, self.key = nn.Linear(D, K), nn.Linear(D, K)
        self.value, self.output = nn.Linear(D, K), nn.Linear(K, D)

    def forward(self, x, context, mask=None):
        return x, None
---
class MyAttention(nn.Module):
    def __init__(self, D, K):
        super().__init__()
        self.query = nn.Linear(D, K, bias=False)
        self.key = nn.Linear(D, K, bias=False)
        self.value = nn.Linear(D, K, bias=False)
        self.output = nn.Linear(K, D, bias=False)

    def forward(self, x, context, mask=None):
        q, k, v = self.query(x), self.key(x), self.value(x)
        w = (q @ k.mT / math.sqrt(k.shape[-1])).softmax(-1)
        return self.output(w @ v), w
---
class MyAttention(nn.Module):
    def __init__(self, D, K):
        super().__init__()
        self.query = nn.Linear(D, K, bias=False)
        self.key = nn.Linear(D, K, bias=False)
        self.value = nn.Linear(D, K, bias=False)
        self.output = nn.Linear(K, D, bias=False)

    def forward(self, x_BLD, context_BMD, mask=None):
        y, w = attention(self.query(x_BLD), self.key(context_BMD), self.value(context_BMD), mask)
        return self.output(y), w
---
class MyAttention(nn.Module):
    def __init__(self, D, K):
        self.query = nn.Linear(D, K, bias=False)
        self.key = nn.Linear(D, K, bias=False)
        self.value = nn.Linear(D, K, bias=False)
        self.output = nn.Linear(K, D, bias=False)

    def forward(self, x, c, mask=None):
        y, w = attnbook.attention(self.query(x), self.key(c), self.value(c), mask)
        return self.output(y), w
---
class MyAttention(nn.Module):
    def __init__(self, D, K):
        super().__init__()
        self.query = nn.Parameter(torch.randn(D, K))
        self.key = nn.Parameter(torch.randn(D, K))
        self.value = nn.Parameter(torch.randn(D, K))
        self.output = nn.Parameter(torch.randn(K, D))

    def forward(self, x, c, mask=None):
        y, w = attnbook.attention(x @ self.query, c @ self.key, c @ self.value, mask)
        return y @ self.output, w
""",
    "my_loops": """
def my_loops(q, k, v, mask=None):
    L, M = q.shape[0], k.shape[0]
    w = torch.zeros(L, M)
    out = torch.zeros(L, v.shape[1])
    for i in range(L):
        row = []
        for j in range(M):
            dot = 0.0
            for a, b in zip(q[i], k[j]):
                dot += a * b
            seen = mask is None or bool(mask[i, j])
            row.append(float(dot) / len(q[i]) ** 0.5 if seen else -math.inf)
        top = max(row)
        if top == -math.inf:
            continue
        e = [math.exp(r - top) for r in row]
        for j in range(M):
            w[i, j] = e[j] / sum(e)
            out[i] += w[i, j] * v[j]
    return out, w
---
def my_loops(q, k, v, mask=None):
    weights, outputs = [], []
    for i, one in enumerate(q):
        scores = torch.stack([one.dot(other) for other in k]) / len(one) ** 0.5
        if mask is not None:
            scores[~mask[i]] = torch.finfo(torch.float32).min
        row = scores.softmax(0)
        if mask is not None:
            row = row * mask[i]
        weights.append(row)
        outputs.append(sum(p * value for p, value in zip(row, v)))
    return torch.stack(outputs), torch.stack(weights)
---
def my_loops(q, k, v, mask=None):
    w = torch.zeros(len(q), len(k))
    for i in range(len(q)):
        for j in range(len(k)):
            w[i, j] = torch.exp((q[i] * k[j]).sum() / 2)
        w[i] /= w[i].sum()
    return w @ v, w
---
def my_loops(q, k, v, mask=None):
    w = torch.zeros(len(q), len(k))
    for i in range(len(q)):
        w[i] = torch.softmax(k @ q[i], 0)
    return w @ v
---
def my_loops(q, k, v, mask=None):
    w = torch.zeros(len(q), len(k), dtype=torch.int)
    for i in range(len(q)):
        for j in range(len(k)):
            w[i, j] = q[i] @ k[j] / math.sqrt(q.shape[1])
    return w.softmax(-1) @ v, w
""",
    "my_softmax_jacobian": """
def my_softmax_jacobian(w):
    return torch.diag(w) - torch.outer(w, w)
---
def my_softmax_jacobian(w):
    return torch.eye(len(w)) * w - w[:, None] * w[None, :]
---
def my_softmax_jacobian(w):
    return torch.outer(w, w) - torch.diag(w)
---
def my_softmax_jacobian(p):
    n = p.numel()
    return torch.tensor([[(p[i] * ((i == j) - p[j])).item() for j in range(n)] for i in range(n)])
---
def my_softmax_jacobian(w):
    return -w[:, None] * w
---
def my_softmax_jacobian(w):
    return torch.autograd.functional.jacobian(lambda s: s.softmax(-1), w.log())
""",
    "my_test": """
def my_test(function):
    torch.manual_seed(3)
    q, k, v = torch.randn(2, 8), torch.randn(6, 8), torch.randn(6, 3)
    keep = torch.tensor([[True, False, True, False, True, False], [False] * 6])
    for m in [None, keep]:
        a = function(q, k, v, m)
        b = attnbook.attention(q, k, v, m)
        for x, y in zip(a, b):
            if x.shape != y.shape or not torch.allclose(x, y, atol=1e-5):
                return False
    return True
---
def my_test(function):
    out, w = function(torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 5), None)
    return torch.allclose(w.sum(-1), torch.ones(2))
---
def my_test(function):
    return True
---
def my_test(function):
    return 1 / 0
---
def my_test(function):
    try:
        for L, M, K, V in [(3, 5, 4, 2), (1, 1, 2, 3), (6, 4, 3, 3)]:
            q, k, v = torch.randn(L, K), torch.randn(M, K), torch.randn(M, V)
            masks = [None, torch.zeros(L, M).bool(), causal(L, M) if M >= L else torch.rand(L, M) < 0.5]
            for mask in masks:
                got = function(q, k, v, mask)
                want = attnbook.attention(q, k, v, mask)
                torch.testing.assert_close(got, want)
    except AssertionError:
        return False
    return True
---
def my_test(function):
    q, k, v = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 2)
    mask = torch.ones(3, 5)
    return torch.allclose(function(q, k, v, mask)[0], attnbook.attention(q, k, v)[0])
""",
    "my_layer": """
def my_layer(x, W_q, W_k, W_v, W_o, H):
    B, L, D = x.shape
    q, k, v = ((x @ W.T).reshape(B, L, H, D // H).transpose(1, 2) for W in (W_q, W_k, W_v))
    w = torch.softmax(q @ k.transpose(-1, -2) / (D // H) ** 0.5, dim=-1)
    return (w @ v).transpose(1, 2).reshape(B, L, D) @ W_o.T
---
def my_layer(x, W_q, W_k, W_v, W_o, heads):
    q, k, v = (torch.einsum("bld,ed->ble", x, W) for W in (W_q, W_k, W_v))
    n = x.shape[-1] // heads
    parts = []
    for h in range(heads):
        s = slice(h * n, (h + 1) * n)
        w = (q[..., s] @ k[..., s].mT / n**0.5).softmax(-1)
        parts.append(w @ v[:, :, s])
    return torch.cat(parts, -1) @ W_o.mT
---
def my_layer(x, W_q, W_k, W_v, W_o, heads):
    B, L, D = x.shape
    q, k, v = ((x @ W.T).view(B, heads, L, D // heads) for W in (W_q, W_k, W_v))
    w = (q @ k.mT / (D // heads) ** 0.5).softmax(-1)
    return (w @ v).reshape(B, L, D) @ W_o.T
---
def my_layer(x, W_q, W_k, W_v, W_o, heads):
    w = ((x @ W_q.T) @ (x @ W_k.T).mT / x.shape[-1] ** 0.5).softmax(-1)
    return w @ (x @ W_v.T) @ W_o.T
---
def my_layer(x, W_q, W_k, W_v, W_o, heads):
    split = lambda y: y.unflatten(-1, (heads, -1)).transpose(1, 2)
    y = F.scaled_dot_product_attention(split(x @ W_q.T), split(x @ W_k.T), split(x @ W_v.T))
    return y.transpose(1, 2).flatten(-2) @ W_o.T
---
def my_layer(x_BLD, W_q, W_k, W_v, W_o, heads):
    split = lambda W: (x_BLD @ W.T).unflatten(-1, (heads, -1)).movedim(2, 1)
    y = F.scaled_dot_product_attention(split(W_q), split(W_k), split(W_v))
    return y.movedim(1, 2).flatten(2) @ W_o.T
---
def my_layer(x_BLD, W_q, W_k, W_v, W_o, heads):
    out = []
    for h in range(heads):
        q, k, v = x_BLD @ W_q, x_BLD @ W_k, x_BLD @ W_v
        out.append(attnbook.attention(q, k, v)[0])
    return torch.cat(out, -1) @ W_o
---
def my_layer(x_BLD, W_q, W_k, W_v, W_o, heads):
    out = []
    for q, k, v in zip(W_q.chunk(heads), W_k.chunk(heads), W_v.chunk(heads)):
        out.append(attnbook.attention(x_BLD @ q.T, x_BLD @ k.T, x_BLD @ v.T))
    return torch.cat(out, dim=-1) @ W_o.T
""",
    "my_split": """
def my_split(x, H):
    return torch.stack(x.chunk(H, dim=-1), dim=1)
---
def my_split(x, heads):
    from einops import rearrange
    return rearrange(x, "b l (h k) -> b h l k", h=heads)
---
def my_split(x, heads):
    B, L, D = x.shape
    return x.view(B, heads, L, D // heads)
---
def my_split(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).permute(0, 2, 1, 3)
---
def my_split(x, heads):
    return torch.stack(x.split(heads, dim=-1), 1)
---
def my_split(x_BLD, heads):
    B, L, D = x_BLD.shape
    x = x_BLD.reshape([B, L, heads, D // heads])
    return x.moveaxis(2, 1)
---
def my_split(x_BLD, heads):
    return torch.stack(torch.tensor_split(x_BLD, heads, dim=-1), dim=1)
---
def my_split(x_BLD, heads):
    B, L, D = x_BLD.shape
    return x_BLD.view(B, L, heads, D / heads).transpose(1, 2)
""",
    "my_causal_layer": """
def my_causal_layer(x, W_q, W_k, W_v, W_o, heads):
    B, L, D = x.shape
    cut = lambda y: y.view(B, L, heads, -1).transpose(1, 2)
    q, k, v = cut(x @ W_q.T), cut(x @ W_k.T), cut(x @ W_v.T)
    later = torch.triu(torch.ones(L, L), 1) == 1
    s = torch.einsum("bhld,bhmd->bhlm", q, k) / (D // heads) ** 0.5
    w = s.masked_fill(later, float("-inf")).softmax(-1)
    return torch.einsum("bhlm,bhmd->blhd", w, v).reshape(B, L, D) @ W_o.T
---
def my_causal_layer(x, W_q, W_k, W_v, W_o, heads):
    split = lambda y: y.unflatten(-1, (heads, -1)).transpose(1, 2)
    q, k, v = map(split, (x @ W_q.T, x @ W_k.T, x @ W_v.T))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return y.transpose(1, 2).flatten(2) @ W_o.T
---
def my_causal_layer(x, W_q, W_k, W_v, W_o, heads):
    split = lambda y: y.unflatten(-1, (heads, -1)).transpose(1, 2)
    q, k, v = split(x @ W_q.T), split(x @ W_k.T), split(x @ W_v.T)
    w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1).tril()
    return (w @ v).transpose(1, 2).flatten(2) @ W_o.T
---
def my_causal_layer(x, W_q, W_k, W_v, W_o, heads):
    return x @ W_o
---
def my_causal_layer(x_BLD, W_q, W_k, W_v, W_o, heads):
    q, k, v = (split(x_BLD @ W.T, heads) for W in (W_q, W_k, W_v))
    past = torch.ones(x_BLD.shape[1], x_BLD.shape[1]).tril().bool()
    y, _ = attention(q, k, v, past)
    return join(y) @ W_o.T
---
def my_causal_layer(x_BLD, W_q, W_k, W_v, W_o, heads):
    split = lambda W: (x_BLD @ W.T).unflatten(-1, (heads, -1)).transpose(1, 2)
    y, _ = attnbook.attention(split(W_q), split(W_k), split(W_v), torch.ones(x_BLD.shape[1], x_BLD.shape[1]).tril())
    return y.transpose(1, 2).flatten(2) @ W_o.T
""",
    "my_block": """
def my_block(x, attention, norm_1, feed_forward, norm_2):
    return norm_2(norm_1(attention(x) + x) + feed_forward(norm_1(attention(x) + x)))
---
def my_block(x, attention, norm_1, feed_forward, norm_2):
    x += attention(x)
    x = norm_1(x)
    return norm_2(x + feed_forward(x))
---
def my_block(x, attention, norm_1, feed_forward, norm_2):
    x = x + attention(norm_1(x))
    return x + feed_forward(norm_2(x))
---
def my_block(x, attention, norm_1, feed_forward, norm_2):
    for part, norm in ((attention, norm_1), (feed_forward, norm_2)):
        x = norm(torch.add(x, part(x)))
    return x
""",
    "my_loss": """
def my_loss(model, source, target):
    logits = model(source, target[:, :-1])
    logp = logits.log_softmax(-1)
    total, n = 0.0, 0
    for b in range(len(target)):
        for i, t in enumerate(target[b, 1:].tolist()):
            if t != PAD:
                total = total - logp[b, i, t]
                n += 1
    return total / n
---
def my_loss(model, source, target):
    logits, want = model(source, target[:, :-1]), target[:, 1:]
    keep = want != 0
    picked = logits.log_softmax(-1).gather(-1, want[..., None]).squeeze(-1)
    return -(picked * keep).sum() / keep.sum()
---
def my_loss(model, source, target):
    logits = model(source, target[:, :-1])
    return F.cross_entropy(logits.transpose(1, 2), target[:, 1:])
---
def my_loss(model, source, target):
    logits = model(source, target)
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0)
---
def my_loss(model, source, target):
    logits, want = model(source, target[:, :-1]), target[:, 1:]
    return F.cross_entropy(logits[want != PAD], want[want != PAD])
---
def my_loss(model, source_BM, target_BL):
    logits = model(source_BM, target_BL[:, :-1])
    answers = target_BL[:, 1:]
    losses = F.cross_entropy(logits.transpose(1, 2), answers, reduction="none")
    real = (answers != PAD).float()
    return (losses * real).sum() / real.sum()
---
def my_loss(model, source_BM, target_BL):
    p = model(source_BM, target_BL[:, :-1]).softmax(-1)
    y = target_BL[:, 1:]
    picked = torch.gather(p, 2, y.unsqueeze(2)).squeeze(2)
    return -torch.masked_select(picked.log(), y != PAD).mean()
---
def my_loss(model, source_BM, target_BL):
    logits = model(source_BM, target_BL[:, :-1])
    return F.cross_entropy(logits, target_BL[:, 1:], ignore_index=PAD)
""",
    "my_greedy": """
def my_greedy(model, start, stop, length):
    text = [start]
    for _ in range(length - 1):
        scores = model(torch.tensor(text))
        best = int(torch.argmax(scores[-1]))
        text.append(best)
        if best == stop:
            break
    return text
---
def my_greedy(model, start, stop, length):
    ids = torch.tensor([start])
    while len(ids) < length and ids[-1] != stop:
        ids = torch.cat([ids, model(ids)[-1].argmax(keepdim=True)])
    return ids.tolist()
---
def my_greedy(model, start, stop, length):
    ids = [start]
    while ids[-1] != stop:
        ids = ids + [model(torch.tensor(ids))[-1].topk(1).indices.item()]
    return ids
---
def my_greedy(model, start, stop, length):
    ids = [start]
    for i in range(length):
        ids.append(model(torch.tensor(ids))[0].argmax().item())
    return ids
---
def my_greedy(model, start, stop, length):
    def more(ids):
        if len(ids) == length or ids[-1] == stop:
            return ids
        row = model(torch.as_tensor(ids))[-1]
        return more(ids + [max(range(len(row)), key=lambda i: row[i])])
    return more([start])
---
@torch.no_grad()
def my_greedy(model, start, stop, length):
    out = [start]
    while len(out) < length:
        p = model(torch.LongTensor(out))[-1].softmax(-1)
        out += [int(p.argmax())]
        if out[-1] == stop:
            return out
    return out
""",
    "my_layer_norm": """
def my_layer_norm(x, gain, bias):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gain, bias)
---
def my_layer_norm(x, g, b):
    m, v = x.mean(dim=-1, keepdim=True), x.var(dim=-1, unbiased=False, keepdim=True)
    return (x - m) * torch.rsqrt(v + 1e-5) * g + b
---
def my_layer_norm(x, g, b):
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5) * g + b
---
def my_layer_norm(x, g, b):
    out = torch.empty_like(x)
    for i, text in enumerate(x):
        for j, token in enumerate(text):
            centred = token - token.mean()
            out[i, j] = g * centred / (centred.pow(2).mean() + 1e-5) ** 0.5 + b
    return out
---
def my_layer_norm(x, g, b):
    return (x - x.mean()) / x.std() * g + b
---
def my_layer_norm(x_BLD, gain_D, bias_D):
    var, mean = torch.var_mean(x_BLD, dim=-1, keepdim=True, correction=0)
    return gain_D * (x_BLD - mean) / (var + 1e-5) ** 0.5 + bias_D
---
def my_layer_norm(x_BLD, gain_D, bias_D, eps=1e-5):
    std = (x_BLD.var(-1, keepdim=True, correction=0) + eps).sqrt()
    x = (x_BLD - x_BLD.mean(axis=-1, keepdim=True)).div(std)
    return torch.addcmul(bias_D, x, gain_D)
""",
    "my_pre_norm_block": """
def my_pre_norm_block(x, attention, norm_1, feed_forward, norm_2):
    y = torch.clone(x)
    y += attention(norm_1(y))
    y += feed_forward(norm_2(y))
    return y
---
def my_pre_norm_block(x, attention, norm_1, feed_forward, norm_2):
    x = norm_1(x)
    x = x + attention(x)
    return x + feed_forward(norm_2(x))
---
def my_pre_norm_block(x, attention, norm_1, feed_forward, norm_2):
    return x + attention(norm_1(x)) + feed_forward(norm_2(x))
""",
}


def ways() -> list[tuple[str, str]]:
    """Names of stubs, and code that answers them."""
    return [(name, code.strip("\n")) for name, all_of_it in WAYS.items() for code in all_of_it.split("\n---\n")]
