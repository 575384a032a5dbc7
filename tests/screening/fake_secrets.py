"""Fake credentials, put together at run time so that no scanner flags this repository."""

from __future__ import annotations

import base64
import json
import random
import string

_random = random.Random(20240611)
ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def fake(length: int, alphabet: str = ALNUM) -> str:
    return "".join(_random.choices(alphabet, k=length))


def encoded(value: str) -> str:
    return base64.urlsafe_b64encode(value.encode()).decode().rstrip("=")


WORD = "hunter2" + "secret"
DIGITS = string.digits
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
JWT = ".".join((encoded('{"alg":"HS256","typ":"JWT"}'), encoded('{"sub":"1234567890","admin":true}'), fake(43)))
PEM_BODY = "\n".join(fake(64) for _ in range(6))
DASHES = "-" * 5


def pem(kind: str) -> str:
    return f"{DASHES}BEGIN {kind}{DASHES}\n{PEM_BODY}\n{DASHES}END {kind}{DASHES}"


# detector → what it has to catch; the value to hide comes second
BY_DETECTOR: dict[str, list[tuple[str, str]]] = {
    name: [(template.format(value), value) for template, value in examples]
    for name, examples in {
        "Artifactory Credentials": [
            ("artifactory reads {}", "AKC" + "p8" + fake(40)),
            ("x={}", "AP5" + "z9" + fake(30)),
        ],
        "AWS Access Key": [
            ("the deploy user is {}", "AKIA" + fake(16, UPPER)),
            ("session {} of the role", "ASIA" + fake(16, UPPER)),
            ("aws_key = '{}'", fake(38) + "/Z"),
        ],
        "Azure Storage Account access key": [("AccountName=acme;AccountKey={}", fake(86) + "==")],
        "Cloudant Credentials": [("cloudant_password={}", fake(64, HEX))],
        "Discord Bot Token": [("bot {}", "M" + "1a" + fake(22) + "." + fake(6) + "." + fake(27))],
        "GitHub Token": [("clone with {}", "gh" + "p_" + fake(36)), ("app: {}", "gh" + "s_" + fake(36))],
        "GitLab Token": [("runner {}", "gl" + "rt-" + fake(20)), ("{}", "gl" + "pat-" + fake(20))],
        "IBM COS HMAC Credentials": [("cos_hmac_secret_access_key={}", fake(48, HEX))],
        "JSON Web Token": [("session {} of mira", JWT), ("id_token={}", JWT)],
        "Mailchimp Access Key": [("mail: {}", fake(32, HEX) + "-us" + "14")],
        "NPM tokens": [("//registry.acme.dev/:_authToken={}", "npm_" + fake(36))],
        "OpenAI Token": [("use {}", "sk-acme-" + fake(20) + "T3Blbk" + "FJ" + fake(20))],
        "Private Key": [
            ("{}", pem("RSA PRIVATE " + "KEY")),
            ("{}", pem("OPENSSH PRIVATE " + "KEY")),
            ("PuTTY-User-Key-" + "File-2: ssh-rsa\nEncryption: none\nPrivate-Lines: 1\n{}", fake(64)),
        ],
        "PyPI Token": [("upload with {}", "pypi-" + "AgEIcHlwaS5vcmc" + fake(80))],
        "SendGrid API Key": [("{}", "SG" + "." + fake(22) + "." + fake(43))],
        "Slack Token": [
            ("{}", "xox" + "b-" + fake(12, DIGITS) + "-" + fake(12, DIGITS) + "-" + fake(24)),
            (
                "{}",
                "https://hooks.slack." + "com/services/T" + fake(8, UPPER) + "/B" + fake(8, UPPER) + "/" + fake(24),
            ),
        ],
        "Slack app or browser token": [
            (
                "socket mode {}",
                "xapp" + "-1-A" + fake(10, UPPER) + "-" + fake(12, DIGITS) + "-" + fake(60, HEX),
            ),
            ("{}", "xox" + "c-" + fake(12, DIGITS) + "-" + fake(64, HEX)),
        ],
        "GitLab newer token": [("{}", "gl" + "ffct-" + fake(20))],
        "PyPI API token": [("{}", "pypi-" + "AgEIcHlwaS5vcmc" + fake(60))],
        "SoftLayer Credentials": [("softlayer_api_key={}", fake(64, LOWER))],
        "Square OAuth Secret": [("{}", "sq0" + "csp-" + fake(43))],
        "Stripe Access Key": [("billing uses {}", "sk_" + "live_" + fake(24))],
        "Telegram Bot Token": [("{}", fake(9, "123456789") + ":AA" + fake(33))],
        "Twilio API Key": [("{}", "S" + "K" + fake(32, HEX)), ("{}", "A" + "C" + fake(32, HEX))],
        "Basic Auth Credentials": [("https://mira:{}@git.acme.dev/x.git", fake(12))],
        "IBM Cloud IAM Key": [("ibm_cloud_api_key={}", fake(42) + "-Z")],
        "Anthropic API key": [("{}", "sk-" + "ant-api03-" + fake(93) + "AA")],
        "OpenAI API key": [("{}", "sk-" + "proj-" + fake(64)), ("{}", "sk-" + "svcacct-" + fake(40))],
        "OpenRouter API key": [("{}", "sk-" + "or-v1-" + fake(64, HEX))],
        "API key with prefix sk-": [("deepseek {}", "sk-" + fake(32, HEX))],
        "GitHub fine-grained token": [("{}", "github_" + "pat_" + fake(22) + "_" + fake(59))],
        "Hugging Face token": [("{}", "hf" + "_" + fake(34))],
        "Google API key": [("maps: {}", "AIz" + "aSy" + fake(33))],
        "Google OAuth secret": [("{}", "GOC" + "SPX-" + fake(28)), ("{}", "ya29" + "." + fake(60))],
        "npm token": [("publish with {}", "npm" + "_" + fake(36))],
        "Stripe key": [("{}", "sk_" + "test_" + fake(24)), ("{}", "wh" + "sec_" + fake(32))],
        "DigitalOcean token": [("{}", "dop" + "_v1_" + fake(64, HEX))],
        "Docker Hub token": [("{}", "dckr" + "_pat_" + fake(27))],
        "Databricks token": [("{}", "da" + "pi" + fake(32, HEX))],
        "HashiCorp Vault token": [("{}", "hv" + "s." + fake(90))],
        "Terraform Cloud token": [("{}", fake(14) + ".atlas" + "v1." + fake(67))],
        "Shopify token": [("{}", "shp" + "at_" + fake(32, HEX))],
        "Linear API key": [("{}", "lin" + "_api_" + fake(40))],
        "Notion token": [("{}", "ntn" + "_" + fake(46))],
        "Figma token": [("{}", "fig" + "d_" + fake(40))],
        "Airtable token": [("{}", "pat" + fake(14) + "." + fake(64, HEX))],
        "Atlassian token": [("{}", "ATA" + "TT3" + fake(180))],
        "Postman API key": [("{}", "PM" + "AK-" + fake(24, HEX) + "-" + fake(34, HEX))],
        "New Relic key": [("{}", "NR" + "AK-" + fake(27, UPPER))],
        "Grafana token": [("{}", "gl" + "sa_" + fake(32) + "_" + fake(8, HEX))],
        "Sentry token": [("{}", "sntr" + "yu_" + fake(64, HEX))],
        "Supabase key": [("{}", "sb" + "p_" + fake(40, HEX))],
        "Replicate token": [("{}", "r8" + "_" + fake(37))],
        "Groq API key": [("{}", "gs" + "k_" + fake(52))],
        "xAI API key": [("{}", "xa" + "i-" + fake(80))],
        "Perplexity API key": [("{}", "ppl" + "x-" + fake(48))],
        "LangSmith key": [("{}", "lsv" + "2_pt_" + fake(32, HEX) + "_" + fake(10, HEX))],
        "Pinecone key": [("{}", "pc" + "sk_" + fake(60))],
        "age secret key": [("{}", "AGE-SECRET-" + "KEY-1" + fake(58, UPPER))],
        "Tailscale key": [("{}", "tskey" + "-auth-" + fake(12) + "CNTRL-" + fake(32))],
        "Doppler token": [("{}", "dp" + ".pt." + fake(43))],
        "Netlify token": [("{}", "nf" + "p_" + fake(36))],
        "Mailgun key": [("mail goes out with {}", "key" + "-" + fake(32, HEX))],
        "Square token": [("{}", "EA" + "AA" + fake(60))],
        "Brevo key": [("{}", "xkey" + "sib-" + fake(64, HEX) + "-" + fake(16))],
        "Amazon Bedrock key": [("{}", "AB" + "SK" + fake(120))],
        "Entra ID client secret": [("{}", fake(3) + "8" + "Q~" + fake(34))],
        "RubyGems key": [("{}", "ruby" + "gems_" + fake(48, HEX))],
        "crates.io token": [("{}", "ci" + "o" + fake(32))],
        "Heroku key": [("{}", "HR" + "KU-" + fake(60))],
        "PlanetScale token": [("{}", "psc" + "ale_tkn_" + fake(43))],
        "Pulumi token": [("{}", "pu" + "l-" + fake(40, HEX))],
        "CircleCI token": [("{}", "CCI" + "PAT_" + fake(22) + "_" + fake(40, HEX))],
        "SonarQube token": [("{}", "sq" + "p_" + fake(40, HEX))],
        "Fly.io token": [("{}", "fm" + "2_" + fake(120))],
        "Discord webhook": [("{}", "https://discord." + "com/api/webhooks/" + fake(18, "123456789") + "/" + fake(68))],
        "Password in connection string": [
            ("redis://:{}@cache.internal:6379/0", "swordfish"),
            ("postgres://app:{}@db.internal/app", "pa:ss$wo+rd" + fake(4)),
            ("mongodb+srv://app:{}@cluster0.acme.mongodb.net", fake(14)),
        ],
        "Authorization header": [
            ("Authorization: Bearer {}", fake(40)),
            ("Authorization: Basic {}", base64.b64encode(("mira:" + WORD).encode()).decode()),
        ],
        "Password on command line": [
            ("curl -u mira:{} https://api.acme.dev", "swordfish"),
            ("sshpass -p '{}' ssh root@bastion", "Tr0ub4dor" + "x9"),
        ],
        "Signed URL": [("https://acme.blob.core.windows.net/x?se=2030&sig={}", fake(43) + "%3D")],
        "Dumped .env file": [("APP_PORT=80\nDB_HOST=db\nDB_PASSWORD={}\nADMIN_TOKEN=wheelbarrow", "swordfish")],
        "Private key block": [
            ("{}", pem("ENCRYPTED PRIVATE " + "KEY")),
            ("{}", pem("PGP PRIVATE " + "KEY BLOCK")),
            (f"{DASHES}BEGIN PRIVATE " + f"KEY{DASHES}\n{{}}\n{DASHES}END PRIVATE KEY{DASHES}", "MIIEvQ" + "IBADAN"),
            (f"key = '{DASHES}BEGIN EC PRIVATE " + f"KEY{DASHES}\\n{{}}\\n'", "MHcCAQEE" + "IJx="),
            (f"> {DASHES}BEGIN RSA PRIVATE " + f"KEY{DASHES}\n> {{}}", "MIIEowIBAAKC" + "AQEA"),
            (f"it is {DASHES}BEGIN PRIVATE " + f"KEY{DASHES} {{}} as it was", "MC4CAQAwBQYD" + "K2VwBCIEIA"),
            (
                f"{DASHES}BEGIN RSA PRIVATE " + f"KEY{DASHES}\nProc-Type: 4,ENCRYPTED\nDEK-Info: DES-CBC,A1\n\n{{}}\n",
                "kQ3v" + "Zp8r",
            ),
            ("PuTTY-User-Key-" + "File-3: ssh-ed25519\nPrivate-Lines: 1\n{}", fake(64)),
        ],
        "Dumped .netrc file": [("machine git.acme.dev\n  login mira\n  password {}", "swordfish")],
        "Dumped .npmrc file": [
            ("//npm.acme.dev/:_authToken={}", fake(30)),
            ("always-auth=true\n_auth={}", fake(20)),
        ],
        "Dumped .pypirc file": [("[pypi]\nusername = mira\npassword = {}", "swordfish")],
        "Dumped kubeconfig": [("users:\n- user:\n    client-key-data: {}", fake(120))],
        "Dumped AWS credentials": [("[default]\naws_secret_access_key = {}", fake(39) + "/")],
        "Dumped Docker credentials": [
            ('{{"auths": {{"ghcr.io": {{"auth": "{}"}}}}}}', base64.b64encode(b"mira:swordfish").decode())
        ],
        "Password hash": [
            ("root:{}:19700:0:99999:7:::", "$" + "6$" + fake(16) + "$" + fake(86)),
            ("mira:{}:19700::", "$" + "y$j9T$" + fake(22) + "$" + fake(43)),
            ("admin:{}", "$" + "2b$12$" + fake(53)),
            ("hash {}", "$" + "argon2id$v=19$m=65536,t=3,p=4$" + fake(22) + "$" + fake(43)),
        ],
        "Service account file": [
            (
                "{}",
                json.dumps({"type": "service_account", "private_key": pem("PRIVATE " + "KEY"), "project_id": "acme"}),
            )
        ],
        "Private JSON Web Key": [('{{"kty": "RSA", "n": "AQAB", "d": "{}"}}', fake(80))],
        "Dumped .pgpass file": [("db.internal:5432:app:mira:{}", "swordfish")],
        "memhub token": [("the laptop uses {}", "mh" + "_" + ("aB3dE6gH9-" * 5)[:43])],
        "Kubernetes secret": [("kind: Secret\nmetadata:\n  name: db\ndata:\n  password: {}", fake(24) + "==")],
        "Secret keyword": [
            ("password: {}", WORD),
            ("The staging password is {}.", WORD),
        ],
    }.items()
}

