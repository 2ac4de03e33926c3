"""What each figure of a report can support, and what it does not show.

A figure is evidence that something was recorded. Whether a rule is met is for whoever audits to say, so
nothing here passes or fails: every row names a control, how the figure helps with it, and where it stops.
"""

import enum
from typing import Final

import msgspec


class Figure(enum.StrEnum):
    DECISIONS = "decisions"
    VERIFICATION = "verification"
    REFUSALS = "refusals"
    OUTCOMES = "outcomes"
    COSTS = "costs"
    LOOPS = "loops"
    APPROVALS = "approvals"
    TRUST = "trust"
    SUSPENSIONS = "suspensions"
    CREDENTIALS = "credentials"
    AGENT_CHANGES = "agent_changes"
    POLICY = "policy"
    ERASURES = "erasures"
    LEDGER = "ledger"


TITLES: Final = {
    Figure.DECISIONS: "Decisions",
    Figure.VERIFICATION: "Verification by engine and risk",
    Figure.REFUSALS: "Refusals by reason",
    Figure.OUTCOMES: "Outcomes of what was allowed",
    Figure.COSTS: "Costs and budgets",
    Figure.LOOPS: "Loops that were stopped",
    Figure.APPROVALS: "Approvals and who gave them",
    Figure.TRUST: "Changes of trust",
    Figure.SUSPENSIONS: "Suspensions and complaints",
    Figure.CREDENTIALS: "Keys, tokens and webhooks",
    Figure.AGENT_CHANGES: "Agents registered, changed and removed",
    Figure.POLICY: "Policy versions in force",
    Figure.ERASURES: "Erasures",
    Figure.LEDGER: "The ledger",
}


class Framework(enum.StrEnum):
    EU_AI_ACT = "EU AI Act"
    SOC_2 = "SOC 2"
    ISO_42001 = "ISO/IEC 42001"


class Control(msgspec.Struct, frozen=True):
    figure: Figure
    framework: Framework
    control: str
    supports: str
    does_not_show: str


_EU, _SOC, _ISO = Framework.EU_AI_ACT, Framework.SOC_2, Framework.ISO_42001

