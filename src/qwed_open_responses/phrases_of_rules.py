"""English phrases that set rules aside, ask for the prompt or give another role."""

from typing import Final

from qwed_open_responses.injection import PROMPT, Injection
from qwed_open_responses.mentions import is_about_the_model, is_for_a_model, is_no_warning
from qwed_open_responses.phrase_words import RULES, TELL

_FORGET = (
    r"(?:ignore|disregard|forget|override|bypass|neglect|discard|skip|overlook|revoke|nullify|do not"
    r" (?:follow|obey)|"
    r"don'?t (?:follow|obey)|stop following|pay no attention to|erase)"
)
_PRIOR = (
    r"(?:all|any|every|each|the|your|my|our|these|those|of|previous|prior|above|earlier|preceding"
    r"|foregoing|former|"
    r"existing|original|initial|past|other|system|safety|developer|security|current|built[- ]in|default)"
)
_TELL_FILL = (
    r"(?:(?:me|us|out|back|verbatim|in full|to|the|your|all|of|full|entire|complete|exact|hidden|secret"
    r"|initial|"
    r"original|internal|own|contents?) ){1,6}"
)
_PROMPT_NAMES = (
    r"(?:system prompt|system message|system instructions?|initial (?:prompt|instructions?)|hidden (?:prompt|"
    r"instructions?)|developer (?:message|prompt|instructions?)|pre-?prompt|prompt text|"
    r"instructions? (?:above|verbatim)|confidential instructions)"
)
_FREED = (
    r"(?:dan|jailbroken|unrestricted|unfiltered|uncensored|free (?:of|from)|bound|an? (?:ai|assistant"
    r"|model|chatbot|"
    r"llm|hacker|evil)|in (?:developer|god|debug|admin|dan|maintenance|unrestricted) mode|root|evil"
    r"|not bound|"
    r"able to do anything|restricted)"
)
_NO_LIMITS = (
    r"(?:without (?:any )?(?:restrictions?|filters?|limits?|limitations?|rules|safety|guardrails|ethics"
    r"|censorship)|"
    r"no (?:restrictions|filters|limits|rules|ethical|guardrails)|unrestricted|unfiltered|uncensored"
    r"|jailbroken|"
    r"as dan\b|evil (?:ai|assistant|twin)|opposite mode)"
)

