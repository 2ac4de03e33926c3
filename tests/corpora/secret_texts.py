"""Texts with secrets in them, made up in the shapes of real ones: every kind, every vendor, every place."""

import random
import string

JWT = (
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
    "eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
)

#: By kind.
KINDS = {
    "aws_access_key": "AKIAZ3MGNRTX4QPLK2VB",
    "aws_secret_key": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "github_token": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "gitlab_token": "glpat-9xQ2mN8vR4tY7uW1zK3p",
    "slack_token": "xoxb-123456789012-abcdef1234AB",
    "slack_webhook": "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
    "stripe_key": "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "openai_key": "sk-proj-abc123DEF456ghi789JKL012",
    "anthropic_key": "sk-ant-api03-AbCdEf123456GhIjKl",
    "google_api_key": "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "sendgrid_key": "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",
    "npm_token": "npm_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5",
    "huggingface_token": "hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123456",
    "telegram_token": "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0",
    "private_key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    "jwt": JWT,
    "url_password": "postgres://admin:hunter2@db:5432/orders",
    "password": "the password is hunter2",
    "token": "api_key=9f86d081884c7d659a2feaa0c55ad015",
}

HEX = string.hexdigits[:16]
SMALL = string.ascii_lowercase + string.digits
CAPITAL = string.ascii_uppercase + string.digits
MIXED = string.ascii_letters + string.digits
UUID = "8d1f3a90-52c7-4be1-9a6d-07f4c2e85b13"


def body(alphabet: str, length: int) -> str:
    return "".join(random.Random(length).choices(alphabet, k=length))


#: By vendor.
KEYS = {
    "adobe_secret": "p8e-" + body(SMALL, 32),
    "airtable_token": f"pat{body(MIXED, 14)}.{body(HEX, 64)}",
    "aiven_token": "AVNS_" + body(MIXED, 24),
    "alibaba_access_key": "LTAI" + body(MIXED, 20),
    "artifactory_key": "AKCp" + body(MIXED, 69),
    "azure_client_secret": f"{body(MIXED, 3)}7Q~{body(MIXED, 34)}",
    "brevo_key": f"xkeysib-{body(HEX, 64)}-{body(MIXED, 16)}",
    "buildkite_token": "bkua_" + body(HEX, 40),
    "circleci_token": "CCIPAT_" + body(MIXED, 50),
    "clickhouse_key": "4b1d" + body(MIXED, 38),
    "clojars_token": "CLOJARS_" + body(SMALL, 60),
    "cloudflare_origin_key": f"v1.0-{body(HEX, 24)}-{body(HEX, 146)}",
    "contentful_token": "CFPAT-" + body(MIXED, 43),
    "defined_networking_key": f"dnkey-{body(MIXED, 26)}-{body(MIXED, 52)}",
    "dropbox_token": "sl." + body(MIXED, 140),
    "duffel_token": "duffel_live_" + body(MIXED, 43),
    "dynatrace_token": f"dt0c01.{body(CAPITAL, 24)}.{body(CAPITAL, 64)}",
    "easypost_key": "EZAK" + body(MIXED, 54),
    "facebook_token": "EAAC" + body(MIXED, 80),
    "figma_token": "figd_" + body(MIXED, 40),
    "fly_token": "fo1_" + body(MIXED, 43),
    "frameio_token": "fio-u-" + body(MIXED, 64),
    "heroku_key": "HRKU-" + body(MIXED, 60),
    "hubspot_token": "pat-na1-" + UUID,
    "infracost_key": "ico-" + body(MIXED, 32),
    "jina_key": "jina_" + body(HEX, 32) + body(MIXED, 28),
    "langchain_key": f"lsv2_pt_{body(HEX, 32)}_{body(HEX, 10)}",
    "mailersend_token": "mlsn." + body(HEX, 64),
    "mapbox_token": f"sk.{body(SMALL, 60)}.{body(SMALL, 22)}",
    "maxmind_key": f"{body(MIXED, 6)}_{body(MIXED, 29)}_mmk",
    "netlify_token": "nfp_" + body(MIXED, 36),
    "newrelic_key": "NRII-" + body(MIXED, 32),
    "nuget_key": "oy2" + body(SMALL, 43),
    "nvidia_key": "nvapi-" + body(MIXED, 64),
    "octopus_key": "API-" + body(CAPITAL, 26),
    "onepassword_key": f"A3-{body(CAPITAL, 6)}-{body(CAPITAL, 11)}-{'-'.join([body(CAPITAL, 5)] * 3)}",
    "onepassword_token": "ops_eyJ" + body(MIXED, 260),
    "openshift_token": "sha256~" + body(MIXED, 43),
    "password_hash": "$6$rounds$" + body(MIXED, 86),
    "perplexity_key": "pplx-" + body(MIXED, 48),
    "pinecone_key": "pcsk_" + body(MIXED, 60),
    "plaid_token": "access-production-" + UUID,
    "planetscale_secret": "pscale_tkn_" + body(MIXED, 43),
    "prefect_key": "pnu_" + body(SMALL, 36),
    "pulumi_token": "pul-" + body(HEX, 40),
    "putty_key": "PuTTY-User-Key-File-2: ssh-rsa",
    "readme_key": "rdme_" + body(SMALL, 70),
    "render_key": "rnd_" + body(MIXED, 28),
    "rubygems_key": "rubygems_" + body(HEX, 48),
    "scalingo_token": "tk-us-" + body(MIXED, 48),
    "shippo_token": "shippo_live_" + body(HEX, 40),
    "sonar_token": "sqp_" + body(HEX, 40),
    "sourcegraph_token": "sgp_" + body(HEX, 40),
    "supabase_token": "sb_secret_" + body(MIXED, 32),
    "tailscale_key": f"tskey-auth-{body(MIXED, 16)}-{body(MIXED, 24)}",
    "tavily_key": "tvly-" + body(MIXED, 32),
    "teams_webhook": f"https://a.webhook.office.com/webhookb2/{UUID}@{UUID}/IncomingWebhook/{body(HEX, 32)}",
    "terraform_token": f"{body(MIXED, 14)}.atlasv1.{body(MIXED, 64)}",
    "twitter_bearer": "A" * 21 + body(MIXED, 85),
    "typeform_token": "tfp_" + body(MIXED, 59),
    "xai_key": "xai-" + body(MIXED, 80),
    "yandex_key": "AQVN" + body(MIXED, 37),
    # Keys of letters alone occur: nothing but their cases says that they are random.
    "huggingface_token": "hf_" + body(string.ascii_letters, 34),
    "gitlab_token": "glpat-" + body(string.ascii_letters, 20),
}

