"""`python -m tests.eval`: every strategy side by side over the graded set; `--check` holds the committed baseline."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.eval import contexts
from tests.eval.contexts import Spent
from tests.eval.graded import DATA, TRANSFER, GradedSet
from tests.eval.measures import Gain, Scored, Summary, gain, summary
from tests.eval.running import WORDS_ONLY, askings, database, run, world
from tests.eval.strategies import BASELINE, DEFAULT, MAXSIM, STRATEGIES
from tests.eval.vectors import Embeddings

BASELINE_FILE = Path(__file__).parent / "baseline.json"
SETS = {"tuned": DATA, "transfer": TRANSFER}
TOLERANCE = 0.005
HELD = ("ndcg", "recall", "precision", "f1", "empty_of_unanswerable")
SHOWN = (*STRATEGIES, *MAXSIM, WORDS_ONLY, DEFAULT)
CONSOLE = Console(width=200)

Results = dict[str, list[Scored]]

_BY_KIND: dict[str, Callable[[Summary], str]] = {
    "nDCG@10 and half its 95 % interval": lambda told: f"{told.ndcg:.2f} ±{(told.ndcg_high - told.ndcg_low) / 2:.2f}",
    "recall@10": lambda told: f"{told.recall:.2f}",
    "precision": lambda told: f"{told.precision:.2f}",
    "F1": lambda told: f"{told.f1:.2f}",
}


def main() -> int:
    arguments = _arguments()
    graded = GradedSet(SETS[arguments.set])
    results, spent = asyncio.run(_results(graded, late=not arguments.check))
    halves = [arguments.half] if arguments.half else sorted({query.split for query in graded.queries}, reverse=True)
    if arguments.json:
        told = {half: _told(results, spent, half) for half in halves}
        print(json.dumps(told, indent=1, ensure_ascii=False))
    elif not arguments.check:
        for half in halves:
            _show(results, spent, half)
    if arguments.write:
        BASELINE_FILE.write_text(json.dumps(baseline(results), indent=1) + "\n", encoding="utf-8")
    return _check(results) if arguments.check else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.eval", description=__doc__)
    parser.add_argument("--set", choices=SETS, default="tuned", help="the set to ask: transfer is never tuned on")
    parser.add_argument("--half", choices=("tune", "report"), help="show one half only; tune on tune")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    parser.add_argument("--check", action="store_true", help="fail where the default fell below the baseline")
    parser.add_argument("--write", action="store_true", help="write the baseline anew")
    arguments = parser.parse_args()
    if arguments.set == "transfer" and (arguments.check or arguments.write or arguments.half == "tune"):
        parser.error("the transfer set has no tuning half and no baseline")
    return arguments


async def _results(graded: GradedSet, *, late: bool) -> tuple[Results, list[Spent]]:
    embeddings = Embeddings()
    async with database() as url, world(url, graded, embeddings) as loaded:
        results = await run(loaded, embeddings, late=late)
        whole = contexts.whole(loaded.graded)
        spent = [await contexts.spent(loaded, asking, whole) async for asking in askings(loaded, embeddings)]
    return results, spent


def _half(scored: list[Scored], half: str) -> list[Scored]:
    return [one for one in scored if one.query.split == half]


def _spent(spent: list[Spent], half: str) -> list[Spent]:
    """A context has no `as_of`: it tells what holds."""
    return [one for one in spent if one.query.split == half and one.query.as_of is None]


def _kinds(scored: list[Scored]) -> dict[str, list[Scored]]:
    kinds: dict[str, list[Scored]] = {}
    for one in scored:
        kinds.setdefault(one.query.kind, []).append(one)
    return dict(sorted(kinds.items()))


def _gains(scored: list[Scored], reference: list[Scored]) -> dict[str, Gain]:
    return {
        "ndcg": gain([one.ndcg for one in scored], [one.ndcg for one in reference]),
        "precision": gain([one.precision for one in scored], [one.precision for one in reference]),
        "f1": gain([one.f1 for one in scored], [one.f1 for one in reference]),
    }


def _told(results: Results, spent: list[Spent], half: str) -> dict[str, object]:
    strategies: dict[str, object] = {
        name: {
            "all": summary(_half(scored, half)).as_dict(),
            "gains": {
                measure: asdict(told)
                for measure, told in _gains(_half(scored, half), _half(results[BASELINE], half)).items()
            },
            "kinds": {kind: summary(part).as_dict() for kind, part in _kinds(_half(scored, half)).items()},
        }
        for name, scored in results.items()
    }
    return {"strategies": strategies, "context": asdict(contexts.saving(_spent(spent, half)))}


def baseline(results: Results) -> dict[str, dict[str, float]]:
    return {half: summary(_half(results[DEFAULT], half)).as_dict() for half in ("tune", "report")}


def fallen(results: Results) -> list[str]:
    """What is below the committed baseline, and every answer that should not have been given."""
    held = json.loads(BASELINE_FILE.read_text(encoding="utf-8"))
    below = [
        f"{half}: {measure} is {now[measure]:.4f}, the baseline {held[half][measure]:.4f}"
        for half, now in baseline(results).items()
        for measure in HELD
        if now[measure] < held[half][measure] - TOLERANCE
    ]
    return below + [
        f"{name}: {one.query.id} was answered with what is not live or not of the project"
        for name, scored in results.items()
        for one in scored
        if one.stale or one.leaks
    ]


def _check(results: Results) -> int:
    """0, or 1 with what fell on stderr."""
    told = fallen(results)
    print("\n".join(told) or "The baseline holds.", file=sys.stderr)
    return 1 if told else 0


def _show(results: Results, spent: list[Spent], half: str) -> None:
    parts = {name: _half(results[name], half) for name in SHOWN if name in results}
    table = _table(f"{half} half", _OVERALL)
    for name, scored in parts.items():
        _row(table, name, summary(scored))
    CONSOLE.print(table)
    _against(f"{half} half, query by query against {BASELINE}: gain and its 95 % interval", parts)
    for measure, said in _BY_KIND.items():
        _matrix(f"{half} half by kind: {measure}", parts, said)
    _saving(f"{half} half: a context of {contexts.BUDGET:,} tokens", contexts.saving(_spent(spent, half)))


_OVERALL = (
    "nDCG@10",
    "95 %",
    "recall@10",
    "precision",
    "F1",
    "empty where nothing answers",
    "95 %",
    "stale",
    "leaks",
    "n",
)


def _against(title: str, parts: Results) -> None:
    table = _table(title, ("nDCG@10", "precision", "F1"))
    for name, scored in parts.items():
        if name != BASELINE:
            table.add_row(name, *map(str, _gains(scored, parts[BASELINE]).values()))
    CONSOLE.print(table)


def _matrix(title: str, parts: Results, said: Callable[[Summary], str]) -> None:
    kinds = [kind for kind in _kinds(next(iter(parts.values()))) if kind != "unanswerable"]
    table = _table(title, [kind.replace("_", " ") for kind in kinds])
    for name, scored in parts.items():
        by_kind = _kinds(scored)
        table.add_row(name, *(said(summary(by_kind[kind])) for kind in kinds))
    CONSOLE.print(table)


def _saving(title: str, told: contexts.Saving) -> None:
    table = _table(
        title, ("everything", "the brief", "saved", "of what helps in it", "empty where nothing answers", "n")
    )
    table.add_row(
        "tokens",
        f"{told.whole:,.0f}",
        f"{told.used:,.0f}",
        f"{told.saved:.0%}",
        f"{told.held:.0%}",
        f"{told.empty_of_unanswerable:.0%}",
        str(told.queries),
    )
    CONSOLE.print(table)


def _table(title: str, headings: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("strategy")
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _row(table: Table, name: str, told: Summary) -> None:
    table.add_row(
        name,
        f"{told.ndcg:.3f}",
        f"{told.ndcg_low:.3f}-{told.ndcg_high:.3f}",
        f"{told.recall:.3f}",
        f"{told.precision:.3f}",
        f"{told.f1:.3f}",
        f"{told.empty_of_unanswerable:.3f}",
        f"{told.empty_low:.2f}-{told.empty_high:.2f}",
        str(told.stale),
        str(told.leaks),
        str(told.queries),
    )


if __name__ == "__main__":
    sys.exit(main())
