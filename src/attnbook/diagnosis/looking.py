"""What is looked at, one after the other. Inputs are changed, and what follows from it is compared."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.diagnosis.calling import (
    FORMS,
    ROWS,
    SENSES,
    B,
    Caller,
    Form,
    L,
    attempt,
    caller_of,
    copied,
    differs,
    disturbed,
    mixing,
    scale_of,
)
from attnbook.diagnosis.plainly import Measured, Scores, measured

# Which keys each query may see: itself, and all that is seen by what it sees, so that two layers see no more than one.
SOME = torch.tensor(
    [[1, 0, 1, 0, 0], [0, 1, 1, 0, 1], [0, 0, 1, 0, 0], [1, 0, 1, 1, 0], [0, 0, 1, 0, 1]], dtype=torch.bool
)
PREFIX = torch.ones(L, L, dtype=torch.bool).tril()
LENS = Form("lens", "B, L")
LOUD = 200.0  # what inputs are multiplied by to get scores beyond a fill that is not low enough


@dataclass(frozen=True)
class Tried:
    """A form of mask that was accepted, what it allowed and what was seen."""

    form: Form
    argument: Tensor
    may_LM: Tensor
    seen_LM: Tensor
    obeyed: bool


@dataclass
class Examination:
    """A layer that may be changed, how it is called, and what was found: names of sentences, with their gaps."""

    caller: Caller
    found: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    sees_LM: Tensor = field(default_factory=lambda: torch.ones(L, L, dtype=torch.bool))
    rows_mix: bool = False
    equivariant: bool = False
    masks: dict[str, Form] = field(default_factory=dict)  # of each argument for masks, the form that it obeys

    def tell(self, name: str, /, **gaps: Any) -> None:
        self.found.append((name, gaps))

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.found)

    def look(self, at: Callable[..., None], *claims: Any) -> None:
        """One look; if the layer can't do what that asks for, such as a text of another length, this is told."""
        try:
            at(*claims)
        except Exception as error:
            self.tell("not_looked", look=at.__name__, error=f"{type(error).__name__}: {error}".split("\n")[0])

    # Without a mask

    def repeats(self) -> None:
        """Twice the same, and its inputs as they were."""
        inputs = self.caller.inputs()
        copies = [x.clone() for x in inputs]
        first = self.caller(*copies)
        if any(differs(copy, x, 0) for copy, x in zip(copies, inputs, strict=True)):
            self.tell("changes_input")
        elif differs(self.caller(*copies), first):
            self.tell("not_repeatable")

    def layout(self, batch_first: bool | None) -> None:
        """Which axis it mixes along: that is the text's; the other one is the batch."""
        rows, tokens = mixing(self.caller)
        if rows and not tokens:
            self.caller = self.caller.turned()
            self.tell("batch_axis" if batch_first else "sequence_first")
        elif rows:
            self.rows_mix = True
            self.tell("batch_mixed")
        elif not tokens:
            self.tell("no_mixing")
        elif batch_first is False:
            self.tell("batch_first")

    def place_in_batch(self) -> None:
        """The same text has the same output in each row."""
        if self.rows_mix:
            return
        inputs = [x[:1].expand(B, -1, -1).clone() for x in self.caller.inputs()]
        y = self.caller(*inputs)
        if differs(y, y[:1].expand_as(y)):
            self.tell("batch_place")

    def sight(self, causal: bool | None, positions: bool | None) -> None:
        """Which tokens reach which, and whether their order counts."""
        self.sees_LM = seen = influence(self.caller, {})
        order = [1, 2, 0, *range(3, L)]
        inputs = self.caller.inputs()
        y = self.caller(*inputs)
        first = int(self.caller.crosses)  # of queries, keys and values the last two are moved
        moved = self.caller(*inputs[:first], *(x[:, order] for x in inputs[first:]))
        triangle = torch.equal(seen | torch.eye(L, dtype=torch.bool), PREFIX)
        want = y if self.caller.crosses else y[:, order]
        blind = not (differs(moved[:, 3:], y[:, 3:], 1e-5) if triangle else differs(moved, want, 1e-5))
        self.equivariant = bool(seen.all()) and blind
        ahead, apart = seen.triu(1).nonzero(), self.caller.crosses
        if causal and len(ahead):
            self.tell("sees_ahead", i=ahead[0, 0].item(), j=ahead[0, 1].item())
        elif torch.equal(seen, torch.ones_like(seen).tril(1)):
            self.tell("one_ahead")
        elif triangle:
            self.tell("causal")
        if blind and (positions or not apart):
            self.tell("no_order" if positions else "order_by_mask_only" if triangle else "order_ignored")
        elif not blind and seen.all() and not apart:
            self.tell("order_known")

    def questions(self) -> None:
        """Where queries are given apart: one changes no other's answer."""
        if not self.caller.crosses or self.has("heads_mixed", "batch_mixed", "softmax_axis"):
            return
        inputs = self.caller.inputs()
        y = self.caller(*inputs)
        changed = self.caller(*disturbed(inputs[:1], (slice(None), 0)), *inputs[1:])
        if differs(changed[:, 1:], y[:, 1:]):
            self.tell("softmax_axis")

    def sums(self) -> None:
        """Equal values come out alike, however many there are."""
        five, two = self._equal(L), self._equal(2)
        if five is not None and two is not None and differs(five, two, 1e-5):
            self.tell("not_normalised")

    def _equal(self, n: int, masks: dict[str, Tensor] | None = None) -> Tensor | None:
        """The one output for n equal tokens (equal values, where they are given apart); None if there are several."""
        inputs = self.caller.inputs(B, n)
        alike = [x[:, :1].expand(-1, n, -1) for x in self.caller.inputs(B, L)]
        inputs = [*inputs[:2], alike[2]] if self.caller.crosses else alike
        y = self.caller(*(x.clone() for x in inputs), **(masks or {}))
        return y[:, 0] if masks or not differs(y, y[:, :1].expand_as(y), 1e-5) else None

    # Its inner workings

    def parts(self) -> None:
        """The scale of scores, in the layer or in those parts of it that attend."""
        if self.has("heads_mixed", "batch_mixed"):
            return
        for part in _parts(self.caller):
            if (scores := part.scores) is None:
                continue
            K = scores.head_width
            gaps = {"where": part.name, "c": scores.c, "right": K**-0.5, "K": K, "D": part.D}
            if not scores.along_keys:
                self.tell("softmax_axis", **gaps)
            elif abs(scores.c * math.sqrt(K) - 1) < 1e-4:
                self.tell("scale_right", **gaps)
            else:
                self.tell(_kind_of_scale(scores, part.D), **gaps)

    def heads(self) -> None:
        """A layer whose heads are cut out of the whole text, not of each token, depends on the order of its tokens."""
        if self.equivariant or self.rows_mix:
            return
        for part in _parts(self.caller):
            if not part.keeps_heads:
                self.tell("heads_mixed", where=part.name)
                return

    # With a mask

    def mask(self, claimed: str | None) -> None:
        """In which form a mask is obeyed; or what goes wrong with it."""
        for name in self.caller.masks:
            tried = list(self._tried(name))
            if tried and (last := tried[-1]).obeyed:
                self.masks[name] = last.form
                other = claimed and last.form.sense in SENSES and last.form.sense != claimed
                self.tell(f"mask_{'is' if other else 'means'}_{last.form.sense}", name=name)
            elif tried:
                self._disobeyed(name, tried)
            else:
                self.tell("mask_unknown", name=name)

    def _tried(self, name: str) -> Iterator["Tried"]:
        """Each form that is accepted, up to the first that is obeyed."""
        like = self.caller.inputs()[0]
        by_row = [form for form in ROWS if not form.by_query]
        forms = [LENS] if "valid" in name else by_row if "padding" in name else [*FORMS, *by_row]
        for form in forms:
            may_LM = PREFIX if form is LENS else SOME if form.by_query else SOME[3].expand(L, L)
            argument = form(may_LM.expand(B, L, L), like)
            seen_LM = attempt(lambda argument=argument: influence(self.caller, {name: argument}))
            if seen_LM is not None:
                obeyed = self._same(seen_LM, self.sees_LM & may_LM)
                yield Tried(form, argument, may_LM, seen_LM, obeyed)
                if obeyed:
                    return

    def _same(self, seen_LM: Tensor, want_LM: Tensor) -> bool:
        """Whether the same is seen; a token of its own query's is always."""
        own = torch.zeros(L, L) if self.caller.crosses else torch.eye(L)
        return torch.equal(seen_LM | own.bool(), want_LM | own.bool())

    def _disobeyed(self, name: str, tried: list["Tried"]) -> None:
        inputs = self.caller.inputs()
        plain = self.caller(*inputs)
        if not any(differs(self.caller(*inputs, **{name: one.argument}), plain) for one in tried):
            self.tell("mask_ignored", name=name)
        elif any(self._same(one.seen_LM, self.sees_LM & one.may_LM.mT) for one in tried if one.form.by_query):
            self.tell("mask_turned", name=name)
        elif self._shrinks(name, tried):
            self.tell("mask_too_late", name=name)
        else:
            self.tell("mask_leaks", name=name)

    def _shrinks(self, name: str, tried: list["Tried"]) -> bool:
        """Whether equal values come out smaller where some are hidden: what is hidden took its share."""
        free = self._equal(L)
        hidden = [self._equal(L, {name: one.argument}) for one in tried if one.form.sense != "added"]
        return free is not None and any(y is not None and differs(y, free, 1e-5) for y in hidden)

    def loud(self) -> None:
        """What is hidden stays hidden if all visible scores are low; and no exponential overflows."""
        inputs = [LOUD * x for x in self.caller.inputs(8)]
        if not self.caller(*inputs).isfinite().all():
            self.tell("overflow")
            return
        for name, form in self.masks.items():
            may_LM = PREFIX if form is LENS or form.by_query else SOME[3].expand(L, L)
            if not self.sees_LM.triu(1).any() and form.by_query:
                continue
            argument = form(may_LM.expand(8, L, L), inputs[0])
            seen = attempt(lambda argument=argument, name=name: influence(self.caller, {name: argument}, inputs))
            if seen is not None and not self._same(seen, seen & may_LM):
                self.tell("fill_too_high", name=name)
                return

    def empty(self) -> None:
        """A query that may see nothing, and the gradients then."""
        for name, form in self.masks.items():
            if not form.by_query:
                continue
            may_LM = (PREFIX if form is LENS else torch.ones(L, L, dtype=torch.bool)).clone()
            may_LM[2] = False
            inputs = [x.requires_grad_() for x in self.caller.inputs()]
            argument = form(may_LM.expand(B, L, L), inputs[0].detach())
            y = self.caller(*inputs, **{name: argument})
            nan = bool(y[:, 2].isnan().any())
            rest = torch.cat([y[:, :2], y[:, 3:]], 1) if nan else y
            bad = self._bad_gradients(rest.square().sum(), inputs)
            if nan:
                self.tell("empty_nan_everywhere" if bad else "empty_nan", name=name)
            elif bad:
                self.tell("nan_gradients", name=name)
            elif influence(self.caller, {name: argument})[2, [0, 1, 3, 4]].any():
                self.tell("empty_average", name=name)
            return

    def _bad_gradients(self, loss: Tensor, inputs: list[Tensor]) -> bool:
        wanted = [x for x in (*_parameters(self.caller).values(), *inputs) if x.requires_grad]
        grads = torch.autograd.grad(loss, wanted, allow_unused=True)
        return any(g is not None and not g.isfinite().all() for g in grads)

    def rows(self) -> None:
        """A text has the same output beside others, each with its own padding, as alone."""
        if self.has("batch_place"):
            return
        may_BLM = torch.ones(B, L, L, dtype=torch.bool)
        for row, length in enumerate((2, L, 4)):
            may_BLM[row, :, length:] = False
        inputs = self.caller.inputs()
        for name in self.caller.masks:
            for form in [Form("lens", "B")] if "valid" in name else ROWS:
                if (known := self.masks.get(name)) and known.sense != form.sense:
                    continue
                argument = form(may_BLM, inputs[0])
                y = attempt(lambda argument=argument, name=name: self.caller(*inputs, **{name: argument}))
                if y is None or not differs(y, self.caller(*inputs)):
                    continue
                for row in range(B):
                    own = form(may_BLM[row : row + 1], inputs[0])
                    alone = attempt(
                        lambda row=row, own=own, name=name: self.caller(
                            *(x[row : row + 1] for x in inputs), **{name: own}
                        )
                    )
                    if alone is not None and differs(y[row : row + 1], alone):
                        self.tell("mask_of_others", name=name)
                        return
                if known:
                    break

    # Gradients and small formats

    def gradients(self) -> None:
        """A gradient reaches whatever the output depends on."""
        inputs = [x.requires_grad_() for x in self.caller.inputs()]
        named = {name: p for name, p in _parameters(self.caller).items() if p.requires_grad}
        wanted = {**named, **dict(zip(_inputs(inputs), inputs, strict=True))}
        y = self.caller(*inputs)
        if not y.requires_grad:
            grads = dict.fromkeys(wanted)
        else:
            weights = torch.linspace(-1, 2, y.numel(), dtype=y.dtype, device=y.device).view_as(y)
            found = torch.autograd.grad((y * weights).sum(), list(wanted.values()), allow_unused=True)
            grads = dict(zip(wanted, found, strict=True))
        for name, grad in grads.items():
            if grad is not None and grad.abs().max() > 1e-9:
                continue
            acts = self._acts(wanted[name], inputs, y)
            if acts:
                self.tell("cut", name=name)
            elif grad is None and name in named and named[name].ndim > 1:
                self.tell("unused", name=name)

    def _acts(self, x: Tensor, inputs: list[Tensor], y: Tensor) -> bool:
        """Whether the output depends on a tensor."""
        kept = x.detach().clone()
        with torch.no_grad():
            x.copy_(kept.flip(0) + 0.1 * torch.linspace(1, 2, x.numel(), dtype=x.dtype, device=x.device).view_as(x))
            changed = self.caller(*inputs)
            x.copy_(kept)
        return differs(changed, y, 1e-5)

    def half(self) -> None:
        """Tells whether the layer's numbers stay finite in float16."""
        layer = self.caller.layer
        if not isinstance(layer, nn.Module):
            return
        caller = self.caller.of(copied(layer).half())
        inputs = [x.half() for x in self.caller.inputs()]
        masks = {
            name: form(PREFIX.expand(B, L, L), inputs[0])
            for name, form in list(self.masks.items())[:1]
            if form.by_query
        }
        try:
            fits = bool(caller(*inputs, **masks).isfinite().all())
        except Exception as error:
            fits = "overflow" not in str(error)
        if not fits:
            self.tell("half")


