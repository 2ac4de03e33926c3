"""What a sentence does, told by the meanings of its words and how near they stand. Each cue has a weight."""

import functools
from collections.abc import Callable
from typing import Any, Final

import msgspec

from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses.libraries import library
from qwed_open_responses.orders.addresses import IS_ROLE, weigh_address
from qwed_open_responses.orders.sentences import Clause
from qwed_open_responses.orders.takings import hides_what_it_orders, takes_what_was_said


class Cue(msgspec.Struct, frozen=True):
    """`weigh` answers how much the cue weighs in a sentence, 0 when it is not there."""

    name: str
    weigh: Callable[[Clause], int]


# What has rules to be freed from, or can refuse.
_SOMEBODY: Final = ("you", "ai", "pretend", "me")


def _only_describes(clause: Clause) -> bool:
    """ "It can't override the rules", "asks the model to ignore its rules": told, not ordered."""
    forget = clause.mask("forget")
    told = clause.mask("descriptive") << 1
    ordered = clause.mask("must", "you")
    for _ in range(3):
        ordered |= ordered << 1
    return not forget & (~told | ordered)


def _sets_rules_aside(clause: Clause) -> int:
    if clause.near("not", ("follow",), 6) and clause.near("follow", ("rules", "prompt"), 4):
        return 4 if clause.has("prior") else 1
    if not clause.orders("forget") or not clause.near("forget", ("rules", "prompt"), 7):
        return 0
    if _only_describes(clause):
        return 0
    if clause.near("forget", ("prior", "you", "ai"), 8) or clause.near("forget", ("all",), 3):
        return 4
    return 2


def _declares_rules_void(clause: Clause) -> int:
    if not clause.near("gone", ("rules", "prompt", "limit"), 8):
        return 2 if clause.has("all") and clause.near("gone", ("prior",), 5) else 0
    return 3 if clause.near("rules", ("prior", "you", "ai", "system"), 4) else 1


def _sets_task_aside(clause: Clause) -> int:
    if clause.mask("not") & (clause.opens << 1 | clause.opens) and clause.before("not", ("digest",), 1):
        return 2
    if clause.near("gone", ("own_task",), 5):
        return 2
    # "Do not follow the user's request."
    if (clause.opens | clause.opens << 1) & clause.mask("not") and clause.before("not", ("follow",), 2):
        return 3 * clause.near("follow", ("own_task",), 3)
    if not clause.orders("forget") or _only_describes(clause):
        return 0
    if clause.near("forget", ("own_task",), 8) or (
        clause.near("forget", ("task",), 7) and clause.near("forget", ("user",), 8)
    ):
        return 3
    if clause.near("forget", ("task",), 3):
        return 3 if clause.before("forget", ("act",), 8) else 2
    if clause.near("forget", ("all", "prior"), 4) and clause.has("prior", "you") and not _recalls(clause):
        return (
            3 + (clause.has("all") and clause.has("prior"))
            if clause.before("forget", ("say", "act"), 14)
            else 2
        )
    if not clause.before("forget", ("source",), 3):
        return 0
    return 3 if clause.near("source", ("prior",), 2) else 1


def _recalls(clause: Clause) -> bool:
    """ "Forget everything I told you": who speaks stands before what is to be said or done."""
    wanted = clause.mask("say", "act") & ~((clause.mask("forget") & -clause.mask("forget")) - 1)
    first = wanted & -wanted
    return bool(clause.mask("me") & (first - 1 if first else -1))


def _comes_before_the_task(clause: Clause) -> int:
    # The "next" of "your next task" puts nothing first.
    first = clause.mask("first") & ~(clause.mask("own_task") << 1)
    if clause.near("before", ("own_task",), 10) or (first and clause.near("first", ("own_task",), 10)):
        return 3 + (clause.has("you") and clause.has("must"))
    return 2 if clause.before("before", ("task",), 8) and clause.has("you", "me", "ai") else 0


def _puts_first(clause: Clause) -> int:
    return int(clause.has("first") and clause.has("must", "act", "follow"))


def _speaks_of_the_task(clause: Clause) -> int:
    return int(clause.has("own_task"))


def _follows_the_answer(clause: Clause) -> int:
    return int(clause.has("answering"))


def _calls_you_a_model(clause: Clause) -> int:
    return int(clause.near("you", ("ai",), 5) and clause.has("are", "must", "now"))


def _obliges_the_model(clause: Clause) -> int:
    if clause.has("ai_if") and clause.has("ai") and clause.has("must"):
        return 2 if clause.has("act", "judge", "say") else 1
    if IS_ROLE.match(clause.raw):
        return 0
    if clause.before("ai", ("must",), 4) or clause.before("maybe_ai", ("must",), 3):
        return 2 if clause.has("act", "judge", "say") else 1
    return 0


