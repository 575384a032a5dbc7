"""What tells a secret value from a word, a name, a reference or a placeholder."""

from __future__ import annotations

import re

from shared.screening.vocabulary import TECHNICAL, WELL_KNOWN

# Looked for one by one: as one regular expression they took 20 times as long.
_MARKS = (
    "...",
    "…",
    "***",
    "•",
    "xxxx",
    "redacted",
    "example",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "your-",
    "your_",
    "dummy",
    "replace-me",
    "replace_me",
    "replaceme",
    "insert-",
    "insert_",
    "-here",
    "_here",
)
_NUMBER_BEHIND = re.compile(r"\d{1,3}\Z")


def is_placeholder(value: str) -> bool:
    """The value is masked, elided, one character repeated, or says that it stands for another."""
    lowered = value.lower()
    if any(mark in lowered for mark in _MARKS) or _NUMBER_BEHIND.sub("", lowered) in WELL_KNOWN:
        return True
    body = lowered[-16:]
    return len(body) >= 6 and max(map(body.count, set(body))) * 4 >= len(body) * 3


_REFERENCE = re.compile(
    r"""[$<{\[(%~]                          # $VAR ${VAR} <your password> {{ x }} [x] (x) %s %VAR% ~/x
    |!\w+\Z                                 # !vault, !secret
    |:[A-Za-z_]\w*\Z                        # :bound_parameter
    |\.{0,2}/ | [A-Za-z]:\\                 # a path
    |@                                      # @file
    |[A-Za-z][\w+.-]*://                    # a URL; urls.py looks into those
    |(?:arn|vault|ssm|op|sm|env|file|files|keyring|keychain|kms|secretsmanager|projects|secret|secrets
       |kv|pass|bw|lpass|sops|doppler|urn|sha256|sha512|spiffe)[:/]
    |[\w.\]-]+[\[(]                         # a call or a look-up
    |[^@\s]+@[\w-]+(?:\.[\w-]+)+\Z          # an address
    |\d{4}-\d\d-\d\d(?!\d)                  # a date
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_reference(value: str) -> bool:
    """The value says where a secret is to be had."""
    return bool(_REFERENCE.match(value))


def is_password(value: str) -> bool:
    """The value stands where only a password stands and is neither placeholder, reference nor number."""
    return not is_placeholder(value) and not is_reference(value) and not value.isdigit()


# SSHPrivateKey2, SecretStr, Ed25519PrivateKey: a type of somebody's code, and not hunter2SuperSecret99
_TYPE_NAME = re.compile(
    r"[A-Za-z_.]*[a-z](?:Key|Token|Secret|Password|Type|Str|Field|Header|Auth|Provider|Config|Client)[A-Za-z_]{0,5}\d?"
)
_DELIMITERS = re.compile(r"[-_./:\\@+#=&?%,|]+")
_NUMBERED_WORD = re.compile(r"[A-Za-z]+\d{1,3}|[a-z]?\d{1,4}[a-z]?", re.IGNORECASE)
_SYMBOL_INSIDE = re.compile(r"(?<=[A-Za-z0-9])[!$^~]+(?=[A-Za-z0-9])")
_LETTER = re.compile(r"[A-Za-z]")
_DIGIT = re.compile(r"[0-9]")
_ONE_WORD = re.compile(r"[A-Za-z+/]{16,}={0,2}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def looks_like_secret(value: str, *, length_min: int = 7) -> bool:
    """The value is not prose, a name, a reference or a placeholder.

    It judges by shape, not by dictionary: one word of letters alone is a word, letters mixed with digits
    inside a word are a secret unless the word is a technical one (sha256, argon2id).
    """
    value = value.rstrip(".:!?*_\\")
    if len(value) < length_min:
        return False
    if _is_type_name(value):
        return False
    shaped = is_mixed(value) or _has_random_case(value) or _SYMBOL_INSIDE.search(value)
    return bool(shaped) and not is_reference(value) and not is_placeholder(value)


def _is_type_name(value: str) -> bool:
    known = TECHNICAL.match(value)
    return bool(_TYPE_NAME.fullmatch(value) or (known and _TYPE_NAME.fullmatch(value, known.end())))


def is_uuid(value: str) -> bool:
    return bool(_UUID.fullmatch(value))


def is_numbered_word(value: str) -> bool:
    return bool(_NUMBERED_WORD.fullmatch(value))


def is_mixed(value: str) -> bool:
    """Some word of the value mixes letters with digits."""
    if not (_DIGIT.search(value) and _LETTER.search(value)):
        return False
    words = [word for word in _DELIMITERS.split(value) if word]
    if len(words) == 1:
        return _mixes(words[0]) and len(words[0]) >= 7
    return any(_mixes(word) and len(word) >= 5 and not _NUMBERED_WORD.fullmatch(word) for word in words)


def _mixes(word: str) -> bool:
    return bool(_LETTER.search(word) and _DIGIT.search(word)) and not TECHNICAL.fullmatch(word)


def _has_random_case(value: str) -> bool:
    """Base64 that happens to have no digit; camel case has few capitals, and never many in short runs."""
    if not _ONE_WORD.fullmatch(value):
        return False
    capitals = sum(map(str.isupper, value))
    small = sum(map(str.islower, value))
    return min(capitals, small) * 10 >= len(value) * 3
