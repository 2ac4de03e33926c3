"""Containers, clusters, clouds and other people's machines, through their SDKs."""

import re
from typing import Final

from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import PythonCall, Rule
from qwed.engines.code.python.rules import effects
from qwed.engines.code.python.rules.processes import judge_command
from qwed.engines.code.python.values import Const, Items, PythonTable, PythonValue, Ref

_HOST: Final = re.compile(r"(?:/|/etc|/root|/proc|/sys|/var/run/docker\.sock|/run/docker\.sock)/?(?::.*)?")
_POWERFUL: Final = frozenset({"ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE", "DAC_READ_SEARCH", "NET_ADMIN"})
_HOST_MODES: Final = ("pid_mode", "ipc_mode", "userns_mode", "pid", "ipc")
_EVERYBODY: Final = frozenset({"0.0.0.0/0", "::/0", "allUsers", "allAuthenticatedUsers"})
_ALL_RIGHTS: Final = re.compile(r"(?:AdministratorAccess|IAMFullAccess|PowerUserAccess)$|^roles/owner$")


def _texts(value: PythonValue | None) -> list[str]:
    """Every constant text in a value, keys of tables included."""
    match value:
        case Const(data=str(text)):
            return [text]
        case Items():
            return [text for item in value.items for text in _texts(item)]
        case PythonTable():
            keys = [str(key) for key in value.entries]
            return keys + [text for entry in value.entries.values() for text in _texts(entry)]
    return []


def _is_true(value: PythonValue | None) -> bool:
    return isinstance(value, Const) and value.data is True


def run_container(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`containers.run(image, privileged=True, volumes={"/": …})`."""
    run.report.effects.add("process")
    given = call.kwargs
    mounted = any(
        _HOST.fullmatch(text) for name in ("volumes", "binds", "mounts") for text in _texts(given.get(name))
    )
    capable = _POWERFUL & {text.removeprefix("CAP_") for text in _texts(given.get("cap_add"))}
    of_host = any(_texts(given.get(mode)) == ["host"] for mode in _HOST_MODES)
    if _is_true(given.get("privileged")) or mounted or capable or of_host:
        run.harm("privilege", call.line)
    return Ref(call.path + "()")


def container_security(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`V1SecurityContext(privileged=True)`, `V1PodSpec(host_pid=True)`."""
    names = ("privileged", "host_pid", "host_network", "host_ipc", "allow_privilege_escalation")
    if any(_is_true(call.kwargs.get(name)) for name in names):
        run.harm("privilege", call.line)
    return None


def host_path(run: Interpreter, call: PythonCall) -> PythonValue | None:
    if any(_HOST.fullmatch(text) for text in _texts(call.argument(0, "path"))):
        run.harm("privilege", call.line)
    return None


def share(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`put_bucket_acl(ACL="public-read")`, `create_container(public_access="blob")`."""
    run.report.effects.add("network")
    settings = [call.kwargs.get(name) for name in ("ACL", "ExtraArgs", "public_access", "predefined_acl")]
    spelled = [text for setting in settings for text in _texts(setting)]
    is_public = any(text.startswith(("public-", "publicRead", "authenticated-read")) for text in spelled)
    if is_public or {"container", "blob"} & set(_texts(call.kwargs.get("public_access"))):
        run.harm("opens-to-everybody", call.line)
    return None


def share_file(run: Interpreter, call: PythonCall) -> PythonValue | None:
    share(run, call)
    return effects.METHODS[call.path.rpartition(".")[2]](run, call)


def open_port(run: Interpreter, call: PythonCall) -> PythonValue | None:
    run.report.effects.add("network")
    if _EVERYBODY & {text for value in call.everything for text in _texts(value)}:
        run.harm("opens-to-everybody", call.line)
    return None


def make_public(run: Interpreter, call: PythonCall) -> PythonValue | None:
    run.report.effects.add("network")
    run.harm("opens-to-everybody", call.line)
    return None


def give_rights(run: Interpreter, call: PythonCall) -> PythonValue | None:
    run.report.effects.add("network")
    if any(_ALL_RIGHTS.search(text) for value in call.everything for text in _texts(value)):
        run.harm("privilege", call.line)
    else:
        run.doubt("privilege", call.line)
    return None


def run_remotely(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`fabric.Connection(host).run(text)`, `invoke.run(text)`: a shell reads the text."""
    run.report.effects.update({"process", "network"})
    if call.path.endswith("sudo"):
        run.harm("privilege", call.line)
    judge_command(run, call, call.argument(0, "command"))
    return Ref(call.path + "()")


def end_process(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """Every process there is, one after the other, without a question which one it is."""
    receiver = call.receiver
    path = receiver.path if isinstance(receiver, Ref) else ""
    if path.startswith("psutil."):
        run.report.effects.add("process")
    if path.startswith(("psutil.process_iter()", "psutil.pids()")) and run.choosing == 0:
        run.harm("destructive-command", call.line)
    return None


_CLIENTS: Final = (
    "docker.from_env()",
    "docker.DockerClient()",
    "podman.PodmanClient()",
    "docker.client.from_env()",
)
_K8S: Final = "kubernetes.client."
CALLS: dict[str, Rule] = {
    **{f"{client}.containers.{verb}": run_container for client in _CLIENTS for verb in ("run", "create")},
    "docker.APIClient().create_host_config": run_container,
    "docker.types.HostConfig": run_container,
    **{f"{_K8S}{name}": container_security for name in ("V1SecurityContext", "V1PodSpec")},
    f"{_K8S}V1HostPathVolumeSource": host_path,
    **{
        f"fabric.{owner}().{verb}": run_remotely
        for owner in ("Connection", "SerialGroup", "ThreadingGroup")
        for verb in ("run", "sudo", "local")
    },
    **{f"fabric.api.{verb}": run_remotely for verb in ("run", "sudo", "local")},
    **{f"invoke.{name}": run_remotely for name in ("run", "sudo", "Context().run", "Context().sudo")},
}
METHODS: dict[str, Rule] = {
    **dict.fromkeys(("put_bucket_acl", "put_object_acl", "create_bucket"), share),
    **dict.fromkeys(("put_object", "upload_file", "upload_fileobj"), share_file),
    **dict.fromkeys(("create_container", "set_container_access_policy"), share),
    **dict.fromkeys(("authorize_security_group_ingress", "set_iam_policy", "add_binding"), open_port),
    **dict.fromkeys(("make_public", "delete_public_access_block"), make_public),
    **dict.fromkeys(("attach_user_policy", "attach_role_policy", "attach_group_policy"), give_rights),
    **dict.fromkeys(("kill", "terminate"), end_process),
}
