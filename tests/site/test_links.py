"""What leads out of the book is followed: to a host of this machine, in a book of one page."""

import socket

import pytest

from booktools.book import BookError
from booktools.book.edition import Edition
from booktools.printers.site import check_links
from booktools.serving import Quiet, serving

pytestmark = pytest.mark.slow


class Host(Quiet):
    """One page is there, one is for people only, others are not."""

    def do_HEAD(self):
        self.send_response({"/there": 200, "/closed": 403}.get(self.path, 404))
        self.end_headers()

    do_GET = do_HEAD


@pytest.fixture(autouse=True)
def _patience():
    """Sphinx sets for all sockets of the process how long they wait."""
    yield
    socket.setdefaulttimeout(None)


@pytest.fixture
def follow(tmp_path):
    def follow_from(*links):
        (tmp_path / "_config.yml").write_text("repository:\n  url: https://github.com/ada/book\n")
        (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\n")
        (tmp_path / "index.md").write_text("# Book\n\n" + "\n".join(f"<{link}>" for link in links))
        check_links(Edition(tmp_path), tmp_path / "links", patience=5)

    with serving(tmp_path, Host) as address:
        yield address, follow_from


def test_what_is_there_is_well_and_what_is_for_people_only_too(follow):
    address, follow_from = follow
    follow_from(
        f"{address}there", f"{address}closed", "https://github.com/ada/book/x", "https://ada.github.io/book/y.html"
    )


def test_a_link_that_leads_nowhere_is_named_and_no_other(follow):
    address, follow_from = follow
    with pytest.raises(BookError) as error:
        follow_from(f"{address}there", f"{address}gone", f"{address}closed")
    assert f"{address}gone" in str(error.value)
    assert "there:" not in str(error.value)
    assert "closed" not in str(error.value)
