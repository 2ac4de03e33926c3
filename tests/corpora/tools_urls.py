"""Outbound requests: addresses that must be refused in every spelling, and ordinary public ones.

The spellings are produced by encoders written here from the definitions of the forms (RFC 791, RFC 4291,
RFC 6052, RFC 3056, the URL standard's IPv4 parser), not by the code under test.
"""

import random
from collections.abc import Iterator
from urllib.parse import quote

PRIVATE_IPV4 = (
    "127.0.0.1",
    "127.127.127.127",
    "10.0.0.1",
    "10.255.255.254",
    "172.16.0.1",
    "172.31.255.254",
    "192.168.0.1",
    "192.168.1.254",
    "169.254.169.254",
    "169.254.170.2",
    "169.254.1.1",
    "100.64.0.1",
    "100.100.100.200",
    "0.0.0.0",
    "192.0.0.192",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
)
PUBLIC_IPV4 = ("8.8.8.8", "1.1.1.1", "93.184.216.34", "151.101.1.69", "172.15.0.1", "172.32.0.1", "11.0.0.1")


def _octets(address: str) -> list[int]:
    return [int(octet) for octet in address.split(".")]


def _number(address: str) -> int:
    first, second, third, fourth = _octets(address)
    return first * 16777216 + second * 65536 + third * 256 + fourth


def numeric_spellings(address: str) -> Iterator[str]:
    """Every way `inet_aton` and its relatives accept for one IPv4 address, the plain one left out."""
    octets = _octets(address)
    number = _number(address)
    yield str(number)
    yield hex(number)
    yield f"0X{number:X}"
    yield f"0{number:o}"
    yield ".".join(f"0{octet:o}" for octet in octets)
    yield ".".join(f"0000{octet:o}" for octet in octets)
    yield ".".join(hex(octet) for octet in octets)
    yield ".".join(f"0x00{octet:x}" for octet in octets)
    yield f"{octets[0]}.{number % 16777216}"
    yield f"{octets[0]}.{octets[1]}.{number % 65536}"
    yield f"0x{octets[0]:x}.{octets[1]}.0{octets[2]:o}.{octets[3]}"
    yield f"{octets[0]}.0x{number % 16777216:x}"
    yield str(number + 2**32)
    yield ".".join(str(octet + 256) for octet in octets)


_CIRCLED = {str(digit): chr(0x2460 + digit - 1) for digit in range(1, 10)} | {"0": "\u24ea"}


def unicode_spellings(host: str) -> Iterator[str]:
    yield "".join(chr(ord(character) + 0xFEE0) if character.isalnum() else character for character in host)
    yield host.replace(".", "\u3002")
    yield host.replace(".", "\uff0e")
    yield host.replace(".", "\uff61")
    yield "".join(_CIRCLED.get(character, character) for character in host)
    yield "".join(
        chr(ord(character) + 0x1D7CE - 48) if character.isdigit() else character for character in host
    )
    yield "".join(
        chr(ord(character) + 0x0660 - 48) if character.isdigit() else character for character in host
    )
    yield host[:1] + "\u00ad" + host[1:]
    yield host[:1] + "\u200b" + host[1:]


def ipv6_spellings(address: str) -> Iterator[str]:
    """IPv6 addresses behind which a translator or tunnel finds the IPv4 address."""
    first, second, third, fourth = _octets(address)
    high, low = f"{first * 256 + second:x}", f"{third * 256 + fourth:x}"
    yield f"[::ffff:{address}]"
    yield f"[::ffff:{high}:{low}]"
    yield f"[0:0:0:0:0:ffff:{address}]"
    yield f"[0000:0000:0000:0000:0000:FFFF:{high}:{low}]"
    yield f"[::{address}]"
    yield f"[::ffff:0:{high}:{low}]"
    yield f"[64:ff9b::{address}]"
    yield f"[64:ff9b::{high}:{low}]"
    yield f"[2002:{high}:{low}::]"
    yield f"[2002:{high}:{low}::1]"
    yield f"[2620:0:1::5efe:{address}]"


