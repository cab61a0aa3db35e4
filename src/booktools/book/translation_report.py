"""How far the translation of a page is, in lines that a translator reads."""

from pathlib import Path

from booktools.book.contents import read_notebook
from booktools.book.earlier import changed_words, earlier_texts
from booktools.book.translation import blocks_of, overlay_path, texts_of, translation_state


def report(page: str, root: Path) -> tuple[list[str], int]:
    """The lines, and how many texts are at fault though their English has not changed."""
    english, state = texts_of(page, root), translation_state(page, root)
    blocks = blocks_of(page, root, english)
    said = len(state.translated) + len(state.stale)
    lines = [f"{page}: {said} of {len(english)} translated" + (f", {len(state.stale)} changed" if state.stale else "")]
    before = earlier_texts(page, root, {blocks[name].source for name in state.stale} - {""})
    unknown = [name for name in state.stale if not blocks[name].source]
    if unknown:
        lines.append(f"    of {len(unknown)} nobody has noted which English they translate: look, then use --seen")
    for name in [name for name in state.stale if name not in unknown]:
        shown = f"in English, since the translation {', '.join(state.broken[name])}" if name in state.broken else ""
        lines.append(f"    changed: {name}" + (f" (shown {shown})" if shown else ""))
        if text := before.get(blocks[name].source):
            lines.append(f"        {changed_words(text, english[name])}")
    for name, found in state.faults.items():
        lines += [f"    wrong: {name} {each}" for each in found]
    if page.endswith(".ipynb") and state.translated:
        from booktools.book.figure_labels import figures_of, in_table, labels, read_table  # which load Matplotlib

        table = read_table(root, page)
        drawn = {text for data in figures_of(read_notebook(root / page)) for text in labels(data["image/svg+xml"])}
        if unsaid := sorted(text for text in drawn if in_table(text, table) is None):
            lines.append(f"    figures say in English: {' | '.join(unsaid)}")
    if state.missing and said:
        lines.append(f"    missing: {', '.join(state.missing)}")
    if (state.stale or state.faults or (state.missing and said)) and page.endswith((".ipynb", ".md")):
        lines.append(f"    in {overlay_path(page, root).relative_to(root)}")
    return lines, len(state.faults)
