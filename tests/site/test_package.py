"""The wheel, as a reader in Colab gets it: installed in an empty folder, far from this repository."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import uv

from booktools.book.package import package_files
from booktools.printers.site_files import build_wheel
from tests import ROOT

pytestmark = pytest.mark.slow


def build(root, folder):
    build_wheel(root, folder)
    return next(folder.glob("*.whl"))


def left_out(wheel, root):
    """The files of the package that its wheel lacks, but for what its page on PyPI says and what contributors read."""
    files = {path.relative_to(root / "src").as_posix() for path in package_files(root) if path.name != "README.md"}
    return files - set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


def test_wheel_holds_every_file(wheel):
    assert left_out(wheel, ROOT) == set()


def test_wheel_holds_nothing_else(wheel):
    """No edition, no rehearsal, no grader, no script that makes data: readers get what chapters import."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"attnbook"}
    assert not [name for name in names if name.endswith(("entry_points.txt", "README.md")) or "/make" in name]


def test_missing_script_is_noticed(tmp_path):
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "src/attnbook/widgets/planted.js").write_text("export default {};")
    (tmp_path / "src/attnbook/widgets/planted.bin").write_bytes(b"0")
    about = (tmp_path / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(about.replace('exclude = ["/', 'exclude = ["planted.js", "/'))
    assert left_out(build(tmp_path, tmp_path / "dist"), tmp_path) == {"attnbook/widgets/planted.js"}


RENDER = """
import json, attnbook
from attnbook.widgets import all_widgets
from attnbook.widgets.shared.files import page_files

shown = {}
for widget in all_widgets():
    bundle = widget()._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    shown[widget.__name__] = [widget().page_html(), data["text/html"], data["text/plain"]]
print(json.dumps({
    "package": attnbook.__file__,
    "shown": shown,
    "files": {name: len(content) for name, content in page_files().items()},
}))
"""


def test_widgets_render_from_the_installed_wheel(wheel, tmp_path):
    installed, elsewhere = tmp_path / "installed", tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = [uv.find_uv_bin(), "pip", "install", "-q", "--offline", "--no-deps", "--target", installed, wheel]
    subprocess.run([*command, "--python", sys.executable], check=True)
    # Without `site` nothing on the path leads back here: the place of an editable install is in a .pth file.
    path = os.pathsep.join([str(installed), sysconfig.get_path("purelib")])
    done = subprocess.run(
        [sys.executable, "-S", "-c", RENDER],
        cwd=elsewhere,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert Path(report["package"]).is_relative_to(installed)
    assert report["shown"]
    for name, (page, html, plain) in report["shown"].items():
        assert page == html, name
        assert "data-afm=" in html, name
        assert "<table" in html, name
        assert plain, name
    assert report["files"]
    assert all(report["files"].values()), report["files"]
