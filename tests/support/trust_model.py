"""The trust score in a page of plain Python: the whole history is read again for every question.

Fractions instead of decimals, sorting instead of queues, no state. Slow, and meant to be.
"""

from fractions import Fraction

GOOD = {"task_success": Fraction(1), "task_partial": Fraction(1, 2)}
SQUARED = {"policy_violation", "attestation_invalid"}
ABOUT = {
    "atd:error",
    "atd:rollback_request",
    "atd:checkpoint",
    "apae:trust_assertion",
    "apae:trust_revoke",
    "apae:compliance_check",
    "apae:spec_update",
    "hitl:decision",
}


def delivered(history):
    """(claims, at): each token once, signed ones only, times made to go forward."""
    result, latest, known = [], 0, set()
    for claims, at, is_signed in history:
        if is_signed and claims.jti not in known:
            known.add(claims.jti)
            latest = max(latest, at)
            result.append((claims, latest))
    return result


def moves(history, observer, peer, rules, verifiers=()):
    """[(time, event, evidence)] of everything that moves the peer's score, in order."""
    stream = delivered(history)
    position = {claims.jti: index for index, (claims, _) in enumerate(stream)}

    def token(jti, before):
        index = position.get(jti)
        return stream[index][0] if index is not None and index <= before else None

    answers = {}  # the observer's task -> position of the token that answers it
    for index, (claims, _) in enumerate(stream):
        if claims.exec_act in ABOUT or claims.iss == observer:
            continue
        if claims.ext.get("apae.result", "success") not in ("success", "partial"):
            continue
        for jti in claims.par:
            request = token(jti, index)
            if request is None or request.iss != observer or request.exec_act in ABOUT:
                continue
            if claims.iss in request.aud and jti not in answers:
                answers[jti] = index
                break
    task_of = {stream[index][0].jti: task for task, index in answers.items()}

    def believed(accuser, work, before):
        if accuser in (observer, peer) or accuser in verifiers:
            return True
        requests = [token(jti, before) for jti in work.par] if work.iss == peer else []
        return any(r is not None and r.iss == accuser and peer in r.aud for r in requests)

    bad = []  # (position, time, event, evidence, task)
    for index, (claims, at) in enumerate(stream):
        if claims.exec_act == "apae:compliance_check" and (claims.iss == observer or claims.iss in verifiers):
            for violation in claims.ext.get("apae.violations", []):
                work = token(violation["jti"], index)
                if work is not None and work.iss == peer:
                    bad.append((index, at, "policy_violation", None, violation["jti"]))
        if claims.exec_act not in ("atd:error", "atd:rollback_request"):
            continue
        kind, target = claims.ext.get("atd.error_type"), claims.ext.get("atd.target_agent")
        event = "task_failure"
        if claims.exec_act == "atd:rollback_request":
            event = "rollback_triggered"
        elif kind == "constraint_violation":
            event = "policy_violation"
        elif kind == "timeout" and claims.iss == observer:
            event = "task_timeout"
        named = False
        for jti in claims.par:
            work = token(jti, index)
            if work is None:
                continue
            who = [name for name in work.aud if name != observer] if work.iss == observer else [work.iss]
            named = named or any(target in (None, name) for name in who)
            if peer not in who or target not in (None, peer) or not believed(claims.iss, work, index):
                continue
            if event == "task_timeout":
                asked = work.iss == observer and work.exec_act not in ABOUT
                is_open = asked and answers.get(jti, len(stream)) > index
                if not is_open or at - stream[position[jti]][1] < rules.timeout_seconds:
                    continue
            bad.append((index, at, event, claims.jti, jti))
        is_trusted = claims.iss in (observer, peer) or claims.iss in verifiers
        if not named and target == peer and is_trusted and event != "task_timeout":
            bad.append((index, at, event, claims.jti, claims.jti))

    counted, used, spoilt = [], set(), {}
    for index, at, event, evidence, jti in bad:
        task = task_of.get(jti, jti)
        if (evidence is not None and evidence in used) or (task, event) in used:
            continue
        used |= {(task, event), evidence or stream[index][0].jti}
        spoilt.setdefault(task, (index, at))
        counted.append((at, index, event, stream[index][0].jti))
    for task, index in answers.items():
        claims, at = stream[index]
        due = at + rules.settle_seconds
        is_spoilt = task in spoilt and (spoilt[task][0] < index or spoilt[task][1] < due)
        if claims.iss == peer and not is_spoilt:
            partial = claims.ext.get("apae.result") == "partial"
            counted.append((due, index, "task_partial" if partial else "task_success", claims.jti))
    return [(at, event, evidence) for at, _, event, evidence in sorted(counted)]


def score(history, observer, peer, rules, now, verifiers=(), begin=None):
    initial, step = Fraction(rules.initial), Fraction(rules.decay_per_day)
    value, since = Fraction(begin or rules.initial), None

    def idle(value, seconds):
        days = seconds // 86_400 - rules.idle_days
        return value if days <= 0 or value <= initial else max(initial, value - days * step)

    for at, event, _ in moves(history, observer, peer, rules, verifiers):
        if at > now:
            break
        value = idle(value, at - since) if since is not None else value
        if event in GOOD:
            value = min(Fraction(1), value + GOOD[event] * Fraction(rules.alpha))
        else:
            value *= Fraction(rules.beta) ** (2 if event in SQUARED else 1)
        since = at
    return value if since is None else idle(value, now - since)
