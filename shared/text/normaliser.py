"""Placeholder until the normaliser lands."""


def document_terms(content: str) -> list[str]:
    return []


def plain_text(content: str) -> str:
    return content
