"""What every chapter must keep to. Each rule lists complaints, and is itself tried on a planted fault."""

import ast
import gzip
import re
import statistics
import subprocess
import sys
from copy import deepcopy
from functools import cache
from itertools import takewhile

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attnbook.plots.renderings import DARK_OF, colours
from booktools.book.address import address
from booktools.book.cell_kinds import count_assertions, is_check, is_ours, stub_check
from booktools.book.contents import chapters
from booktools.book.from_scratch import kept_cells
from booktools.book.myst import Directive, blocks
from booktools.directives.minutes import is_read_as_code, until_the_end
from booktools.rehearsal.run import clean
from tests import ROOT

CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
IGNORED = {"nbval-ignore-output", "nbval-skip"}


# The rules


def is_stored_cleanly(notebook, number):
    """As `make notebooks` leaves it: the kernel, counts 1...n, whole streams, no widget views, no timings."""
    if (notebook.nbformat, notebook.nbformat_minor) != (4, 5):
        yield f"the format is {notebook.nbformat}.{notebook.nbformat_minor}, expected 4.5"
    nbformat.validate(deepcopy(notebook))
    if clean(deepcopy(notebook)) != notebook:
        yield "outputs or metadata are not as `make notebooks` stores them"
    counts = [cell.execution_count for cell in code(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        yield f"execution counts must run 1...n, got {counts}; nothing is compared in a cell without one"
    for cell in code(notebook):
        if any(output.output_type == "error" for output in cell.outputs):
            yield f"cell {cell.id} stores an error; catch it and print what it says"


def says_the_same_tomorrow(notebook, number):
    for cell in code(notebook):
        said = [
            o if "data" not in o else {k: v for k, v in o.data.items() if k != "image/svg+xml"} for o in cell.outputs
        ]
        if found := re.search(r"0x[0-9a-f]{6,}|ipykernel_\d+|/(?:home|Users|root|tmp)/\S*", str(said)):
            yield f"cell {cell.id} prints {found[0]!r}, which is different in every run"


def has_good_ids(notebook, number):
    ids = [cell.id for cell in notebook.cells]
    for name in ids:
        if not re.fullmatch(r"[a-z0-9-]+", name) or re.fullmatch(r"[0-9a-f]{8}|(cell)?[\d-]+", name):
            yield f"cell id {name!r}: give it a few words about the cell, like `why-sqrt-d` (a-z, 0-9, -)"
        if ids.count(name) > 1:
            yield f"cell id {name!r} stands more than once"


def knows_no_address(notebook, number):
    here = address(ROOT)
    for cell in notebook.cells:
        if cell.id in ("setup", "setup-note") or (
            cell.cell_type == "code" and re.search(r"^\s*[%!]", cell.source, re.M)
        ):
            yield f"cell {cell.id}: a chapter has no set-up cell (the Colab edition brings it), no %pip and no !command"
        for text in (here.full_name, here.site, "colab.research"):
            if text in cell.source:
                yield f"cell {cell.id} holds the address {text}; the only place for it is _config.yml"


def has_small_cells(notebook, number):
    sizes = {cell.id: len([line for line in cell.source.splitlines() if line.strip()]) for cell in code(notebook)}
    for name, size in sizes.items():
        if not 1 <= size <= 25:
            yield f"cell {name} has {size} lines, expected 1 to 25"
    built = [cell.id for cell in kept_cells(notebook)]
    read = [size for name, size in sizes.items() if name not in built and not is_check(cell_of(notebook, name))]
    if (median := statistics.median(read)) > 4:
        yield f"half of the code cells that build nothing must have at most 4 lines, got a median of {median:g}"


def ignores_little(notebook, number):
    ignored = [cell for cell in code(notebook) if IGNORED & set(cell.metadata.get("tags", []))]
    if len(ignored) > 3:
        yield f"{len(ignored)} cells are not compared, expected at most 3: {[cell.id for cell in ignored]}"
    for cell in ignored:
        if not (is_checked(notebook, cell) and re.search(r"#.*\w{3}", cell.source) and cell.outputs):
            yield f"cell {cell.id} is not compared: it needs a comment that says why, an assert instead, its outputs"
    for cell in code(notebook):
        if found := re.search(r"#\s*(NBVAL_\w+|PYTEST_VALIDATE_IGNORE_OUTPUT)", cell.source):
            yield f"cell {cell.id}: use a tag in place of the comment {found[1]}, which readers would see"


def describes_its_figures(notebook, number):
    for cell in code(notebook):
        pictures = [output.data for output in cell.outputs if any("image/" in kind for kind in output.get("data", {}))]
        if pictures:
            alt, figure = (cell.metadata.get("mystnb", {}).get(kind, {}) for kind in ("image", "figure"))
            if len(alt.get("alt", "").split()) < 3:
                yield f"cell {cell.id} draws: its metadata need mystnb.image.alt, what one sees in words, got {alt}"
            if not re.fullmatch(r"[A-Z].* .*\.", figure.get("caption", "")):
                yield f"cell {cell.id} draws: its metadata need mystnb.figure.caption, a sentence or two, got {figure}"
            if not re.fullmatch(rf"ch{number:02}-fig-[a-z0-9-]+", figure.get("name", "")):
                yield f"cell {cell.id} draws: its metadata need mystnb.figure.name, ch{number:02}-fig-..., got {figure}"
            if not is_checked(notebook, cell):
                yield f"cell {cell.id} draws: pixels are not compared, so it must assert something about what it draws"


def draws_in_the_books_style(notebook, number):
    for cell in code(notebook):
        for picture in (output.data for output in cell.outputs if "data" in output):
            if other := [kind for kind in picture if kind.startswith("image/") and kind != "image/svg+xml"]:
                yield f"cell {cell.id} stores {other}, expected SVG; draw on axes of `plots`"
            svg = picture.get("image/svg+xml", "")
            if unknown := colours(svg) - DARK_OF.keys():
                yield f"cell {cell.id} draws in {sorted(unknown)}, which have no counterpart in the dark"
            if re.search(r"<image|<text", svg):
                yield f"cell {cell.id}: pixels keep their colours in the dark, and texts need a font that is nowhere"
            if (weight := len(gzip.compress(svg.encode()))) > 25_000:
                yield f"cell {cell.id}: a figure of {weight:,} bytes, expected at most 25,000"


def has_title_and_description(notebook, number):
    title = notebook.cells[0].source.split("\n")[0]
    if notebook.cells[0].cell_type != "markdown" or not re.match(rf"# {number}\. \S", title):
        yield f"the first line must be `# {number}. Title`, got {title!r}"
    description = notebook.metadata.get("description", "")
    if not 50 <= len(description) <= 160:
        yield f"the notebook's metadata need a description of 50 to 160 characters, got {len(description)}"


def says_where_it_is_read(notebook, number):
    """In a line that Jupyter shows and the site does not: a comment of its Markdown."""
    if not re.search(r"^% .*`make lab`\.$", notebook.cells[0].source, re.M):
        yield "the first cell must say where the chapter is read in Jupyter, in a line `% … make lab`"


def imports_and_seeds_first(notebook, number):
    first = code(notebook)[0]
    if not (
        re.search(r"^import torch$", first.source, re.M) and re.search(r"manual_seed|seed_everything", first.source)
    ):
        yield f"the first code cell, {first.id}, must `import torch` and seed"


def has_exercises(notebook, number):
    found, last = {}, None
    for directive in (entry for cell in notebook.cells if cell.cell_type == "markdown" for entry in walk(cell.source)):
        words, folded = directive.argument, directive.folded or directive.name == "dropdown"
        if directive.name in ("exercise", "exercise-start"):
            last = directive.label
            found[last] = []
        elif directive.name in ("solution", "solution-start"):
            found.setdefault(words, ["no exercise"]).append("solution" if folded else "open solution")
        elif folded and last and (directive.name == "hint" or words.startswith("Hint")):
            found[last].append("hint")
    if len(found) < 6:
        yield f"a chapter has at least 6 exercises, got {len(found)}"
    for label, parts in found.items():
        if not re.fullmatch(rf"ch{number:02}-ex-[a-z0-9-]+", label or ""):
            yield f"an exercise is labelled {label}, expected ch{number:02}-ex-..."
        if sorted(parts) != ["hint", "solution"]:
            yield f"exercise {label} needs one hint and one solution, both of class dropdown, got {parts or 'none'}"


def announces_its_assignment(notebook, number):
    announced = [entry for cell in notebook.cells if cell.cell_type == "markdown" for entry in walk(cell.source)]
    has_one = any((ROOT / "assignments/source").glob(f"{number:02}_*.ipynb"))
    if [entry.name for entry in announced].count("assignment") != has_one:
        yield "a chapter that has an assignment announces it once, with {assignment}"


def keeps_checks_apart(notebook, number):
    """What is asserted stands in cells of its own, folded to a line; what a reader should learn to assert, in sight."""
    read = filter(is_read_as_code, until_the_end(notebook, end="## Exercises"))
    asserting = {cell.id: count_assertions(cell.source) for cell in read if count_assertions(cell.source)}
    if (found := sum(asserting.values())) > 3:
        yield f"{found} asserts in sight, expected at most 3: {asserting}; move them to cells tagged `checks`"
    for cell in filter(is_check, notebook.cells):
        if cell.outputs:
            yield f"cell {cell.id} is tagged `checks` and prints; what is printed belongs in sight"
        if not count_assertions(cell.source):
            yield f"cell {cell.id} is tagged `checks` and asserts nothing"


def shows_where_names_come_from(notebook, number):
    """What is in sight runs without the cells for checks."""
    shown, hidden = set(), set()
    for cell in code(notebook):
        tree = list(ast.walk(ast.parse(cell.source)))
        used = {node.id for node in tree if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        made = {name for node in tree for name in names_made_by(node)}
        if is_check(cell):
            hidden |= made
        else:
            if lost := sorted((used & hidden) - made - shown):
                yield f"cell {cell.id} uses {', '.join(lost)}, which only a cell for checks makes"
            shown |= made


def folds_its_solutions(notebook, number):
    """Where a reader is asked to write first, our solution comes before the next stub or heading, and is folded."""
    core = list(until_the_end(notebook, end="## Exercises"))
    for place, cell in enumerate(core):
        after = takewhile(lambda cell: not (stub_check(cell) or has_heading(cell)), core[place + 1 :])
        if stub_check(cell) and not any(map(is_ours, after)):
            yield f"cell {cell.id} asks readers to write; tag our solution, which follows it, `ours`"


def can_be_taken_along(notebook, number):
    """A chapter's own code becomes a file, to which it leads."""
    if not kept_cells(notebook):
        yield "no cell is tagged `keep`: what a chapter is about stands there complete, for readers to take along"
    named = [entry.name for cell in notebook.cells if cell.cell_type == "markdown" for entry in walk(cell.source)]
    if named.count("from-scratch") != 1:
        yield f"a chapter leads to its file once, with {{from-scratch}}, got {named.count('from-scratch')}"


def compares_on_one_device(notebook, number):
    """`fit` learns on the GPU where there is one: what its numbers are compared with was reckoned on the CPU."""
    for cell in code(notebook):
        calls = {
            ast.unparse(call.func): call for call in ast.walk(ast.parse(cell.source)) if isinstance(call, ast.Call)
        }
        told = {given.arg for given in calls["fit"].keywords} if "fit" in calls else {"device"}
        if "assert_close" in calls and "device" not in told:
            yield f'cell {cell.id} compares what `fit` finds: with device="cpu", or it fails where there is a GPU'


RULES = [
    is_stored_cleanly,
    says_the_same_tomorrow,
    has_good_ids,
    knows_no_address,
    has_small_cells,
    ignores_little,
    describes_its_figures,
    draws_in_the_books_style,
    has_title_and_description,
    says_where_it_is_read,
    imports_and_seeds_first,
    has_exercises,
    announces_its_assignment,
    keeps_checks_apart,
    shows_where_names_come_from,
    folds_its_solutions,
    can_be_taken_along,
    compares_on_one_device,
]


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def cell_of(notebook, name):
    return next(cell for cell in notebook.cells if cell.id == name)


def names_made_by(node):
    """The names that a piece of code gives to something: by assigning, defining, importing, or as an argument."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield (other or name).partition(".")[0]


def has_heading(cell):
    return cell.cell_type == "markdown" and any(block.type == "heading" for block in blocks(cell.source))


def is_checked(notebook, cell):
    """Whether a cell asserts something, or one for checks does that follows before the next text."""
    place = notebook.cells.index(cell)
    after = takewhile(lambda cell: cell.cell_type == "code", notebook.cells[place + 1 :])
    return any(count_assertions(cell.source) for cell in [cell, *filter(is_check, after)])


def walk(source):
    """Every directive of a text, those within others included."""
    for block in blocks(source):
        if block.type in ("fence", "colon_fence") and (directive := Directive.of(block)):
            yield directive
            yield from walk(directive.body)


# The chapters


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_chapter(path, rule):
    complaints = list(rule(read(path), int(path.name[:2])))
    assert not complaints, "\n".join(complaints)


@cache
def read(path):
    """Once, for all rules; none of them changes it."""
    return nbformat.read(path, as_version=4)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_file_is_written_as_make_notebooks_writes_it(path):
    notebook = nbformat.read(path, as_version=4)
    assert path.read_text(encoding="utf-8") == nbformat.writes(notebook) + "\n"


def test_every_chapter_is_in_the_table_of_contents():
    assert CHAPTERS
    assert [chapter.path for chapter in chapters(ROOT)] == CHAPTERS


# The rules, tried


def sound():
    """A small notebook that keeps every rule."""
    exercises = "\n\n".join(
        f"````{{exercise}} Number {name}\n:label: ch05-ex-{name}\nWhy?\n\n"
        "```{admonition} Hint\n:class: dropdown\nThink.\n```\n````\n\n"
        f"```{{solution}} ch05-ex-{name}\n:class: dropdown\nSo.\n```"
        for name in "abcdef"
    )
    exercises += "\n\n```{assignment}\n```\n\n```{from-scratch}\n```"
    result = new_output("execute_result", {"text/plain": "2"}, execution_count=2)
    picture = new_output("display_data", {"image/svg+xml": '<svg fill="#1c1b22"></svg>', "text/plain": "<Figure>"})
    said = {
        "image": {"alt": "one bar for each key"},
        "figure": {"caption": "Bars. They grow.", "name": "ch05-fig-bars"},
    }
    stub = "def my_thrice(x):\n    return None  # your code\n\n\ncheck.thrice(my_thrice)"
    timed = "x = 1  # not compared: a time differs in every run\nassert x\nprint(x)"
    seed = "import torch\n\n_ = torch.manual_seed(5)"
    cells = [
        new_markdown_cell("# 5. Dots\n\n% To read: `make lab`.", id="title"),
        new_code_cell(seed, id="imports", execution_count=1),
        new_code_cell("1 + 1", id="one-and-one", execution_count=2, outputs=[result], metadata={"tags": ["keep"]}),
        new_code_cell("draw()", id="bars", execution_count=3, outputs=[picture], metadata={"mystnb": said}),
        new_code_cell("assert draw()", id="bars-checks", execution_count=4, metadata={"tags": ["checks"]}),
        new_code_cell(
            timed,
            id="time",
            execution_count=5,
            outputs=[new_output("stream", text="1\n")],
            metadata={"tags": ["nbval-ignore-output"]},
        ),
        new_code_cell(stub, id="thrice-stub", execution_count=6, outputs=[new_output("stream", text="not yet\n")]),
        new_code_cell("def thrice(x):\n    return 3 * x", id="thrice", execution_count=7, metadata={"tags": ["ours"]}),
        new_markdown_cell(exercises, id="exercises"),
    ]
    notebook = new_notebook(cells=cells, metadata={"description": "What a dot product says about two vectors. " * 2})
    return clean(notebook)


def cell(notebook, name):
    return next(cell for cell in notebook.cells if cell.id == name)


def fault(rule, complaint):
    """Marks a function that plants one fault, and names the rule that must find it."""

    def mark(plant):
        FAULTS.append(pytest.param(rule, complaint, plant, id=plant.__name__))
        return plant

    return mark


FAULTS = []


@fault(is_stored_cleanly, "nothing is compared")
def outputs_and_count_deleted(notebook):
    cell(notebook, "one-and-one").update(outputs=[], execution_count=None)


@fault(is_stored_cleanly, "counts must run 1...n")
def cells_run_out_of_order(notebook):
    cell(notebook, "bars").execution_count = 7


@fault(is_stored_cleanly, "not as `make notebooks`")
def widget_view_stored(notebook):
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "a"}, "text/plain": "W()"}
    cell(notebook, "bars").outputs.append(new_output("display_data", view))


@fault(is_stored_cleanly, "not as `make notebooks`")
def timing_stored(notebook):
    cell(notebook, "bars").metadata["execution"] = {"iopub.execute_input": "2026"}


@fault(is_stored_cleanly, "not as `make notebooks`")
def another_kernel(notebook):
    notebook.metadata.kernelspec.name = "conda-env"


@fault(is_stored_cleanly, "not as `make notebooks`")
def stream_in_pieces(notebook):
    cell(notebook, "time").outputs.append(new_output("stream", text="2\n"))


@fault(is_stored_cleanly, "expected 4.5")
def older_format(notebook):
    notebook.nbformat_minor = 4
    for entry in notebook.cells:
        del entry["id"]


@fault(is_stored_cleanly, "stores an error")
def error_stored(notebook):
    cell(notebook, "bars").outputs.append(new_output("error", ename="E", evalue="", traceback=[]))


@fault(says_the_same_tomorrow, "0x7f12ab34cd")
def memory_address_printed(notebook):
    cell(notebook, "one-and-one").outputs[0].data["text/plain"] = "<object at 0x7f12ab34cd>"


@fault(has_good_ids, "a few words")
def random_id(notebook):
    cell(notebook, "bars").id = "a1b2c3d4"


@fault(has_good_ids, "a few words")
def capital_in_id(notebook):
    cell(notebook, "bars").id = "Bars"


@fault(has_good_ids, "more than once")
def id_twice(notebook):
    cell(notebook, "bars").id = "time"


@fault(knows_no_address, "no %pip")
def pip_cell(notebook):
    cell(notebook, "imports").source += "\n%pip install attnbook"


@fault(knows_no_address, "set-up cell")
def set_up_cell(notebook):
    cell(notebook, "bars").id = "setup"


@fault(knows_no_address, "_config.yml")
def repository_address(notebook):
    cell(notebook, "title").source += f"\n{address(ROOT).repository}"


@fault(knows_no_address, "_config.yml")
def site_address(notebook):
    cell(notebook, "title").source += f"\n{address(ROOT).site}notation.html"


@fault(has_small_cells, "26 lines")
def long_cell(notebook):
    cell(notebook, "one-and-one").source = "\n".join(["1"] * 26)


@fault(has_small_cells, "0 lines")
def empty_cell(notebook):
    cell(notebook, "one-and-one").source = ""


@fault(has_small_cells, "median of 5")
def middling_cells(notebook):
    for entry in code(notebook):
        entry.source = "\n".join(["assert 1"] * 5)


@fault(ignores_little, "expected at most 3")
def much_ignored(notebook):
    notebook.cells += [deepcopy(cell(notebook, "time")) for _ in range(3)]


@fault(ignores_little, "an assert instead")
def ignored_without_assert(notebook):
    cell(notebook, "time").source = "print(1)  # a time differs in every run"


@fault(ignores_little, "a comment that says why")
def ignored_without_reason(notebook):
    cell(notebook, "time").source = "assert 1\nprint(1)"


@fault(ignores_little, "its outputs")
def ignored_outputs_deleted(notebook):
    cell(notebook, "time").outputs = []


@fault(ignores_little, "use a tag")
def ignored_by_comment(notebook):
    cell(notebook, "one-and-one").source += "\n# NBVAL_IGNORE_OUTPUT"


@fault(describes_its_figures, "mystnb.image.alt")
def figure_without_alt_text(notebook):
    cell(notebook, "bars").metadata = {}


@fault(describes_its_figures, "mystnb.figure.caption")
def figure_without_caption(notebook):
    del cell(notebook, "bars").metadata["mystnb"]["figure"]["caption"]


@fault(describes_its_figures, "ch05-fig-...")
def figure_of_another_chapter(notebook):
    cell(notebook, "bars").metadata["mystnb"]["figure"]["name"] = "ch06-fig-bars"


@fault(describes_its_figures, "must assert")
def figure_without_assert(notebook):
    cell(notebook, "bars-checks").source = "draw()"


@fault(describes_its_figures, "must assert")
def figure_whose_checks_stand_after_the_next_text(notebook):
    notebook.cells.insert(4, new_markdown_cell("Bars.", id="text"))


@fault(draws_in_the_books_style, "expected SVG")
def figure_of_pixels(notebook):
    data = cell(notebook, "bars").outputs[0].data
    data["image/png"] = data.pop("image/svg+xml")


@fault(draws_in_the_books_style, "['#ff0000'], which have no counterpart")
def figure_in_a_colour_of_its_own(notebook):
    redraw(notebook, '<path style="fill: #ff0000"/>')


@fault(draws_in_the_books_style, "pixels keep their colours")
def figure_with_pixels_inside(notebook):
    redraw(notebook, '<image href="data:image/png;base64,"/>')


@fault(draws_in_the_books_style, "expected at most 25,000")
def heavy_figure(notebook):
    redraw(notebook, " ".join(str(n**5) for n in range(10_000)))


def redraw(notebook, inside):
    cell(notebook, "bars").outputs[0].data["image/svg+xml"] = f'<svg fill="#1c1b22">{inside}</svg>'


@fault(has_title_and_description, "# 5. Title")
def number_of_another_chapter(notebook):
    cell(notebook, "title").source = "# 6. Dots\n\n% To read: `make lab`."


@fault(has_title_and_description, "50 to 160")
def no_description(notebook):
    del notebook.metadata["description"]


@fault(says_where_it_is_read, "make lab")
def no_way_to_jupyter(notebook):
    cell(notebook, "title").source = "# 5. Dots"


@fault(imports_and_seeds_first, "and seed")
def no_seed(notebook):
    cell(notebook, "imports").source = "import torch"


@fault(has_exercises, "at least 6")
def five_exercises(notebook):
    text = cell(notebook, "exercises")
    text.source = text.source[: text.source.index("````{exercise} Number f")]


@fault(has_exercises, "ch05-ex-a needs one hint")
def exercise_without_hint(notebook):
    text = cell(notebook, "exercises")
    text.source = text.source.replace("{admonition} Hint", "{admonition} Note", 1)


@fault(has_exercises, "ch05-ex-b needs one hint and one solution")
def exercise_without_solution(notebook):
    text = cell(notebook, "exercises")
    text.source = text.source.replace("{solution} ch05-ex-b", "{solution} ch05-ex-c")


@fault(has_exercises, "ch05-ex-a needs one hint and one solution")
def open_solution(notebook):
    text = cell(notebook, "exercises")
    text.source = text.source.replace("{solution} ch05-ex-a\n:class: dropdown", "{solution} ch05-ex-a", 1)


@fault(has_exercises, "expected ch05-ex-")
def label_of_another_chapter(notebook):
    text = cell(notebook, "exercises")
    text.source = text.source.replace("ch05-ex-a", "ch06-ex-a")


@fault(announces_its_assignment, "announces it once")
def assignment_not_announced(notebook):
    text = cell(notebook, "exercises")
    text.source = text.source.replace("{assignment}", "{note}")


@fault(keeps_checks_apart, "4 asserts in sight")
def asserts_among_what_teaches(notebook):
    for name in "abc":
        notebook.cells.insert(2, new_code_cell("torch.testing.assert_close(1, 1)", id=name))


@fault(keeps_checks_apart, "4 asserts in sight")
def asserts_that_stand_together(notebook):
    cell(notebook, "one-and-one").source = "assert 1\n" * 3


@fault(shows_where_names_come_from, "cell bars uses thirds, which only a cell for checks makes")
def name_from_a_cell_out_of_sight(notebook):
    at = notebook.cells.index(cell(notebook, "bars"))
    hidden = new_code_cell("thirds = 1, 3\nassert thirds", id="hidden", metadata={"tags": ["checks"]})
    notebook.cells.insert(at, hidden)
    cell(notebook, "bars").source = "draw(thirds)"


@fault(keeps_checks_apart, "4 asserts in sight")
def asserts_for_specialists(notebook):
    place = notebook.cells.index(cell(notebook, "exercises"))
    further = [new_markdown_cell("## Going further", id="further"), new_code_cell("assert 1\n" * 3, id="many")]
    notebook.cells[place:place] = further


@fault(keeps_checks_apart, "bars-checks is tagged `checks` and prints")
def checks_that_print(notebook):
    cell(notebook, "bars-checks").outputs = [new_output("stream", text="1")]


@fault(keeps_checks_apart, "asserts nothing")
def checks_that_check_nothing(notebook):
    cell(notebook, "bars-checks").source = "draw()"


@fault(folds_its_solutions, "twice-stub asks readers to write")
def solution_in_full_view(notebook):
    stub = cell(notebook, "thrice-stub").source.replace("thrice", "twice")
    place = notebook.cells.index(cell(notebook, "thrice-stub"))
    open_cell = new_code_cell("def twice(x):\n    return 2 * x", id="twice")
    notebook.cells[place:place] = [new_code_cell(stub, id="twice-stub"), open_cell]


@fault(folds_its_solutions, "thrice-stub asks readers to write")
def solution_under_the_next_heading(notebook):
    place = notebook.cells.index(cell(notebook, "thrice"))
    other = new_code_cell("1", id="other", metadata={"tags": ["ours"]})
    notebook.cells[place:place] = [new_markdown_cell("So.\n\n### Shown equal", id="equal")]
    notebook.cells[1:1] = [other]


@fault(can_be_taken_along, "no cell is tagged `keep`")
def nothing_kept(notebook):
    cell(notebook, "one-and-one").metadata.tags = []


@fault(can_be_taken_along, "with {from-scratch}, got 0")
def no_way_to_the_file(notebook):
    text = cell(notebook, "exercises")
    text.source = text.source.replace("{from-scratch}", "{note}")


@fault(compares_on_one_device, 'device="cpu"')
def comparison_that_fails_on_a_gpu(notebook):
    cell(notebook, "bars-checks").source = "assert_close(fit(model, loss, batch, 9).losses, losses)"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_sound_notebook_keeps_the_rules(rule):
    assert list(rule(sound(), 5)) == []


@pytest.mark.parametrize(("rule", "complaint", "plant"), FAULTS)
def test_planted_fault_is_found(rule, complaint, plant):
    notebook = sound()
    plant(notebook)
    assert complaint in "\n".join(rule(notebook, 5))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_rule_is_tried(rule):
    assert any(param.values[0] is rule for param in FAULTS)


@pytest.mark.slow
def test_comparison_finds_changed_and_deleted_outputs(tmp_path):
    """The other half of `what you read is what was tested` is nbval's: a run of it on three small notebooks."""

    def write(name, **changes):
        printed = new_output("execute_result", {"text/plain": "0.25"}, execution_count=1)
        entry = new_code_cell("1 / 4", id="quarter", execution_count=1, outputs=[printed])
        entry.update(changes)
        nbformat.write(clean(new_notebook(cells=[entry])), tmp_path / f"{name}.ipynb")

    write("sound")
    write("changed", outputs=[new_output("execute_result", {"text/plain": "0.26"}, execution_count=1)])
    write("deleted", outputs=[])
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-rA", "-p", "no:cacheprovider"]
    sanitized = f"--nbval-sanitize-with={ROOT / 'tests/nbval_sanitize.cfg'}"
    done = subprocess.run([*command, sanitized, "."], cwd=tmp_path, capture_output=True, text=True)
    verdicts = dict(reversed(pair) for pair in re.findall(r"^(PASSED|FAILED) (\w+)\.ipynb", done.stdout, re.M))
    assert verdicts == {"sound": "PASSED", "changed": "FAILED", "deleted": "FAILED"}, done.stdout
