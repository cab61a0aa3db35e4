import importlib.util
import sys

from attnbook.peers import d2l


def test_the_stand_in_for_torchvision_is_gone_once_d2l_is_there():
    real = importlib.util.find_spec("torchvision")
    assert hasattr(d2l(), "DotProductAttention")
    assert importlib.util.find_spec("torchvision") == real
    assert ("torchvision.transforms" in sys.modules) <= (real is not None)
