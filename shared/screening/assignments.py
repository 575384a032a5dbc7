"""A secret's name and behind it a value: `password: …`, `API_KEY=…`, `"token": "…"`, `the secret is …`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shared.screening.detectors import Detector
from shared.screening.text import Text
from shared.screening.values import is_numbered_word, is_placeholder, is_reference, is_uuid, looks_like_secret
from shared.screening.vocabulary import WELL_KNOWN

_PASSWORDS = (
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "passwort",
    "kennwort",
    "contraseña",
    "contrasena",
    "mot de passe",
    "senha",
    "wachtwoord",
    "hasło",
    "пароль",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "비밀번호",
)
_NEEDLES = (*_PASSWORDS, "pwd", "pass", "pw", "psk", "secret", "key", "token", "credential", "creds")

# Runs on the lower-case text: without IGNORECASE the alternatives share a fast first-character set.
_NAME = re.compile(
    rf"""(?P<password>{"|".join(map(re.escape, _PASSWORDS))}|pwd|(?<![^\W_])(?:pass|pw))
    |(?P<secret>
       (?:api|access|secret|private|auth|encryption|signing|master|account|service|license|deploy|storage
         |shared|client|session
         |cookie|webhook|admin|root|db|database|function|subscription|encrypt|sign|app)[ _-]?key
       |secret|credentials?|creds|psk)
    |(?P<token>token|(?<=_)key)
    """,
    re.VERBOSE,
)

_SUFFIX = (
    r"(?:[ _-](?:key|prod|production|dev|staging|stage|test|live|old|new|backup|value|plain|b64|base64"
    r"|\d{1,3}))?"
)
_CLOSING = r"[*_\"'`\])}]{0,4}(?: ?\([^()\n]{1,40}\))?"
_TYPE = r"(?: ?: ?[A-Za-z_][\w.]{0,30}(?:\[\w{1,30}\])?(?= ?=))?"
_FOR = r" (?:for|of|on|to|at|in|für|von|pour|de) [^\n:=]{1,48}?"
_BETWEEN = (
    rf"{_TYPE}(?P<sign> ?(?::=|=>|->|→|={{1,3}}|:|：|＝|\||>) ?\n? ?)",
    rf"(?:{_FOR})?(?: ?[:=] ?| ?(?:\b(?:is|was|are|equals|ist|war|lautet|heißt|es|est)\b|是|为|為|は|를|는)"
    r"(?: (?:now|currently|set to|still|jetzt|always))? ?:? ?)",
    r" (?:set |changed |reset |rotated )?(?:to|auf|as) ",
    r" (?:by )?\(?(?=[\"'`“„«‘])",
    r" \(",
    r"(?P<bare> )",
)
_TAIL = re.compile(
    rf"{_SUFFIX}{_CLOSING}(?:{'|'.join(_BETWEEN)})"
    r"(?P<open>[*_]{0,2} ?[\"'`“„«‘*_]{0,4})"
    r"(?P<value>[^\s\"'`<>,;|“”«»’…\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]{1,64})",
    re.IGNORECASE,
)
# Only these can open the tail; asked first, since most names stand inside a word or a sentence.
_BEHIND_NAME = frozenset(" _-*\"'`])}:=>|→：＝(是为為は를는")
_FLAG_VALUE = re.compile(r"[ =][\"']?([^\s\"'<>]{1,64})")
_FLAG_CHARACTERS_MAX = 40
_ROLE_BEFORE = re.compile(r"[\"'`]? (?:as|is|for) (?:the|a|an|our|its|their|my|your) (?:\w{1,20} ){0,2}\Z")
_ROLE_CHARACTERS_MAX = 60
_VALUE_CHARACTERS_MAX = 128
_TOKEN_LENGTH_MIN = 16
_VALUE_ENDS = ")]}"


def detectors() -> tuple[Detector, ...]:
    return (Detector("Secret keyword", _NEEDLES, _offsets),)


def _offsets(text: Text) -> Iterator[int]:
    for name in _NAME.finditer(text.lowered):
        if text.plain[name.start() - 1 : name.start()] == text.plain[name.end() : name.end() + 1] == ":":
            continue  # a part of an ARN or another name with colons
        if name[0] == "key" and not text.plain.startswith("KEY", name.start()):
            continue  # cache_key, sort_key; but OPENAI_KEY
        value = _value_of(text, name)
        if value is not None:
            yield value


def _value_of(text: Text, name: re.Match[str]) -> int | None:
    kind = str(name.lastgroup)
    behind = text.plain[name.end() : name.end() + 1]
    value = _value_behind(text, name, kind) if behind in _BEHIND_NAME else None
    if value is None and kind == "password" and not behind.isalnum():
        return _value_before(text, name.start())
    return value


def _value_behind(text: Text, name: re.Match[str], kind: str) -> int | None:
    tail = _TAIL.match(text.plain, name.end())
    if tail and _is_secret_behind(text, name, tail, kind):
        return tail.start("value")
    flag = _FLAG_VALUE.match(text.plain, name.end())
    if flag and _is_secret(flag[1], kind) and _is_flag(text, name.start()):
        return flag.start(1)
    return None


def _is_secret_behind(text: Text, name: re.Match[str], tail: re.Match[str], kind: str) -> bool:
    if tail["bare"]:
        return _stands_out(tail["value"], kind)
    return _is_secret(tail["value"], kind) or _is_plain_secret(text, name, tail, kind)


def _is_flag(text: Text, name_start: int) -> bool:
    """`--db-password`: two hyphens open the word that the name ends."""
    before = text.plain[max(0, name_start - _FLAG_CHARACTERS_MAX) : name_start]
    return bool(before) and before.split(" ")[-1].startswith("--")


def _value_before(text: Text, name_start: int) -> int | None:
    """`use … as the admin password`."""
    role = _ROLE_BEFORE.search(text.plain, max(0, name_start - _ROLE_CHARACTERS_MAX), name_start)
    if role is None:
        return None
    words = text.plain[max(0, role.start() - _VALUE_CHARACTERS_MAX) : role.start()].split()
    value = words[-1].strip("\"'`,;|") if words else ""
    return role.start() - len(value) if _is_secret(value, "password") else None


def _is_secret(value: str, kind: str) -> bool:
    value = value.rstrip(_VALUE_ENDS) if "(" not in value else value
    match kind:
        case "token":
            return looks_like_secret(value, length_min=_TOKEN_LENGTH_MIN) and not is_uuid(value)
        case "password":
            return looks_like_secret(value) or _is_long_number(value)
        case _:
            return looks_like_secret(value)


def _stands_out(value: str, kind: str) -> bool:
    """Behind a mere space, as in `password …`, a value must mix more than a numbered or hexadecimal name."""
    has_cases = not value.islower() and not value.isupper()
    enough = kind == "password" or (kind == "token" and has_cases)
    return enough and _is_secret(value, kind) and not is_numbered_word(value)


def _is_long_number(value: str) -> bool:
    return value.isdigit() and len(value) >= 8


def _is_plain_secret(text: Text, name: re.Match[str], tail: re.Match[str], kind: str) -> bool:
    """Even a word of letters, where only values stand: `DB_PASSWORD=swordfish`, `password="swordfish"`."""
    value = tail["value"]
    if tail["sign"] != "=" or kind == "token" or not (value.isalpha() and len(value) >= 6):
        return False
    shouted = text.plain[name.start() : name.end()].isupper() and not value.isupper()
    quoted = kind == "password" and tail["open"] in {'"', "'"} and value.islower()
    return (
        (shouted or quoted) and value.lower() not in WELL_KNOWN and not (is_placeholder(value) or is_reference(value))
    )
