"""What is public: some modules, and names in others. `__init__.pyi` says the same to editors and type checkers."""

MODULES = {"check": "checks", "peers": "peers", "plots": "plots", "pretrained": "pretrained", "widgets": "widgets"}
BOOK = {"plots": "matplotlib", "widgets": "anywidget"}  # what only `attnbook[book]` brings, and who needs it
NAMES = {
    "layers.masks": ["blocked", "causal", "padding", "sliding_window", "valid_lens"],
    "layers.softmax": ["masked_softmax"],
    "layers.sparse": ["top_blocks"],
    "layers.dot_product": ["DotProductAttention", "attention"],
    "layers.additive": ["AdditiveAttention", "additive_scores"],
    "layers.multihead": ["KVCache", "MultiHeadAttention"],
    "layers.latent": ["LatentAttention"],
    "layers.linear": ["LinearAttention", "RunningState", "linear_attention", "scan"],
    "layers.positions": ["ALiBi", "LearnedPositions", "RelativeBias", "Rotary", "SinusoidalPositions", "sinusoidal"],
    "layers.scaling": ["NTKAware", "PositionInterpolation", "YaRN"],
    "layers.capture": ["capture_attention"],
    "layers.change": ["change_attention"],
    "models.transformer": [
        "DecoderBlock",
        "EncoderBlock",
        "FeedForward",
        "LanguageModel",
        "State",
        "SwiGLU",
        "TextEncoder",
        "Tokens",
        "Transformer",
    ],
    "models.experts": ["MixtureOfExperts", "Routing", "capture_routing"],
    "models.seq2seq": ["Seq2Seq"],
    "models.decoding": ["beam", "filtered", "greedy", "sample"],
    "learning.text": ["Vocabulary"],
    "learning.bytepairs": ["BytePairs"],
    "learning.vectors": ["SkipGram", "WordVectors", "learn_vectors", "read_vectors", "skip_gram_pairs"],
    "learning.training": ["History", "fit"],
    "learning.complexity": ["Convolution", "Cost", "Recurrence", "SelfAttention"],
    "diagnosis": ["diagnose"],
    "telling": ["about", "says"],
    "device": ["pick_device", "seed_everything"],
    "errors": ["FileError", "ShapeError"],
}
HOMES = {name: module for module, names in NAMES.items() for name in names}
