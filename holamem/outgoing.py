"""Requests to addresses that somebody else chose: the address is checked when the socket opens.

A check of the name alone would be worth nothing: what it resolves to may change in between. So
the name is resolved once, every address that it has is looked at, and one of these is connected.
"""

import http.client
import ipaddress
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from holamem.errors import InvalidInput

URL_CHARACTERS = 2000
PORTS = {"http": 80, "https": 443}
CONNECT_SECONDS = 5.0
WHOLE_SECONDS = 15.0  # however slowly the other side sends
PRINTED_ASCII = re.compile(r"[!-~]+")
COMPATIBLE = ipaddress.ip_network("::/96")  # the same, in a form that is not used any more
NAT64 = ipaddress.ip_network("64:ff9b::/96")  # holds an IPv4 address, which may be private


class AddressRefused(Exception):
    """The name leads to a private address, and the operator allows none of that name."""


class NoAnswer(Exception):
    """Whatever went wrong: the words must not tell what a port of somebody's network does."""


@dataclass(frozen=True, slots=True)
class Target:
    scheme: str
    host: str
    port: int
    path: str  # with the query

    @property
    def shown_host(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    def is_named_in(self, hosts: Sequence[str]) -> bool:
        """`host` allows the usual ports, `host:port` that one."""
        exact = f"{self.host}:{self.port}"
        return exact in hosts or (self.host in hosts and self.port == PORTS[self.scheme])


def target_of(url: str, *, private_hosts: Sequence[str]) -> Target:
    """Raises InvalidInput: for another scheme, a strange port, credentials or a fragment."""
    if len(url) > URL_CHARACTERS or PRINTED_ASCII.fullmatch(url) is None or "\\" in url:
        raise _refused("This is no address of printed ASCII characters.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _refused("This is no address.") from error
    if parts.scheme not in PORTS or not host:
        raise _refused("An address with http or https is expected.")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise _refused("The address must hold no credentials and no fragment.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    target = Target(parts.scheme, host, port or PORTS[parts.scheme], path)
    if target.port not in PORTS.values() and not target.is_named_in(private_hosts):
        raise _refused("Only the ports 80 and 443 are allowed.")
    return target


def _refused(message: str) -> InvalidInput:
    return InvalidInput(message, field="url")


def post(
    target: Target, *, body: bytes, headers: Mapping[str, str], private_hosts: Sequence[str]
) -> int:
    """The status of the answer, whose body is not read; a redirect is an answer like any other.

    Raises AddressRefused and NoAnswer.
    """
    addresses = _addresses(target)
    if not target.is_named_in(private_hosts) and not all(map(is_public, addresses)):
        raise AddressRefused
    try:
        with _connected(target, addresses) as connection:
            connection.request("POST", target.path, body, {"Host": target.shown_host, **headers})
            return connection.getresponse().status
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoAnswer from error


def is_public(address: str) -> bool:
    """Also for an IPv4 address inside of an IPv6 one."""
    found: ipaddress.IPv4Address | ipaddress.IPv6Address
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inside = found.ipv4_mapped or found.sixtofour or (found.teredo or (None, None))[1]
        if found in NAT64 or found in COMPATIBLE:
            inside = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inside is not None:
            found = inside
    is_site_local = isinstance(found, ipaddress.IPv6Address) and found.is_site_local
    return found.is_global and not found.is_multicast and not is_site_local


def _addresses(target: Target) -> list[str]:
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NoAnswer from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@contextmanager
def _connected(target: Target, addresses: Sequence[str]) -> Iterator[http.client.HTTPConnection]:
    """A connection to one of the addresses, cut when the time is over."""
    connection = http.client.HTTPConnection(target.host, target.port)
    connection.auto_open = 0  # it must never look the name up by itself
    connection.sock = _open(addresses, port=target.port)
    cut = threading.Timer(WHOLE_SECONDS, _cut, [connection])
    cut.daemon = True
    cut.start()
    try:
        if target.scheme == "https":
            _secure(connection, host=target.host)
        yield connection
    finally:
        cut.cancel()
        connection.close()


def _open(addresses: Sequence[str], *, port: int) -> socket.socket:
    for address in addresses[:-1]:
        with suppress(OSError):
            return socket.create_connection((address, port), timeout=CONNECT_SECONDS)
    return socket.create_connection((addresses[-1], port), timeout=CONNECT_SECONDS)


def _secure(connection: http.client.HTTPConnection, *, host: str) -> None:
    """The hand-shake comes last, so that the time cuts it too."""
    context = ssl.create_default_context()
    secured = context.wrap_socket(
        connection.sock, server_hostname=host, do_handshake_on_connect=False
    )
    connection.sock = secured
    secured.do_handshake()


def _cut(connection: http.client.HTTPConnection) -> None:
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)
