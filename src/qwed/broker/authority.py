"""A certificate authority for one run: its key stays in memory, and it speaks for the listed hosts alone."""

import datetime
import os
import ssl
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE: Final = datetime.timedelta(hours=24)
_SLACK: Final = datetime.timedelta(minutes=5)
_CA_USE: Final = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)
_LEAF_USE: Final = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


class RunAuthority:
    """Makes one certificate for each host at the start, and forgets its key."""

    def __init__(self, hosts: Iterable[str], now: datetime.datetime) -> None:
        names = sorted(hosts)
        key = ec.generate_private_key(ec.SECP256R1())
        self.ends = now + LIFE
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "QWED broker, one run")])
        self._identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        builder = self._builder(now, self._subject, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_CA_USE, critical=True)
        permitted = [x509.DNSName(name) for name in names] or [x509.DNSName("invalid")]
        constraints = x509.NameConstraints(permitted_subtrees=permitted, excluded_subtrees=None)
        builder = builder.add_extension(constraints, critical=True)
        builder = builder.add_extension(self._identifier, critical=False)
        self.certificate = builder.sign(key, hashes.SHA256())
        self.contexts: Mapping[str, ssl.SSLContext] = {name: self._context(name, key, now) for name in names}

    def _builder(
        self, now: datetime.datetime, subject: x509.Name, public: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        builder = x509.CertificateBuilder(issuer_name=self._subject, subject_name=subject, public_key=public)
        builder = builder.serial_number(x509.random_serial_number())
        return builder.not_valid_before(now - _SLACK).not_valid_after(self.ends)

    def _context(
        self, host: str, issuer: ec.EllipticCurvePrivateKey, now: datetime.datetime
    ) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:64])])
        builder = self._builder(now, subject, key.public_key())
        own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        by = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._identifier)
        extensions: list[tuple[x509.ExtensionType, bool]] = [
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (_LEAF_USE, True),
            (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
            (x509.SubjectAlternativeName([x509.DNSName(host)]), False),
            (own, False),
            (by, False),
        ]
        for extension, is_critical in extensions:
            builder = builder.add_extension(extension, critical=is_critical)
        certificate = builder.sign(issuer, hashes.SHA256())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        with _in_memory(certificate.public_bytes(serialization.Encoding.PEM) + private) as place:
            context.load_cert_chain(place)
        return context

    def write_bundle(self, file: Path) -> None:
        """The system's roots, and this authority: what a program of this run trusts."""
        roots = ssl.create_default_context().get_ca_certs(binary_form=True)
        text = "".join(map(ssl.DER_cert_to_PEM_cert, roots))
        own = self.certificate.public_bytes(serialization.Encoding.PEM).decode()
        file.write_text(text + own, encoding="ascii")


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """A path to these bytes, which `ssl` insists on; on no disk where the system has files in memory."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("qwed-broker", os.MFD_CLOEXEC)
        try:
            os.write(number, content)
            yield f"/proc/self/fd/{number}"
        finally:
            os.close(number)
        return
    with tempfile.NamedTemporaryFile(prefix="qwed-broker-") as file:
        file.write(content)
        file.flush()
        yield file.name
