"""Columns that by their name hold credentials or personal identifiers."""

import re
from typing import Final

from qwed.engines.words import words

_CREDENTIAL_WORDS: Final = words(
    """
    password passwd pwd passphrase passcode secret secrets apikey credential credentials passwordhash
    pwdhash privatekey otp totp
    """
)
_CREDENTIAL_NAMES: Final = words(
    """
    pass pw pin token accesstoken refreshtoken authtoken sessiontoken apitoken bearertoken apikey apisecret
    accesskey secretkey privatekey passhash pwhash hashedpassword passwordsalt salt authkey userpass userpwd
    """
)
_PERSONAL_NAMES: Final = words(
    """
    ssn socialsecuritynumber socialsecurity nationalid taxid passportnumber passportno driverlicense
    driverslicense creditcard creditcardnumber cardnumber ccnumber ccnum cvv cvc cvv2 iban accountnumber
    bankaccount routingnumber dateofbirth dob salary
    """
)
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def is_credential(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name[:200])]
    return not _CREDENTIAL_WORDS.isdisjoint(words) or "".join(words) in _CREDENTIAL_NAMES


def is_sensitive(name: str) -> bool:
    return is_credential(name) or "".join(filter(str.isalnum, name.lower())) in _PERSONAL_NAMES
