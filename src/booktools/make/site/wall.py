"""Draw wall.png for the first page: all heads of chapter 12's model on its first text, a map of attention each.

    python -m booktools.make.site.wall

A column for each block, a row for each head. As in `RealModel`, how bright a point is says the root of its weight.
"""

from pathlib import Path

import torch
import torch.nn.functional as F
from PIL import Image

from attnbook.colours import STAGE
from attnbook.widgets.real_model import RealModel

WALL = Path(__file__).parents[2] / "site/front/static/wall.png"
GAP, LEVELS, DIM = 3, 32, 16  # points between maps; steps of brightness; of 255, where a weight is 0


def wall() -> Image.Image:
    maps_NHLL = RealModel().stored().maps
    L = maps_NHLL.shape[-1]
    seen_LL = torch.ones(L, L, dtype=torch.bool).tril()
    light_NHLL = maps_NHLL.clamp(min=DIM).where(seen_LL, 0)
    points = F.pad(light_NHLL, (0, GAP, 0, GAP)).permute(1, 2, 0, 3).flatten(2).flatten(0, 1)[:-GAP, :-GAP]
    levels = (points.float() * (LEVELS - 1) / 255).round().to(torch.uint8)
    height, width = levels.shape
    picture = Image.frombytes("P", (width, height), levels.numpy().tobytes())
    picture.putpalette(bytes.fromhex(str(STAGE["ab-accent"])[1:]) * LEVELS)
    picture.info["transparency"] = bytes(round(255 * level / (LEVELS - 1)) for level in range(LEVELS))
    return picture


if __name__ == "__main__":
    wall().save(WALL, optimize=True)
