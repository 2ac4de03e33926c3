"""Guardrails AI: a validator of one's own (the hub's are installed apart), and a pydantic model."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import json

from guardrails import Guard, OnFailAction, Validator, register_validator
from guardrails.classes.validation.validation_result import FailResult, PassResult
from pydantic import BaseModel, Field
from work import ALLOWED, ORDER, REFUSED, WRONG, arguments


@register_validator(name="bench/allowed-tool", data_type="string")
class AllowedTool(Validator):
    def _validate(self, value, metadata):
        allowed = value.partition(" ")[0] == ALLOWED
        return PassResult() if allowed else FailResult(error_message="this tool is not allowed")


class Item(BaseModel):
    name: str
    price: float


class Order(BaseModel):
    order_id: str
    total: float = Field(ge=0)
    items: list[Item] = Field(min_length=1)


def works():
    guard = Guard(history_max_length=1).use(AllowedTool(on_fail=OnFailAction.NOOP))
    shape = Guard.for_pydantic(Order)
    for each in (guard, shape):
        each.configure(allow_metrics_collection=False)
    order = json.dumps(ORDER)

    def decide(number):
        assert guard.validate(f"{ALLOWED} {json.dumps(arguments(number))}").validation_passed

    def check(_):
        assert shape.parse(order, num_reasks=0).validation_passed

    assert not guard.validate(f"{REFUSED} {{}}").validation_passed
    assert not shape.parse(json.dumps(WRONG), num_reasks=0).validation_passed
    return {"decision": decide, "schema": check}