_HEADLINE = lazy_pattern(
    r"(?i)(?:^|\n|[\[(<#*=-]{1,4}\s{0,3}|\. )(?:new |urgent |important |official |security )?"
    r"(?:system(?: \w+)?|admin(?:istrator)?|developers?(?: \w+)?|override"
    r"|privileged [^:\]\n.]{0,30}|emergency [^:\]\n.]{0,30}"
    r"|compliance [^:\]\n.]{0,30}|message from [^:\]\n.]{0,40}"
    r"|(?:alert|update|notice) from [^:\]\n.]{0,30})\s?[:\]-]"
)


def _claims_authority(clause: Clause) -> int:
    if clause.before("me", ("boss",), 5) or clause.before("message", ("boss",), 6):
        return 2
    if clause.language == "en":
        return _claims_in_english(clause)
    if clause.near("system", ("message", "important"), 4) or clause.near("important", ("rules", "prompt"), 3):
        return 2
    return int(clause.near("important", ("message",), 2) and clause.has("you", "ai"))


def _claims_in_english(clause: Clause) -> int:
    if clause.has("system", "important", "boss") and _HEADLINE.search(clause.raw):
        return 2
    if clause.near("system", ("message",), 2) or clause.near("important", ("rules", "prompt"), 3):
        return 2 if clause.has("you", "ai", "must", "now") else 1
    if clause.near("important", ("message",), 2):
        return int(clause.has("you", "ai"))
    return int(clause.has("important") and clause.has("you", "ai") and clause.has("must", "now", "act"))


def _wants_an_effect(clause: Clause) -> int:
    if not clause.orders("act"):
        return 2 * (bool(clause.orders("reveal")) and clause.near("reveal", ("strong_loot",), 8))
    weight = 1
    weight += clause.near("act", ("place",), 14) or clause.near("act", ("tool",), 4)
    weight += clause.near("act", ("loot", "strong_loot"), 8)
    weight += clause.near("act", ("strong_loot",), 8) and clause.has("place")
    return weight


_KEPT_FROM = lazy_pattern(
    r"(?i)\b(?:keep|hide|conceal)(?:ing)? (?:this|it|that|all of this) (?:secret )?"
    r"from (?:the |your )(?:user|human|owner)s?\b"
)


def _wants_secrecy(clause: Clause) -> int:
    if clause.before("not", ("tell",), 3) and clause.near("tell", ("user",), 5):
        return 3
    if clause.before("not", ("tell",), 3) and clause.near("tell", ("own_task",), 4):
        return 2
    if hides_what_it_orders(clause):
        return 2
    if _KEPT_FROM.search(clause.raw):
        return 3
    if not clause.has("hide"):
        return int(clause.before("not", ("tell",), 3) and clause.near("tell", ("anybody",), 3))
    if clause.near("hide", ("user",), 3):
        return 3
    return 2 if clause.orders("act") or clause.orders("judge") or clause.has("user", "must") else 1


def _gives_a_role(clause: Clause) -> int:
    weight = 1 + clause.has("ai") if clause.has("pretend") and clause.has("you", "me", "ai") else 0
    if clause.near("now", ("you", "are"), 4) and clause.has("are", "ai"):
        weight = max(weight, 1 + clause.has("ai", "pretend"))
    return weight


def _frees(clause: Clause) -> int:
    return 1 + clause.has(*_SOMEBODY, "must") if clause.has("freed") else 0


def _lifts_limits(clause: Clause) -> int:
    # In some languages what is lacking stands first.
    lacks = clause.before if clause.language == "en" else clause.near
    lifts = lacks("not", ("limit",), 4) or (clause.orders("forget") and clause.near("forget", ("limit",), 5))
    return 2 if lifts and clause.has(*_SOMEBODY) else 0


def _forbids_refusal(clause: Clause) -> int:
    return 2 if clause.before("not", ("refuse",), 3) and clause.has(*_SOMEBODY, "must") else 0


_DATA: Final = (
    r"(?:(?:retrieved |tool |search )?(?:document|data|context|e?mail|file|review|article|text|input|page"
    r"|message|transcript|conversation|passage|output|results?|record|snippet)"
)
DATA_ENDS: Final = (
    rf"(?i)(?:^|\s)(?:[\[<({{]\s?|[=#*-]{{3,}}\s{{0,2}})(?:/|end[ _]?(?:of)?[ _]?(?:the )?){_DATA}"
    r"|tool|tool[ _](?:output|response|result)|user[ _]input)(?:\b|_)"
    rf"|(?:^|\n)\W{{0,6}}end of (?:the )?{_DATA})\b|\[conversation reset\]"
    r"|(?:^|\n)\s{0,3}[\"'][\]}]{2,6}\s"
    r"|\[[a-z ]{3,30} ends? here\]|(?:^|\n)#{2,4} ?(?:instruction|response|system|human|user) ?:"
    r"|<\|?(?:user|assistant|system)\|?>|(?:^|\n)(?:human|user|assistant|system) ?:[^\n]{3}"
)


def ends_of_data(text: str) -> list[int]:
    """Where a text says that it is over and something else begins."""
    if _TALK.match(text):
        return []
    return [match.start() for match in _data_ends().finditer(text)]


