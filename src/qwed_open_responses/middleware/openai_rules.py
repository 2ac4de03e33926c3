"""Which attributes of OpenAI's clients are handed out, and how their answers are verified.

An attribute that is not in these tables is refused: it may hand out a model's call that nobody has seen.
"""

import enum
from typing import Final


class AttributeRule(enum.Enum):
    # Nothing that it hands out holds a model's call.
    PASS = "pass"  # noqa: S105 - not a password
    # A resource: its own attributes have rules.
    OPEN = "open"
    # A method whose answer is verified before it is handed out.
    VERIFY = "verify"
    # A method that answers a stream helper.
    HELPER = "helper"
    # The same methods, with raw answers.
    RAW = "raw"


# The client's own settings, and what makes or ends a client.
SETTINGS: Final = frozenset(
    {
        "admin_api_key", "api_key", "auth_headers", "base_url", "close", "copy", "custom_auth",
        "default_headers", "default_query", "is_closed", "max_retries", "organization", "platform_headers",
        "project", "qs", "timeout", "user_agent", "webhook_secret", "websocket_base_url", "with_options",
        "workload_identity",
    }
)  # fmt: skip
_ANSWERS: Final = {
    "create": AttributeRule.VERIFY,
    "parse": AttributeRule.VERIFY,
    "retrieve": AttributeRule.VERIFY,
    "stream": AttributeRule.HELPER,
    "delete": AttributeRule.PASS,
    "with_raw_response": AttributeRule.RAW,
}
_COMPLETIONS: Final = {**_ANSWERS, "update": AttributeRule.VERIFY}
_RESPONSES: Final = {
    **_ANSWERS,
    "cancel": AttributeRule.VERIFY,
    "compact": AttributeRule.VERIFY,
    "input_tokens": AttributeRule.PASS,
}


def _rules() -> dict[str, AttributeRule]:
    rules = dict.fromkeys(
        ("chat", "chat.completions", "beta", "beta.chat", "beta.chat.completions"), AttributeRule.OPEN
    )
    for where in ("chat.completions", "beta.chat.completions"):
        rules |= {f"{where}.{name}": rule for name, rule in _COMPLETIONS.items()}
    rules |= {
        "responses": AttributeRule.OPEN,
        **{f"responses.{name}": rule for name, rule in _RESPONSES.items()},
    }
    rules |= {"completions": AttributeRule.OPEN, "completions.create": AttributeRule.VERIFY}
    rules |= {"files": AttributeRule.OPEN}
    rules |= {
        f"files.{name}": AttributeRule.PASS
        for name in ("create", "delete", "list", "retrieve", "wait_for_processing")
    }
    whole = (
        "audio",
        "embeddings",
        "fine_tuning",
        "images",
        "models",
        "moderations",
        "uploads",
        "vector_stores",
    )
    return rules | dict.fromkeys(whole, AttributeRule.PASS)


RULES: Final = _rules()


def explain_refusal(path: str) -> str:
    return (
        f"client.{path} is refused, because what it hands out would not be verified; use chat.completions or "
        "responses of this client, or call it on a plain OpenAI client and give what it answers to "
        "ResponseVerifier.verify"
    )
