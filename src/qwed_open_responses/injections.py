"""Text that tries to be more than text: orders to the model, and code for the programs that will read it.

Prompt injection is looked for twice: as phrases, and in the text stripped of everything but letters, where
spacing, punctuation, look-alike letters and digits for letters hide nothing. A phrase in quotation marks
inside a sentence *about* injection is a mention, not an order.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from qwed.domain.lazy_pattern import lazy_pattern
from qwed.domain.skeleton import with_look_alikes

# Whether what matched line[start:end] is meant.
Accept = Callable[[str, int, int], bool]

_QUOTES: Final = "\"'`“”‘’«»"
_SPEAKS_ABOUT = lazy_pattern(
    r"(?i)\b(?:phrases?|attacks?|attackers?|injections?|examples?|such as|e\.g\.|detect(?:s|ed|ing)?"
    r"|filters?|called|"
    r"says?|said|wrote|writes?|tests?|article|paper|blog|docs?|documentation|training|slides?|report(?:s"
    r"|ed)?|"
    r"blocked|flagged|explain(?:s|ed)?|review|students?|users? (?:try|type)|jailbreaks?|payloads?|warns?"
    r"|regex|pattern)\b"
)
_ABOUT_SOMETHING_ELSE = lazy_pattern(
    r"(?i)^\W{0,2}(?:for|about|regarding|concerning|on how|on the|in the (?:manual|guide|booklet|email"
    r"|ticket)|"
    r"to (?:your|the|my|our|his|her|their|a|each) (?:colleague|team|customer|class|patient|client|staff"
    r"|crew)|"
    r"(?:that |which )?(?:i|we) (?:sent|gave|posted)|from (?:my|our) (?:last|previous))\b"
)
_OF_THE_MODEL = lazy_pattern(r"(?i)\b(?:your|all|any|every|system|developer|safety)\b")


def is_mention(line: str, start: int, end: int) -> bool:
    """Whether the match is quoted within a sentence that speaks about such texts."""
    before, after = line[max(0, start - 160) : start], line[end : end + 160]
    quoted = any(quote in before[-80:] for quote in _QUOTES) and any(quote in after[:80] for quote in _QUOTES)
    return quoted and _SPEAKS_ABOUT.search(f"{before} {after}") is not None


def _is_order(line: str, start: int, end: int) -> bool:
    return not is_mention(line, start, end)


def _is_about_the_model(line: str, start: int, end: int) -> bool:
    """ "Ignore the previous instructions for the shelf" is about a shelf."""
    if not _is_no_warning(line, start, end):
        return False
    return _OF_THE_MODEL.search(line[start:end]) is not None or not _ABOUT_SOMETHING_ELSE.match(
        line[end : end + 48]
    )


_WARNED_OF = lazy_pattern(
    r"(?i)\b(?:not|never|n't|cannot|without|should|who|that|anyone|to avoid)(?: \w+)? $"
)


def _is_no_warning(line: str, start: int, end: int) -> bool:
    """ "Never ignore safety filters" is the opposite of an order to do so."""
    return _is_order(line, start, end) and not _WARNED_OF.search(line[max(0, start - 24) : start])


_PROMPT_AS_QUICK = lazy_pattern(
    r"(?i)^ (?:response|reply|attention|payment|action|delivery|service|answer|return)"
)


def _is_of_a_model(line: str, start: int, end: int) -> bool:
    """ "Your prompt reply" is a quick one."""
    return _is_order(line, start, end) and not _PROMPT_AS_QUICK.match(line[end : end + 16])


def _is_for_a_model(line: str, start: int, end: int) -> bool:
    """ "Repeat the instructions above to your colleague" is said to a person."""
    return _is_order(line, start, end) and not _ABOUT_SOMETHING_ELSE.match(line[end : end + 48])


class Injection(msgspec.Struct, frozen=True):
    """`signal` is what the common scan looks for; where it occurs, `shape` is tried."""

    kind: str
    signal: str
    shape: str
    accept: Accept = _is_order


PROMPT: Final = "prompt_injection"
TEMPLATE: Final = "template_injection"
MARKUP: Final = "markup_injection"

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
_RULES = (
    r"(?:instructions?|prompts?|rules|directives?|guidelines|guardrails|constraints|programming|policies"
    r"|commands|"
    r"restrictions|orders|safeguards|protocols|training|directions)"
)
_TELL = (
    r"(?:reveal|print|show|repeat|output|leak|display|dump|disclose|expose|give me|tell me|recite|share"
    r"|spell out|"
    r"write out|summari[sz]e|translate|encode|what'?s|what (?:is|are|was|were))"
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
_OTHER_TONGUES = (
    r"(?i)\b(?:ignoriere?|vergiss|missachte)\b[^.\n]{0,40}\b(?:anweisungen|instruktionen|regeln|vorgaben)\b"
    r"|\b(?:ignora|ignore|ignorez|oublie[sz]?|olvida|desconsidere|dimentica|esqueça|omite"
    r"|haz caso omiso de)\b"
    r"[^.\n]{0,40}\b(?:instrucciones|instructions pr[ée]c[ée]dentes|consignes|istruzioni|instruções|reglas"
    r"|règles|"
    r"regras|regole|indicaciones)\b|\bnegeer\b[^.\n]{0,40}\binstructies\b"
    r"|(?:игнорир|забуд)[^.\n]{0,40}(?:инструкц|указани|правил)"
    r"|(?:忽略|无视|忘记|忽視|無視)[^。\n]{0,20}(?:指令|指示|提示|规则|說明|说明|規則)"
    r"|(?:指示|命令|ルール|プロンプト)[^。\n]{0,10}(?:無視|忘れ)|(?:지시|명령|규칙)[^.\n]{0,12}무시"
    r"|\b(?:beachte|befolge)\b[^.\n]{0,40}\b(?:anweisungen|vorgaben|regeln)\b[^.\n]{0,12}\bnicht\b"
    r"|\b(?:nie|nicht) (?:beachte|befolge)\b[^.\n]{0,40}\b(?:anweisungen|vorgaben)\b"
    r"|\bne tiens pas compte\b[^.\n]{0,40}\binstructions\b|\bno hagas caso\b[^.\n]{0,40}\binstrucciones\b"
    r"|\bvergiss alles\b[^\n]{0,60}\bprompt|\bolvida todo lo anterior\b|\boublie tout ce qui pr[ée]c[èe]de\b"
    r"|\bdimentica tutto quello\b|\b(?:negeer|ignoreer)\b[^.\n]{0,40}\b(?:instructies|regels)\b"
    r"|önceki[^.\n]{0,24}(?:talimat|komut)[^.\n]{0,16}(?:yok say|görmezden|unut)"
    r"|(?:पिछले|पूर्व)[^।\n]{0,30}(?:निर्देश|आदेश)[^।\n]{0,24}(?:अनदेखा|नज़रअंदाज|भूल)"
    r"|\bbỏ qua[^.\n]{0,30}(?:hướng dẫn|chỉ dẫn|chỉ thị)|\babaikan\b[^.\n]{0,30}\b(?:instruksi|perintah)"
    r"|\bignoruj\b[^.\n]{0,40}\b(?:pokyny|instrukce|polecenia)|\bignorera\b[^.\n]{0,40}\binstruktion"
    r"|(?:про)?ігноруй[^.\n]{0,40}(?:інструкц|вказівк)"
    r"|تجاهل[^.\n]{0,30}(?:التعليمات|الأوامر)|zignoruj[^.\n]{0,40}(?:instrukcje|polecenia)"
)
_OTHER_SIGNAL = (
    r"(?i)ignorier|vergiss|missachte|ignora|ignorez|oublie|olvida|desconsidere|dimentica|esqueça|omite"
    r"|omiso|negeer"
    r"|игнорир|забуд|忽略|无视|忘记|忽視|無視|忘れ|무시"
    r"|beachte|befolge|pas compte|hagas caso|تجاهل|ignoruj|ignoreer"
    r"|önceki|निर्देश|आदेश"
    r"|bỏ qua|abaikan"
    r"|ignorera|ігноруй|zignoruj|consignes|reglas|règles"
)
_DOUBLE_BRACES = (
    r"\{\{[^{}\n]{0,120}(?:[0-9] ?[*+-] ?'?[0-9]|__|config\b|self\b|request\b|lipsum|cycler|joiner|namespace|"
    r"\.constructor|\|attr|popen|getattr|import|system\(|exec\(|eval\(|process\.|globals|mro|subclasses"
    r"|range\.|"
    r"settings\.)[^{}\n]{0,200}\}\}"
)
_SINGLE_BRACES = (
    r"[$#*@]\{[^{}\n]{0,120}(?:[0-9] ?[*+] ?[0-9]|jndi:|T\(|java\.|Runtime|getClass|ProcessBuilder|\.class\b|"
    r"(?:lower|upper|env|sys|script|dns|date|main):|url:utf|::-|@java|#rt|new java|freemarker)[^\n]{0,200}"
)
_ANGLE_TEMPLATES = (
    r"(?i)<%=?[^%\n]{0,120}(?:system|exec|eval|`|open|file|runtime|[0-9] ?\* ?[0-9]|popen|request|import)"
    r"[^%\n]{0,120}%>|\{%[^%\n]{0,80}(?:import|include|extends|load|debug|for \w+ in (?:\("
    r"|\[|''))[^\n]{0,120}%\}"
    r"|<#assign[^>\n]{0,200}(?:Execute|freemarker|new\(\))|#set ?\( ?\$[^)\n]{0,200}(?:class|Runtime|forName)"
)
_EVENTS = r"(?:error|load|click|mouseover|focus|toggle|start|animationstart|pointerover|begin|mouseenter)"
_SCRIPTS = (
    r"(?i)<script\b[^>\n]{0,200}>[^\n]{0,400}|<[a-z]{1,10}\b[^>\n]{0,300}\bon" + _EVENTS + r"\s{0,4}="
    r"|<iframe\b[^>\n]{0,200}src\s{0,4}=\s{0,4}['\"]?(?:javascript|data):"
    r"|href\s{0,4}=\s{0,4}['\"]?\s{0,4}javascript:"
    r"|<!ENTITY[^>\n]{0,200}(?:SYSTEM|PUBLIC)[^>\n]{0,200}>|<!--#(?:exec|include)\b"
)
_FORMULAS = (
    r"(?i)(?:^|: |\n)[=+@-](?:cmd\||dde\(|msexcel\||webservice\(|importxml\(|importdata\(|exec\(|rundll32"
    r"|powershell"
    r"|hyperlink\(\s{0,2}['\"]https?:|[A-Z]{2,12}\([^\n]{0,40}\|)"
)
_HEADERS = (
    r"(?i)\r?\n ?(?:set-cookie|location|bcc|cc|content-type|x-forwarded-for|transfer-encoding"
    r"|host) ?: ?[^\n]{1,200}"
    r"\r\n|\r\n(?:set-cookie|location|bcc|content-length|transfer-encoding) ?:"
)
_DOCUMENT_QUERIES = (
    r"(?i)(?:pass\w*|pwd|user\w*|login|token|e?mail|pin|otp): \$(?:ne|gte?|lte?|regex|exists|n?in|not)\b"
    r"|(?:^|: |\n)\$(?:where|function|accumulator)$|['\"]?\$where['\"]?\s{0,3}:\s{0,3}['\"]?(?:function"
    r"|this\.|"
    r"return|sleep|while|[0-9]==?)|['\"]\$(?:ne|gt|gte|regex|exists|nin)['\"]\s{0,3}:\s{0,3}(?:null"
    r"|['\"]{2}|-?1|"
    r"true|0|['\"]\.\*)"
)
_DIRECTORY_QUERIES = (
    r"\*\)\((?:\||&|uid|cn|objectClass|userPassword|mail)[^\n]{0,80}|\)\(\|?\(?(?:uid|cn|objectClass"
    r"|password)=\*"
    r"|'\s{0,3}\]\s{0,3}\|\s{0,3}//|'\s{1,3}or\s{1,3}(?:count\(|name\(|string-length\()"
)

INJECTIONS: Final = (
    Injection(
        PROMPT,
        r"(?i)\b(?:ignore|disregard|forget|override|bypass|neglect|discard|skip|overlook|revoke|nullify"
        r"|obey|follow|erase"
        r"|attention)",
        rf"(?i)\b{_FORGET} (?:{_PRIOR} ){{1,6}}{_RULES}\b",
        _is_about_the_model,
    ),
    Injection(
        PROMPT,
        r"(?i)\b(?:ignore|disregard|forget|discard|erase) (?:every|any|all|what)",
        rf"(?i)\b{_FORGET} (?:everything|anything|all(?: of)?(?: that| this)?|what)(?: that)?"
        r"(?: was| is| you were| you have been| you've been| i| we)? "
        r"?(?:above|before|prior|previously|told|said|instructed|learned)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)\b(?:void|invalid|cancell?ed|superseded|no longer)\b",
        rf"(?i)\b{_RULES} (?:above|before this|so far) (?:are|is) (?:void|invalid|cancell?ed|superseded"
        rf"|no longer)",
    ),
    Injection(
        PROMPT,
        r"(?i)prompt|(?:system|developer) (?:message|instruction)|instructions? (?:above|verbatim)|(?:hidden|"
        r"initial|confidential) instruction",
        rf"(?i)\b{_TELL} {_TELL_FILL}{_PROMPT_NAMES}",
        _is_for_a_model,
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
        rf" (?:all |any |every )?(?:of )?your (?:\w+ )?(?:{_RULES}|filters?|ethics|safety|censorship"
        rf"|morals|limits)\b",
        _is_no_warning,
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
        rf"(?i)\b(?:{_TELL}|quote|respond (?:only )?with|which|what)\b[^.\n]{{0,40}}\b(?:prompt"
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
        rf"(?i)\b(?:{_RULES}|policy|filters?)\b[^.\n]{{0,30}}\b(?:have been|were|has been|was) (?:updated"
        rf"|changed|replaced"
        r"|overridden|modified|revoked|lifted|disabled) by (?:openai|anthropic|google|meta|microsoft|your"
        r" (?:developers?|creators?))",
    ),
    Injection(
        PROMPT,
        r"(?i)you (?:were|have been|got) given",
        rf"(?i)\b{_RULES} (?:that )?you (?:were|have been|got) given\b[^.\n]{{0,24}}\b(?:mistake|wrong"
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
        rf"(?i)\b(?:previous|earlier|prior|above) {_RULES} (?:were|was|are) (?:only |just )?(?:a )?"
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
        rf"(?:{_RULES}|filters?|safety|limits)\b",
    ),
    Injection(
        PROMPT,
        r"(?i)(?:imagine|pretend|suppose|assume)",
        r"(?i)\b(?:imagine|pretend|suppose|assume)\b[^.\n]{0,24}\b(?:you have no (?:\w+ )?"
        rf"(?:{_RULES}|polic(?:y|ies)|filters?|limits)|(?:{_RULES}|policy|filters?|limits) (?:do not"
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
        _is_no_warning,
    ),
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
        _is_of_a_model,
    ),
    Injection(
        PROMPT,
        r"(?i)(?:in|from|of) your (?:system |initial |hidden )?(?:instructions|prompt)",
        rf"(?i)\b{_TELL}\b[^.\n]{{0,60}}\b(?:key|password|secret|code|flag|token|phrase|rules|text"
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
        rf"\b(?:{_RULES}|policy|filters?|limits)\b[^.\n]{{0,24}}\b(?:not exist|n't exist|not apply|n't"
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
        _is_no_warning,
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
        r"(?i)(?:do not|don'?t|never|without) (?:tell|inform|alert|notify|mention|reveal|let)",
        r"(?i)\b(?:do not|don'?t|never|without) (?:tell|telling|inform|informing|alert|alerting|notify"
        r"|notifying|"
        r"mention|mentioning|reveal|revealing|let)(?: (?:this|it|that|anything"
        r"|about this))?(?: to)? (?:the |your |"
        r"any )?(?:user|users|human|humans|operator|owner|developer)\b",
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
    Injection(PROMPT, _OTHER_SIGNAL, _OTHER_TONGUES),
    Injection(TEMPLATE, r"\{\{", _DOUBLE_BRACES),
    Injection(TEMPLATE, r"[$#*@]\{", _SINGLE_BRACES),
    Injection(TEMPLATE, r"(?i)<%|\{%|<#assign|#set", _ANGLE_TEMPLATES),
    Injection(MARKUP, r"(?i)<script|\bon" + _EVENTS + r"\s*=|<iframe|javascript:|<!ENTITY|<!--#", _SCRIPTS),
    Injection(MARKUP, r"(?i)(?:^|: |\n)[=+@-][a-z]", _FORMULAS),
    Injection(
        "header_injection", r"(?i)\n ?(?:set-cookie|location|bcc|cc|content-|x-forw|transfer-|host)", _HEADERS
    ),
    Injection(
        "query_injection", r"(?i)\$(?:where|function|accum|ne|gte?|regex|exists|nin)\b", _DOCUMENT_QUERIES
    ),
    Injection(
        "query_injection",
        r"\*\)\(|\)\([|(a-zA-Z]|'\s*\]\s*\||(?i:or\s+(?:count|name|string-length)\()",
        _DIRECTORY_QUERIES,
    ),
)


def signal(index: int) -> str:
    return f"injection:{index}:{INJECTIONS[index].kind}"


def _spelled(word: str) -> str:
    """The word with digits for letters and up to two signs between them."""
    return r"[\W_]{0,2}".join(_LETTERS.get(letter, letter) for letter in word)


_LETTERS: Final = {
    "i": "[i1!|l]",
    "o": "[o0]",
    "e": "[e3]",
    "a": "[a4@]",
    "s": "[s5$]",
    "t": "[t7]",
    "l": "[l1|]",
}
_VERBS: Final = ("ignore", "disregard", "forget", "override", "bypass", "reveal", "systemprompt", "youarenow")
_MIXED_SCRIPTS = r"\p{Greek}\p{Cyrillic}\p{Armenian}\p{Cherokee}"
SPELLED: Final = "spelled:"
SIGNALS: Final = {
    **{signal(index): injection.signal for index, injection in enumerate(INJECTIONS)},
    # Letters of other scripts are drawn like Latin ones: a word that mixes them is always looked at.
    SPELLED: f"(?i){'|'.join(map(_spelled, _VERBS))}|[A-Za-z][{_MIXED_SCRIPTS}]|[{_MIXED_SCRIPTS}][A-Za-z]"
    r"|\p{So}\p{So}",
}

_LEET: Final = {ord(sign): letter for sign, letter in zip("013457@$!|", "oieastasil", strict=True)}
_AS_LETTERS: Final = with_look_alikes(_LEET)
# In a text without spaces these occur only where somebody wrote them apart or disguised.
_STRIPPED_ORDERS = lazy_pattern(
    r"(?:ignore|disregard|forget|override|bypass)(?:all|any|the|your|of|every|my){0,3}"
    r"(?:previous|prior|above|earlier|preceding|system|safety)(?:system|safety|your)?"
    r"(?:instructions?|prompts?|rules|directives?|guidelines|commands|orders|guardrails)"
    r"|(?:reveal|print|show|repeat|output|leak|dump)(?:me|the|your|full|entire|hidden|all"
    r"|of){0,4}systemprompt"
    r"|youarenow(?:dan|jailbroken|unrestricted|indevelopermode)|doanythingnow|enabledevelopermode"
)


def hides_an_order(value: str) -> bool:
    """Whether the letters alone spell an order that the text as written does not."""
    letters = _NOT_LETTERS.sub("", value.translate(_AS_LETTERS).lower())
    return _STRIPPED_ORDERS.search(letters) is not None


_NOT_LETTERS = lazy_pattern("[^a-z]+")
