"""Colab shows widgets that are not its own once somebody has asked it to."""


class _widgets:
    _installed_url = None


def enable_custom_widget_manager():
    _widgets._installed_url = "https://example.org/manager.min.js"
