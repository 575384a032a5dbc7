"""Files that hold credentials, dumped whole or in part: .env, .netrc, kubeconfig, shadow and their like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shared.screening.detectors import Detector, by_pattern
from shared.screening.text import Text
from shared.screening.values import is_password, is_placeholder

_ENV_LINE = re.compile(r"^ ?(?:export |set )?([A-Z][A-Z0-9_]{1,80})=[\"']?([^\s\"'#]{0,200})", re.MULTILINE)
_SECRET_NAME = re.compile(
    r"(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|(?<!CACHE)(?<!SORT)(?<!OBJECT)(?<!PUBLIC)(?<!PARTITION)_KEY|_PASS|_PWD|_PW|CREDENTIALS?|_DSN)\Z"
)
_KEY_HEADER = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# Between header and body: line ends, also escaped ones, marks of a quote, and the header's own lines.
_KEY_BODY = re.compile(
    r"(?P<gap>(?:[\s\"'`>|]|\\[nr]){0,8}(?:[A-Za-z-]{2,20}: [^\n]{0,200}\n\s{0,4}){0,4})"
    r"(?P<body>[A-Za-z0-9+/]{8,128}={0,2})(?![A-Za-z0-9+/=])(?P<alone>[ \"'`]{0,3}(?:\n|\\[nr]|-----|\Z))?"
)
_KEY_CHARACTERS_WITHIN_A_LINE_MIN = 16
_ENV_LINES_MIN = 3
_ENV_SECRETS_MIN = 2


def detectors() -> tuple[Detector, ...]:
    return (
        Detector("Dumped .env file", ("=",), _env_file),
        Detector("Private key block", ("private key",), _short_key),
        by_pattern(
            "Private key block",
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?=[^-]{0,600}?[A-Za-z0-9+/=]{32})"
            r"|PuTTY-User-Key-File-\d(?=[^\0]{0,900}?Private-Lines)",
            needles=("private key", "putty-user-key-file"),
        ),
        by_pattern(
            "Dumped .netrc file",
            r"\bmachine\s[^\s]{1,255}\s{1,3}(?:login\s[^\s]{1,255}\s{1,3})?(?:account\s[^\s]{1,255}\s{1,3})?"
            r"password\s([^\s]{3,255})",
            needles=("machine",),
            confirm=is_password,
        ),
        by_pattern(
            "Dumped .npmrc file",
            r"(?:^|[:\s])_(?:authToken|auth|password) ?= ?[\"']?([^\s\"']{6,512})",
            needles=("_authtoken", "_auth", "_password"),
            confirm=is_password,
        ),
        by_pattern(
            "Dumped .pypirc file",
            r"^\[[\w.-]{2,40}\]\n(?:[a-z_]{2,20} ?[=:] ?[^\n]{0,200}\n){0,4}password ?[=:] ?([^\s]{6,512})",
            needles=("password",),
            confirm=is_password,
            flags=re.MULTILINE,
        ),
        by_pattern(
            "Dumped kubeconfig",
            r"client-key-data[\"']?: ?[\"']?([A-Za-z0-9+/=]{40,})",
            needles=("client-key-data",),
            confirm=is_password,
        ),
        by_pattern(
            "Dumped AWS credentials",
            r"aws_(?:secret_access_key|session_token)[\"']? ?[=:] ?[\"']?([A-Za-z0-9+/=]{30,})",
            needles=("aws_secret_access_key", "aws_session_token"),
            confirm=is_password,
            flags=re.IGNORECASE,
        ),
        by_pattern(
            "Dumped Docker credentials",
            r"\"(?:auth|identitytoken|registrytoken)\" ?: ?\"([A-Za-z0-9+/=_.-]{8,4096})\"",
            needles=('"auths"', '"identitytoken"', '"registrytoken"'),
            confirm=is_password,
        ),
        by_pattern(
            "Password hash",
            r"\$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{50,}|[156y]\$[^\s:$]{1,64}\$(?:[^\s:$]{1,64}\$)?[./A-Za-z0-9]{20,}"
            r"|apr1\$[^\s:$]{1,16}\$[./A-Za-z0-9]{20,}|argon2(?:id|i|d)\$[^\s:]{20,})|\{S?SHA\}[A-Za-z0-9+/=]{24,}"
            r"|pbkdf2_sha256\$\d{1,9}\$[^\s$]{1,64}\$[A-Za-z0-9+/=]{40,}",
            needles=("$2", "$1$", "$5$", "$6$", "$y$", "$apr1$", "$argon2", "sha}", "pbkdf2_sha256$"),
        ),
        by_pattern(
            "Service account file",
            r"\"private_key\" ?: ?\"(-----BEGIN [^\"]{60,})",
            needles=('"private_key"',),
            confirm=is_password,
        ),
        by_pattern(
            "Private JSON Web Key",
            r"\"d\" ?: ?\"([\w-]{20,1024})\"",
            needles=('"kty"',),
            confirm=is_password,
        ),
        by_pattern(
            "Dumped .pgpass file",
            r"^[\w.*-]{1,255}:(?:\d{4,5}|\*):[A-Za-z_*][\w-]{0,62}:[A-Za-z_][\w-]{0,62}:([^\s:]{4,255})$",
            needles=(":",),
            confirm=is_password,
            flags=re.MULTILINE,
        ),
        by_pattern(
            "Kubernetes secret",
            r"^kind: ?Secret\n(?:[^\n]{0,400}\n){0,30}?(?:data|stringData):\n"
            r" [\w.-]{1,100}: ?[\"']?([^\s\"']{6,})",
            needles=("kind: secret", "kind:secret"),
            confirm=is_password,
            flags=re.MULTILINE,
        ),
    )


def _short_key(text: Text) -> Iterator[int]:
    """A key of any length, such as a cut one, by what stands right behind the header that a sentence names too."""
    for header in _KEY_HEADER.finditer(text.plain):
        found = _KEY_BODY.match(text.plain, header.end())
        if found is not None and _is_key(found):
            yield header.start()


def _is_key(found: re.Match[str]) -> bool:
    body = found["body"]
    if is_placeholder(body):
        return False
    has_digit, has_letter = any(map(str.isdigit, body)), any(map(str.isalpha, body))
    has_cases = body[1:] not in (body[1:].lower(), body[1:].upper())
    is_on_its_line = "\n" in found["gap"] or "\\" in found["gap"]
    if is_on_its_line and found["alone"] is not None:
        return (has_digit and has_letter) or has_cases or body.endswith("=")
    return len(body) >= _KEY_CHARACTERS_WITHIN_A_LINE_MIN and has_digit and has_cases


def _env_file(text: Text) -> Iterator[int]:
    """Several KEY=value lines of which several have secret names: even a plain word is then a value."""
    lines = list(_ENV_LINE.finditer(text.plain))
    if len(lines) < _ENV_LINES_MIN:
        return
    secrets = [line for line in lines if _SECRET_NAME.search(line[1]) and _is_env_secret(line[2])]
    if len({line[1] for line in secrets}) >= _ENV_SECRETS_MIN:
        yield secrets[0].start(2)


def _is_env_secret(value: str) -> bool:
    return len(value) >= 4 and is_password(value)
