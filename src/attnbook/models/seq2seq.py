"""A recurrent network that reads, one that writes, and additive attention in between: the first use attention had."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnbook._inputs import check_ids, not_right_padded
from attnbook.device import eval_mode, may_look
from attnbook.errors import ShapeError
from attnbook.layers.additive import AdditiveAttention
from attnbook.layers.capture import capture_attention
from attnbook.layers.masks import padding


@dataclass
class Reading:
    """What decoding keeps between two steps: the decoder's state (B, D), and the source as it was read."""

    hidden: Tensor
    memory: Tensor
    keys: Tensor
    memory_mask: Tensor

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order."""
        for name, x in vars(self).items():
            setattr(self, name, x[rows])


class Seq2Seq(nn.Module):
    """Reads a source, writes a target: the scores (B, L, N) for the token after each one of the target so far.

    >>> model = Seq2Seq(N=20, D=8)
    >>> source_BM, target_BL = torch.tensor([[5, 6, 7, 0]]), torch.tensor([[1, 8]])
    >>> model(source_BM, target_BL).shape
    torch.Size([1, 2, 20])

    The encoder is a GRU in both directions. For each token the decoder, a GRU too, first looks into the source: its
    query is the state it was left in by the token before. Token `pad`, on the right of the source, is not read.
    """

    def __init__(
        self,
        N: int,
        D: int = 32,
        *,
        embedding: int = 16,
        target_N: int | None = None,
        dropout: float = 0.0,
        pad: int = 0,
    ):
        super().__init__()
        target_N = N if target_N is None else target_N
        self.pad = pad
        self.source, self.target = nn.Embedding(N, embedding), nn.Embedding(target_N, embedding)
        self.encoder = nn.GRU(embedding, D, bidirectional=True, batch_first=True)
        self.first = nn.Linear(D, D)
        self.attention = AdditiveAttention(query_size=D, key_size=2 * D, num_hiddens=D)
        self.decoder = nn.GRUCell(embedding + 2 * D, D)
        self.output = nn.Linear(D + 2 * D, target_N)
        self.dropout = nn.Dropout(dropout)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.step(target, self.start(source))

    def start(self, source: Tensor) -> Reading:
        """The source as read. The decoder starts from what the encoder knows back at the first token."""
        check_ids(source, self.source.num_embeddings)
        real = source != self.pad
        if source.ndim != 2 or 0 in source.shape:
            raise ShapeError("source", "(B, M)", ("B", "M"), source.shape, "A batch of texts of one token at least.")
        if may_look(real) and not_right_padded(real):
            raise ValueError(f"source must have its padding ({self.pad}) on the right, got {source.tolist()}.")
        lengths = real.sum(1).clamp(min=1).cpu()
        x = self.dropout(self.source(source))
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        memory, (_, backwards) = self.encoder(packed)
        memory, _ = pad_packed_sequence(memory, batch_first=True, total_length=source.shape[1])
        return Reading(self.first(backwards).tanh(), memory, self.attention.key(memory), padding(source, pad=self.pad))

    def step(self, target: Tensor, state: Reading) -> Tensor:
        """The scores after each of some more tokens."""
        check_ids(target, self.target.num_embeddings)
        B = len(state.hidden)
        if target.ndim != 2 or len(target) != B or target.shape[1] == 0:
            raise ShapeError("target", "(B, L)", (B, "L"), target.shape, "As many as there are sources.")
        found, hidden = [], state.hidden
        for token in self.dropout(self.target(target)).unbind(1):
            query = self.attention.query(hidden)[:, None]
            context = self.attention.blend(query, state.keys, state.memory, state.memory_mask)[:, 0]
            hidden = self.decoder(torch.cat([token, context], -1), hidden)
            found.append(torch.cat([hidden, context], -1))
        state.hidden = hidden
        return self.output(torch.stack(found, 1))

    @torch.no_grad()
    def alignment(self, source: Tensor, target: Tensor) -> Tensor:
        """The weights (B, L, M) with which the source was looked at for each token after the target's.

        `capture_attention` shows a layer's last call; here each token is a call.
        """
        with eval_mode(self), capture_attention(self) as maps:
            state, rows = self.start(source), []
            for token in target.split(1, dim=1):
                self.step(token, state)
                rows.append(maps["attention"])
        return torch.cat(rows, 1)
