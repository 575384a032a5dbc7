"""What one token names: the ways to find an identifier, a path, a version, a flag or a plain word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shared.text.scripts import MARKS, folded, spellings
from shared.text.stopwords import ENGLISH

ATOM_CHARACTERS_MAX = 100
WHOLE_CHARACTERS_MAX = 200
PARTS_MAX = 32


@dataclass(frozen=True, slots=True)
class Alternative:
    """Words for the english stemmer and exact lexemes, all of which a document must hold."""

    words: tuple[str, ...] = ()
    lexemes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Token:
    """One thing that a text names: any alternative finds it; a document holds these and the extra."""

    alternatives: tuple[Alternative, ...] = ()
    extra: Alternative = Alternative()


@dataclass(frozen=True, slots=True)
class _Name:
    """An identifier taken apart; `joined` is None where it has one part."""

    parts: tuple[str, ...]
    joined: str | None
    extra: tuple[str, ...]


# Bounded: `a.a.a.` would otherwise be scanned to its end from each of its words.
_SCHEME = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{0,31}+://")
_THOUSANDS = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")
_CHAIN = re.compile(rf"(?<![\w-])--?[A-Za-z][\w-]*|[.@#]?[\w{MARKS}][\w{MARKS}@.:/\\+#~-]*")
_SYMBOL_NAME = re.compile(r"[A-Za-z]{1,2}(?:\+\+|#)")
_ABBREVIATIONS = frozenset({"e.g", "i.e", "a.k.a", "n.b"})
_LOOSE_ENDS = ".:/\\-@~+#_"
_JOINTS = re.compile(r"[ .:/\\@+#~]+")
# Starts at the first digit of a run only and gives none back: a long run without a dot is scanned once.
_NUMBERS = re.compile(r"(?<!\d)\d++(?:\.\d++)++")
_VERSION = re.compile(
    rf"v?({_NUMBERS.pattern})(?:[-+.]?(?:a|b|c|m|rc|alpha|beta|dev|post|pre|preview|snapshot)[\w.+-]*)?",
    re.IGNORECASE,
)
_SLASHED_WORDS = re.compile(r"[A-Za-z]?[a-z]+/[A-Za-z]?[a-z]+")
_HYPHENS = re.compile(r"[_-]+")
_HUMPS = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")
_BARE_PLURAL = re.compile(r"[b-df-hj-np-tv-xz]{3,}s")
_HASH = re.compile(r"[0-9a-f]{12,}")
_HASH_PREFIX_CHARACTERS = 7
_EXTENSION_CHARACTERS_MAX = 4
_RUNS_MAX = 4
_LETTERS_MIN = 3
_DIGITS_MIN = 3


def analyse(token: str) -> tuple[Token, ...]:
    """What a token without white space names, in order; nothing of it is query syntax."""
    if token.isascii() and token.isalpha() and (token[1:].islower() or len(token) == 1):
        return (_word(token),)
    bare = _THOUSANDS.sub("", _SCHEME.sub("", token))
    # Each once: a token of 32,000 bytes can hold 16,000 that are the same.
    return tuple(found for text in dict.fromkeys(_CHAIN.findall(bare)) for found in _chain(text))


def _chain(text: str) -> tuple[Token, ...]:
    if text.startswith("-"):
        return (_flag(text),)
    if _SYMBOL_NAME.fullmatch(text):
        return (Token((Alternative(lexemes=(text.lower(),)),)),)
    name = text.rstrip(_LOOSE_ENDS)
    if _SLASHED_WORDS.fullmatch(name):
        return tuple(map(_word, name.split("/")))
    if not name or name.lower() in _ABBREVIATIONS:
        return ()
    return (_compound(name),)


def _compound(text: str) -> Token:
    if version := _VERSION.fullmatch(text):
        return _version(text, version[1])
    segments = list(filter(None, _JOINTS.split(_NUMBERS.sub(" ", text))))
    if segments == [text]:
        return _identifier(text)
    return _path(text, segments, _NUMBERS.findall(text))


def _word(text: str) -> Token:
    word = text.lower()[:ATOM_CHARACTERS_MAX]
    if word in ENGLISH:
        # IT and OR in capitals are names that the stemmer would drop.
        is_name = text.isupper() and len(text) > 1
        return Token((Alternative(lexemes=(word,)),) if is_name else ())
    forms = spellings(word)
    if _BARE_PLURAL.fullmatch(word):
        forms = (*forms, word[:-1])
    return Token(tuple(Alternative(words=(form,)) for form in forms))


def _flag(text: str) -> Token:
    name = _name(text.strip("-_"))
    is_long = text.startswith("--")
    lexeme = text.rstrip("-_")[:WHOLE_CHARACTERS_MAX]
    exact = Alternative(lexemes=(lexeme.lower() if is_long else lexeme,))
    word = name.joined or "".join(name.parts)
    found = (exact, _all_of((word,))) if len(word) >= _LETTERS_MIN else (exact,)
    return Token(found, _all_of(name.parts) if len(word) >= _LETTERS_MIN else Alternative())


def _version(text: str, numbers: str) -> Token:
    return Token((Alternative(lexemes=(_without_v(text),)),), Alternative(lexemes=_prefixes(numbers)))


def _identifier(text: str) -> Token:
    name = _name(text)
    if name.joined is None and name.parts:
        piece = text.strip("_-")
        is_plain = _is_word(piece) and (not piece.isascii() or piece.lower() == name.parts[0])
        single = _word(piece) if is_plain else Token((_all_of(name.parts),))
        return Token(single.alternatives, _all_of(name.extra))
    ways = (_all_of((name.joined,)), _all_of(name.parts[:PARTS_MAX])) if name.joined else ()
    return Token(_distinct(ways), _all_of((*name.parts, *name.extra)))


def _path(text: str, segments: Sequence[str], versions: Sequence[str]) -> Token:
    known = {segment: _name(segment) for segment in dict.fromkeys(segments)}
    names = [known[segment] for segment in segments]
    parts = [part for name in names for part in name.parts] + list(versions)
    whole = text.lower().replace("\\", "/")
    wholes = [whole, whole.rpartition("/")[2]] if "." in whole.rpartition("/")[2] else [whole]
    ways = [Alternative(lexemes=(way,)) for way in wholes if len(way) <= WHOLE_CHARACTERS_MAX]
    ways.append(_all_of(parts[:PARTS_MAX]))
    if joined := _last_name(names):
        ways.append(_all_of((joined,)))
    prefixes = [prefix for version in versions for prefix in _prefixes(version)]
    joins = [name.joined for name in names if name.joined]
    extra = [extra for name in names for extra in name.extra]
    return Token(_distinct(ways), _all_of((*parts, *joins, *prefixes, *extra)))


def _last_name(names: Sequence[_Name]) -> str | None:
    """The joined last segment, or the one before a file's extension: the part that names something alone."""
    if not names:
        return None
    is_extension = len("".join(names[-1].parts)) <= _EXTENSION_CHARACTERS_MAX
    return names[-2].joined if is_extension and len(names) > 1 else names[-1].joined


