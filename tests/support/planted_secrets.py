"""Secrets to plant: a hundred kinds, made anew each time, and the places where a person leaves them.

Prefixes are joined at run time, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable
from dataclasses import dataclass

DIGITS, LOWER, UPPER = string.digits, string.ascii_lowercase, string.ascii_uppercase
ALNUM = DIGITS + LOWER + UPPER
HEX, BASE64, URLSAFE = DIGITS + "abcdef", ALNUM + "+/", ALNUM + "-_"


@dataclass(frozen=True)
class Planted:
    """`text` as it stands somewhere, with the name beside it where one is needed; `secrets` are what must not be read."""

    kind: str
    text: str
    secrets: tuple[str, ...]


Make = Callable[[random.Random], Planted]
KINDS: dict[str, Make] = {}


def some(rng: random.Random, alphabet: str, length: int) -> str:
    """Random, and with a digit and a letter in it, as all real keys of these lengths have."""
    body = "".join(rng.choices(alphabet, k=length - 2))
    digits = [letter for letter in alphabet if letter.isdigit()]
    letters = [letter for letter in alphabet if letter.isalpha()]
    return rng.choice(letters or digits) + body + rng.choice(digits or letters)


def kind(name: str, before: str, alphabet: str, length: int, after: str = "", around: str = "{}") -> None:
    """A secret that is `before` and random letters; `around` is what has to stand around it."""

    def make(rng: random.Random) -> Planted:
        secret = before.replace("|", "") + some(rng, alphabet, length) + after
        return Planted(name, around.replace("{}", secret), (secret,))

    KINDS[name] = make


def kind_of_parts(name: str, pattern: Callable[[random.Random], str], around: str = "{}") -> None:
    def make(rng: random.Random) -> Planted:
        secret = pattern(rng)
        return Planted(name, around.replace("{}", secret), (secret,))

    KINDS[name] = make


kind("github", "gh|p_", ALNUM, 36)
kind("github_server", "gh|s_", ALNUM, 36)
kind_of_parts("github_fine", lambda r: "github" + "_pat_" + some(r, ALNUM, 22) + "_" + some(r, ALNUM, 59))
kind("gitlab", "gl|pat-", URLSAFE, 20)
kind("huggingface", "h|f_", ALNUM, 34)
kind("openai", "s|k-", ALNUM, 48)
kind("openai_project", "s|k-proj-", URLSAFE, 120)
kind("anthropic", "s|k-ant-api03-", URLSAFE, 93)
kind("groq", "gs|k_", ALNUM, 52)
kind("nvidia", "nv|api-", URLSAFE, 64)
kind("replicate", "r|8_", ALNUM, 37)
kind("wandb", "", HEX, 40, around="WANDB_API_KEY={}")
kind("wandb_new", "wandb|_v1_", ALNUM, 60)
kind("databricks", "da|pi", HEX, 32)
kind("aws_id", "AK|IA", UPPER + DIGITS, 16)
kind("aws_secret", "", BASE64, 40, around="aws_secret_access_key = {}")
kind("google_api", "AI|za", URLSAFE, 35)
kind("google_oauth", "ya|29.", URLSAFE, 60)
kind("azure_storage", "", BASE64, 86, "==", around="AccountName=store;AccountKey={};EndpointSuffix=core.windows.net")
kind_of_parts("azure_client", lambda r: some(r, ALNUM, 3) + "8" + "Q~" + some(r, ALNUM, 34))
kind("azure_sas", "", BASE64.replace("+/", ""), 43, "%3D", around="https://s.blob.core.windows.net/c?sv=2024&sig={}")
kind("digitalocean", "do|p_v1_", HEX, 64)
kind_of_parts("slack", lambda r: "xo" + "xb-" + some(r, DIGITS, 12) + "-" + some(r, ALNUM, 24))
kind("stripe", "sk|_live_", ALNUM, 24)
kind("twilio", "S|K", HEX, 32)
kind_of_parts("sendgrid", lambda r: "SG" + "." + some(r, URLSAFE, 22) + "." + some(r, URLSAFE, 43))
kind("mailgun", "ke|y-", HEX, 32)
kind("mailchimp", "", HEX, 32, "-us|12".replace("|", ""))
kind("npm", "np|m_", ALNUM, 36)
kind("pypi", "py|pi-AgEIcHlwaS5vcmc", URLSAFE, 120)
kind("docker", "dckr|_pat_", URLSAFE, 27)
kind("vault", "hv|s.", URLSAFE, 28)
kind("shopify", "shp|at_", HEX, 32)
kind_of_parts("telegram", lambda r: some(r, DIGITS, 10) + ":A" + "A" + some(r, URLSAFE, 33))
kind_of_parts("discord", lambda r: "M" + some(r, ALNUM, 23) + "." + some(r, ALNUM, 6) + "." + some(r, URLSAFE, 27))
kind_of_parts("airtable", lambda r: "pa" + "t" + some(r, ALNUM, 14) + "." + some(r, HEX, 64))
kind_of_parts("grafana", lambda r: "gl" + "sa_" + some(r, ALNUM, 32) + "_" + some(r, HEX, 8))
kind_of_parts(
    "json_web_token",
    lambda r: ".".join(("ey" + "J" + some(r, URLSAFE, 33), "ey" + "J" + some(r, URLSAFE, 80), some(r, URLSAFE, 43))),
)
kind_of_parts(
    "slack_webhook",
    lambda r: f"T{some(r, UPPER + DIGITS, 8)}/B{some(r, UPPER + DIGITS, 8)}/{some(r, ALNUM, 24)}",
    around="https://hooks.slack.com/services/{}",
)
kind_of_parts(
    "discord_webhook",
    lambda r: f"{some(r, DIGITS, 18)}/{some(r, URLSAFE, 68)}",
    around="https://discord.com/api/webhooks/{}",
)
kind("teams_webhook", "", HEX, 32, around="https://corp.webhook.office.com/webhookb2/{}/IncomingWebhook")
kind("bearer", "", URLSAFE, 40, around="Authorization: Bearer {}")
kind("basic", "", BASE64, 38, "==", around="'Authorization': 'Basic {}'")
kind("api_key_header", "", ALNUM, 32, around="X-Api-Key: {}")
kind("cookie", "", ALNUM, 32, around="Set-Cookie: sessionid={}; Path=/")
kind("postgres", "", ALNUM + "!$*.", 14, around="postgresql://svc:{}@db.example.com:5432/prod")
kind("mongodb", "", ALNUM, 16, around="mongodb+srv://svc:{}@c0.example.mongodb.net/x")
kind("redis", "", ALNUM, 20, around="redis://:{}@cache:6379/0")
kind("url_query", "", ALNUM, 24, around="https://api.example.com/v1/x?access_token={}&page=2")
kind("git_remote", "", ALNUM, 24, around="https://oauth2:{}@git.example.com/a/b.git")
kind("netrc", "", ALNUM, 20, around="machine api.example.com login me password {}")
kind("password_setting", "", ALNUM + "!#$%", 14, around="DB_PASSWORD={}")
kind("password_literal", "", ALNUM + " ,.;", 20, around='password = "{}"')
kind("option", "", ALNUM, 24, around="train.py --hub-token {} --lr 0.1")


kind_of_parts(
    "1password", lambda r: "-".join(("A" + "3", *(some(r, UPPER + DIGITS, size) for size in (6, 6, 5, 5, 5, 5))))
)
kind("1password_service", "ops|_eyJ", BASE64, 260)
kind("adobe", "p8|e-", ALNUM, 32)
kind("alibaba", "LT|AI", ALNUM, 20)
kind("artifactory_reference", "cmVm|d", ALNUM, 59)
kind("bedrock", "AB|SK", BASE64, 120)
kind("clickhouse", "4b|1d", ALNUM, 38)
kind("clojars", "CLO|JARS_", LOWER + DIGITS, 60)
kind("cloudflare_origin", "v1|.0-0123456789abcdef01234567-", HEX, 146)
kind("defined", "dn|key-abcdefghijklmnopqrstuvwxy1-", URLSAFE, 52)
kind("dropbox", "s|l.", URLSAFE, 136)
kind("duffel", "duffel|_live_", URLSAFE, 43)
kind_of_parts("dynatrace", lambda r: "dt0" + "c01." + some(r, ALNUM, 24) + "." + some(r, ALNUM, 64))
kind("easypost", "EZ|AK", ALNUM, 54)
kind("facebook", "123456789|012345%7C", ALNUM, 27)
kind("flutterwave", "FLWSECK|_TEST-", HEX, 32, "-X")
kind("fly", "fo|1_", URLSAFE, 43)
kind("frameio", "fio|-u-", URLSAFE, 64)
kind("gitlab_session", "", LOWER + DIGITS, 32, around="_gitlab_session={}")
kind_of_parts("harness", lambda r: ".".join(("pa" + "t", some(r, ALNUM, 22), some(r, HEX, 24), some(r, ALNUM, 20))))
kind("infracost", "ic|o-", ALNUM, 32)
kind("intra42", "s-s4|t2af-", HEX, 64)
kind("lob", "live|_", HEX, 35)
kind_of_parts("mapbox", lambda r: "p" + "k." + some(r, LOWER + DIGITS, 60) + "." + some(r, LOWER + DIGITS, 22))
kind_of_parts("maxmind", lambda r: some(r, ALNUM, 6) + "_" + some(r, ALNUM, 29) + "_m" + "mk")
kind("new_relic_insert", "NR|II-", ALNUM, 32)
kind("octopus", "AP|I-", UPPER + DIGITS, 26)
kind("openshift", "sha|256~", URLSAFE, 43)
kind_of_parts("plaid", lambda r: "access-" + "production-" + "-".join(some(r, HEX, n) for n in (8, 4, 4, 4, 12)))
kind("prefect", "pn|u_", ALNUM, 36)
kind("pulumi", "pu|l-", HEX, 40)
kind("readme", "rd|me_", LOWER + DIGITS, 70)
kind("scalingo", "tk|-us-", URLSAFE, 48)
kind("settlemint", "sm|_pat_", ALNUM, 16)
kind("shippo", "shippo|_live_", HEX, 40)
kind("sourcegraph", "sg|p_", HEX, 40)
kind("twitter_bearer", "A" * 22, ALNUM, 90)
kind("typeform", "tf|p_", URLSAFE, 59)
kind_of_parts("yandex", lambda r: "t" + "1." + some(r, ALNUM, 12) + "." + some(r, URLSAFE, 86))
kind("datadog", "", HEX, 40, around="datadog: {}")
kind("cohere", "", ALNUM, 40, around="COHERE={}")
kind("cloudant", "", HEX, 64, around="cloudant => '{}'")
kind("curl_user", "", ALNUM, 12, around="curl -s -u me:{} https://api.example.com")
kind("xml_password", "", ALNUM, 16, around='<add key="Password" value="{}" />')
kind("arrow", "", ALNUM, 24, around="'client_secret' => '{}'")


def _private_key(header: str, ending: str) -> Make:
    def make(rng: random.Random) -> Planted:
        lines = [some(rng, BASE64, 64) for _ in range(4)]
        text = "\n".join((f"-----BEGIN {header}-----", *lines, f"-----END {ending}-----"))
        return Planted(header, text, tuple(lines))

    return make


for _header in ("RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"):
    KINDS[_header] = _private_key(_header, _header)


def _service_account(rng: random.Random) -> Planted:
    """The file that Google gives out: a key in JSON, its lines joined by written `\\n`."""
    pem = _private_key("PRIVATE KEY", "PRIVATE KEY")(rng)
    key_id = some(rng, HEX, 40)
    text = json.dumps({"type": "service_account", "private_key_id": key_id, "private_key": pem.text})
    return Planted("service_account", text, pem.secrets)


KINDS["service_account"] = _service_account

# Where it is left. `{}` is the secret with the name that it needs.
CONTEXTS = {
    "log line": "[2026-11-23 07:43:01,123] INFO client.py:42 request failed: {}",
    "rank": "[rank0]: E1123 07:43:01.123 1234 torch/_dynamo/utils.py:12] {}",
    "traceback": '  File "train.py", line 31, in login\n    client.login({})\nValueError: refused: {}',
    "source": "y = connect(1, {}, retries=3)  # {}",
    "comment": "# {}",
    "environment": "PATH=/usr/bin\nSERVICE={}\nOMP_NUM_THREADS=1",
    "address": "GET https://hub.example.com/v1?x={} 401",
    "quoted": "the value '{}' was refused",
    "double quoted": 'got "{}", expected 3',
    "dictionary": "{'name': 'a', 'value': '{}', 'n': 3}",
    "brackets": "Client(x={}, timeout=3)",
    "bare": "{}",
    "in colours": "\x1b[31mERROR\x1b[0m \x1b[1m{}\x1b[0m",
}


def in_json(text: str) -> str:
    """As a string of JSON, as logs of other tools have it."""
    return json.dumps({"message": f"refused: {text}", "level": "error"})


def split_by_colours(planted: Planted) -> str:
    """A highlighter's colour codes in the middle of the secret."""
    text = planted.text
    for secret in planted.secrets:
        half = len(secret) // 2
        text = text.replace(secret, f"{secret[:half]}\x1b[0m\x1b[38;5;208m{secret[half:]}")
    return text


def basic_login(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()
