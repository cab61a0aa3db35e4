"""What `make test` proves, and what that takes: of its last run."""

import json
from pathlib import Path

from tests.proven.plugin import table

LAST = Path("_build/table.json")


def section() -> str:
    text = "\n".join(table(json.loads(LAST.read_text()))) if LAST.is_file() else "`make test FRESH=1` fills this table."
    return (
        "## Tests: the slow ones of `make test`\n\nSeconds of processors, by tests, browsers and kernels together.\n\n"
        f"```text\n{text.strip(chr(10))}\n```\n"
    )
