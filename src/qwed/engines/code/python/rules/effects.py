"""Effects that count alike in every language, and what has them here."""

from typing import Final

from qwed.engines.code import places
from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import PythonCall, Rule
from qwed.engines.code.python.rules import files, network
from qwed.engines.code.python.values import UNKNOWN, Const, PythonValue, Ref

_MANY: Final = 50


def drop_database(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`MongoClient().drop_database("shop")`, `Redis().flushall()`."""
    run.report.effects.add("database")
    run.harm("destructive-command", call.line)
    return None


def change_owner(run: Interpreter, call: PythonCall) -> PythonValue:
    run.report.effects.add("file-write")
    if any(
        places.is_system(name) or places.is_sensitive(name)
        for name in files.find_known_names(call.argument(0, "path"))
    ):
        run.harm("permissions", call.line)
    return UNKNOWN


def change_times(run: Interpreter, call: PythonCall) -> PythonValue:
    """A file of the machine is made to look older or newer than it is."""
    run.report.effects.add("file-write")
    if any(places.is_system(name) for name in files.find_known_names(call.argument(0, "path"))):
        run.harm("covers-tracks", call.line)
    return UNKNOWN


def clear_history(run: Interpreter, call: PythonCall) -> PythonValue:
    run.harm("covers-tracks", call.line)
    return UNKNOWN


def write_crontab(run: Interpreter, call: PythonCall) -> PythonValue:
    run.harm("persistence", call.line)
    return UNKNOWN


def send_path(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`upload_file("/home/ann/x", …)`: a file is named, and leaves."""
    run.report.effects.add("network")
    for name in files.find_known_names(call.argument(0)):
        if places.is_sensitive(name) or places.is_local_secret(name) or places.leaves_working_tree(name):
            run.harm("exfiltration", call.line)
    return None


def send_somewhere(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """A method that sends, on a value whose type is not known: only what must not leave counts."""
    if isinstance(call.receiver, Ref) and call.receiver.path.startswith(
        ("queue.", "multiprocessing.", "asyncio.")
    ):
        return None
    for argument in call.everything:
        leaking = network.leaks(argument)
        if leaking:
            run.report.effects.add("network")
            run.harm("exfiltration", call.line, leaking)
    return None


def look_up_host(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """A name server reads every name it is asked for."""
    run.report.effects.add("network")
    return send_somewhere(run, call)


def start_worker(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """A thread or process that is started in a loop that never waits."""
    run.report.effects.add("process")
    if run.bare_loops:
        run.harm("fork-bomb", call.line)
    return None


def rent_machines(run: Interpreter, call: PythonCall) -> PythonValue | None:
    run.report.effects.add("network")
    for name in ("MinCount", "MaxCount", "count", "desired_capacity", "DesiredCapacity"):
        count = call.kwargs.get(name)
        if isinstance(count, Const) and isinstance(count.data, int) and count.data >= _MANY:
            run.doubt("uses-up-the-machine", call.line)
    return None


def pay(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """The same payment, again and again."""
    run.report.effects.add("network")
    if len(run.pending) > 1 and call.kwargs and all(isinstance(each, Const) for each in call.everything):
        run.doubt("uses-up-the-machine", call.line)
    return None


_SENDING: Final = (
    *("post", "put", "patch", "send", "sendall", "sendto", "send_message", "sendmail", "send_text"),
    *("send_bytes", "send_json", "publish", "emit", "upload_fileobj", "put_object", "storlines"),
)
CALLS: dict[str, Rule] = {
    **dict.fromkeys(("os.chown", "os.lchown", "shutil.chown"), change_owner),
    "os.utime": change_times,
    "readline.clear_history": clear_history,
    **dict.fromkeys(("crontab.CronTab().write", "crontab.CronTab().write_to_user"), write_crontab),
    **dict.fromkeys(("socket.gethostbyname", "socket.getaddrinfo", "socket.gethostbyname_ex"), look_up_host),
    **dict.fromkeys(("dns.resolver.resolve", "dns.resolver.query"), look_up_host),
    **dict.fromkeys(("threading.Thread", "multiprocessing.Process", "threading.Timer"), start_worker),
    **{f"stripe.{kind}.create": pay for kind in ("Transfer", "Payout", "Charge", "PaymentIntent")},
}
METHODS: dict[str, Rule] = {
    **dict.fromkeys(("drop_database", "flushall", "dropDatabase"), drop_database),
    **dict.fromkeys(("upload_file", "upload_from_filename", "fput_object"), send_path),
    **dict.fromkeys(_SENDING, send_somewhere),
    "run_instances": rent_machines,
}
# `paramiko.SSHClient().open_sftp().put(path, …)`: a path, not what is in it.
CALLS["paramiko.SSHClient().open_sftp().put"] = send_path
CALLS["paramiko.SFTPClient.from_transport().put"] = send_path