# Only the keyword rule can know these.
BY_KEYWORD: list[tuple[str, str]] = [
    (template.format(value), value)
    for template, value in (
        ("password: {}", WORD),
        ("Password: {}", "hunter" + "2"),
        ("password = '{}'", WORD),
        ("API_KEY={}", fake(24)),
        ("export STRIPE_API_KEY={}", fake(24)),
        ('"token": "{}"', fake(24)),
        ('{{"user": "mira", "api_key": "{}"}}', fake(20, HEX)),
        ("the secret is {}", "X7kq9" + "PzL2"),
        ("Root password for the bastion is {}", "Winter2024" + "!x"),
        ("password for the admin user: {}", WORD),
        ("- **Password:** `{}`", WORD),
        ("| password | {} |", WORD),
        ("password (staging): {}", WORD),
        ("db_password => {}", WORD),
        ("dbPassword: '{}',", WORD),
        ("spring.datasource.password={}", WORD),
        ("SMTP_PASS={}", WORD),
        ("PGPASSWORD={} psql -h db", WORD),
        ("DB_PASSWORD={}", "sword" + "fish"),
        ('connect(user="app", password="{}")', "sword" + "fish"),
        ("Server=db;User Id=sa;Password={};", "P@ssw0rd" + "77"),
        ("host=db user=app password={} dbname=app", WORD),
        ("jdbc:mysql://db/app?user=app&password={}", WORD),
        ("CREATE ROLE app LOGIN PASSWORD '{}'", WORD),
        ("CREATE USER app IDENTIFIED BY PASSWORD '{}'", WORD),
        ("login with --password {}", WORD),
        ("run sync --api-key={}", fake(20)),
        ("we use {} as the admin password", WORD),
        ("{} is the password of the demo account", WORD),
        ("Set the password to {} on both hosts", WORD),
        ("<password>{}</password>", WORD),
        ("password: str = '{}'", WORD),
        ("client_secret: {}", fake(32)),
        ("Client secret = {}", "550e8400-" + "e29b-41d4-a716-446655440000"),
        ("AUTH_TOKEN={}", fake(32)),
        ("access_token: {}", fake(40)),
        ("refresh token is {}", fake(40)),
        ("private_key = {}", fake(42) + "8="),
        ("encryption key: {}", fake(64, HEX)),
        ("SECRET_KEY = 'django-insecure-{}'", fake(40)),
        ("credentials: {}", WORD),
        ("license key: {}", "-".join(fake(5, UPPER) for _ in range(4)) + "-7A9ZK"),
        ("passphrase: {}", WORD),
        ("pwd={}", WORD),
        ("PIN and password: {}", "48291" + "773"),
        ("Passwort: {}", WORD),
        ("Das Passwort für die Datenbank lautet {}", WORD),
        ("contraseña: {}", WORD),
        ("mot de passe: {}", WORD),
        ("пароль: {}", WORD),
        ("密码：{}", WORD),
        ("密码是{}", WORD),
        ("パスワードは{}です", WORD),
        ("비밀번호: {}", WORD),
        ("password:\n  {}", WORD),
        ("The wifi password “{}” changes in May", WORD),
        ("password: {} # pragma: allowlist secret", WORD),
        ("api key (prod): {}", fake(28)),
        ("export OPENAI_KEY={}", fake(40)),
        ("smtp user mira password {}", WORD),
        ("the bearer token {} is Mira's", fake(40)),
        ("wifi psk: {}", WORD),
        ("Note:password={}", WORD),
        ("webhook secret {}", "`" + fake(28) + "`"),
    )
]