def influence(caller: Caller, masks: dict[str, Tensor], inputs: list[Tensor] | None = None) -> Tensor:
    """Which outputs (L) change with which tokens (M); with which keys and values, where those are given apart."""
    inputs = caller.inputs() if inputs is None else inputs
    first = int(caller.crosses)
    y = caller(*inputs, **masks)
    columns = []
    for j in range(L):
        other = [*inputs[:first], *disturbed(inputs[first:], (slice(None), j))]
        off = (caller(*other, **masks) - y).detach().abs()
        columns.append((~(off <= 1e-7 * scale_of(y)) & ~(off.isnan() & y.isnan())).any(-1).any(0))
    return torch.stack(columns, -1).cpu()


def _parts(caller: Caller) -> Iterator[Measured]:
    """The layer, if it can be measured; else the outermost of its parts that can."""
    whole = measured(caller)
    if _tells(whole) or not isinstance(caller.layer, nn.Module):
        yield whole
        return
    inside: tuple[str, ...] = ()
    for name, part in caller.layer.named_modules():
        if not name or name.startswith(inside) or isinstance(part, nn.Linear):
            continue
        inner = attempt(lambda part=part: caller_of(part, caller.widths[0], None))
        if inner is None or not any(mixed := mixing(inner)):
            continue
        found = measured(inner.turned() if mixed == (True, False) else inner, name)
        if _tells(found):
            inside += (f"{name}.",)
            yield found