def _name(text: str) -> _Name:
    pieces = list(filter(None, _HYPHENS.split(text)))
    split = [_split(piece) for piece in pieces]
    parts = tuple(folded(part)[:ATOM_CHARACTERS_MAX] for found, _ in split for part in found)
    extra = [extra for _, extras in split for extra in extras]
    extra += [part for found, _ in split for part in found if not part.isascii()]
    joined = folded("".join(pieces).lower())[:ATOM_CHARACTERS_MAX] if len(parts) > 1 else None
    return _Name(parts, joined, tuple(extra))


def _split(piece: str) -> tuple[list[str], list[str]]:
    """The parts of camelCase and of letters beside digits, and what a document also holds."""
    lower = piece.lower()[:ATOM_CHARACTERS_MAX]
    if not piece.isascii():
        return [lower], []
    if _PLURAL_ACRONYM.fullmatch(piece):
        return [lower[:-1]], [lower]
    runs = _HUMPS.findall(piece)
    if not any(character.isdigit() for character in piece):
        return [_singular(run) for run in runs], []
    if len(runs) > 1 and _is_a_code(runs):
        digits = [run for run in runs if run.isdigit() and len(run) >= _DIGITS_MIN]
        prefix = [lower[:_HASH_PREFIX_CHARACTERS]] if _HASH.fullmatch(lower) else []
        return [lower], prefix or digits[:_RUNS_MAX]
    return [_singular(run) for run in runs], []


def _is_a_code(runs: Sequence[str]) -> bool:
    """E1234, x86, k8s and hashes are whole; python3 and sha256 are a word and a number."""
    letters = [run for run in runs if not run.isdigit()]
    has_short = any(len(run) < _LETTERS_MIN for run in letters)
    return has_short or len(runs) - len(letters) > _RUNS_MAX


def _singular(run: str) -> str:
    return (run[:-1] if _PLURAL_ACRONYM.fullmatch(run) else run).lower()


def _without_v(version: str) -> str:
    return version.lower().removeprefix("v")[:WHOLE_CHARACTERS_MAX]


def _prefixes(numbers: str) -> tuple[str, ...]:
    """3.11.4 is also found as 3.11; at most four deep."""
    parts = numbers.split(".")[:_RUNS_MAX]
    return tuple(".".join(parts[:count])[:ATOM_CHARACTERS_MAX] for count in range(2, len(parts) + 1))


def _all_of(atoms: Iterable[str]) -> Alternative:
    """Only letters go through PostgreSQL's parser; it reads 1e5, -3 and 3e10abc in ways of its own."""
    words: list[str] = []
    lexemes: list[str] = []
    # A lone accent folds to nothing, and PostgreSQL refuses an empty lexeme.
    for atom in dict.fromkeys(filter(None, atoms)):
        if not _is_word(atom):
            lexemes.append(atom)
        elif atom not in ENGLISH:
            words.append(atom)
    return Alternative(tuple(words), tuple(lexemes))


def _distinct(ways: Iterable[Alternative]) -> tuple[Alternative, ...]:
    return tuple(dict.fromkeys(way for way in ways if way.words or way.lexemes))


def _is_word(atom: str) -> bool:
    return atom.isalpha() or not (atom.isascii() or any(map(str.isnumeric, atom)))
