"""Words that phrases of several kinds are made of."""

RULES = (
    r"(?:instructions?|prompts?|rules|directives?|guidelines|guardrails|constraints|programming|policies"
    r"|commands|"
    r"restrictions|orders|safeguards|protocols|training|directions)"
)
TELL = (
    r"(?:reveal|print|show|repeat|output|leak|display|dump|disclose|expose|give me|tell me|recite|share"
    r"|spell out|"
    r"write out|summari[sz]e|translate|encode|what'?s|what (?:is|are|was|were))"
)
