"""Questions in the words of OpenID AuthZEN 1.0: may this subject do this to that resource?

Each is a tool call without a conversation (section 6): advisory, refused where the policy requires a context,
and recorded as any other. The subject is an agent, the action's name is the tool, and everything else that
the question says is a parameter of it, so that engines look at all of it.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.agents import AgentId
from qwed.domain.credentials import Caller
from qwed.domain.decisions import Decision
from qwed.gateway.decide.doors import verify_tool
from qwed.gateway.kernel.answers import Answer, RequestError, malformed
from qwed.gateway.kernel.records import Remembered
from qwed.gateway.kernel.requests import NO_USAGE, ToolRequest, convert
from qwed.gateway.kernel.services import Services

MAX_EVALUATIONS: Final = 64
#: The one kind of subject that this gateway knows.
AGENT: Final = "agent"
#: Where the other members of a question stand among the tool's parameters.
_TAKEN: Final = ("subject", "resource", "context")


class EntityBody(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    id: str
    properties: dict[str, Any] | None = None


class NamedActionBody(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    properties: dict[str, Any] | None = None


class EvaluationBody(msgspec.Struct, forbid_unknown_fields=True):
    subject: EntityBody | None = None
    action: NamedActionBody | None = None
    resource: EntityBody | None = None
    context: dict[str, Any] | None = None


class EvaluationOptionsBody(msgspec.Struct):
    """Options that are not known here are for others (section 7.1.2)."""

    evaluations_semantic: str = "execute_all"


class EvaluationsBody(EvaluationBody, forbid_unknown_fields=True):
    """What stands beside `evaluations` holds for each of them that does not say otherwise."""

    evaluations: list[EvaluationBody] | None = None
    options: EvaluationOptionsBody | None = None


class AccessQuestion(msgspec.Struct, frozen=True):
    """`problem`: it can't be asked, and is answered with no (section 7.2.1)."""

    agent_id: AgentId
    tool: str
    parameters: dict[str, Any]
    problem: RequestError | None = None


#: After which answer the rest is not asked.
_ENDS_AT: Final[Mapping[str, bool | None]] = {
    "execute_all": None,
    "deny_on_first_deny": False,
    "permit_on_first_permit": True,
}


class AccessQuestions(msgspec.Struct, frozen=True):
    """`is_one`: it was asked, and is answered, without a list."""

    each: tuple[AccessQuestion, ...]
    is_one: bool = True
    ends_at: bool | None = None

    @classmethod
    def of_one(cls, raw: Any) -> "AccessQuestions":
        try:
            return cls((_question(convert(raw, EvaluationBody), ""),))
        except RequestError as error:
            raise _as_bad_request(error) from None

    @classmethod
    def of_many(cls, raw: Any) -> "AccessQuestions":
        """Without a list, the members beside it are one question."""
        try:
            body = convert(raw, EvaluationsBody)
            if not body.evaluations:
                return cls((_question(body, ""),))
            if len(body.evaluations) > MAX_EVALUATIONS:
                raise malformed("evaluations", f"has more than {MAX_EVALUATIONS} questions")
            each = tuple(
                _question_or_problem(_fill(one, body), f"evaluations[{place}].")
                for place, one in enumerate(body.evaluations)
            )
            return cls(each, False, _read_semantic(body.options))
        except RequestError as error:
            raise _as_bad_request(error) from None


async def evaluate(
    services: Services, caller: Caller, questions: AccessQuestions, keys: tuple[bytes | None, ...]
) -> AsyncIterator[Answer]:
    """The gateway's own answers, in the order of the questions, as far as they are asked."""
    for question, key in zip(questions.each, keys, strict=True):
        if question.problem is not None:
            yield Answer({"error": question.problem.refusal.to_wire()}, question.problem.status)
            if questions.ends_at is False:
                return
            continue
        asked = ToolRequest(question.tool, question.parameters, None, NO_USAGE, idempotency=key)
        answer = await verify_tool(services, caller, question.agent_id, asked)
        if isinstance(answer, Remembered):
            answer = Answer(msgspec.json.decode(answer.body), answer.status, answer.retry_after_seconds)
        yield answer
        if questions.ends_at is not None and is_permitted(answer) is questions.ends_at:
            return


def is_permitted(answer: Answer) -> bool:
    """Only what may run exactly as it was asked: a corrected action is another one."""
    return answer.body.get("decision") == Decision.APPROVED.value


def show_access(answer: Answer) -> dict[str, Any]:
    return {"decision": is_permitted(answer), "context": dict(answer.body)}


def _fill(one: EvaluationBody, beside: EvaluationBody) -> EvaluationBody:
    return EvaluationBody(
        one.subject or beside.subject,
        one.action or beside.action,
        one.resource or beside.resource,
        beside.context if one.context is None else one.context,
    )


def _question_or_problem(body: EvaluationBody, path: str) -> AccessQuestion:
    """One question of several that is none does not spoil the others."""
    try:
        return _question(body, path)
    except RequestError as error:
        return AccessQuestion(AgentId(""), "", {}, _as_bad_request(error))


def _question(body: EvaluationBody, path: str) -> AccessQuestion:
    subject, action, resource = body.subject, body.action, body.resource
    if subject is None or action is None or resource is None:
        missing = "subject" if subject is None else "action" if action is None else "resource"
        raise malformed(f"{path}{missing}", "is missing")
    if subject.type != AGENT:
        # A question that others may ask; here the answer is no.
        problem = malformed(
            f"{path}subject.type", f"must be {AGENT!r}: this gateway decides what agents may do"
        )
        return AccessQuestion(AgentId(subject.id), action.name, {}, problem)
    parameters = dict(action.properties or {})
    if taken := [name for name in _TAKEN if name in parameters]:
        raise malformed(
            f"{path}action.properties.{taken[0]}", "is the name of another member of the question"
        )
    parameters["resource"] = _entity(resource)
    if subject.properties:
        parameters["subject"] = subject.properties
    if body.context:
        parameters["context"] = body.context
    return AccessQuestion(AgentId(subject.id), action.name, parameters)


def _entity(entity: EntityBody) -> dict[str, Any]:
    shown: dict[str, Any] = {"type": entity.type, "id": entity.id}
    return {**shown, "properties": entity.properties} if entity.properties else shown


def _read_semantic(options: EvaluationOptionsBody | None) -> bool | None:
    semantic = (options or EvaluationOptionsBody()).evaluations_semantic
    if semantic not in _ENDS_AT:
        raise malformed("options.evaluations_semantic", f"must be one of {', '.join(_ENDS_AT)}")
    return _ENDS_AT[semantic]


def _as_bad_request(error: RequestError) -> RequestError:
    """AuthZEN says 400 where the rest of the API says 422."""
    return RequestError(error.refusal, status=400)