CONTROLS: Final = (
    Control(
        Figure.DECISIONS, _EU, "Article 12(1)",
        "events were recorded automatically while the system ran, one entry for every request to act",
        "actions that an agent took without asking the gateway",
    ),
    Control(
        Figure.DECISIONS, _SOC, "CC7.2",
        "requests to act were watched, and each was answered by a rule that is on record",
        "what happens outside the gateway, such as on hosts and networks",
    ),
    Control(
        Figure.DECISIONS, _ISO, "A.6.2.8",
        "event logs were kept while the system was in use",
        "logs of the model or of the agent's own framework",
    ),
    Control(
        Figure.VERIFICATION, _EU, "Article 12(2)(a)",
        "which requests carried a risk, and how high it was judged",
        "that the judgement of risk fits the use the system is put to",
    ),
    Control(
        Figure.VERIFICATION, _ISO, "A.6.2.6",
        "operation was monitored: what was proven, disproved, or could not be told",
        "how good the agent's answers are beyond what an engine can prove",
    ),
    Control(
        Figure.REFUSALS, _EU, "Article 12(2)(a)",
        "situations that might have led to harm and were stopped, with the reason of each",
        "situations that no rule recognised",
    ),
    Control(
        Figure.REFUSALS, _SOC, "CC7.3",
        "security events are told apart by reason, so that they can be evaluated",
        "that a person evaluated them",
    ),
    Control(
        Figure.REFUSALS, _SOC, "CC6.1",
        "requests beyond an agent's permissions or trust were refused",
        "that permissions are as narrow as they could be",
    ),
    Control(
        Figure.OUTCOMES, _EU, "Article 12(2)(b)",
        "what became of allowed actions, as far as it was reported",
        "outcomes nobody reported; a report by the agent itself is its own word",
    ),
    Control(
        Figure.OUTCOMES, _ISO, "A.6.2.6",
        "performance in operation: successes and failures that were reported",
        "that a reported success had the intended effect",
    ),
    Control(
        Figure.COSTS, _ISO, "A.4.2",
        "what was charged to agents, and when their limits stopped them",
        "costs that arose elsewhere; charges rest on estimates until an outcome settles them",
    ),
    Control(
        Figure.LOOPS, _EU, "Article 12(2)(a)",
        "runs of repeated or unending actions that were interrupted",
        "loops across agents that share no conversation",
    ),
    Control(
        Figure.LOOPS, _SOC, "CC7.2",
        "anomalies in behaviour, namely repetition, were detected",
        "anomalies of other kinds",
    ),
    Control(
        Figure.APPROVALS, _EU, "Article 14(4)(d)",
        "people could refuse an action before it ran, and which key answered when",
        "which person held the key, and whether they understood what they were shown",
    ),
    Control(
        Figure.APPROVALS, _EU, "Article 14(4)(e)",
        "actions waited for a person, and ended as denied where nobody answered",
        "that people were free to take the time they needed",
    ),
    Control(
        Figure.APPROVALS, _ISO, "A.9.2",
        "a process for the responsible use of the system was followed, decision by decision",
        "that the process is the right one for this use",
    ),
    Control(
        Figure.TRUST, _EU, "Article 14(4)(b)",
        "how far agents were relied upon, who changed that, and why",
        "that those who rely on agents know the limits of automation",
    ),
    Control(
        Figure.TRUST, _SOC, "CC6.3",
        "rights were raised and lowered by somebody entitled to, with a reason on record",
        "a periodic review of all rights",
    ),
    Control(
        Figure.SUSPENSIONS, _EU, "Article 14(4)(e)",
        "agents were stopped, and by whom",
        "that what an agent had begun elsewhere stopped as well",
    ),
    Control(
        Figure.SUSPENSIONS, _SOC, "CC7.4",
        "a response to an incident: suspension, complaint, reactivation",
        "the rest of the response, such as analysis and notification",
    ),
    Control(
        Figure.SUSPENSIONS, _ISO, "A.3.3",
        "concerns about an agent were reported and had an effect",
        "concerns that were raised by other ways",
    ),
    Control(
        Figure.CREDENTIALS, _SOC, "CC6.2",
        "credentials were issued and withdrawn, by whom and when",
        "who was given the secret afterwards",
    ),
    Control(
        Figure.AGENT_CHANGES, _SOC, "CC6.3",
        "rights of agents were granted, changed and removed",
        "that each change was asked for by its owner",
    ),
    Control(
        Figure.AGENT_CHANGES, _ISO, "A.3.2",
        "each agent belongs to a principal who is named",
        "that responsibilities were agreed with the people concerned",
    ),
    Control(
        Figure.POLICY, _SOC, "CC8.1",
        "which rules were in force when, each named by the hash of its content",
        "how a change of rules was requested, tested and approved",
    ),
    Control(
        Figure.POLICY, _ISO, "A.9.3",
        "objectives for use that were written as rules were applied to every decision",
        "objectives that were not written as rules",
    ),
    Control(
        Figure.ERASURES, _EU, "Article 12(1)",
        "what was taken out of the record, by whom and for what reason; the entries themselves stay",
        "what the erased text said",
    ),
    Control(
        Figure.ERASURES, _SOC, "CC6.5",
        "text that was no longer needed was removed on request",
        "copies outside the gateway, such as backups",
    ),
    Control(
        Figure.LEDGER, _EU, "Article 12(1)",
        "the record can be checked for later changes, entry by entry, without the gateway",
        "that the record was complete when it was written",
    ),
    Control(
        Figure.LEDGER, _SOC, "CC7.2",
        "a change to the record after the fact can be found and named",
        "a replacement of the whole ledger, unless a checkpoint was kept elsewhere",
    ),
    Control(
        Figure.LEDGER, _ISO, "A.6.2.8",
        "event logs are protected against being altered unnoticed",
        "for how long they will be kept",
    ),
)  # fmt: skip
