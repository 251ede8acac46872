"""Keys that have no shape of their own and stand beside the name of the service that gave them out: `datadog: 9f...`.

Which services give out such keys is what the large scanners of repositories know (gitleaks, detect-secrets). Names that are
words of this field as well (`linear`, `square`) are left out; their keys are found by the name of a variable (`..._key`).
"""

from __future__ import annotations

import re

_NAMES = (
    *("adafruit", "adobe", "airtable", "algolia", "alibaba", "artifactory", "asana", "atlassian", "beamer"),
    *("bintray", "bitbucket", "bittrex", "cloudant", "cloudflare", "codecov", "cohere", "coinbase", "confluence"),
    *("confluent", "contentful", "contribsys", "datadog", "discord", "droneci", "dropbox", "etsy", "facebook"),
    *("fastly", "finicity", "finnhub", "flickr", "freshbooks", "gitter", "gocardless", "heroku", "hubspot"),
    *("intercom", "jfrog", "jira", "kraken", "kucoin", "launchdarkly", "linkedin", "looker", "mailgun", "mapbox"),
    *("mattermost", "meraki", "messagebird", "netlify", "new-relic", "new_relic", "newrelic", "newyorktimes"),
    *("nytimes", "okta", "plaid", "privateai", "rapidapi", "sendbird", "sentry", "snyk", "softlayer", "sonar"),
    *("squarespace", "sumo", "sumologic", "telegram", "travis", "twitch", "twitter", "typeform", "yandex"),
    "zendesk",
)
BESIDE = re.compile(
    rf"(?i)(?P<name>(?<![A-Za-z])(?:{'|'.join(map(re.escape, _NAMES))})(?:[_. -]?[\w. -]{{0,24}})?[\"']{{0,2}}"
    r"(?:\s?(?:=>|[:?]?=|\|\||:{1,3})\s?|[,>])[`\"']{0,2})(?P<value>[\w=+/.%~-]{16,200})"
)
_UNLIKE = re.compile(r"v?\d+(?:\.\d+)+|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z|[/.~]")  # a version, a dotted name, a path


def named_in(text: str) -> bool:
    """Whether it is worth to look: most texts name no service."""
    lower = text.lower()
    return any(name in lower for name in _NAMES)


def is_key(value: str) -> bool:
    """Letters and digits mixed, as in no word, version or path."""
    digits = sum(character.isdigit() for character in value)
    path = any(len(part) > 3 and (part.isalpha() or part.isdigit()) for part in value.split("/")) and "/" in value
    return digits >= 3 and any(map(str.isalpha, value)) and not path and not _UNLIKE.match(value)