def _tells(found: Measured) -> bool:
    return found.scores is not None or not found.keeps_heads


def _kind_of_scale(scores: Scores, D: int) -> str:
    """Which mistake explains the factor."""
    K = scores.head_width
    kinds = {"scale_missing": 1.0, "scale_twice": 1 / K, "scale_model": D**-0.5, "scale_times": K**0.5}
    return next((kind for kind, c in kinds.items() if abs(scores.c / c - 1) < 1e-4), "scale_other")


def _parameters(caller: Caller) -> dict[str, nn.Parameter]:
    return dict(caller.layer.named_parameters()) if isinstance(caller.layer, nn.Module) else {}


def _inputs(inputs: list[Tensor]) -> list[str]:
    return ["x"] if len(inputs) == 1 else ["q", "k", "v"]


def examine(
    layer: Any,
    width: int | tuple[int, ...] | None,
    call: Callable | None,
    claims: dict[str, Any],
) -> Examination | None:
    """All looks, those first whose findings explain others; None if no way to call the layer was found."""
    caller = caller_of(layer, width, call)
    if caller is None:
        return None
    it = Examination(caller)
    it.look(it.repeats)
    if it.has("not_repeatable", "changes_input"):
        return it
    it.look(it.layout, claims["batch_first"])
    if it.has("no_mixing"):
        return it
    it.look(it.place_in_batch)
    it.look(it.sight, claims["causal"], claims["positions"])
    it.look(it.heads)
    it.look(it.parts)
    it.look(it.questions)
    it.look(it.gradients)
    if it.has("heads_mixed", "softmax_axis", "batch_mixed"):  # what follows would find them again
        return it
    it.look(it.sums)
    it.look(it.mask, claims["mask"])
    it.look(it.loud)
    it.look(it.empty)
    it.look(it.rows)
    it.look(it.half)
    return it