def encoded_spellings(host: str) -> Iterator[str]:
    yield "".join(f"%{ord(character):02x}" for character in host)
    yield f"%{ord(host[0]):02X}{host[1:]}"
    yield quote(quote("".join(f"%{ord(character):02x}" for character in host)))


def name_spellings(address: str) -> Iterator[str]:
    yield f"{address}.nip.io"
    yield f"{address.replace('.', '-')}.sslip.io"
    yield f"app.{address}.nip.io"
    yield f"{_number(address):08x}.nip.io"
    yield f"{address}.xip.io"
    yield f"{address}.example.com"


PRIVATE_IPV6 = (
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[0000::1]",
    "[fe80::1]",
    "[fe80::1%25eth0]",
    "[fe80::1%eth0]",
    "[::1%25lo]",
    "[fc00::1]",
    "[fd12:3456:789a::1]",
    "[fd00:ec2::254]",
    "[fec0::1]",
    "[ff02::1]",
    "[64:ff9b:1::1]",
    "[2001:db8::1]",
    "[100::1]",
    "[4000::1]",
)
INTERNAL_NAMES = (
    "localhost",
    "LOCALHOST",
    "localhost.",
    "LocalHost.localdomain",
    "foo.localhost",
    "ip6-localhost",
    "ip6-loopback",
    "metadata",
    "metadata.google.internal",
    "metadata.google.internal.",
    "METADATA.GOOGLE.INTERNAL",
    "metadata.goog",
    "instance-data",
    "instance-data.ec2.internal",
    "rancher-metadata",
    "metadata.packet.net",
    "printer.local",
    "db.corp",
    "wiki.intranet",
    "router.lan",
    "nas.home",
    "nas.home.arpa",
    "kubernetes.default.svc",
    "consul.service.consul",
    "kubernetes.default.svc.cluster.local",
    "host.docker.internal",
    "ip-10-0-0-1.ec2.internal",
    "redis",
    "intranet",
    "localtest.me",
    "api.localtest.me",
    "lvh.me",
    "spoofed.burpcollaborator.net",
    "7f000001.c0a80001.rbndr.us",
    "make-1.2.3.4-rebind-169.254-169.254-rr.1u.ms",
    "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3",
    "\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54",
    "lo\u0441alhost",
    "loc\u200balhost",
)
CONFUSING = (
    "http://google.com@127.0.0.1/",
    "http://google.com:80@169.254.169.254/",
    "http://google.com%40127.0.0.1/",
    "http://127.0.0.1@google.com/",
    "http://foo@evil.com:80@google.com/",
    "http://foo@127.0.0.1 @google.com/",
    "http://google.com#@evil.com/",
    "http://google.com#@127.0.0.1/",
    "http://google.com?@127.0.0.1/",
    "http://127.1.1.1:80\\@127.2.2.2:80/",
    "http://google.com\\@127.0.0.1/",
    "http://google.com:\\@@127.0.0.1/",
    "http://127.0.0.1:80#\\@google.com/",
    "http://localhost:\\@google.com/../",
    "http://1.1.1.1 &@2.2.2.2# @3.3.3.3/",
    "http://127.0.0.1:11211:80/",
    "http:\\\\127.0.0.1\\",
    "http:127.0.0.1",
    "http:/127.0.0.1",
    "http:///127.0.0.1",
    "http:////google.com",
    "https:google.com",
    "http://127.0.0.1%00.google.com/",
    "http://google.com%00.evil.com/",
    "http://127.0.0.1%09foo.google.com/",
    "http://127.0.0.1%2509foo.google.com",
    "http://127.0.0.1\tfoo.google.com",
    "http://exam\nple.com/",
    "http://example.com\r\nHost: evil/",
    "ht\ttp://127.0.0.1/",
    "\thttp://127.0.0.1/",
    "http://google.com\x00.evil.com",
    "//127.0.0.1/",
    "//169.254.169.254/latest",
    "/\\127.0.0.1/",
    "\\\\127.0.0.1\\share",
    "127.0.0.1",
    "127.0.0.1:6379",
    "localhost",
    "localhost:8080",
    "localhost/admin",
    "[::1]:80",
    "[::1]",
    "0x7f000001",
    "169.254.169.254/latest/meta-data/",
    "metadata.google.internal/computeMetadata/v1/",
    "http://o177.0.0.1/",
    "http://0o177.0.0.1/",
    "http://q177.0.0.1/",
    "http://0000::1:80/",
    "http://[::1/",
    "http://::1/",
    "http://[127.0.0.1]/",
    "http://[localhost]/",
    "http://127.0.0.1../",
    "http://.127.0.0.1/",
    "http:///",
    "http://",
    "http://?x",
    "http://evil$google.com/",
    "http://a b.com/",
    "http://ex%61mple.com/",
    "http://exam\u0440le.com/",
    "http://g\u043e\u043egle.com/",
    "http://xn--ggle-55da.com/",
    "0://evil.com:80;http://google.com:80/",
    "localhost:+11211aaa",
    "http://example.com:99999/",
    "http://example.com:0/",
    "http://example.com:8a/",
    "http://example.com:22/",
    "http://example.com:25/",
    "http://example.com:6379/",
    "http://example.com/%0d%0aX-Injected:%20yes",
    "http://example.com/?q=a%0d%0aHost:%20evil",
    "https://httpbin.org/redirect-to?url=http://169.254.169.254/",
    "https://httpbin.org/redirect-to?url=http%3A%2F%2F127.0.0.1%3A80",
    "https://httpbin.org/redirect-to?url=http%253A%252F%252F127.0.0.1",
    "https://example.com/go?next=//10.0.0.1/",
    "https://example.com/proxy?url=127.0.0.1:8080",
    "https://example.com/fetch?u=2130706433",
    "https://example.com/?q=file:///etc/passwd",
    "https://example.com/ssrf.php?url=gopher://127.0.0.1:25/x",
    "https://r.example.com/http://169.254.169.254/latest",
    "https://abc.example.cloud/proxy/169.254.169.254/latest/meta-data/",
    "https://help.example.com/icon-uri?consumerUri=http://169.254.169.254/metadata/v1/maintenance",
)
OTHER_SCHEMES = (
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "file://localhost/etc/passwd",
    "file:/etc/passwd",
    "file:etc",
    "gopher://127.0.0.1:6379/_x",
    "dict://example.com:11211/stat",
    "ftp://example.com/x",
    "sftp://example.com/",
    "tftp://example.com/x",
    "ldap://example.com/",
    "jar:http://example.com!/x",
    "netdoc:///etc/passwd",
    "php://filter/convert.base64-encode/resource=x",
    "phar://x",
    "data:text/html,hi",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "vbscript:x",
    "view-source:http://example.com",
    "ssh://example.com",
    "smb://example.com/share",
    "unix:///var/run/docker.sock",
    "mailto:a@example.com",
)


