"""Signatures of a key that is elsewhere: whoever waits for one lets others have the loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final, TypeVar

from qwed.ect.remote_keys import KeyUnusable
from qwed.gateway.kernel.ports import Signer, SigningFailed

T = TypeVar("T")

#: How many signatures are under way at once. Each has its deadline in the key; the others wait in line.
AT_ONCE: Final = 16


async def ask_signer(signer: Signer, call: Callable[[], T]) -> T:
    """What `call`, which signs with `signer`, returns. Raises `SigningFailed` where the key can't be used."""
    loop = asyncio._get_running_loop()
    try:
        if loop is None or not signer.is_remote:
            return call()
        return await loop.run_in_executor(_threads(), call)
    except KeyUnusable as error:
        raise SigningFailed(str(error)) from None


@cache
def _threads() -> ThreadPoolExecutor:
    """Of their own: a cloud that hangs must not take the threads that read requests."""
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="qwed-sign")
