"""What `make lab` adds to Jupyter: an extension of its server, which the folder of this file tells it to load."""

VIEW = "application/vnd.jupyter.widget-view+json"


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server) -> None:
    server.contents_manager.register_pre_save_hook(_with_tables)


def _with_tables(model: dict, **_) -> None:
    """Removes live views from a notebook that is about to be saved, so that their HTML tables stay.

    A view of a widget that went with its kernel is an error when the notebook is opened again, and hides the table.
    What stands on the screen stays as it is.
    """
    if model["type"] != "notebook":
        return
    for cell in model["content"]["cells"]:
        for output in cell.get("outputs", []):
            if "text/html" in (data := output.get("data", {})):
                data.pop(VIEW, None)
