"""Secrets known by their shape or by the name beside them. Pure functions over text.

Two invariants. What has the shape of a credential never survives `scrub`. What a bug report lives on does survive:
fingerprints, git hashes, version numbers, tensor and token *counts*, special tokens of language models (`pad_token`).
The shapes are those which the issuers document, so that their own scanners find them too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

SECRET = "<secret>"


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ISSUED = (
    r"gh[pousr]_[A-Za-z0-9]{20,}",  # GitHub: personal, OAuth, user-to-server, server-to-server, refresh
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[\w-]{20,}",  # GitLab
    r"hf_[A-Za-z0-9]{20,}",  # Hugging Face
    r"api_org_[A-Za-z0-9]{20,}",
    r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,}",  # OpenAI, Anthropic
    r"(?<![A-Za-z0-9])[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
    r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",  # AWS key id
    r"xox[abceoprs]-[A-Za-z0-9-]{10,}",  # Slack
    r"xapp-[A-Za-z0-9-]{10,}",
    r"hooks\.slack\.com/services/[\w/]+",
    r"AIza[\w-]{30,}",  # Google
    r"ya29\.[\w-]{20,}",
    r"GOCSPX-[\w-]{20,}",
    r"wandb_v\d_[A-Za-z0-9_]{20,}",
    r"pypi-[\w-]{50,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"dapi[0-9a-f]{32}",  # Databricks
    r"(?<![A-Za-z0-9])eyJ[\w-]{6,}(?:\.[\w-]*){1,4}",  # JSON web token: header.payload.signature
)
_SHAPES = re.compile("|".join(_ISSUED))
# A key that was cut off has no END line: then everything that can belong to it goes.
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:(?!-----BEGIN).)*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\:,-]*)",
    re.DOTALL,
)
_URL_LOGIN = re.compile(r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]{0,20}://)(?P<login>[^\s/?#'\"<>]{1,1000})@")
_HEADER = re.compile(
    r"(?i)\b(?P<name>(?:proxy-)?authorization|x-(?:api-key|auth-token)|(?:set-)?cookie)(?P<gap>[\"']?\s*:\s*[\"']?)(?P<value>[^\r\n\"']{4,})"
)
_BEARER = re.compile(
    r"\b(?P<kind>[Bb]earer)\s+[\w.~+/=-]{8,}|\b(?P<basic>Basic|[Tt]oken)\s+(?=[^\s]*\d)[\w.~+/=-]{16,}"
)
_AWS_SECRET = re.compile(
    r"(?i)(?P<name>\b[\w.-]{0,40}(?:aws|secret)[\w .-]{0,30}?(?:key|secret)[\"']?\s*(?:[:=]|is)?\s*[\"']?)"
    r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])"
)
_HEX_KEY = re.compile(
    r"(?i)(?P<name>\b(?:wandb|(?<!cache )key|api[ _-]?key|login|password|token)\b\W{0,4}(?:\w{1,12}\W{1,4}){0,3}?)[0-9a-f]{40}\b"
)
_NETRC = re.compile(r"(?P<name>\blogin\s+\S+\s+password\s+)\S+")
_ASSIGNED = re.compile(
    r"(?P<name>(?<![\w-])[A-Za-z][\w.-]{2,60})(?P<gap>[\"']?\s*(?:=|:)\s*(?P<quote>[\"']?))(?P<value>[^\s\"'`,;|&<>()\[\]{}]{4,})(?P<next>[(\[]?)"
)
_OPTION = re.compile(r"(?P<name>(?<![\w-])--?[A-Za-z][\w-]+)(?P<gap>=|\s+)(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'`]+)")

_ENDINGS = (
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "APIKEY",
    "CREDENTIAL",
    "CREDENTIALS",
    "COOKIE",
)
_WORDS = frozenset({"KEY", "AUTH", "AUTHORIZATION", "COOKIES", "DSN", "PWD", "PASS", "PAT", "SIGNATURE"})
_FAMILY = ("SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL")
_AMBIGUOUS = frozenset({"TOKEN", "KEY", "PASS", "SIGNATURE", "AUTH", "COOKIE"})
# A name that ends so describes a secret, or where it lies, but is none.
_DESCRIBES = words(
    "FILE PATH DIR SOCK SOCKET TYPE NAME ALGORITHM LENGTH LEN SIZE DIM COUNT TTL TIMEOUT ENABLED METHOD MODE FORMAT ID"
)
# Language models have tokens, caches have keys, compilers have passes.
_HARMLESS_BEFORE = {
    "TOKEN": words(
        "PAD EOS BOS SEP CLS MASK UNK SPECIAL NUM MAX MIN N START END IMAGE PER NEXT NEW FIRST LAST DECODER"
    ),
    "KEY": words("CACHE SORT PARTITION PRIMARY FOREIGN PUBLIC DISPATCH QUERY GUARD HASH NUM"),
    "PASS": words("PRE POST GRAD CUSTOM FX OPT FUSION FORWARD BACKWARD NUM ONE"),
    "SIGNATURE": words("FAILURE GRAPH FUNCTION INPUT OUTPUT SAME"),
}
_TRIVIAL = words(
    "true false none null yes no on off auto default enabled disabled required optional basic bearer token any all "
    "password secret <secret> str int float bool bytes string"
)
_NUMBER = re.compile(
    r"[-+]?\d{1,5}(?:\.\d*)?\Z|v?\d+(?:\.\d+)+(?:[.+-]?(?:dev|rc|a|b|post|cpu|cu|rocm|xpu|git)[0-9a-f]{0,12})*\Z"
)
_DOTTED_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")


def is_secret_name(name: str) -> bool:
    """Whether a variable, option or key of this name holds a secret: HF_TOKEN, --api-key, db.password, sentryDsn."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.rsplit(".", 1)[-1]).upper()
    parts = [word for word in re.split(r"[^A-Z]+", snake) if word]
    if not parts or parts in (["PWD"], ["OLDPWD"]):
        return False
    if parts[-1] in _DESCRIBES and parts[-3:] != ["ACCESS", "KEY", "ID"]:
        return False
    for place, word in enumerate(parts):
        kind = next((ending for ending in _ENDINGS if word.endswith(ending)), word if word in _WORDS else None)
        if kind is None or (place and parts[place - 1] in _HARMLESS_BEFORE.get(kind, frozenset())):
            continue
        # `token_embedding` and `key_states` are tensors; only environment variables put such a word in front.
        if kind not in _AMBIGUOUS or place + 1 == len(parts) or name.isupper():
            return True
    return False