# A customer and somebody who helps: no model's template names them so.
_TALK = lazy_pattern(
    r"(?is)\s{0,20}(?:user|customer|client|caller|agent|support) ?: ?[^\n]{1,400}\n"
    r"\s{0,20}(?:agent|support|customer|client|caller|operator) ?:"
)


@functools.cache
def _data_ends() -> Any:
    return library("re2").compile(DATA_ENDS)


_SAYS_WHAT_TO_DO = lazy_pattern(r"(?i)\b(?:task|instructions?|rules?|orders?) (?:is|are) to [a-z]")


def _gives_new_orders(clause: Clause) -> int:
    if (
        clause.before("you", ("new",), 1)
        and clause.before("new", ("rules", "task"), 1)
        and _SAYS_WHAT_TO_DO.search(clause.raw)
    ):
        return 3
    if clause.before("new", ("rules", "task", "prompt", "own_task"), 2):
        return 2 if ":" in clause.raw or clause.has("follow", "now") else 1
    return 0


def _wants_the_prompt(clause: Clause) -> int:
    if clause.orders("say") and clause.near("say", ("prompt",), 4) and clause.near("prompt", ("prior",), 2):
        return 4
    if not clause.orders("reveal") or not clause.near("reveal", ("prompt",), 8):
        return 0
    # "What was written before this message" names the prompt; "before you print it" says when.
    prompt = clause.mask("prompt")
    says_when = clause.mask("before") & ~(prompt | prompt << 1)
    return 4 if clause.near("prompt", ("you", "prior", "all"), 6) and not says_when else 2


_WHEN_ASKED = lazy_pattern(
    r"(?i)\b(?:when|whenever|if|should) (?:the |a )?(?:user|anyone|somebody|anybody)s? asks?\b[^.\n]{0,80}"
    r"[, ](?:say|claim|state|answer|tell|reply)\b"
)


def _dictates_the_answer(clause: Clause) -> int:
    if _WHEN_ASKED.search(clause.raw):
        return 1
    if not clause.orders("say"):
        return 0
    answers_all = clause.near("say", ("all",), 3) and clause.near("all", ("task",), 2)
    return int(
        answers_all or clause.near("say", ("only", "not"), 4) or clause.near("instead", ("say", "act"), 6)
    )


def _says_instead(clause: Clause) -> int:
    return int(clause.has("instead") and bool(clause.orders("say") or clause.orders("act")))


def _asks_for_praise(clause: Clause) -> int:
    return 2 if clause.has("judge") and clause.has("ai", "you", "must") else 0


def _asks_to_obey(clause: Clause) -> int:
    return int(clause.has("follow") and clause.has("only", "rules", "new", "first", "must"))


def _wants_harm(clause: Clause) -> int:
    return 2 if clause.has("harm") and clause.has("pretend", "limit", "freed", "refuse", "you", "gone") else 0


def _is_about_orders(clause: Clause) -> int:
    # "Disregard the article": what is set aside is no talk about such texts.
    source = clause.mask("source") & (clause.mask("forget") << 1 | clause.mask("forget") << 2)
    told = (clause.mask("about") & ~source).bit_count() + clause.mask("reported").bit_count()
    return -3 * min(told, 2)


# Without one of these a text is no order to a model, however much it asks for.
DECISIVE: Final = frozenset(
    {
        "sets rules aside", "declares rules void", "sets the task aside", "addresses the model",
        "claims authority", "wants it hidden", "frees from rules", "lifts limits", "forbids to refuse",
        "wants the prompt", "ends the data", "gives new orders", "takes what was said",
    }
)  # fmt: skip

CUES: Final = (
    Cue("sets rules aside", _sets_rules_aside),
    Cue("declares rules void", _declares_rules_void),
    Cue("sets the task aside", _sets_task_aside),
    Cue("comes before the task", _comes_before_the_task),
    Cue("puts something first", _puts_first),
    Cue("speaks of the task", _speaks_of_the_task),
    Cue("addresses the model", weigh_address),
    Cue("follows the answer", _follows_the_answer),
    Cue("calls the reader a model", _calls_you_a_model),
    Cue("obliges the model", _obliges_the_model),
    Cue("claims authority", _claims_authority),
    Cue("wants something done", _wants_an_effect),
    Cue("wants it hidden", _wants_secrecy),
    Cue("takes what was said", takes_what_was_said),
    Cue("gives a role", _gives_a_role),
    Cue("frees from rules", _frees),
    Cue("lifts limits", _lifts_limits),
    Cue("forbids to refuse", _forbids_refusal),
    Cue("gives new orders", _gives_new_orders),
    Cue("wants the prompt", _wants_the_prompt),
    Cue("dictates the answer", _dictates_the_answer),
    Cue("says what to do instead", _says_instead),
    Cue("asks for praise", _asks_for_praise),
    Cue("asks to obey", _asks_to_obey),
    Cue("asks for harm", _wants_harm),
    Cue("speaks about such texts", _is_about_orders),
)
