"""Words that look like secrets and are none."""

from __future__ import annotations

import re

# Algorithms, encodings, protocols, products, versions and durations: letters with digits, and public.
TECHNICAL = re.compile(
    r"""
    argon2(?:id?|d)? | s?b?crypt\w{0,2} | md[245] | (?:hmac)?sha-?\d{1,3}(?:crypt|sum|hash|hex|rsa)? |
    (?:hs|rs|es|ps)(?:256|384|512)k? | aes\d* | a(?:128|192|256)\w{2,8} | pbkdf\d |
    (?:x|ed|curve)?(?:25519|448) | x?chacha20\w* | poly1305 | secp\d+[rk]1 | p(?:256|384|521) | rsa\d* |
    crc\d+ | xxh\d+ | blake[23]\w{0,3} | ripemd160 | keccak256 | bip\d+ | zxcvbn\d*
    | base(?:16|32|36|58|62|64)(?:url)?(?:d|encoded|decoded)? | b64 | utf\d{1,2} | ascii85 | iso\d+ |
    rfc\d+ | x509(?:v\d)? | pkcs\d+ | asn1 | uuid(?:v?\d)? | nanoid\d*
    | oauth\d?a? | oidc\d? | saml\d? | fido\d | u2f | [mt]fa\d? | [th]otp\d? | jw[tsek]\d? | http\d? |
    tls\d* | ssl\d* | ssh\d? | ipv[46] | e2e | web[23]
    | k8s\w{0,4} | s3 | ec2 | route53 | 1password | auth0\w* | i18n | l10n | a11y | x86 | amd64 | arm64 |
    win(?:32|64) | log4j\d? | r2dbc | sqlite3 | psycopg[23] | boto3 | py(?:thon)?3?\d* | node\d+ |
    java\d+ | postgres\d+ | mysql\d | pg\d+
    | v\d+\w{0,6} |
    \d+(?:st|nd|rd|th|x|k|m|g|b|s|h|d|w|y|ms|us|ns|[kmgt]i?b|bits?|bytes?|chars?|characters?|digits?|words?|times)
    | \d+(?:secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?|months?|years?)
    """,
    re.VERBOSE | re.IGNORECASE,
)

# What development setups and documentation write where a password goes: nothing that anybody hides.
WELL_KNOWN = frozenset(
    (
        "admin",
        "administrator",
        "anonymous",
        "bar",
        "bearer",
        "changeit",
        "changeme",
        "changethis",
        "default",
        "demo",
        "development",
        "disabled",
        "dummy",
        "empty",
        "enabled",
        "example",
        "fake",
        "false",
        "foo",
        "foobar",
        "guest",
        "hidden",
        "hunter2example",
        "integer",
        "letmein",
        "login",
        "masked",
        "minioadmin",
        "missing",
        "mock",
        "mypassword",
        "mysecret",
        "mysql",
        "name",
        "none",
        "null",
        "number",
        "object",
        "optional",
        "pass",
        "passw0rd",
        "passwd",
        "password",
        "placeholder",
        "postgres",
        "postgresql",
        "private",
        "production",
        "public",
        "pw",
        "pwd",
        "rabbitmq",
        "readonly",
        "redacted",
        "redis",
        "required",
        "root",
        "sample",
        "secret",
        "secrets",
        "staging",
        "string",
        "supersecretexample",
        "tbd",
        "test",
        "testing",
        "text",
        "todo",
        "token",
        "topsecret",
        "true",
        "undefined",
        "unknown",
        "unset",
        "user",
        "username",
        "value",
        "your",
        "yourpassword",
    )
)
