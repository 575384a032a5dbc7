"""Bar charts as inline SVG: pygal draws, our style sheet colours, so that they follow the theme and need no script."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

import pygal
from markupsafe import Markup, escape

LABELS_MAX = 8

# Drawing one takes 40 ms, and an open page asks for its two again every five seconds; one is 20 KB.
DRAWN_MAX = 64

# It adds an importer of an old protocol, for maps that nobody draws here: every later import in this
# process would warn of it.
sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, pygal.PluginImportFixer)]

_UNWANTED = {"style", "script", "defs", "title"}
_OVERLAYS = re.compile(r"overlay|titles")


def bars(labels: Sequence[str], series: Mapping[str, Sequence[int]], *, caption: str) -> Markup:
    """Stacked bars with a tooltip each, named for who cannot see them; a table beside must hold the numbers."""
    return _drawn(tuple(labels), tuple((name, tuple(values)) for name, values in series.items()), caption)


@lru_cache(maxsize=DRAWN_MAX)
def _drawn(labels: tuple[str, ...], series: tuple[tuple[str, tuple[int, ...]], ...], caption: str) -> Markup:
    chart = pygal.StackedBar(
        width=640,
        height=180,
        margin=4,
        spacing=0,
        show_legend=False,
        include_x_axis=True,
        show_minor_x_labels=False,
        truncate_label=-1,
        js=(),
        no_prefix=True,
        disable_xml_declaration=True,
        value_formatter=lambda value: f"{value:,.0f}",
        y_labels=_ticks([sum(column) for column in zip(*dict(series).values(), strict=True)]),
    )
    chart.x_labels = list(labels)
    chart.x_labels_major = list(labels)[:: -(-len(labels) // LABELS_MAX)]
    for name, values in series:
        chart.add(name, list(values))
    root = chart.render_tree()
    _strip(root)
    for place, (name, _values) in enumerate(series):
        _tell(root, place, name, labels)
    drawn = "".join(ElementTree.tostring(part, encoding="unicode") for part in root)
    return Markup(  # noqa: S704 - what is marked safe was serialised by ElementTree, which escapes
        f'<svg class="chart" viewBox="0 0 640 180" role="img" aria-label="{escape(caption)}">{drawn}</svg>'
    )


def _ticks(totals: Sequence[int]) -> list[int]:
    """Four or five whole numbers from 0 past the highest bar."""
    highest = max(totals, default=0)
    step = next(
        mantissa * 10**power
        for power in range(16)
        for mantissa in (1, 2, 5)
        if mantissa * 10**power * 4 >= max(highest, 1)
    )
    return list(range(0, max(highest, 1) + step, step))


def _strip(element: Any) -> None:
    """Takes out inline styles and scripts, which our policy forbids, and the layers that only pygal's script uses."""
    for child in list(element):
        tag = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else "comment"
        if tag in _UNWANTED or tag == "comment" or _OVERLAYS.search(child.get("class") or ""):
            element.remove(child)
        else:
            child.tag = tag
            child.attrib.pop("style", None)
            _strip(child)


def _tell(root: Any, place: int, name: str, labels: Sequence[str]) -> None:
    for series in root.iter("g"):
        if f"serie-{place}" not in (series.get("class") or "").split():
            continue
        for label, bar in zip(labels, (bar for bar in series.iter("g") if bar.get("class") == "bar"), strict=False):
            values = [part.text for part in bar if part.tag == "desc" and part.get("class") == "value"]
            for part in [part for part in bar if part.tag == "desc"]:
                bar.remove(part)
            title = ElementTree.SubElement(bar, "title")
            title.text = f"{label}: {values[0] if values else 0} {name}"
