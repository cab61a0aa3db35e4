"""What goes to the branches that readers see, tried on a repository of this test's own."""

import os
import re
import subprocess

import pytest
import yaml

from booktools import cli
from booktools.book.edition import Edition
from booktools.book.package import project
from tests import ROOT

WHO = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "a@example.org"}
WHO |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in WHO.items()}
ENVIRONMENT = os.environ | WHO | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def do(*command, cwd):
    done = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


@pytest.fixture
def remote(tmp_path):
    """A repository with one commit on main, where things are pushed to."""
    do("git", "init", "-q", "-b", "main", "work", cwd=tmp_path)
    do("git", "commit", "-q", "--allow-empty", "-m", "first", cwd=tmp_path / "work")
    do("git", "clone", "-q", "--bare", "work", "remote", cwd=tmp_path)
    do("git", "remote", "add", "origin", tmp_path / "remote", cwd=tmp_path / "work")
    return tmp_path / "remote"


def wheel(version):
    """As the site carries it, with a hash of the package's files."""
    return f"attnbook-{version}+0a1b2c3d-py3-none-any.whl"


def publish(tag, version, remote, folder):
    site = folder / f"site of {tag}"
    (site / "colab").mkdir(parents=True)
    (site / wheel(version)).write_text(f"package {version}")
    (site / "index.html").write_text(f"page {version}")
    (site / f"colab/{version}.ipynb").write_text("{}")
    return do(ROOT / ".ci/publish", site, tag, remote, cwd=folder)


def files(remote):
    return do("git", "ls-tree", "-r", "--name-only", "gh-pages", cwd=remote).split()


def test_the_site_calls_its_package_so():
    made = re.sub(r"\+[0-9a-f]{8}-", "+0a1b2c3d-", Edition(ROOT).wheel)
    assert made == wheel(project(ROOT)["version"])


def test_site_package_and_notebooks_arrive_together(remote, tmp_path):
    publish("v0.1.0", "0.1.0", remote, tmp_path)
    assert files(remote) == [wheel("0.1.0"), "colab/0.1.0.ipynb", "index.html"]
    assert do("git", "log", "--format=%s", "gh-pages", cwd=remote) == "The book at v0.1.0\n"


def test_a_new_edition_keeps_only_the_packages_of_the_old(remote, tmp_path):
    for tag in ("v0.1.0", "v0.2.0"):
        publish(tag, tag[1:], remote, tmp_path)
    wheels = [wheel("0.1.0"), wheel("0.2.0")]
    assert files(remote) == [*wheels, "colab/0.2.0.ipynb", "index.html"]
    assert do("git", "show", f"gh-pages:{wheels[0]}", cwd=remote) == "package 0.1.0"
    assert do("git", "show", "gh-pages:index.html", cwd=remote) == "page 0.2.0"


def test_the_same_tag_again_brings_its_own_package(remote, tmp_path):
    (tmp_path / "again").mkdir()
    for folder in (tmp_path, tmp_path / "again"):
        publish("v0.1.0", "0.1.0", remote, folder)
    assert len(files(remote)) == 3


def test_tag_and_package_must_agree(remote, tmp_path):
    said = f"The tag v0.2.0 and the package disagree: {wheel('0.1.0')}. Set version in pyproject.toml"
    with pytest.raises(RuntimeError, match=re.escape(said)):
        publish("v0.2.0", "0.1.0", remote, tmp_path)
    assert do("git", "branch", "--format=%(refname:short)", cwd=remote) == "main\n"


def test_a_branch_without_packages_is_no_obstacle(remote, tmp_path):
    do("git", "branch", "gh-pages", "main", cwd=remote)  # as people make it, to choose it in the settings
    publish("v0.1.0", "0.1.0", remote, tmp_path)
    assert len(files(remote)) == 3


def test_a_remote_that_does_not_answer_loses_nothing(remote, tmp_path):
    with pytest.raises(RuntimeError, match="does not appear to be a git repository"):
        publish("v0.1.0", "0.1.0", tmp_path / "nowhere", tmp_path)
    (tmp_path / "work/report.json").write_text("{}")
    with pytest.raises(RuntimeError, match="does not appear to be a git repository"):
        do(ROOT / ".ci/last-green", "report.json", tmp_path / "nowhere", "main", cwd=tmp_path / "work")


def test_last_green_is_told_where_it_is_new(remote, tmp_path):
    work = tmp_path / "work"
    publish("v0.1.0", "0.1.0", remote, tmp_path)
    for day in ("2026-11-02", "2026-11-09", "2026-11-09"):
        (work / "report.json").write_text(f'{{"date": "{day}"}}')
        do(ROOT / ".ci/last-green", "report.json", "origin", "main", "gh-pages", "missing", cwd=work)
    for branch in ("main", "gh-pages"):
        assert do("git", "show", f"{branch}:colab/last-green.json", cwd=remote) == '{"date": "2026-11-09"}'
        assert do("git", "rev-list", "--count", branch, cwd=remote) == "3\n"
    assert "index.html" in files(remote)


@pytest.mark.parametrize("path", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=lambda path: path.name)
def test_workflows_run_what_is_here(path):
    """The targets, scripts and options that its steps name are there."""
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    (job,) = yaml.safe_load(path.read_text())["jobs"].values()
    script = "\n".join(step.get("run", "") for step in job["steps"])
    each = " make ".join(job.get("strategy", {}).get("matrix", {}).get("target", []))
    script = script.replace("${{ matrix.target }}", each)
    assert set(re.findall(r"\bmake (\w+|\$)", script)) <= set(targets)
    for options in re.findall(r'REHEARSE="(.*)"', script):
        cli.parser().parse_args(["rehearse", str(ROOT), *options.replace("$RUNNER_TEMP", str(ROOT)).split()])
    scripts = re.findall(r"\.ci/[\w-]+", script)
    assert scripts or "make" in script
    assert all(os.access(ROOT / name, os.X_OK) for name in scripts)
