"""English phrases that speak to whoever reads: a model, not a person."""

from typing import Final

from qwed_open_responses.injection import PROMPT, Injection
from qwed_open_responses.mentions import is_no_warning, is_of_a_model
from qwed_open_responses.phrase_words import RULES, TELL

_DO = (
    r"(?:you|ignore|disregard|the user|from now|always|never|do not|override|send|execute|call|run"
    r"|forward|"
    r"transfer|reveal|print|grant|approve|comply|disable|user is|delete|email|exfiltrate|output"
    r"|respond|leak|"
    r"export|download|post|new (?:polic(?:y|ies)|rules?|instructions?|task|goal|objective))"
)
_LOOT = (
    r"(?:conversation|chat history|chat log|system prompt|api keys?|credentials|passwords|secrets|user'?s"
    r" (?:password"
    r"|e-?mail|data|messages|token|files)"
    r"|env(?:ironment)? "
    r"variables?|private keys?|access tokens?|session tokens?|cookies|user data|customer data|database dump|"
    r"all (?:the )?(?:files|emails|data|messages|contacts)|memory|context window)"
)
_READERS_MUST = (
    r"(?:ignore|must|should|please|send|forward|reveal|include|execute|call|you are|do not|disregard"
    r"|transfer|visit|"
    r"delete|run|output|email|append|add|approve|rate|rank|give|accept|select|prefer|recommend|hire"
    r"|respond|say|write"
    r"|reply|do)"
)
_ROLE_TAGS = (
    r"<\|(?:im_start|im_end|system|assistant|user|endoftext|eot_id|start_header_id|begin_of_text|channel"
    r"|message)\|>"
    r"|\[/?INST\]|<</?SYS>>|</?(?:system|instructions?|assistant|system_prompt|admin_override)>"
    r"|\[/?SYSTEM(?:_PROMPT| OVERRIDE| MESSAGE)?\]|\[system\]\(#"
)

