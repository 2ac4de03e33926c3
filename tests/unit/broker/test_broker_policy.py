"""The section `broker` of the policy: what is wrong is said with its line."""

import pytest

from qwed.domain.policy import Policy
from qwed.policy import PolicyError, load_policy

ENTRY = "{inject: {header: Authorization, from: env:STRIPE_KEY}, actions: [send_money], methods: [POST]}"


def test_the_entry_of_the_specification_is_read_and_survives_the_wire():
    policy = load_policy(f"broker: {{pass: [api.model.example], hosts: {{api.stripe.com: {ENTRY}}}}}", "p")
    entry = policy.broker.hosts["api.stripe.com"]

    assert policy.broker.tunnels == ("api.model.example:443",)
    assert (entry.inject.header, entry.inject.source, entry.actions) == (
        "Authorization",
        "env:STRIPE_KEY",
        ("send_money",),
    )
    assert Policy.from_wire(policy.to_wire()).broker == policy.broker
    assert load_policy("", "p").to_wire().get("broker") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"hosts: {{'API.stripe.com': {ENTRY}}}", "is not a host"),
        (f"hosts: {{'api.stripe.com:443': {ENTRY}}}", "is not a host"),
        (f"{{pass: [api.stripe.com], hosts: {{api.stripe.com: {ENTRY}}}}}", "under hosts as well"),
        ("hosts: {a.b: {actions: [x], methods: [POST]}}", "needs a header"),
        ("hosts: {a.b: {inject: {header: Authorization, from: env:K}}}", "needs routes"),
        ("hosts: {a.b: {inject: {header: Host, from: env:K}, actions: [x], methods: [GET]}}", "belongs to"),
        ("hosts: {a.b: {inject: {header: A, from: sh:K}, actions: [x], methods: [GET]}}", "env:NAME"),
        ("hosts: {a.b: {inject: {header: A, from: 'exec:show'}, actions: [x], methods: [GET]}}", "absolute"),
        (
            "hosts: {a.b: {inject: {header: A, from: env:K, format: x}, actions: [x], methods: [GET]}}",
            "one {",
        ),
        ("hosts: {a.b: {inject: {header: A, from: env:K}, routes: {'post /x': y}}}", "is not a route"),
        (
            "hosts: {a.b: {inject: {header: A, from: env:K}, routes: {'POST /x': y}, address: 'http://a.b'}}",
            "https address",
        ),
    ],
)
def test_a_mistake_is_said(text, message):
    with pytest.raises(PolicyError) as error:
        load_policy(f"broker: {text}" if text.startswith("{") else f"broker:\n  {text}", "p")

    assert message in str(error.value)
