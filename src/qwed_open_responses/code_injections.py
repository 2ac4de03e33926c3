"""Code for programs that will read a text: templates, markup, headers, queries."""

from typing import Final

from qwed_open_responses.injection import MARKUP, TEMPLATE, Injection

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