def worth_hiding(value: str) -> bool:
    """Whether a value may be replaced wherever it appears: not a number, a version, or a word such as `true`."""
    return len(value) >= 4 and value.lower() not in _TRIVIAL and not _NUMBER.match(value)


def secret_values(environ: Mapping[str, str]) -> Iterator[str]:
    """Values of the variables whose name says secret, and the passwords inside the addresses of all others."""
    for name, value in environ.items():
        if is_secret_name(name):
            yield value
            yield from (line for line in value.splitlines() if len(line) >= 16)
        for found in _URL_LOGIN.finditer(value):
            yield found["login"].partition(":")[2]


def argument_secrets(command: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(index of the argument, the secret in it): `--token V`, `--api-key=V`, `HF_TOKEN=V`."""
    for place, argument in enumerate(command):
        name, equals, value = argument.partition("=")
        if equals and is_secret_name(name.lstrip("-")) and not _NUMBER.match(value):
            yield place, value
        elif (
            not equals
            and argument.startswith("-")
            and is_secret_name(argument.lstrip("-"))
            and place + 1 < len(command)
        ):
            value = command[place + 1]
            if not value.startswith("-") and not _NUMBER.match(value):
                yield place + 1, value


def scrub(text: str) -> str:
    """The text without anything that has the shape of a secret, or that stands beside a name that says so."""
    text = _PRIVATE_KEY.sub(SECRET, text)
    text = _URL_LOGIN.sub(rf"\g<scheme>{SECRET}@", text)
    text = _HEADER.sub(rf"\g<name>\g<gap>{SECRET}", text)
    text = _BEARER.sub(lambda found: f"{found['kind'] or found['basic']} {SECRET}", text)
    text = _SHAPES.sub(SECRET, text)
    text = _AWS_SECRET.sub(rf"\g<name>{SECRET}", text)
    text = _HEX_KEY.sub(rf"\g<name>{SECRET}", text)
    text = _NETRC.sub(rf"\g<name>{SECRET}", text)
    text = _OPTION.sub(_without_option, text)
    return _ASSIGNED.sub(_without_assigned, text)


def scrub_command(text: str) -> str:
    """As `scrub`, for text known to be a command line: there, whatever follows `--token` is its value."""
    return scrub(_OPTION.sub(_without_any_option, text))


def _without_any_option(found: re.Match[str]) -> str:
    value = found["value"].strip("\"'")
    if value.startswith("-") or _NUMBER.match(value) or not is_secret_name(found["name"].lstrip("-")):
        return found[0]
    return f"{found['name']}{found['gap']}{SECRET}"


def _without_option(found: re.Match[str]) -> str:
    # In prose ("use --token to log in") the next word is no value; a secret is longer than a word, or has a digit in it.
    value = found["value"].strip("\"'")
    prose = found["gap"] != "=" and len(value) < 20 and not any(character.isdigit() for character in value)
    return found[0] if prose else _without_any_option(found)


def _without_assigned(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    if found["next"] or not worth_hiding(value) or not is_secret_name(name) or name.lower() == "key":
        return found[0]  # caches and dictionaries print "key: ..." all the time
    if not found["quote"] and _DOTTED_NAME.match(value):  # source code: password=self.password
        return found[0]
    family = any(part in name.upper().replace("-", "_") for part in _FAMILY)
    if family or looks_random(value):
        return f"{name}{found['gap']}{SECRET}"
    return found[0]


def looks_random(value: str) -> bool:
    """Long, with letters and digits mixed: what a key is, and what a word, a path or a count is not."""
    return (
        len(value) >= 12
        and any(character.isdigit() for character in value)
        and any(character.isalpha() for character in value)
        and "/" not in value[:2]
    )