PHRASES: Final = (
    Injection(
        PROMPT,
        r"(?i)\b(?:ignore|disregard|forget|override|bypass|neglect|discard|skip|overlook|revoke|nullify"
        r"|obey|follow|erase"
        r"|attention)",
        rf"(?i)\b{_FORGET} (?:{_PRIOR} ){{1,6}}{RULES}\b",
        is_about_the_model,
    ),
    Injection(
        PROMPT,
        r"(?i)\b(?:void|invalid|cancell?ed|superseded|no longer)\b",
        rf"(?i)\b{RULES} (?:above|before this|so far) (?:are|is) (?:void|invalid|cancell?ed|superseded"
        rf"|no longer)",
    ),
    Injection(
        PROMPT,
        r"(?i)prompt|(?:system|developer) (?:message|instruction)|instructions? (?:above|verbatim)|(?:hidden|"
        r"initial|confidential) instruction",
        rf"(?i)\b{TELL} {_TELL_FILL}{_PROMPT_NAMES}",
        is_for_a_model,
    ),
    Injection(
        PROMPT,
        r"(?i)(?:everything|text|words|content) (?:above|before|preceding)",
        r"(?i)\b(?:print|repeat|output|show|display|reveal|recite|copy) (?:me )?(?:out )?(?:everything"
        r"|all(?: of)?(?: the)?"
        r" (?:text|words|content)|the (?:text|words|content)) (?:above|before|preceding)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)\byou are (?:now|no|from)",
        rf"(?i)\byou are (?:now|no longer|from now on) (?:\w+ ){{0,3}}{_FREED}\b",
    ),
    Injection(
        PROMPT,
        r"(?i)without (?:any )?(?:restr|filt|limit|rule|safety|guard|ethic|censor)|no (?:restr|filt|limit"
        r"|rule|"
        r"ethic|guard)|unrestricted|unfiltered|uncensored|jailbroken|as dan\b|evil |opposite mode",
        rf"(?i)\b(?:act|behave|respond|answer|pretend|role-?play|simulate"
        rf"|operate)\b[^.\n]{{0,40}}\b{_NO_LIMITS}",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:developer|dan|god|jailbreak|debug|sudo|admin|unrestricted|maintenance|root|now) mode",
        r"(?i)\b(?:enable|activate|enter|switch (?:in)?to|turn on|engage|unlock|you are in|start|with|in)\b"
        r"[^.\n]{0,20}\b(?:(?:dan|god|jailbreak|sudo|unrestricted|do anything now) mode\b"
        r"|(?:developer|debug|admin|maintenance|root) mode\b[^.\n]{0,60}\b(?:restrict|filter|ignore|rules"
        r"|polic"
        r"|answer|respond|comply|prompt|reveal|any content|unethical))",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:ignore|disregard|forget) (?:all |everything )?(?:of )?(?:the )?(?:above|prev|prior|preced"
        r"|earlier|foregoing)",
        r"(?i)\b(?:ignore|disregard|forget) (?:(?:all|everything|of|the) ){0,4}(?:above|previous|prior"
        r"|preceding"
        r"|earlier|foregoing)(?: (?:text|content|message|context|information|conversation|input|sentences?"
        r"|paragraphs?))?"
        r",? (?:and|then|but) (?:\w+ )?(?:say|print|output|respond|write|reveal|tell me|show|translate|act"
        r"|repeat|"
        r"pretend|start|give me|reply with)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:drop|abandon|aside|break|violate|suspend|lift|remove|disable|relax|loosen|shed|ditch|turn"
        r" off) "
        r"(?:\w+ ){0,3}your ",
        r"(?i)\b(?:drop|abandon|set aside|break|violate|suspend|lift|remove|disable|relax|loosen|shed"
        r"|ditch|turn off)"
        rf" (?:all |any |every )?(?:of )?your (?:\w+ )?(?:{RULES}|filters?|ethics|safety|censorship"
        rf"|morals|limits)\b",
        is_no_warning,
    ),
    Injection(
        PROMPT,
        r"(?i)your (?:real|actual|true) ",
        r"(?i)\byour (?:real|actual|true) (?:instructions?|orders|purpose|objective|directives?|prompt)"
        r" (?:are|is)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)you (?:were|have been|are|received|got)|your developers|hidden messages",
        rf"(?i)\b(?:{TELL}|quote|respond (?:only )?with|which|what)\b[^.\n]{{0,40}}\b(?:prompt"
        rf"|instructions?|text|message|rules"
        r"|context|conversation|guidelines)\b[^.\n]{0,40}\b(?:you (?:were|have been|are) (?:given"
        r"|initiali[sz]ed|started|told|"
        r"set up|configured|primed|loaded)|you (?:received|got) (?:before|at the (?:start|beginning)|from"
        r" your|initially)"
        r"|from your (?:developers?|creators?)|hidden messages)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:my|your|have no|ur) system prompt",
        r"(?i)\b(?:my|your|ur|you have no) system prompt\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:apply|bind|matter|exist|restrict|rules|limits|filters) (?:to|for|in|you)",
        r"(?i)\b(?:rules|restrictions|guidelines|safety \w+|policies|filters|limits)\b[^.\n]{0,20}\b(?:no"
        r" longer|don'?t"
        r"|do not|never) (?:apply|exist|matter)\b[^.\n]{0,6}\b(?:to|for) you\b"
        r"|\bthere (?:are|is) no (?:rules|restrictions|limits|filters|guidelines) (?:in|for) this"
        r" (?:conversation|chat|session)",
    ),
    Injection(
        PROMPT,
        r"(?i)by (?:openai|anthropic|google|meta|microsoft|your (?:dev|creat)|the (?:admin|dev))",
        rf"(?i)\b(?:{RULES}|policy|filters?)\b[^.\n]{{0,30}}\b(?:have been|were|has been|was) (?:updated"
        rf"|changed|replaced"
        r"|overridden|modified|revoked|lifted|disabled) by (?:openai|anthropic|google|meta|microsoft|your"
        r" (?:developers?|creators?))",
    ),
    Injection(
        PROMPT,
        r"(?i)you (?:were|have been|got) given",
        rf"(?i)\b{RULES} (?:that )?you (?:were|have been|got) given\b[^.\n]{{0,24}}\b(?:mistake|wrong"
        rf"|outdated|void|fake|test"
        r"|cancell?ed|false|no longer|invalid|superseded)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:assistant|chatgpt|gpt|copilot|chatbot|llm|\bai\b|\bbot\b),",
        r"(?i)(?:^|[.!?\n>\"'] ?|: )(?:dear |hey |hello |attention )?(?:assistant|chatgpt|gpt|copilot"
        r"|chatbot|llm|ai|bot), "
        r"(?:before|ignore|disregard|send|forward|reveal|execute|run|call|delete|do not|you must|from now"
        r"|stop|leak)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)the user(?:'s)?",
        r"(?i)\b(?:ignore|disregard|forget) (?:what )?the user(?:'s)? (?:\w+ )?(?:asked|wants?|said"
        r"|questions?|requests?|query"
        r"|prompts?|messages?|instructions?)\b[^.\n]{0,16}\b(?:and|instead|;)",
    ),
    Injection(
        PROMPT,
        r"(?i)instead of (?:summ|trans|answ|follow|respond|doing)",
        r"(?i)\binstead of (?:summari[sz]ing|translating|answering|following|responding|doing (?:that|this"
        r"|what))\b"
        r"[^.\n]{0,40}[,;] ?(?:just |only )?(?:output|say|print|write|reply|respond|tell)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:role|persona|character) of (?:another|an? )|\b(?:DAN|STAN|BetterDAN|AntiGPT|AIM|DUDE)\b",
        r"(?i:\b(?:role|persona|character) of (?:another|an?) (?:ai|language model|chatbot|assistant)\b)"
        r"|(?i:\b(?:pretend|act|role|known as|called|named|going to be|to be|are)\b)[^.\n]{0,20}\b(?:DAN"
        r"|STAN|BetterDAN|AntiGPT"
        r"|AIM|DUDE)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)never (?:say|tell|refuse|decline)|unethically",
        r"(?i)\bnever (?:say|tell me) (?:that )?you (?:can'?t|cannot|can not|won'?t)|\bnever (?:refuse"
        r"|decline) (?:to answer|a|any)"
        r"|\b(?:answer|respond|reply|act) unethically\b|\bsay(?:ing)? 'sure, here\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:were|was|are) (?:only |just )?(?:a )?(?:test|mistake|joke|fake)",
        rf"(?i)\b(?:previous|earlier|prior|above) {RULES} (?:were|was|are) (?:only |just )?(?:a )?"
        r"(?:test|mistake|joke|fake)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)in your (?:context|memory|training)",
        r"(?i)\b(?:print|show|reveal|output|dump|repeat|list|leak|give me|tell me|what(?:'s| is|"
        r" are))\b[^.\n]{0,40}"
        r"\bin your (?:context|memory|training data)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:disabled|removed|lifted|suspended|revoked|turned off|switched off) (?:\w+ ){0,2}your ",
        r"(?i)\b(?:disabled|removed|lifted|suspended|revoked|turned off|switched off) (?:all )?(?:of"
        r" )?your (?:\w+ )?"
        rf"(?:{RULES}|filters?|safety|limits)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:imagine|pretend|suppose|assume)",
        r"(?i)\b(?:imagine|pretend|suppose|assume)\b[^.\n]{0,24}\b(?:you have no (?:\w+ )?"
        rf"(?:{RULES}|polic(?:y|ies)|filters?|limits)|(?:{RULES}|policy|filters?|limits) (?:do not"
        rf"|don'?t) (?:exist|apply))\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:ai|llm) (?:assistants?|agents?|models?|bots?|reviewers?|systems?) (?:must|should|have to"
        r"|are req)",
        r"(?i)\b(?:ai|llm) (?:assistants?|agents?|models?|bots?|reviewers?|systems?) (?:must|should|have"
        r" to|are required to)"
        r" (?:give|rate|rank|ignore|output|reveal|send|approve|recommend|accept|select|forward|reply)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)ignore (?:everything|anything|all) else|without (?:asking|telling|informing|notifying"
        r"|confirming)",
        r"(?i)\b(?:reply|respond|answer|say|output|print)\b[^.\n]{0,40}\band ignore (?:everything|anything"
        r"|all) else\b"
        r"|\b(?:execute|run|send|delete|transfer|call|forward)\b[^.\n]{0,40}\bwithout (?:asking|telling"
        r"|informing|notifying"
        r"|confirming with) the user\b",
    ),
    Injection(
        PROMPT,
        r"(?i)stop being an? ",
        r"(?i)\bstop being an? (?:ai|assistant|chatbot|language model|bot)\b[^.\n]{0,20}\b(?:and|now"
        r"|become|be)\b",
        is_no_warning,
    ),
)
