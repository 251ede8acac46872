"""Credentials by the shape that their issuers document, so that the issuers' own scanners find them too.

One table: a row is a kind, as `redacted` of a report counts it, words of which one is in every text that holds it (most
texts hold none, and to look for a hundred shapes is slow), and its patterns. A prefix that is also the end of a word
must not stand inside one; what has too little of a prefix must have digits where a name of a module has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ALONE = r"(?<![A-Za-z0-9])"

ISSUED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "github_token",
        "gho_ ghp_ ghu_ ghs_ ghr_ github_pat_",
        (r"gh[pousr]_[A-Za-z0-9]{20,}", r"github_pat_[A-Za-z0-9_]{20,}"),
    ),
    (
        "gitlab_token",
        "glpat- glptt- gldt- glrt- glrtr- glcbt- glft- glffct- glimt- glsoat- glagent- gloas- glwt- _gitlab_session GR1348941",
        (
            r"gl(?:pat|ptt|dt|rt|rtr|cbt|ft|ffct|imt|soat|agent|oas|wt)-[\w-]{20,}",
            rf"{_ALONE}GR1348941[\w-]{{20,}}",
            r"_gitlab_session=[0-9a-z]{32}",
        ),
    ),
    ("huggingface_token", "hf_ api_org_", (r"hf_[A-Za-z0-9]{20,}", r"api_org_[A-Za-z0-9]{20,}")),
    ("anthropic_key", "sk-ant-", (rf"{_ALONE}sk-ant-[A-Za-z0-9_-]{{20,}}",)),
    ("openai_key", "sk-", (rf"{_ALONE}sk-[A-Za-z0-9_-]{{20,}}",)),
    (
        "ai_service_key",
        "gsk_ pcsk_ rpa_ tgp_v1_ r8_ xai- pplx- nvapi- lsv2_",
        (
            rf"{_ALONE}(?:gsk|pcsk|rpa|tgp_v1|r8)_[A-Za-z0-9_-]{{30,}}",  # Groq, Pinecone, RunPod, Together, Replicate
            rf"{_ALONE}(?:xai|pplx|nvapi)-[A-Za-z0-9_-]{{40,}}",
            r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",  # LangSmith
        ),
    ),
    ("wandb_key", "wandb_v", (r"wandb_v\d_[A-Za-z0-9_]{20,}",)),
    ("kaggle_key", "KGAT_", (r"KGAT_[0-9a-f]{32}",)),
    ("databricks_token", "dapi", (r"dapi[0-9a-f]{32}(?:-\d)?",)),
    (
        "aws_key_id",
        "AKIA ASIA ABIA ACCA A3T ABSK bedrock-api-key-",
        (
            rf"{_ALONE}(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{{16}}",
            rf"{_ALONE}ABSK[A-Za-z0-9+/]{{60,}}={{0,2}}",
            r"bedrock-api-key-[A-Za-z0-9+/=]{20,}",
        ),
    ),
    ("google_key", "AIza ya29. GOCSPX-", (r"AIza[\w-]{30,}", r"ya29\.[\w-]{20,}", r"GOCSPX-[\w-]{20,}")),
    ("azure_secret", "Q~", (r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}",)),  # a client secret of Entra
    ("digitalocean_token", "_v1_", (r"do[opr]_v1_[0-9a-f]{64}",)),
    ("heroku_key", "HRKU-", (r"HRKU-[\w-]{30,}",)),
    (
        "slack_token",
        "xox xapp-",
        (r"xox[abceoprs]-[A-Za-z0-9-]{8,}", r"xoxe\.xox[bp]-\d-[\w-]{20,}", r"xapp-[A-Za-z0-9-]{10,}"),
    ),
    (
        "webhook_url",
        "hooks. webhook bot/v2/hook chat.googleapis.com api.telegram.org",
        (
            r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/-]+",
            r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/[\w-]+",
            r"[\w-]+\.webhook\.office\.com/webhookb2/[\w@/-]+",
            r"outlook\.office(?:365)?\.com/webhook/[\w@/-]+",
            r"hooks\.zapier\.com/hooks/catch/[\w/-]+",
            r"chat\.googleapis\.com/v1/spaces/[^\s\"'<>]+",
            r"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/[\w-]+",
            r"api\.telegram\.org/(?:file/)?bot\d+:[\w-]+",
        ),
    ),
    ("telegram_token", ":A", (r"(?<!\w)\d{5,16}:A[\w-]{34}",)),
    (
        "discord_token",
        "M N O",
        (r"(?<![\w-])[MNO][A-Za-z0-9]{23,27}\.[\w-]{6}\.(?=[\w-]*\d)(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{27,40}",),
    ),
    (
        "stripe_key",
        "k_live_ k_test_ k_prod_ whsec_",
        (rf"{_ALONE}[sr]k_(?:live|test|prod)_[A-Za-z0-9]{{16,}}", rf"{_ALONE}whsec_[A-Za-z0-9+/=]{{24,}}"),
    ),
    ("twilio_key", "SK AC", (rf"{_ALONE}(?:SK|AC)[0-9a-fA-F]{{32}}(?![A-Za-z0-9])",)),
    ("sendgrid_key", "SG.", (rf"{_ALONE}SG\.[\w=-]{{16,32}}\.[\w=.-]{{16,64}}", rf"{_ALONE}SG\.[\w=.-]{{66}}")),
    (
        "mail_service_key",
        "key- -us xkeysib- re_",
        (  # Mailgun, Mailchimp, Brevo, Resend
            r"(?<![A-Za-z0-9])(?:pub)?key-[0-9a-zA-Z]{32}(?![A-Za-z0-9])",
            r"(?<!\w)[0-9a-f]{32}-us\d{1,2}\b",
            r"xkeysib-[0-9a-f]{64}-\w{16}",
            rf"{_ALONE}re_[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{24}}",
        ),
    ),
    (
        "shop_token",
        "shp shippo_ sq0 EAA FLW EZ duffel_ access-",
        (
            r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
            rf"{_ALONE}sq0(?:atp|csp|idp)-[\w-]{{22,43}}",
            rf"{_ALONE}EAA[A-Za-z][\w-]{{56,}}",
            rf"{_ALONE}EAAA[\w-]{{22,}}",
            r"shippo_(?:live|test)_[0-9a-fA-F]{40}",
            r"FLW(?:PUB|SEC)K(?:_TEST)?-[0-9a-zA-Z]{12,32}(?:-X)?",  # Flutterwave
            rf"{_ALONE}EZ[AT]K[A-Za-z0-9]{{54}}",  # EasyPost
            r"duffel_(?:test|live)_[\w=-]{43}",
            r"access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",  # Plaid
        ),
    ),
    ("npm_token", "npm_", (r"npm_[A-Za-z0-9]{30,}",)),
    ("pypi_token", "pypi-", (r"pypi-[\w-]{50,}",)),
    ("rubygems_key", "rubygems_", (r"rubygems_[0-9a-f]{48}",)),
    ("docker_token", "dckr_", (r"dckr_(?:pat|oat)_[\w-]{20,}",)),
    ("artifactory_key", "AKCp cmVmd", (rf"{_ALONE}AKCp[A-Za-z0-9]{{60,}}", rf"{_ALONE}cmVmd[A-Za-z0-9]{{59}}")),
    (
        "vault_token",
        "hv atlasv1 dp.",
        (
            rf"{_ALONE}hv[sbr]\.[\w-]{{24,}}",
            r"(?<!\w)[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}",
            r"dp\.(?:pt|st|ct|sa)\.\w{40,44}",
        ),
    ),
    (
        "vault_token",
        "s.",
        (r"(?<![\w.])s\.(?=[A-Za-z]*\d)(?=[A-Za-z0-9]*[a-z])[A-Za-z0-9]{24}(?![\w.(])",),
    ),  # the older ones
    (
        "grafana_token",
        "glsa_ glc_ eyJrIjoi",
        (
            r"glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}",
            r"glc_[A-Za-z0-9+/=]{32,}",
            rf"{_ALONE}eyJrIjoi[A-Za-z0-9+/]{{60,}}={{0,3}}",
        ),
    ),
    (
        "monitoring_key",
        "NRAK- NRJS- NRII- sntry dt0c01",
        (
            r"NRAK-[A-Za-z0-9]{27}",
            r"NRJS-[0-9a-f]{19}",
            r"NRII-[A-Za-z0-9-]{32}",
            r"sntry[su]_[A-Za-z0-9+/=_-]{40,}",
            r"dt0c01\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}",  # Dynatrace
        ),
    ),
    (
        "cloud_key",  # Alibaba, ClickHouse, Cloudflare, Fly, OpenShift, Prefect, Pulumi, Scalingo, Yandex
        "LTAI 4b1d v1.0- fo1_ fm1 fm2_ sha256~ pnu_ pul- tk-us- AQVN t1.",
        (
            rf"{_ALONE}LTAI[A-Za-z0-9]{{20}}(?![A-Za-z0-9])",
            rf"{_ALONE}4b1d[A-Za-z0-9]{{38}}(?![A-Za-z0-9])",
            r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}",
            rf"{_ALONE}fo1_[\w-]{{43}}",
            rf"{_ALONE}fm(?:1[ar]|2)_[A-Za-z0-9+/]{{100,}}={{0,3}}",
            r"sha256~[\w-]{43}",
            rf"{_ALONE}pnu_[A-Za-z0-9]{{36}}",
            rf"{_ALONE}pul-[0-9a-f]{{40}}",
            rf"{_ALONE}tk-us-[\w-]{{48}}",
            rf"{_ALONE}AQVN[\w-]{{35,38}}",
            rf"{_ALONE}t1\.[\w-]+={{0,2}}\.[\w-]{{86}}={{0,2}}",
        ),
    ),
    (
        "developer_service_key",  # Adobe, Authress, Clojars, Defined, Harness, Infracost, Intra42, Lob, Mapbox, MaxMind, ...
        "p8e- .acc CLOJARS_ dnkey- pat. sat. ico- s-s4t2 pk. sk. _mmk API- rdme_ sm_aat_ sm_pat_ sm_sat_ sgp_ tfp_ fio-u-",
        (
            rf"{_ALONE}p8e-[A-Za-z0-9]{{32}}",
            r"(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[\w+/=-]{30,120}",
            r"CLOJARS_[A-Za-z0-9]{60}",
            r"dnkey-[\w=-]{26}-[\w=-]{52}",
            rf"{_ALONE}[ps]at\.[\w-]{{22}}\.[0-9a-zA-Z]{{24}}\.[A-Za-z0-9]{{20}}",
            rf"{_ALONE}ico-[A-Za-z0-9]{{32}}",
            r"s-s4t2(?:ud|af)-[0-9a-f]{64}",
            rf"{_ALONE}[ps]k\.[A-Za-z0-9]{{60,}}\.[\w-]{{22}}",
            r"(?<![A-Za-z0-9_])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk",
            rf"{_ALONE}API-[A-Z0-9]{{26}}(?![A-Za-z0-9])",  # Octopus
            rf"{_ALONE}rdme_[a-z0-9]{{70}}",
            rf"{_ALONE}sm_[aps]at_[A-Za-z0-9]{{16}}",  # SettleMint
            r"sgp_(?:(?:local|[0-9a-fA-F]{16})_)?[0-9a-fA-F]{40}",  # Sourcegraph
            rf"{_ALONE}tfp_[\w=.-]{{59}}",
            r"fio-u-[\w=-]{64}",
        ),
    ),
    (
        "developer_service_key",
        "live_ test_",
        (rf"{_ALONE}(?:live|test)_(?:pub_)?[0-9a-f]{{31,35}}(?![A-Za-z0-9_])",),
    ),  # Lob
    (
        "social_token",  # Dropbox, Facebook, Twitter
        "sl. | %7C %7c AAAAAAAAAAAAAAAAAAAAAA",
        (
            r"(?<![\w.])sl\.[\w=-]{130,}",
            r"(?<!\d)\d{15,16}(?:\||%7[Cc])(?=[\w-]*\d)[\w-]{27,40}(?![\w-])",
            rf"{_ALONE}A{{22}}[A-Za-z0-9%]{{80,100}}",
        ),
    ),
    (
        "password_manager_key",
        "A3- ops_eyJ",
        (
            rf"{_ALONE}A3-[A-Z0-9]{{6}}-(?:[A-Z0-9]{{11}}|[A-Z0-9]{{6}}-[A-Z0-9]{{5}})(?:-[A-Z0-9]{{5}}){{3}}",
            r"ops_eyJ[A-Za-z0-9+/]{100,}={0,3}",
        ),
    ),
    (
        "workspace_token",  # Linear, Notion, Airtable, Figma, Postman, Atlassian, Supabase, PlanetScale, Tailscale
        "lin_api_ ntn_ pat figd_ PMAK- TT3 sbp_ pscale_ tskey-",
        (
            r"lin_api_[A-Za-z0-9]{40}",
            rf"{_ALONE}ntn_[A-Za-z0-9]{{40,}}",
            rf"{_ALONE}pat[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}",
            r"figd_[\w-]{40,}",
            r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
            r"AT[AC]TT3[\w=-]{60,}",
            rf"{_ALONE}sbp_[0-9a-f]{{40}}",
            r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,}",
            r"tskey-[a-z]+-[\w-]{20,}",
        ),
    ),
    ("age_key", "AGE-SECRET-KEY", (r"AGE-SECRET-KEY-1[A-Z0-9]{58}",)),
    (
        "json_web_token",
        "eyJ ZXlK",
        (
            rf"{_ALONE}eyJ[\w-]{{6,}}(?:\.[\w-]*){{1,4}}",  # header.payload.signature
            rf"{_ALONE}ZXlK[A-Za-z0-9+/]{{30,}}={{0,2}}",  # the same in base64 once more
        ),
    ),
)

SHAPES = tuple((kind, tuple(hints.split()), re.compile("|".join(patterns))) for kind, hints, patterns in ISSUED)


def shapes_in(text: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The kinds that may be in the text, with their patterns."""
    return ((kind, pattern) for kind, hints, pattern in SHAPES if any(hint in text for hint in hints))


# A key that was cut off has no END line: then everything that can belong to it goes.
PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:(?!-----BEGIN).)*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\:,-]*)",
    re.DOTALL,
)