def hostile_urls() -> Iterator[str]:
    """Each leads, for some client, to a place that is not public, or is read differently by two clients."""
    for address in PRIVATE_IPV4:
        hosts = [address, f"{address}.", *numeric_spellings(address), *unicode_spellings(address)]
        hosts += [*ipv6_spellings(address), *encoded_spellings(address), *name_spellings(address)]
        for host in hosts:
            yield f"http://{host}/"
            yield f"https://{host}:8443/latest/meta-data/?a=b#c"
            yield f"HTTP://{host}"
    for host in (*PRIVATE_IPV6, *INTERNAL_NAMES):
        yield f"http://{host}/"
        yield f"https://{host}:8080/a"
        yield f"http://user@{host}/"
    for address in PUBLIC_IPV4:
        # Nobody writes a public address so, except to get past a filter.
        yield from (f"http://{host}/" for host in numeric_spellings(address))
        yield from (f"http://{host}/" for host in unicode_spellings(address))
    yield from CONFUSING
    yield from OTHER_SCHEMES


_WORDS = [
    "api",
    "docs",
    "shop",
    "news",
    "mail",
    "cdn",
    "img",
    "static",
    "login",
    "app",
    "blog",
    "data",
    "status",
    "help",
    "store",
    "forum",
    "wiki",
    "dev",
    "test",
    "my",
]
_DOMAINS = [
    "example.com",
    "example.org",
    "github.com",
    "python.org",
    "wikipedia.org",
    "bbc.co.uk",
    "amazon.de",
    "nasa.gov",
    "mit.edu",
    "openai.com",
    "cloudflare.com",
    "s3.amazonaws.com",
    "storage.googleapis.com",
    "blob.core.windows.net",
    "herokuapp.com",
    "vercel.app",
    "t.co",
    "stackoverflow.com",
    "nytimes.com",
    "gov.uk",
    "localhost-news.com",
    "internal-affairs.org",
    "metadata-hub.io",
    "corp-news.com",
    "my-local.news",
    "homeaway.com",
    "lan.com",
    "4chan.org",
    "1password.com",
    "9to5mac.com",
    "x.ai",
    "163.com",
    "a1.net",
    "10er-tagesticket.at",
]
_PATHS = (
    "",
    "/",
    "/index.html",
    "/v1/users/42",
    "/wiki/C++_(language)",
    "/a/b/../c",
    "/@user/post-1",
    "/maps/@37.77,-122.41,12z",
    "/search/127.0.0.1",
    "/path;v=1.2/x",
    "/file%20name.pdf",
    "/caf%C3%A9",
    "/caf\u00e9/men\u00fc",
    "/releases/v1.2.3.4",
    "/a:b/c",
    "/%E2%9C%93",
    "/localhost",
)
_QUERIES = (
    "",
    "?q=hello+world",
    "?a=1&b=2",
    "?email=me@example.com",
    "?q=127.0.0.1",
    "?next=/home",
    "?url=https%3A%2F%2Fexample.org%2Fpage",
    "?redirect_uri=http://localhost:3000/callback",
    "?redirect_uri=https://app.example.com/cb",
    "?text=line%201%0Aline%202",
    "?t=10:30",
    "?filter[name]=x",
    "#section-2",
    "#/route/@me",
    "?ip=10.0.0.1",
    "?utm_source=a&utm_medium=b#top",
)
INTERNATIONAL = (
    "https://b\u00fccher.de/",
    "https://xn--bcher-kva.de/",
    "https://\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444/",
    "https://xn--e1afmkfd.xn--p1ai/",
    "https://\u4f8b\u3048.\u30c6\u30b9\u30c8/",
    "https://\u0909\u0926\u093e\u0939\u0930\u0923.\u092d\u093e\u0930\u0924/",
    "https://\u0645\u062b\u0627\u0644.\u0645\u0635\u0631/",
    "https://\u03c0\u03b1\u03c1\u03ac\u03b4\u03b5\u03b9\u03b3\u03bc\u03b1.\u03b5\u03bb/",
    "https://\u00f1and\u00fa.es/",
    "https://www.stra\u00dfe.de/",
    "https://i\u2764.ws/",
    "https://[2606:4700:4700::1111]/dns-query",
    "https://[2a00:1450:4001:82a::200e]:443/",
    "https://8.8.8.8/resolve",
    "http://1.1.1.1/",
    "https://example.com:8443/",
    "http://example.com:8080",
    "http://example.com.:80/",
    "https://a-b.c_d.example.com/",
    "https://xn--fiqs8s.cn/",
    "/v1/users",
    "v1/users?limit=3",
    "users/42",
    "?page=2",
    "#top",
    "./a/../b",
    "api.example.com/v1",
    "example.com",
    "example.com:8443/x",
)


def ordinary_urls(count: int, seed: int = 7) -> Iterator[str]:
    """Public URLs as people and programs write them."""
    yield from INTERNATIONAL
    chooser = random.Random(seed)
    for _ in range(count):
        labels = [chooser.choice(_WORDS) for _ in range(chooser.randrange(3))]
        host = ".".join([*labels, chooser.choice(_DOMAINS)])
        port = chooser.choice(("", "", "", ":443", ":8080", ":8443", ":3000"))
        yield f"{chooser.choice(('https', 'http', 'HTTPS'))}://{host}{port}{chooser.choice(_PATHS)}{chooser.choice(_QUERIES)}"
