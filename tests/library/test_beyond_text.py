"""Images, two kinds at once, sets and graphs: their data, and what their models must be equal to."""

import gzip
import hashlib
from difflib import SequenceMatcher

import pytest
import torch
from torch import nn

from attnbook.data import FOLDER, handwritten_digits
from attnbook.tasks.digits import (
    FORMS,
    VisionTransformer,
    covered,
    digit_reader,
    digits,
    drops,
    looks,
    patches,
    rollout,
)
from attnbook.tasks.pictures import QUESTIONS, Asker, answer, questions, two_digits
from attnbook.tasks.sets import graphs, sets
from booktools.make.seeds.beyond_text import on_the_page, seen_numbers, split_at_random


def test_the_digits_are_as_they_were_collected():
    text = gzip.decompress((FOLDER / "digits.csv.gz").read_bytes())
    assert hashlib.sha256(text).hexdigest() == "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8"
    numbers = handwritten_digits()
    assert (numbers[:, :-1].min(), numbers[:, :-1].max(), numbers[:, -1].max()) == (0, 16, 9)


def test_every_form_asks_for_the_same_digits():
    """Each has those of the first in their order, but for at most eight that are missing and one that is another."""
    text = "".join(map(str, handwritten_digits()[:, -1].tolist()))
    forms = [text[start:end] for start, end in zip(FORMS, [*FORMS[1:], len(text)], strict=True)]
    assert [len(form) for form in forms] == [130, 126, 130, 130, 130, 130, 130, 123, 128, 130, 128, 130, 122, 130]
    for form in forms:
        same = sum(block.size for block in SequenceMatcher(None, forms[0], form, autojunk=False).get_matching_blocks())
        assert same >= len(form) - 1


@pytest.mark.parametrize("by", ["digit", "form"])
def test_what_is_held_out_is_not_learned_from(by):
    kept, out = (digits(held_out=held_out, by=by) for held_out in (False, True))
    everything = handwritten_digits()
    both = torch.cat([torch.cat([16 * images.flatten(1), labels[:, None]], 1) for images, labels in (kept, out)])
    assert sorted(both.long().tolist()) == sorted(everything.tolist())
    assert (out[1].bincount() > 25).all(), "each digit is there"
    if by == "form":
        assert torch.equal(out[1], everything[FORMS[-3] :, -1])
    else:
        assert out[1][:12].tolist() == [0, 2, 3, 4, 6, 5, 7, 8, 9, 0, 5, 7], "the same on every machine"


def test_a_split_that_does_not_exist():
    with pytest.raises(ValueError, match="by must be 'digit' or 'form', got 'writer'"):
        digits(by="writer")


def test_patches_are_put_together_again():
    image_HW = torch.arange(64.0).view(8, 8)
    again = patches(image_HW[None]).view(4, 4, 2, 2).transpose(1, 2).reshape(8, 8)
    assert torch.equal(again, image_HW)
    hidden_PHW = covered(image_HW, torch.full((8, 8), -1.0))
    assert ((hidden_PHW == -1).sum((1, 2)) == 4).all()
    assert torch.equal(patches(hidden_PHW)[torch.arange(16), torch.arange(16)], torch.full((16, 4), -1.0))


def test_without_positions_the_order_of_patches_says_nothing():
    torch.manual_seed(0)
    model, image_BHW = VisionTransformer(), digits()[0][:1]
    flipped_BHW = image_BHW.view(1, 4, 2, 8).flip(1).reshape(1, 8, 8)
    assert not torch.allclose(model(flipped_BHW), model(image_BHW), atol=1e-4)
    nn.init.zeros_(model.positions)
    torch.testing.assert_close(model(flipped_BHW), model(image_BHW))


def test_looks_rollout_and_drops_are_of_the_patches():
    images_BHW, labels_B = (x[:3] for x in digits(held_out=True, by="form"))
    model = digit_reader()
    looks_BNHP = looks(model, images_BHW)
    assert looks_BNHP.shape == (3, 2, 4, 16)
    assert ((looks_BNHP.sum(-1) > 0) & (looks_BNHP.sum(-1) < 1)).all(), "the rest is the class token's"
    assert rollout(model, images_BHW).sum(-1).max() < 1
    cover_HW = images_BHW[1]
    fell_BP = drops(model, images_BHW, labels_B, cover_HW)
    torch.testing.assert_close(fell_BP[1], torch.zeros(16), msg="covered with itself")
    hidden_HW = images_BHW[0].clone()
    hidden_HW[2:4, 4:6] = cover_HW[2:4, 4:6]
    want = model(images_BHW[:1])[0, labels_B[0]] - model(hidden_HW[None])[0, labels_B[0]]
    torch.testing.assert_close(fell_BP[0, 6], want)


