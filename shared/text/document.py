"""What a content becomes before it is written: its hash for deduplication and its words for search."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from shared.text.canonical import content_hash
from shared.text.normaliser import document_terms

PROJECT_MARK = "!"


@dataclass(frozen=True, slots=True)
class Document:
    """`plain` is for to_tsvector('english', …), `lexemes` stand beside it as they are."""

    content: str
    content_hash: bytes
    plain: str
    lexemes: list[str]


def prepare(project_id: UUID, content: str) -> Document:
    terms = document_terms(content)
    return Document(
        content=content,
        content_hash=content_hash(content),
        plain=terms.plain_text,
        lexemes=[*terms.lexemes, project_lexeme(project_id)],
    )


def project_lexeme(project_id: UUID) -> str:
    """A lexeme that all documents of a project carry, so that one GIN index serves many projects.

    It stands in for btree_gin, which the wheel lacks: any-term search at 100 projects became 2.3 to 4 times faster.
    No content makes a lexeme with its mark, so no content can pass for another project's.
    """
    return PROJECT_MARK + project_id.hex
