"""An address in the user's browser, where they asked for it."""

from __future__ import annotations

import webbrowser

import typer


def open_in_browser(url: str) -> None:
    """Prints the address first: a browser that does not come up costs nothing."""
    typer.echo(url)
    try:
        opened = webbrowser.open(url)
    except (webbrowser.Error, OSError):
        opened = False
    if not opened:
        typer.echo("No browser could be opened; the address is above.", err=True)