def test_pictures_show_the_numbers_that_may_be_drawn():
    allowed = torch.zeros(10, 10, dtype=torch.bool)
    allowed[4, 2] = allowed[0, 7] = True
    pictures_BHW, numbers_B2 = two_digits(digits(), 50, allowed)(torch.Generator().manual_seed(0))
    assert {*map(tuple, numbers_B2.tolist())} == {(4, 2), (0, 7)}
    reader = digit_reader()
    halves = [reader(half).argmax(-1) for half in pictures_BHW.split(8, -1)]
    assert (torch.stack(halves, 1) == numbers_B2).double().mean() > 0.95
    _, asked, answers_B = questions(digits(), 10)(torch.Generator().manual_seed(0))
    _, numbers_B2 = two_digits(digits(), 10)(torch.Generator().manual_seed(0))
    told = [answer(QUESTIONS[i % 5], *pair) for i, pair in enumerate(numbers_B2.tolist())]
    assert answers_B.tolist() == told
    assert torch.equal(asked[:5], asked[5:])
    assert Asker()(pictures_BHW[:2], asked[:2]).shape == (2, 19)


def test_numbers_that_are_never_shown_are_so_in_both_orders_and_each_digit_equally_often():
    seen_NN = seen_numbers()
    assert torch.equal(seen_NN, seen_NN.T)
    assert ((~seen_NN).sum(1) == 2).all()


def test_splits_are_drawn_anew_and_forms_stay_whole():
    (learn, test), (_, other) = split_at_random("digit", 0), split_at_random("digit", 1)
    assert (len(learn[1]), len(test[1])) == (1437, 360)
    assert not torch.equal(test[0], other[0])
    (learn, test) = split_at_random("form", 0)
    assert len(learn[1]) + len(test[1]) == 1797
    ends = [*FORMS[1:], 1797]
    forms = {b - a for a, b in zip(FORMS, ends, strict=True)}
    assert any(a + b + c == len(test[1]) for a in forms for b in forms for c in forms)


def test_clip_wants_each_picture_beside_its_own_name():
    """Zero for pairs that are alike, log B where all are alike, more where names are exchanged."""
    loss, eye = on_the_page().contrastive_loss, torch.eye(6)
    assert loss(eye, eye, 150.0) < 1e-6
    same = eye[:1].expand(6, 6)
    torch.testing.assert_close(loss(same, same, 150.0), torch.tensor(6.0).log())
    assert loss(eye, eye.flip(0), 150.0) > 100


def test_a_set_has_no_order():
    torch.manual_seed(0)
    model = on_the_page().Counter()
    images_BLHW, counts_B = sets(digits(), 20)(torch.Generator().manual_seed(0))
    assert counts_B.min() >= 1
    assert counts_B.max() <= 6
    order = torch.randperm(6)
    torch.testing.assert_close(model(images_BLHW[:, order]), model(images_BLHW))


@pytest.mark.parametrize("attends", [True, False])
def test_only_a_sum_sees_how_many_members_there_are(attends):
    torch.manual_seed(0)
    images_BLHW = sets(digits(), 3)(torch.Generator().manual_seed(0))[0]
    for pool, sees in (("mean", False), ("sum", True)):
        model = on_the_page().Counter(attends, pool)
        once, twice = model(images_BLHW), model(images_BLHW.repeat(1, 2, 1, 1))
        assert torch.allclose(once, twice, atol=1e-4) != sees


def test_members_that_do_not_attend_are_seen_by_themselves():
    images_BLHW = sets(digits(), 3)(torch.Generator().manual_seed(0))[0]
    for attends in (True, False):
        torch.manual_seed(0)
        model = on_the_page().Counter(attends, "sum")
        model.scores = nn.Identity()
        one_by_one = sum(model(image_B1HW) for image_B1HW in images_BLHW.split(1, 1))
        assert torch.allclose(model(images_BLHW), one_by_one, atol=1e-4) != attends


def test_nodes_see_as_far_as_there_are_layers():
    edges_BLL, marked_BL, near_BL = graphs(30)(torch.Generator().manual_seed(0))
    assert torch.equal(edges_BLL, edges_BLL.mT)
    assert edges_BLL.diagonal(dim1=1, dim2=2).all()
    two_BLL = (edges_BLL.float() @ edges_BLL.float()) > 0
    assert torch.equal(two_BLL.float()[marked_BL.bool()], near_BL)
    torch.manual_seed(0)
    for layers, reached_BLL in ((1, edges_BLL), (2, two_BLL)):
        model = on_the_page().Walker(layers)
        with_mark, without = model(edges_BLL, marked_BL), model(edges_BLL, torch.zeros_like(marked_BL))
        assert torch.equal((with_mark - without).abs() > 1e-6, reached_BLL[marked_BL.bool()])
    order = torch.randperm(12)
    permuted = model(edges_BLL[:, order][:, :, order], marked_BL[:, order])
    torch.testing.assert_close(permuted, with_mark[:, order])
