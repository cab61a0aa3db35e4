"""What `attnbook` offers, as type checkers and editors read it, who can't run it: src/attnbook/__init__.pyi.

python -m booktools.make.stub
"""

from pathlib import Path

import attnbook
from attnbook._public import MODULES, NAMES

HEAD = '''"""What is public, for type checkers. `python -m booktools.make.stub` makes it from `_public.py`."""

'''


def stub() -> str:
    imports = [f"from attnbook import {module} as {module}" for module in MODULES.values()]
    imports += [f"from attnbook.{module} import {name} as {name}" for module, names in NAMES.items() for name in names]
    others = [f"{name} = {module}" for name, module in MODULES.items() if name != module]
    return HEAD + "\n".join([*imports, "", *others, "__version__: str", "__all__: list[str]", ""])


if __name__ == "__main__":
    Path(attnbook.__file__).with_suffix(".pyi").write_text(stub(), "utf-8")
