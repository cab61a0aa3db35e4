"""Shows how far Sphinx has come: a bar counts the pages as they are read and written."""

from booktools.progress import progress


def setup(app) -> None:
    bar = progress(doing="reading pages", of=0)

    def begin(app, env, names: list[str]) -> None:
        bar.reset(2 * len(names) + len(app.config.html_additional_pages))

    def read(app, name: str, text: list[str]) -> None:
        step(name)

    def written(app, name: str, *rest) -> None:
        bar.set_description_str("writing pages", refresh=False)
        step(name)

    def step(name: str) -> None:
        bar.total = max(bar.total, bar.n + 1)  # pages may be written again that were not read again
        bar.set_postfix_str(name, refresh=False)
        bar.update()

    app.connect("env-before-read-docs", begin)
    app.connect("source-read", read)
    app.connect("html-page-context", written)
    app.connect("build-finished", lambda app, error: bar.close())
