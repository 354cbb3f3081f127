"""What is called outside, and what never is."""

import socket
from typing import Any

import pytest

from holamem import outgoing
from holamem.errors import InvalidInput
from holamem.outgoing import AddressRefused, NoAnswer, Target, is_public, post, target_of
from tests.receiver import receiving


def send(target: Target, *, allowed: tuple[str, ...] = ()) -> int:
    return post(target, body=b"{}", headers={"X-A": "b"}, private_hosts=allowed)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1",
        "169.254.169.254", "100.64.0.1", "224.0.0.1", "255.255.255.255",
        "::1", "::", "fd00::1", "fe80::1", "fe80::1%eth0", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1",
        "2002:7f00:1::", "2002:a00:1::", "::127.0.0.1", "::a00:1", "fec0::1",
    ],
)  # fmt: skip
def test_a_private_address_is_not_public_in_any_spelling(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "", "x", "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/",
        "http://", "http:///x", "http://user@example.com/", "http://a:b@example.com/",
        "http://evil@169.254.169.254/", "http://example.com/#x", "http://example.com:5432/",
        "http://example.com:99999/", "http://example.com/\r\nX: y", "http://exa mple.com/",
        "http://example.com\\@127.0.0.1/", "http://例子.com/", "http://[::1", "http://" + "a" * 2000,
    ],
)  # fmt: skip
def test_what_is_no_address_to_call_is_refused_by_name(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        target_of(url, private_hosts=())
    assert caught.value.field == "url"


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "localhost.", "127.1", "2130706433", "0x7f000001", "0177.0.0.1"],
)
def test_a_name_that_leads_home_is_refused_when_the_socket_opens(host: str) -> None:
    with receiving() as receiver:
        target = Target("http", host, receiver.port, "/")
        with pytest.raises((AddressRefused, NoAnswer)):  # some resolvers know no `localhost.`
            send(target)
        assert receiver.requests == []


def resolving(*rounds: list[str]) -> Any:
    """A resolver whose answers change from one question to the next."""
    left = list(rounds)

    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        addresses = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in addresses]

    return resolve


def test_a_name_with_one_private_address_among_others_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outgoing.socket, "getaddrinfo", resolving(["93.184.215.14", "10.0.0.1"]))
    with pytest.raises(AddressRefused):
        send(Target("http", "example.com", 80, "/"))


def test_a_name_is_resolved_once_and_the_checked_address_is_connected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Public at the check and private at the connection would be of no use."""
    connected: list[Any] = []

    def connect(address: Any, **_: Any) -> socket.socket:
        connected.append(address)
        raise OSError

    monkeypatch.setattr(outgoing.socket, "getaddrinfo", resolving(["93.184.215.14"], ["127.0.0.1"]))
    monkeypatch.setattr(outgoing.socket, "create_connection", connect)
    with pytest.raises(NoAnswer):
        send(Target("http", "rebound.example", 80, "/"))
    assert connected == [("93.184.215.14", 80)]


def test_the_operator_may_allow_one_host_and_port() -> None:
    with receiving() as receiver:
        target = target_of(receiver.url, private_hosts=[receiver.host])
        assert send(target, allowed=(receiver.host,)) == 200
        [(headers, body)] = receiver.requests
        assert (headers["host"], headers["x-a"], body) == (receiver.host, "b", b"{}")
        with pytest.raises(InvalidInput):
            target_of(receiver.url, private_hosts=["127.0.0.1:1"])


def test_a_redirect_is_not_followed() -> None:
    with receiving() as receiver:
        receiver.answers = [302]
        target = target_of(receiver.url, private_hosts=[receiver.host])
        assert send(target, allowed=(receiver.host,)) == 302
        assert len(receiver.requests) == 1


def test_a_closed_port_and_an_endless_answer_look_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing, "WHOLE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(NoAnswer):
            send(Target("http", "127.0.0.1", port, "/"), allowed=(f"127.0.0.1:{port}",))
    with pytest.raises(NoAnswer):
        send(Target("http", "127.0.0.1", port, "/"), allowed=(f"127.0.0.1:{port}",))
