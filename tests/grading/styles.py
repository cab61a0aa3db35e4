"""Right answers to assignment 5 as five people would write them, and a copy as somebody would hide it."""

import re

terse = {
    "spread": """
def spread_of_scores(d, q_mean, q_std, k_mean, k_std):
    q2 = q_mean ** 2 + q_std ** 2
    k2 = k_mean ** 2 + k_std ** 2
    m = q_mean * k_mean
    return d * m, (d * (q2 * k2 - m ** 2)) ** .5, (d * q2) ** .5 * k_std
""",
    "backward": """
def attention_backward(grad, q, k, v, weights):
    g = grad @ v.transpose(-2, -1)
    s = weights * (g - (g * weights).sum(-1, True)) * q.size(-1) ** -.5
    return s @ k, s.transpose(-2, -1) @ q, weights.transpose(-2, -1) @ grad
""",
    "cosine": """
class CosineAttention(nn.Module):
    def __init__(self, heads, scale=10.0, eps=1e-6):
        super().__init__()
        self.log_scale, self.eps = nn.Parameter(torch.ones(heads) * math.log(scale)), eps

    def forward(self, q, k, v, mask=None):
        unit = lambda x: F.normalize(x, dim=-1, eps=self.eps)
        return masked_softmax(unit(q) @ unit(k).mT * self.log_scale.exp().view(-1, 1, 1), mask) @ v
""",
    "keys": """
def effective_keys(weights):
    s = (weights ** 2).sum(-1)
    return torch.where(s > 0, 1 / s, torch.zeros_like(s))

def temperature_for(scores, keys):
    a, b = scores[..., 0] * 0 - 7., scores[..., 0] * 0 + 7.
    for _ in range(60):
        m = (a + b) / 2
        up = effective_keys(torch.softmax(scores / m.exp().unsqueeze(-1), -1)) < keys
        a, b = torch.where(up, m, a), torch.where(up, b, m)
    return m.exp()
""",
}
wordy = {
    "spread": '''
def spread_of_scores(d, q_mean, q_std, k_mean, k_std):
    """Everything for one product first, then times d, because variances of independent things add."""
    # one product
    variance_of_query = q_std * q_std
    variance_of_key = k_std * k_std
    variance_of_product = (
        variance_of_query * variance_of_key
        + variance_of_query * k_mean * k_mean
        + variance_of_key * q_mean * q_mean
    )
    variance_in_row = (variance_of_query + q_mean * q_mean) * variance_of_key
    # all of them
    mean = d * q_mean * k_mean
    std = math.sqrt(d * variance_of_product)
    row_std = math.sqrt(d * variance_in_row)
    return mean, std, row_std
''',
    "backward": """
def attention_backward(grad, q, k, v, weights):
    # Y = W V
    grad_values = torch.matmul(weights.transpose(-1, -2), grad)
    grad_weights = torch.matmul(grad, v.transpose(-1, -2))
    # W = softmax(S)
    weighted_mean = torch.sum(weights * grad_weights, dim=-1, keepdim=True)
    grad_scores = weights * (grad_weights - weighted_mean)
    # S = Q K / sqrt(d)
    scale = 1.0 / math.sqrt(q.shape[-1])
    grad_queries = torch.matmul(grad_scores, k) * scale
    grad_keys = torch.matmul(grad_scores.transpose(-1, -2), q) * scale
    return grad_queries, grad_keys, grad_values
""",
    "cosine": """
class CosineAttention(nn.Module):
    def __init__(self, heads, scale=10.0, eps=1e-6):
        super().__init__()
        initial_value = torch.log(torch.tensor(float(scale)))
        self.log_scale = nn.Parameter(initial_value.repeat(heads))
        self.epsilon = eps

    def normalise(self, vectors):
        length_squared = (vectors * vectors).sum(dim=-1, keepdim=True)
        is_zero = length_squared == 0
        length = torch.sqrt(torch.where(is_zero, torch.ones_like(length_squared), length_squared))
        length = torch.where(is_zero, torch.zeros_like(length), length)
        return vectors / torch.clamp(length, min=self.epsilon)

    def forward(self, q, k, v, mask=None):
        query_directions = self.normalise(q)
        key_directions = self.normalise(k)
        cosines = torch.matmul(query_directions, key_directions.transpose(-1, -2))
        scale = torch.exp(self.log_scale).reshape(1, -1, 1, 1)
        weights = masked_softmax(scale * cosines, mask)
        return torch.matmul(weights, v)
""",
    "keys": '''
def effective_keys(weights):
    total = torch.sum(torch.square(weights), dim=-1)
    is_empty = total == 0
    total = torch.where(is_empty, torch.ones_like(total), total)
    answer = torch.reciprocal(total)
    answer[is_empty] = 0
    return answer


def temperature_for(scores, keys):
    """Bisection on a logarithmic scale."""
    shape = scores.shape[:-1]
    lower = torch.full(shape, 1e-3, dtype=scores.dtype)
    upper = torch.full(shape, 1e3, dtype=scores.dtype)
    step = 0
    while step < 80:
        guess = torch.sqrt(lower * upper)
        count = effective_keys(torch.softmax(scores / guess[..., None], dim=-1))
        too_hot = count > keys
        upper = torch.where(too_hot, guess, upper)
        lower = torch.where(too_hot, lower, guess)
        step += 1
    return torch.sqrt(lower * upper)
''',
}
einsum = {
    "spread": """
def spread_of_scores(d, q_mean, q_std, k_mean, k_std):
    row = d * k_std**2 * (q_std**2 + q_mean**2)
    between = d * k_mean**2 * q_std**2
    return q_mean * k_mean * d, math.hypot(row**0.5, between**0.5), row**0.5
""",
    "backward": """
def attention_backward(grad, q, k, v, weights):
    dv = torch.einsum("...lm,...lv->...mv", weights, grad)
    dw = torch.einsum("...lv,...mv->...lm", grad, v)
    ds = dw * weights - weights * torch.einsum("...lm,...lm->...l", dw, weights)[..., None]
    ds = ds / math.sqrt(k.shape[-1])
    dq = torch.einsum("...lm,...mk->...lk", ds, k)
    dk = torch.einsum("...lm,...lk->...mk", ds, q)
    return dq, dk, dv
""",
    "cosine": """
class CosineAttention(nn.Module):
    def __init__(self, heads, scale=10.0, eps=1e-6):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor([math.log(scale)] * heads))
        self.eps = eps

    def forward(self, q, k, v, mask=None):
        q, k = F.normalize(q, p=2, dim=3, eps=self.eps), F.normalize(k, p=2, dim=3, eps=self.eps)
        cos = torch.einsum("bhlk,bhmk->bhlm", q, k)
        w = masked_softmax(torch.einsum("bhlm,h->bhlm", cos, self.log_scale.exp()), mask)
        return torch.einsum("bhlm,bhmv->bhlv", w, v)
""",
    "keys": """
def effective_keys(weights):
    collision = torch.einsum("...m,...m->...", weights, weights)
    return torch.nan_to_num(1 / collision, posinf=0.0)


def temperature_for(scores, keys):
    def n(t):
        return effective_keys(F.softmax(scores * torch.exp(-t)[..., None], dim=-1))

    t = torch.zeros(scores.shape[:-1], dtype=scores.dtype)
    width = 3.6
    for _ in range(50):
        t = t + torch.where(n(t) < keys, width, -width)
        width /= 2
    return torch.exp(t)
""",
}
stepwise = {
    "spread": """
def spread_of_scores(d, q_mean, q_std, k_mean, k_std):
    e_q, e_k = q_mean, k_mean
    e_q2, e_k2 = q_std ** 2 + e_q ** 2, k_std ** 2 + e_k ** 2
    answer = [d * e_q * e_k]
    var = e_q2 * e_k2 - (e_q * e_k) ** 2
    answer.append(math.sqrt(max(var, 0.0) * d))
    answer.append(math.sqrt(d * e_q2 * k_std ** 2))
    return tuple(answer)
""",
    "backward": """
def softmax_backward(w, dw):
    inner = (w * dw).sum(dim=-1).unsqueeze(-1)
    return w * dw - w * inner


def attention_backward(grad, q, k, v, weights):
    d = q.shape[-1]
    dv = weights.swapaxes(-1, -2) @ grad
    dscaled = softmax_backward(weights, grad @ v.swapaxes(-1, -2))
    dq = dscaled @ (k / math.sqrt(d))
    dk = dscaled.swapaxes(-1, -2) @ (q / math.sqrt(d))
    return dq, dk, dv
""",
    "cosine": """
def direction(x, eps):
    return x / torch.linalg.vector_norm(x, dim=-1, keepdim=True).clamp_min(eps)


class CosineAttention(nn.Module):
    def __init__(self, heads, scale=10.0, eps=1e-6):
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(heads) + math.log(scale))
        self.eps = eps

    def forward(self, q, k, v, mask=None):
        B, H, L, K = q.shape
        s = direction(q, self.eps) @ direction(k, self.eps).swapaxes(-1, -2)
        s = s * self.log_scale.exp().reshape(H, 1, 1)
        if mask is None:
            mask = torch.ones(L, k.shape[-2], dtype=torch.bool)
        w = masked_softmax(s, mask)
        return w @ v
""",
    "keys": """
def effective_keys(weights):
    squares = torch.zeros_like(weights[..., 0])
    for column in weights.unbind(-1):
        squares = squares + column * column
    return (squares > 0) / squares.clamp_min(1e-30)


def temperature_for(scores, keys):
    lo = torch.full_like(scores[..., :1], 1e-3)
    hi = torch.full_like(scores[..., :1], 1e3)
    for _ in range(100):
        mid = (lo * hi) ** 0.5
        w = torch.exp(torch.log_softmax(scores / mid, -1))
        high = effective_keys(w)[..., None] >= keys
        lo = torch.where(high, lo, mid)
        hi = torch.where(high, mid, hi)
    return mid[..., 0]
""",
}
looped = {
    "spread": """
def spread_of_scores(d, q_mean, q_std, k_mean, k_std):
    total_mean, total_var, row_var = 0.0, 0.0, 0.0
    for i in range(d):
        total_mean += q_mean * k_mean
        total_var += (q_mean * k_std)**2 + (q_std * k_mean)**2 + (q_std * k_std)**2
        row_var += k_std**2 * (q_mean**2 + q_std**2)
    return total_mean, total_var ** 0.5, row_var ** 0.5
""",
    "backward": """
def attention_backward(grad, q, k, v, weights):
    if grad.ndim > 2:
        parts = [attention_backward(*rest) for rest in zip(grad, q, k, v, weights)]
        return tuple(torch.stack(list(each)) for each in zip(*parts))
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for i, w in enumerate(weights):
        back = v @ grad[i]
        s = w * (back - torch.dot(w, back)) / len(q[i]) ** 0.5
        dq[i] = s @ k
        dk += torch.outer(s, q[i])
        dv += torch.outer(w, grad[i])
    return dq, dk, dv
""",
    "cosine": """
class CosineAttention(nn.Module):
    def __init__(self, heads, scale=10.0, eps=1e-6):
        super(CosineAttention, self).__init__()
        a = torch.empty(heads)
        nn.init.constant_(a, math.log(scale))
        self.log_scale = nn.Parameter(a)
        self.eps = eps

    def forward(self, q, k, v, mask=None):
        outputs = []
        if mask is not None:
            mask = mask.expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])
        for h in range(q.shape[1]):
            qh = F.normalize(q[:, h], dim=2, eps=self.eps)
            kh = F.normalize(k[:, h], dim=2, eps=self.eps)
            score = torch.bmm(qh, kh.permute(0, 2, 1)) * torch.exp(self.log_scale[h])
            outputs.append(torch.bmm(masked_softmax(score, None if mask is None else mask[:, h]), v[:, h]))
        return torch.stack(outputs, dim=1)
""",
    "keys": """
def effective_keys(weights):
    n = weights.pow(2).sum(dim=-1)
    empty = n == 0
    n = n.masked_fill(empty, 1.0)
    return n.pow(-1).masked_fill(empty, 0.0)


def temperature_for(scores, keys):
    if scores.ndim > 1:
        return torch.stack([temperature_for(row, keys) for row in scores])
    small, large = 0.0005, 2000.0
    for attempt in range(70):
        tau = (small * large) ** 0.5
        probabilities = torch.softmax((scores - scores.max()) / tau, dim=0)
        if effective_keys(probabilities).item() > keys:
            large = tau
        else:
            small = tau
    return torch.tensor(tau, dtype=scores.dtype)
""",
}
STYLES = {"terse": terse, "wordy": wordy, "einsum": einsum, "stepwise": stepwise, "looped": looped}


def disguised(source: str) -> str:
    """A copy with other names, other comments, other layout, and a line nobody needs."""
    names = "total mean count answer length guess lower upper is_zero too_hot mid lo hi row parts back tau dw ds qh kh"
    names += " grad_weights weighted_mean query_directions cosines collision variance_of_query variance_of_key inner"
    out = re.sub(r"(?m)^ *#.*\n", "", source)
    for number, name in enumerate(names.split()):
        out = re.sub(rf"(?<![.\w\"]){name}\b(?!=)", f"v{number}", out)
    out = re.sub(r"(?m)^( +)return\b", r"\1_ = 0  # my own idea\n\1return", out)
    return out.replace(", dim=", ",  dim=")
