"""Whom a sentence speaks to: a model by name, whatever model reads, or one that looks where nobody does."""

from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses.orders.sentences import Clause

# A label of a conversation, no address.
IS_ROLE = lazy_pattern(r"(?i)\s{0,9}(?:agent|bot|model) ?:")

_VOCATIVE = lazy_pattern(
    r"(?i)(?:^|[\n.!?>\"]\s{0,3}|-\s|@|\[for (?:the )?|<!-- ?)(?:dear|hey|hello|hi|attention"
    r"|to|for|ok|okay)?\s{0,2}(?:the |any |all |an? )?(?:ai|llm|gpt|chatgpt|claude|gemini|copilot|assistant"
    r"|language model|model|bot|chatbot|robot|agent)s?"
    r"(?: assistants?| agents?| models?| reviewers?| instructions?)?(?: only)?"
    r"(?: [a-z]{3,12}ing [^:.\n]{1,40}(?=:))?"
    r"\s{0,2}(?:[:,!](?:\s|$)|\])"
)
_ADDRESSED = lazy_pattern(
    r"(?i)\b(?:to you|attention|note|notice|message|memo|instructions?|todo|important|reminder"
    r"|rules?|directives?|request|p\.?s\.?)"
    r"(?:, | (?:to|for) | )(?:the |any |all |our )?"
    r"(?:large |virtual |coding |automated |autonomous |software )?"
    r"(?:ai|llms?|gpt|chatgpt|assistants?|language models?|bots?|virtual assistants?|model|agent"
    r"|(?<=ing )agents|(?<=ed )agents|(?<=ous )agents)\b"
    r"(?! (?:manager|professor|director|editor|coach|teacher|nurse|principal))[^.\n]{0,60}?[:,!]"
    r"|\b(?:addressed|directed|intended|meant) (?:to|for|at) (?:the |any |all )?"
    r"(?:ai|llms?|language models?)\b"
)


def weigh_address(clause: Clause) -> int:
    if clause.has("ai_if") and clause.has("ai"):
        return 3
    if clause.before("ai", ("reading", "reads_this"), 4) or clause.before(
        "maybe_ai", ("reading", "reads_this"), 3
    ):
        return 3 if clause.has("you", "reads_this") else 2
    if clause.language == "en":
        if _ADDRESSED_BY_NAME.search(clause.raw):
            return 2
        return _how_called(clause.raw) if clause.has("ai", "maybe_ai") else 0
    if clause.near("message", ("ai",), 3) and ":" in clause.raw.replace("：", ":")[:60]:
        return 3
    if clause.mask("ai") & 1 and _CALLS_FIRST.match(clause.raw):
        return 2
    return 2 if clause.has("ai") and clause.has("message", "important", "you") else 0


_CALLS_FIRST = lazy_pattern(r"\W{0,4}[\w'-]{2,20}(?: [\w'-]{2,20})?\s?(?:[,!]\s|[:：，！])")


# In a comment, an attribute or a cell, where a model looks and a person does not.
_ADDRESSED_ASIDE = lazy_pattern(
    r"(?i)(?:<!--|\[\[|/\*|//|(?:^|\n)#|=\s?[\"']|\"\"\"|\|)\s{0,3}(?:dear |hey |to |for )?"
    r"(?:the |any |all )?(?:ai|llm|assistant|copilot|chatgpt|claude|gemini|language model)s?"
    r"(?: (?:assistant|agent|model)s?)?\s?[:,] ?[a-z]"
)
# `next_step_for_model`, `assistant_directive`: a name that says whom the value speaks to.
_ADDRESSED_BY_NAME = lazy_pattern(
    r"(?i)\b(?:[a-z]+_)?(?:ai|assistant|model|llm|bot)_(?:instruction|directive|order|command|step)s?"
    r"[\"']?\s?[:=]"
    r"|(?:instruction|directive|note|order|command|step)s?_(?:for|to)_(?:the_)?"
    r"(?:ai|assistant|model|agent|llm|bot)s?[\"']?\s?[:=]"
)


def _how_called(raw: str) -> int:
    """A note to whatever model reads weighs more than a name: people call their assistant by its name too."""
    if _ADDRESSED.search(raw) or _ADDRESSED_ASIDE.search(raw):
        return 3
    return 2 if _VOCATIVE.search(raw) and not IS_ROLE.match(raw) else 0
