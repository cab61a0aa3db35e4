"""What is said of several widgets at once, in their tables and by their chapters."""

import torch
from torch.testing import assert_close

from attnbook.tasks.dates import date_transformer
from attnbook.widgets import (
    AlignmentPlayer,
    LiveTransformer,
)
from tests.widgets.reading import parsed


def test_tables_of_additive_scores():
    page = parsed(AlignmentPlayer("7/4/76"))
    letters, weights = AlignmentPlayer("7/4/76").read()
    assert page.caption.text == "“7/4/76” becomes 1976-07-04■"
    assert [head.text for head in page.select("th[scope=row]")] == letters == [*"1976-07-04■"]
    looked = [cell.text for cell in page.select("tr td:nth-of-type(1)")[1:]]
    places = [f"{'7/4/76■'[j]} (letter {j + 1})" for j in weights.argmax(-1).tolist()]
    assert looked == places
    shares = [float(cell.text) for cell in page.select("td:nth-of-type(2)")]
    assert_close(torch.tensor(shares), weights.amax(-1), rtol=0, atol=0.00501)


def test_tables_of_the_transformer():
    _, chances, maps = LiveTransformer("7/4/76").read()
    page = parsed(LiveTransformer("7/4/76"))
    assert page.caption.text == "“7/4/76” becomes 1976-07-04■"
    looks = maps["cross"].mean(0).argmax(-1).tolist()
    places = [f"{'7/4/76■'[j]} (letter {j + 1})" for j in looks]
    assert [cell.text for cell in page.select("td:nth-of-type(2)")] == places
    shares = torch.tensor([float(cell.text) for cell in page.select("td:nth-of-type(1)")[1:]])
    assert_close(shares, chances.amax(-1), rtol=0, atol=0.00501)
    forced = parsed(LiveTransformer("11/12/13", forced=[[0, date_transformer()[1].ids["1"]]]))
    assert forced.select("td")[1].text == "0.00", "the chance of what was written"


def test_what_chapter_9_says_of_its_widgets():
    letters, chances, _ = LiveTransformer("11/12/13").read()
    assert "".join(letters) == "2013-11-12■"
    assert chances.amax(-1)[:4].min() >= 0.995
    _, known = date_transformer()
    other = LiveTransformer("11/12/13", forced=[[0, known.ids["1"]]])
    assert "".join(other.read()[0]) == "1913-11-12■"
    assert chances[0, known.ids["1"]] < 0.001
    assert known.ids["1"] in chances[0].topk(5).indices
    text = "23rd of october 1962"
    maps = LiveTransformer(text).read()[2]
    favourites = maps["encoder"].mean(1).argmax(-1)
    assert [(text + "■")[j] for j in favourites] == ["c", "c", "d", "■"]
    assert (maps["encoder"][1, 8:15].argmax(-1) == text.index("c")).all()  # every letter of october
    looks = [(text + "■")[j] for j in maps["cross"].mean(0).argmax(-1)]
    assert looks[:4] == ["9", "■", "6", "2"]
    assert looks[5:7] == ["t", "c"]
    assert looks[8:10] == ["2", "3"]
    letters, chances, _ = LiveTransformer("Monday").read()
    assert "".join(letters) == "000-05-0-0■"
    assert 0.885 < chances.amax(-1).min() < 0.895


def test_what_the_chapters_say_of_the_networks_in_their_widgets():
    said = {
        "Monday": "133-03",
        "31 February 2001": "2001-02-31",
        "1962-10-23": "2023-12-26",
        "1 April 2100": "2000-04-01",
    }
    for text, written in said.items():
        assert "".join(AlignmentPlayer(text).read()[0]) == f"{written}■"
    text = "the 4th of July 1976"
    looks = AlignmentPlayer(text).read()[1]
    assert [text[j] for j in looks[[2, 5, 6]].argmax(-1)] == ["7", "u", "l"]
    assert looks[6].max() > 0.8
    assert AlignmentPlayer("11/12/13").read()[1][:2].argmax(-1).tolist() == [5, 5]  # the second slash
    weekday = AlignmentPlayer("Wednesday, 7 May 1980").read()[1][:, :9].sum(-1)
    assert weekday[[5, 8]].min() > 0.05, "the zeros of 05-07"
    assert weekday[[0, 1, 2, 3, 6, 9]].max() < 0.05, "the other digits"
