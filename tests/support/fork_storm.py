"""Forks children of a process whose client has open connections, and lets all ask at once.

    python -m tests.support.fork_storm BASE_URL AGENT_ID TOKEN CHILDREN ROUNDS

Each proposes false sums that nobody else proposes: the gateway corrects them, so every answer shows which
question it is for. Prints: how many children, right answers, refused answers, wrong answers.
"""

import os
import sys
import threading

from qwed_sdk import GatewayUnavailable, QWEDClient


def question(number: int) -> tuple[dict[str, str], dict[str, object], str]:
    """An action, its place, and the sum as the gateway corrects it."""
    context = {"conversation_id": f"sum-{number}", "step_number": 1}
    return {"type": "calculate", "query": f"{number}+1=0"}, context, f"{number}+1={number + 1}"


def ask(client: QWEDClient, agent_id: str, first: int, rounds: int) -> tuple[int, int, int]:
    right = refused = wrong = 0
    for number in range(first, first + rounds):
        action, context, corrected = question(number)
        try:
            decision = client.verify_action(agent_id, action, context)
        except GatewayUnavailable:
            refused += 1
            continue
        is_right = decision["corrected_action"]["query"] == corrected
        right, wrong = right + is_right, wrong + (not is_right)
    return right, refused, wrong


def main() -> None:
    base_url, agent_id, token, children, rounds = sys.argv[1:]
    client = QWEDClient(base_url=base_url, max_tries=3)
    client.use_agent_token(agent_id, token)
    ask(client, agent_id, 900_000, 2)
    busy = [
        threading.Thread(target=ask, args=(client, agent_id, 910_000 + 1000 * n, int(rounds)))
        for n in range(2)
    ]
    for thread in busy:
        thread.start()
    reader, writer = os.pipe()
    pids = []
    for number in range(int(children)):
        pid = os.fork()
        if pid == 0:
            found = ask(client, agent_id, 1000 * number, int(rounds))
            os.write(writer, b"%d %d %d\n" % found)
            os._exit(0)
        pids.append(pid)
    os.close(writer)
    for thread in busy:
        thread.join(300)
    rows = [[int(part) for part in line.split()] for line in os.fdopen(reader)]
    ended = [os.waitpid(pid, 0)[1] for pid in pids]
    assert not any(ended), ended
    print(len(rows), *(sum(column) for column in zip(*rows, strict=True)))


if __name__ == "__main__":
    main()
