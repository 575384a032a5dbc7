"""What Prometheus reads of a process."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

Labels = tuple[tuple[str, str], ...]
Samples = dict[tuple[str, Labels], float]


def samples(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def at(scraped: Samples, name: str, **labels: str) -> float:
    return scraped[name, tuple(sorted(labels.items()))]


def series(scraped: Samples) -> set[tuple[str, Labels]]:
    """All of them but the instants at which they began."""
    return {key for key in scraped if not key[0].endswith("_created")}
