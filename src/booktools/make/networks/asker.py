"""Make asker.bin, the weights of an `Asker` for AskPicture, and held_out_digits.bin, digits for its pictures.

    python -m booktools.make.networks.asker

It is the first of those that chapter 14 measures. `stored` says what the first file is like; its first line also has
the questions as ids of words and, of the answers to each about the pictures of digits held out: which are wrong, how
sure the network is of these, and how often the commonest answer would be right. The second file is like held_out.bin.
"""

import copy

import torch

from attnbook.data import FOLDER
from attnbook.data.stored import to_single_bytes, unpack_single
from attnbook.tasks.pictures import APART, QUESTIONS, Asker, answer, asked, held_out_pictures
from booktools.make.networks.digit_reader import held_out
from booktools.make.seeds.beyond_text import STEPS, asker_trained

HEADS = 4


@torch.no_grad()
def to_bytes(model: Asker) -> bytes:
    """What the page reads; `model` has the parameters of the file, a byte each."""
    exact = copy.deepcopy(model).double()
    pictures_BHW, numbers_B2 = held_out_pictures()
    wrong, sure, most = {}, {}, {}
    ids_Q3 = asked(len(QUESTIONS))
    for question, ids_3 in zip(QUESTIONS, ids_Q3, strict=True):
        chances_B, said_B = exact(pictures_BHW.double(), ids_3.expand(len(pictures_BHW), -1)).softmax(-1).max(-1)
        right_B = torch.tensor([answer(question, *numbers) for numbers in numbers_B2.tolist()])
        wrong[question] = ((said_B != right_B).nonzero()[:, 0] + 1).tolist()
        sure[question] = round(chances_B[said_B != right_B].mean().item(), 2)
        most[question] = round(right_B.bincount().max().item() / len(right_B), 2)
    questions = dict(zip(QUESTIONS, ids_Q3.tolist(), strict=True))
    about = {"questions": questions, "wrong": wrong, "sure": sure, "most": most}
    return to_single_bytes(model, heads=HEADS, steps=STEPS, apart=APART, **about)


if __name__ == "__main__":
    path = FOLDER / "asker.bin"
    path.write_bytes(to_single_bytes(asker_trained(0)))
    rounded = Asker()
    unpack_single(path, rounded)
    path.write_bytes(to_bytes(rounded))
    (FOLDER / "held_out_digits.bin").write_bytes(held_out("digit"))
