"""Checks for the practice exercises: they say what broke, call a stub "not written yet", and never raise.

>>> from attnbook import check
>>> def my_softmax_jacobian(weights_M):
...     return None  # your code
>>> check.softmax_jacobian(my_softmax_jacobian)
not written yet: your function returned nothing
"""

# ruff: noqa: F401 (chapters ask for these names here, `check.attention`)
from attnbook.checks.additive import (
    WRONG_ADDITIVE,
    WRONG_DECODER_STEP,
    WRONG_FACTORISED,
    additive_scores,
    decoder_step,
    factorised_scores,
)
from attnbook.checks.beyond import (
    WRONG_CONTRASTIVE,
    WRONG_PATCHES,
    WRONG_STRENGTH,
    WRONG_WITHIN,
    contrastive_loss,
    image_patches,
    strength,
    within_steps,
)
from attnbook.checks.dot_product import (
    WRONG_ATTENTION,
    WRONG_ATTENTION_LAYER,
    attention,
    attention_layer,
    attention_test,
    softmax_jacobian,
)
from attnbook.checks.fast import (
    WRONG_ACCEPT,
    WRONG_BACK,
    WRONG_CACHE,
    WRONG_FIT,
    WRONG_LAZY,
    WRONG_MERGE,
    WRONG_TILED,
    accept,
    kv_cache,
    lazy_tiled,
    merge,
    tile_back,
    tiled,
    tokens_that_fit,
)
from attnbook.checks.lookup import (
    WRONG_ERROR,
    WRONG_LOOKUP,
    WRONG_LOOP,
    left_out_error,
    soft_lookup,
    training_loop,
)
from attnbook.checks.masks import (
    WRONG_CAUSAL,
    WRONG_PACKED,
    WRONG_PADDING,
    WRONG_SOFTMAX,
    causal,
    masked_softmax,
    packed,
    padding,
)
from attnbook.checks.multihead import (
    WRONG_CAUSAL_MULTI_HEAD,
    WRONG_MULTI_HEAD,
    WRONG_SPLIT,
    causal_multi_head,
    multi_head,
    split_heads,
)
from attnbook.checks.positions import WRONG_ROTARY, WRONG_SINUSOIDAL, rotary, sinusoidal
from attnbook.checks.real_model import (
    WRONG_DIRECT_EFFECTS,
    WRONG_EXCHANGED,
    WRONG_FIRST_SCORE,
    WRONG_RANK_OF,
    WRONG_REPEAT_HEADS,
    WRONG_UNPACK_Q4_1,
    WRONG_UNPACK_Q8_0,
    direct_effects,
    exchanged,
    first_score,
    rank_of,
    repeat_heads,
    unpack_q4_1,
    unpack_q8_0,
)
from attnbook.checks.self_attention import (
    WRONG_OPERATIONS,
    WRONG_STEPS,
    WRONG_TESTS,
    equivariant,
    operations,
    three_steps,
)
from attnbook.checks.today import (
    WRONG_ABSORBED,
    WRONG_KEPT,
    WRONG_ROUTED,
    WRONG_RUNNING,
    absorbed_scores,
    kept_numbers,
    routed,
    running,
)
from attnbook.checks.transformer import (
    WRONG_ENCODER_BLOCK,
    WRONG_GREEDY,
    WRONG_LAYER_NORM,
    WRONG_PRE_NORM_BLOCK,
    WRONG_TRANSLATION_LOSS,
    encoder_block,
    greedy,
    layer_norm,
    pre_norm_block,
    translation_loss,
)
from attnbook.checks.word_vectors import (
    WRONG_ANALOGY,
    WRONG_SAMPLING_LOSS,
    analogy,
    sampling_loss,
    skip_gram_pairs,
)
from attnbook.checks.writing import (
    WRONG_BITS,
    WRONG_INDUCTION,
    WRONG_MERGE_PAIR,
    WRONG_PROBABILITIES,
    WRONG_RMS_NORM,
    WRONG_SEEN,
    bits_per_character,
    induction_score,
    merge_pair,
    probabilities,
    rms_norm,
    seen_before,
)


def __getattr__(name: str):
    from attnbook.errors import meant

    known = [each for each, found in globals().items() if callable(found) and each != "__getattr__"]
    raise AttributeError(f"attnbook.check has no {name!r}. {meant(name, known)}It has {', '.join(known)}.")
