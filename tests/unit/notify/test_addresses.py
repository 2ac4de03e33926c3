"""Where a delivery may go: judged as written, judged as resolved, and connected to exactly that."""

import asyncio
import ssl

import pytest
from tests.support.receivers import Receiver, certificate

from qwed.domain.policy import NotificationRules
from qwed.engines.tools import EmailRules
from qwed.notify.addresses import Doorkeeper, NoticeTarget, RefusedAddress
from qwed.notify.channels import HttpPost


def doorkeeper(**rules) -> Doorkeeper:
    return Doorkeeper(NotificationRules(**rules), EmailRules(), can_mail=True)


def leading_to(*addresses: str):
    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolve


def target(url: str, *addresses: str, **rules) -> NoticeTarget | str:
    try:
        return asyncio.run(doorkeeper(**rules).target(url, leading_to(*addresses)))
    except RefusedAddress as refused:
        return str(refused)


def test_a_public_address_is_called_under_its_name():
    found = target("https://hooks.example.org/a/b?c=d", "93.184.216.34")

    assert found == NoticeTarget("https", "hooks.example.org", 443, "93.184.216.34", "/a/b?c=d")


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "0.0.0.0", "::1", "fe80::1", "fd00::1",
     "::ffff:10.0.0.1", "64:ff9b::a00:1", "100.64.0.1", "224.0.0.1"],
)  # fmt: skip
def test_a_public_name_that_leads_to_a_place_that_is_not_public_is_refused(address):
    assert "place" in str(target("https://hooks.example.org/", address))


def test_one_bad_address_among_good_ones_is_enough():
    assert target("https://hooks.example.org/", "93.184.216.34", "10.0.0.1") == (
        "the host leads to a private place"
    )


def test_a_name_without_an_address_is_refused():
    assert target("https://hooks.example.org/") == "the host has no address"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://hooks.example.org/", "needs https"),
        ("ftp://hooks.example.org/", "scheme"),
        ("https://user:pw@hooks.example.org/", "@"),
        ("https://localhost/", "loopback"),
        ("https://hooks.example.org:22/", "port 22"),
        ("hooks.example.org", "such as https"),
        ("https://127.1/", "another spelling"),
        ("https://[::1", "port"),
        ("https://x.example:99999/", "port"),
    ],
)
def test_an_address_is_judged_as_it_is_written(url, why):
    assert why in doorkeeper().url_problems(url)[0]


def test_what_the_policy_lists_as_private_may_be_told_and_without_tls():
    rules = {"private": ("10.0.0.0/8", "receiver.corp")}

    assert target("http://10.1.2.3:8080/x", "10.1.2.3", **rules).address == "10.1.2.3"
    assert target("http://receiver.corp/", "192.168.7.7", **rules).address == "192.168.7.7"
    assert "place" in str(target("http://192.168.7.7/", "192.168.7.7", **rules))
    assert target("http://receiver.corp/", "169.254.169.254", **rules) == "the host leads to a metadata place"


def test_only_listed_hosts_are_told_where_the_policy_lists_some():
    assert doorkeeper(allow=("*.example.org",)).url_problems("https://hooks.example.org/") == []
    assert doorkeeper(allow=("*.example.org",)).url_problems("https://elsewhere.example.com/") != []


def test_a_name_is_resolved_once_and_the_connection_goes_to_what_was_judged():
    """A name that leads elsewhere at the next look leads nowhere: there is no next look."""
    asked = []

    async def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.2"]

    with Receiver() as receiver:
        post = HttpPost(doorkeeper(private=("rebind.corp",)), 5, rebinding)
        failure = asyncio.run(post(receiver.url(host="rebind.corp"), {}, b"{}"))

    assert failure is None
    assert asked == ["rebind.corp"]
    assert receiver.received[0].headers["host"] == f"rebind.corp:{receiver.port}"


@pytest.mark.parametrize(
    ("name", "trusted", "reason"),
    [
        ("receiver.corp", True, None),
        ("other.corp", True, "its certificate is not trusted"),
        ("receiver.corp", False, "its certificate is not trusted"),
    ],
    ids=["right", "another-name", "untrusted"],
)
def test_tls_is_verified_for_the_name_and_not_for_the_address(tmp_path, name, trusted, reason):
    pem = certificate(tmp_path, name)
    with Receiver(certificate=pem) as receiver:
        post = HttpPost(doorkeeper(private=("receiver.corp",)), 5, leading_to("127.0.0.1"))
        post._tls = ssl.create_default_context(cafile=str(pem) if trusted else None)
        failure = asyncio.run(post(receiver.url(host="receiver.corp"), {}, b"{}"))

    assert (failure.reason if failure else None) == reason
    assert len(receiver.received) == (0 if reason else 1)