HIDDEN = "Hunter22"
#: Where only the place says that it is one.
PLACED = [
    f"https://bob:{HIDDEN}@host/x",
    f"https://bob:{HIDDEN.lower()}secret@host/x",
    f"see https://bob:p@{HIDDEN}@host/x now",
    f"postgres://bob:pa/{HIDDEN}@db/app",
    f"https://bob:pa#{HIDDEN}@host",
    f"redis://:{HIDDEN}@cache:6379/0",
    f"https://{HIDDEN}secretvalue@host/x",
    f"https://bob%3A{HIDDEN}%40host/x",
    f"//bob:{HIDDEN}@host/x",
    f"bob:{HIDDEN}@tcp(db:3306)/app",
    f"bob:{HIDDEN}@db:5432/app",
    f"Cookie: sid={HIDDEN}",
    f"cookie:sid={HIDDEN}; b={HIDDEN}",
    f"COOKIE : sid={HIDDEN}",
    f"Set-Cookie: sid={HIDDEN}; Path=/; HttpOnly",
    f"Authorization: {HIDDEN}",
    f"authorization: Token {HIDDEN}",
    f"AUTHORIZATION: Basic {HIDDEN}",
    f"Proxy-Authorization: Bearer {HIDDEN}",
    f'Authorization: Digest username="bob", response="{HIDDEN}"',
    f"Authorization: Bearer\r\n {HIDDEN}",
    f"Authorization: AWS4-HMAC-SHA256 Credential={HIDDEN}/a, SignedHeaders=host, Signature={HIDDEN}",
    f"GET / HTTP/1.1\r\nHost: x\r\nCookie: a={HIDDEN}\r\nAuthorization: {HIDDEN}\r\n\r\n",
    f"curl -H 'Cookie: sid={HIDDEN}' https://x",
    f'curl -H "Authorization: Basic {HIDDEN}" https://x',
    f"curl -HCookie:sid={HIDDEN} https://x",
    f"curl --header=Authorization:{HIDDEN} https://x",
    f"curl -b 'sid={HIDDEN}' https://x",
    f"curl --cookie sid={HIDDEN} https://x",
    f"wget --header='Cookie: a={HIDDEN}' https://x",
    f"http GET x Cookie:sid={HIDDEN} Authorization:{HIDDEN}",
    f"requests.get(u, headers={{'Cookie': 'sid={HIDDEN}', 'Authorization': '{HIDDEN}'}})",
    f"requests.get(u, cookies={{'sid': '{HIDDEN}', 'b': \"{HIDDEN}\"}})",
    f'{{"Cookie": "sid={HIDDEN}", "authorization": "Bearer {HIDDEN}"}}',
    f'{{\\"Cookie\\": \\"sid={HIDDEN}\\"}}',
    f"headers.set('Authorization', '{HIDDEN}')",
    f"document.cookie = 'sid={HIDDEN}'",
    f"req.headers['cookie'] = `sid={HIDDEN}`",
    f"HTTP_COOKIE=sid={HIDDEN}",
    f"sshpass -p {HIDDEN} ssh bob@host",
    f"sshpass -e -p'{HIDDEN}' ssh bob@host",
    f"mysql -uroot -p{HIDDEN} shop",
    f'mysqldump -h db -u root -p"{HIDDEN}" shop > a.sql',
    f"docker exec db mariadb -p{HIDDEN}",
    f"sqlplus -S scott/{HIDDEN}@orcl",
    f"jdbc:oracle:thin:scott/{HIDDEN}@host:1521:xe",
    f"jdbc:oracle:thin:scott/{HIDDEN}@//host:1521/xe",
]