PHRASES: Final = (
    Injection(PROMPT, r"(?i)new system prompt", r"(?i)\bnew system prompt (?:is|:|below|follows)"),
    Injection(
        PROMPT,
        r"(?i)your (?:\w+ )?(?:context|prompt|instructions|guidelines|programming)",
        r"(?i)\b(?:print|show|reveal|output|dump|repeat|display|list|leak|expose|give me|tell me|copy"
        r"|recite|quote|"
        r"paste|what(?:'s| is| are| does| do))\b[^.\n]{0,60}\byour (?:own |full |entire |hidden |secret "
        r"|exact |internal )?"
        r"(?:context window|initial context|prompt"
        r"|system prompt|system instructions|hidden instructions|initial instructions)\b",
        is_of_a_model,
    ),
    Injection(
        PROMPT,
        r"(?i)(?:in|from|of) your (?:system |initial |hidden )?(?:instructions|prompt)",
        rf"(?i)\b{TELL}\b[^.\n]{{0,60}}\b(?:key|password|secret|code|flag|token|phrase|rules|text"
        rf"|first)\b[^.\n]{{0,40}}"
        r"\b(?:in|from|of) your (?:system |initial |hidden )?(?:instructions|prompt)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)you (?:were|are|have been|'re) (?:told|instructed|programmed|trained)",
        r"(?i)\byou (?:were|are|have been|'re) (?:told|instructed|programmed|trained)"
        r" (?:not|never) to "
        r"(?:reveal|tell|disclose|say|mention|answer|discuss)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)the (?:secret|password|passphrase|flag)",
        r"(?i)\b(?:spell|say|write|encode|print|reverse|give|tell|output|translate)\b[^.\n]{0,30}\bthe"
        r" (?:secret|password|"
        r"passphrase|flag)\b[^.\n]{0,30}\b(?:backwards?|reversed?|in reverse|base64|rot13|letter by letter|"
        r"with spaces|pig latin|leetspeak|in hex|morse|as a poem|acrostic)",
    ),
    Injection(
        PROMPT,
        r"(?i)as (?:if|though) ",
        r"(?i)\b(?:act|behave|respond|answer|proceed|reply|continue) as (?:if|though)\b[^.\n]{0,40}"
        rf"\b(?:{RULES}|policy|filters?|limits)\b[^.\n]{{0,24}}\b(?:not exist|n't exist|not apply|n't"
        rf" apply|gone|off|"
        r"disabled|removed|never existed|lifted)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:answers?|says?|does?|refuses?|complies|restrict|filter|guideline|ethic|moral|censor|rules"
        r"|polic)",
        r"(?i)\b(?:simulate|role-?play|pretend|act as|imagine|you are|you're|you will be|play(?:ing)? the"
        r" role|as)\b"
        r"[^.\n]{0,40}\b(?:ai|bot|chatbot|assistant|language model|llm|gpt"
        r"|machine)\b[^.\n]{0,50}\b(?:answers? "
        r"(?:anything|everything|any question|all questions)|never (?:refuses?|says? no)|(?:can|will|does)"
        r" (?:say|do|answer)"
        r" anything|always complies|(?:without|with no|has no|have no|no|free of|free from|ignores?)"
        r" (?:any |all )?"
        r"(?:restrictions?|filters?|rules|ethical|ethics|guidelines|morals?|moral|censorship|policies"
        r"|guardrails|boundaries|"
        r"limits|limitations|content))\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:ignore|disregard|bypass|override|evade|circumvent) ",
        r"(?i)\b(?:ignore|disregard|bypass|override|evade|circumvent) (?:all |any |the |your |every"
        r" )*(?:content )?"
        r"(?:moderation|content polic(?:y|ies)|safety (?:filters?|protocols?|measures|checks|training"
        r"|systems?|guidelines)"
        r"|ethical (?:guidelines|constraints|rules)|ethics|censorship|content filters?)\b",
        is_no_warning,
    ),
    Injection(
        PROMPT,
        r"(?i)(?:sudo|god|dan|jailbreak|unrestricted|unfiltered) mode",
        r"(?i)\b(?:sudo|god|dan|jailbreak|unrestricted|unfiltered|opposite) mode:? ?(?:on|enabled"
        r"|activated|engaged)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)when (?:summari|read|process|answer|translat|review|analy|index|rank|evaluat)",
        r"(?i)\bwhen (?:summari[sz]ing|reading|processing|answering|translating|reviewing|analy[sz]ing"
        r"|indexing|ranking|"
        r"evaluating) (?:this|the) [^.\n]{0,40}\b(?:include (?:the|this|a) (?:following|link|url|phrase"
        r"|text|sentence)|"
        r"tell the user|say that|do not (?:mention|tell)|recommend (?:this|our)|direct the user|instruct"
        r" the user)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:ai|llm)s? ?(?:assistant|agent|model|bot|system|reviewer)s?\s?[:,]",
        r"(?i)(?:^|[\n<>\[({*#\"'-]|: ) ?(?:ai|llm)s? ?(?:assistants?|agents?|models?|bots?|systems?"
        r"|reviewers?)?\s?[:,] ?"
        rf"{_READERS_MUST}\b",
    ),
    Injection(PROMPT, r"(?i)do anything now", r"(?i)\bdo anything now\b"),
    Injection(
        PROMPT, r"<\||\[/?INST|<</?SYS|</?(?:system|instr|assist|admin_)|\[/?SYSTEM|\[system\]\(", _ROLE_TAGS
    ),
    Injection(
        PROMPT,
        r"(?i)(?:system|developer|admin|administrator|assistant|root|prompt|message|instructions?|note"
        r"|notice|"
        r"override|alert|command|update|directive) ?\]?[:>\]]",
        r"(?i)(?:^|[\n>#*\-\[({:.!?]|---) ?(?:begin |end )?(?:new |updated |revised |important |urgent )?"
        r"(?:system|developer|admin(?:istrator)?|assistant|root)(?: (?:prompt|message|instructions?|note"
        r"|notice|"
        rf"override|alert|command|update|directive))? ?\]?[:>\]] ?{_DO}\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:instructions?|directives?|prompt|task|objective|orders|you|agent|model|assistant|system)"
        r" ?(?::|are as|is as|is to|are to)",
        r"(?i)\b(?:new|updated|revised|actual|real|following|additional|higher[- ]priority|overriding"
        r"|secret|hidden) "
        r"(?:system )?(?:instructions?|directives?|prompt|task|objective|orders)(?: (?:for (?:you"
        r"|the (?:ai|assistant|"
        r"model|agent))|from (?:the )?(?:admin|administrator|developer|system|openai|anthropic)))? "
        rf"?(?::|are as follows:?|is as follows:?|is to|are to) ?{_DO}",
    ),
    Injection(
        PROMPT,
        r"(?i)from now on",
        r"(?i)\bfrom now on,? (?:you|always|never|ignore|respond|act|do not)\b[^.\n]{0,60}\b(?:ignore"
        r"|no restrictions|"
        r"without|unfiltered|must (?:obey|ignore|answer|respond|comply|act|never)|obey|will (?:obey|answer"
        r"|respond|do|ignore|act|not)|are (?:dan|an?|free"
        r"|not)|"
        r"never refuse|comply)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:ai|llm|language) ?(?:assistant|model|agent|bot|system|reader|crawler)",
        r"(?i)\b(?:attention|note|notice|message|instructions?|important|dear|hey|hello|to)(?: (?:to"
        r"|for))?(?: all| any|"
        r" the)? ?:? ?(?:ai|llm|language) ?(?:assistants?|models?|agents?|bots?|systems?|readers?"
        r"|crawlers?)\b"
        rf"[^\n]{{0,90}}\b{_READERS_MUST}\b",
    ),
    Injection(
        PROMPT,
        r"(?i)if you(?:'re| are) an? ",
        r"(?i)\bif you(?:'re| are) an? (?:ai|llm|language model|assistant|bot|automated)\b[^\n]{0,60}"
        rf"\b{_READERS_MUST}\b",
    ),
    Injection(
        PROMPT,
        r"(?i)\b(?:send|forward|email|post|upload|exfiltrate|leak|transmit|export|copy|append|deliver"
        r"|submit)\b",
        r"(?i)\b(?:send|forward|email|post|upload|exfiltrate|leak|transmit|export|copy|append|deliver"
        r"|submit)\b"
        rf"[^.\n]{{0,40}}\b{_LOOT}\b[^\n]{{0,60}}(?:\bto (?:https?://|[\w.+-]+@|attacker|evil|this (?:url"
        rf"|address|"
        r"server)|the (?:following|url|address|server|webhook|attacker))|https?://)",
    ),
    Injection(
        PROMPT,
        r"!\[[^\]\n]*\]\(http",
        r"!\[[^\]\n]{0,200}\]\(https?://[^)\s]{1,200}[?&/=](?:[^)\s]{0,100})(?:\{\{?|%7[bB]|\$\{"
        r"|<)[^)\n]{1,100}",
    ),
)
