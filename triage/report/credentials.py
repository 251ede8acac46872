"""Secrets known by their shape or by the name beside them. Pure functions over text.

Two invariants. What has the shape of a credential never survives `scrub`. What a bug report lives on does survive:
fingerprints, git hashes, version numbers, tensor and token *counts*, special tokens of language models (`pad_token`).
Whatever is taken out is counted by its kind. The shapes are a table of their own, `shapes`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from triage.model.text import words
from triage.report import services
from triage.report.shapes import PRIVATE_KEY, shapes_in

SECRET = "<secret>"


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
_CURL_USER = re.compile(
    r"(?P<name>\bcurl\b[^\n]{0,2000}?\s(?:-u|--user)[=\s]{0,5}[\"']?[^\s:\"'<>/]{1,200}:)(?P<value>[^\s\"'/<>]{3,})"
)
_XML_PASSWORD = re.compile(
    r"(?i)(?P<name><add key=\\{0,4}\"(?:cleartext)?password\\{0,4}\"\s{0,4}value=\\{0,4}\")[^\"\\]{4,200}"
)
_NETRC = re.compile(r"(?P<name>\blogin\s+\S+\s+password\s+)\S+")
# Only a name that may say secret, so that "failed: API_KEY=..." is not read as an assignment to "failed".
_NAME = (
    r"(?P<name>(?<![\w-])(?=[\w.-]{0,60}(?i:token|secret|pass|key|auth|credential|cookie|dsn|pwd|pat|signature))"
    r"[A-Za-z][\w.-]{2,60})"
)
_ASSIGNED = re.compile(
    _NAME + r"(?P<gap>(?:\\{0,4}[\"'])?\s*(?:=>?|[:?]=|:)\s*)"
    r"(?P<quote>b?\\{0,4}[\"'])?(?P<value>(?![A-Z_]{3,}=)[^\s\"'`,;|&<>()\[\]{}\\]{4,})(?P<next>[(\[]?)"
)
# A literal beside a name that says password: all of it, blanks and commas too.
_QUOTED = re.compile(
    _NAME + r"(?P<gap>(?:\\{0,4}[\"'])?\s*(?:=>?|[:?]=|:)\s*b?\\{0,4})"
    r"(?P<quote>[\"'])(?P<value>[^\"'\n\\]{4,200})(?=\\{0,4}(?P=quote))"
)
_QUERY = re.compile(
    r"(?i)(?P<name>[?&;](?:(?:access|auth|refresh|id|api)?[_-]?(?:token|key)|apikey|auth|sig|signature|secret|passw(?:or)?d|pwd"
    r"|client_secret|x-(?:amz|goog)-(?:signature|credential|security-token))=)(?P<value>[^\s&#\"'<>;,)\]}]{6,})"
)
_ACCOUNT_KEY = re.compile(r"(?P<name>\b(?:AccountKey|SharedAccessKey|SharedAccessSignature|sig)=)[A-Za-z0-9%+/=]{30,}")
_OPTION = re.compile(
    r"(?P<name>(?<![\w-])--?[A-Za-z][\w-]+)(?P<gap>=|\s+)"
    r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|\$'(?:\\.|[^'\\\n])*'|[^\s\"'`]+)"
)

_ENDINGS = (
    "TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "CREDENTIAL", "CREDENTIALS", "CREDS",
    "COOKIE",
)  # fmt: skip
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


Replace = Callable[[re.Match[str]], str]


def take_out(pattern: re.Pattern[str], replace: str | Replace, kind: str, text: str, tally: Counter[str]) -> str:
    """As `pattern.sub`; what changed is counted as `kind`."""

    def replaced(found: re.Match[str]) -> str:
        new = found.expand(replace) if isinstance(replace, str) else replace(found)
        if new != found[0]:
            tally[kind] += 1
        return new

    return pattern.sub(replaced, text)


def mentions(text: str, *hints: str) -> bool:
    """Whether one of these stands in the text. To look for a word is quick, to look for a pattern that begins anywhere is not."""
    return any(hint in text for hint in hints)


def scrub(text: str, tally: Counter[str]) -> str:
    """The text without anything that has the shape of a secret, or that stands beside a name that says so."""
    text = take_out(PRIVATE_KEY, SECRET, "private_key", text, tally)  # first: nothing else may tear it
    for kind, pattern in shapes_in(text):
        text = take_out(pattern, SECRET, kind, text, tally)
    for pattern, replace, kind in _RULES:
        text = take_out(pattern, replace, kind, text, tally)
    if services.named_in(text):
        text = take_out(services.BESIDE, _without_key_beside, "service_key", text, tally)
    return text


def scrub_command(text: str, tally: Counter[str] | None = None) -> str:
    """As `scrub`, for text known to be a command line: there, whatever follows `--token` is its value."""
    tally = Counter() if tally is None else tally
    return scrub(take_out(_OPTION, _without_any_option, "named_secret", text, tally), tally)


def _without_any_option(found: re.Match[str]) -> str:
    value = found["value"].strip("\"'")
    named = value.startswith(("-", "{", "$")) and not value.startswith("$'")  # another option, a variable
    if named or _NUMBER.match(value) or not is_secret_name(found["name"].lstrip("-")):
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
    if _of_the_family(name) or looks_random(value):
        return f"{name}{found['gap']}{found['quote'] or ''}{SECRET}"
    return found[0]


def _without_quoted(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    if SECRET in value or not worth_hiding(value) or not _of_the_family(name) or not is_secret_name(name):
        return found[0]
    return f"{name}{found['gap']}{found['quote']}{SECRET}"


def _without_key_beside(found: re.Match[str]) -> str:
    return f"{found['name']}{SECRET}" if services.is_key(found["value"]) else found[0]


def _of_the_family(name: str) -> bool:
    """Whether the name says secret whatever the value looks like."""
    return any(part in name.upper().replace("-", "_") for part in _FAMILY)


_RULES: tuple[tuple[re.Pattern[str], str | Replace, str], ...] = (
    (_URL_LOGIN, rf"\g<scheme>{SECRET}@", "credentials_in_url"),
    (_HEADER, rf"\g<name>\g<gap>{SECRET}", "authorization_header"),
    (_BEARER, lambda found: f"{found['kind'] or found['basic']} {SECRET}", "authorization_header"),
    (_ACCOUNT_KEY, rf"\g<name>{SECRET}", "azure_secret"),
    (_QUERY, rf"\g<name>{SECRET}", "credentials_in_url"),
    (_AWS_SECRET, rf"\g<name>{SECRET}", "aws_secret"),
    (_HEX_KEY, rf"\g<name>{SECRET}", "named_secret"),
    (_NETRC, rf"\g<name>{SECRET}", "named_secret"),
    (_CURL_USER, rf"\g<name>{SECRET}", "named_secret"),
    (_XML_PASSWORD, rf"\g<name>{SECRET}", "named_secret"),
    (_OPTION, _without_option, "named_secret"),
    (_QUOTED, _without_quoted, "named_secret"),
    (_ASSIGNED, _without_assigned, "named_secret"),
)


def looks_random(value: str) -> bool:
    """Long, with letters and digits mixed: what a key is, and what a word, a path or a count is not."""
    return (
        len(value) >= 12
        and any(character.isdigit() for character in value)
        and any(character.isalpha() for character in value)
        and "/" not in value[:2]
    )
