"""Logic questions with answers found by trying everything, never by the engine.

Every formula is a small tree made at random; an oracle evaluates it under every assignment of a
small domain that the formula itself states. The same tree is then written in each notation.
"""

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

VERIFIED, FAILED, UNCERTAIN = "VERIFIED", "FAILED", "UNCERTAIN"


class Case(NamedTuple):
    family: str
    query: str
    parameters: Mapping[str, Any]
    status: str
    answer: str


Tree = tuple[Any, ...]

# Propositions: every assignment of at most five of them.

_PROPOSITIONS = ("p", "q", "r", "s", "t")
_CONNECTIVES: dict[str, Callable[[bool, bool], bool]] = {
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "implies": lambda a, b: not a or b,
    "iff": lambda a, b: a == b,
    "xor": lambda a, b: a != b,
}
_WRITTEN = {
    "and": ("and", "∧", "&&", "&", "/\\"),
    "or": ("or", "∨", "||", "|", "\\/"),
    "implies": ("->", "→", "=>", "implies"),
    "iff": ("<->", "↔", "<=>", "iff"),
    "xor": ("xor", "⊕"),
    "not": ("not ", "¬", "!", "~"),
}
_SMTLIB = {"and": "and", "or": "or", "implies": "=>", "iff": "=", "xor": "xor", "not": "not"}


def proposition(dice: random.Random, depth: int, names: int = 4) -> Tree:
    if depth == 0 or dice.random() < 0.15:
        return ("name", _PROPOSITIONS[dice.randrange(names)])
    if dice.random() < 0.25:
        return ("not", proposition(dice, depth - 1, names))
    connective = dice.choice(tuple(_CONNECTIVES))
    return (connective, proposition(dice, depth - 1, names), proposition(dice, depth - 1, names))


def truth(tree: Tree, world: Mapping[str, bool]) -> bool:
    match tree:
        case ("name", name):
            return world[name]
        case ("not", operand):
            return not truth(operand, world)
        case (connective, left, right):
            return _CONNECTIVES[connective](truth(left, world), truth(right, world))
    raise AssertionError(tree)


def names_of(tree: Tree) -> set[str]:
    if tree[0] == "name":
        return {tree[1]}
    return set().union(*(names_of(part) for part in tree[1:]))


def infix(tree: Tree, dice: random.Random) -> str:
    match tree:
        case ("name", name):
            return str(name)
        case ("not", operand):
            return f"{dice.choice(_WRITTEN['not'])}({infix(operand, dice)})"
        case (connective, left, right):
            sign = dice.choice(_WRITTEN[connective])
            return f"({infix(left, dice)} {sign} {infix(right, dice)})"
    raise AssertionError(tree)


def prefix(tree: Tree, dice: random.Random) -> str:
    match tree:
        case ("name", name):
            return str(name)
        case (connective, *operands):
            word = connective.upper() if dice.random() < 0.5 else connective
            return f"({word} {' '.join(prefix(each, dice) for each in operands)})"
    raise AssertionError(tree)


def smtlib(tree: Tree) -> str:
    match tree:
        case ("name", name):
            return str(name)
        case (connective, *operands):
            return f"({_SMTLIB[connective]} {' '.join(map(smtlib, operands))})"
    raise AssertionError(tree)


def worlds(names: set[str]) -> Iterator[dict[str, bool]]:
    ordered = sorted(names)
    for values in itertools.product((False, True), repeat=len(ordered)):
        yield dict(zip(ordered, values, strict=True))


def propositional(dice: random.Random) -> Case:
    tree = proposition(dice, dice.randint(2, 4))
    satisfiable = any(truth(tree, world) for world in worlds(names_of(tree)))
    query = _in_some_notation(tree, dice)
    return Case("propositional", query, {}, *_sat(satisfiable))


def validity(dice: random.Random) -> Case:
    tree = proposition(dice, 3, names=3)
    if dice.random() < 0.4:
        tree = ("or", tree, ("not", tree)) if dice.random() < 0.5 else ("implies", tree, tree)
    valid = all(truth(tree, world) for world in worlds(names_of(tree)))
    answer = (VERIFIED, "valid") if valid else (FAILED, "not_valid")
    return Case("validity", _in_some_notation(tree, dice), {"question": "valid"}, *answer)


def equivalence(dice: random.Random) -> Case:
    left = proposition(dice, 3, names=3)
    right = _rewritten(left, dice) if dice.random() < 0.5 else proposition(dice, 3, names=3)
    same = all(
        truth(left, world) == truth(right, world) for world in worlds(names_of(left) | names_of(right))
    )
    answer = (VERIFIED, "equivalent") if same else (FAILED, "not_equivalent")
    parameters = {"question": "equivalent", "other": infix(right, dice)}
    return Case("equivalence", infix(left, dice), parameters, *answer)


def _rewritten(tree: Tree, dice: random.Random) -> Tree:
    """The same truth table, otherwise written."""
    match tree:
        case ("implies", left, right):
            return ("or", ("not", _rewritten(left, dice)), _rewritten(right, dice))
        case ("and", left, right):
            return ("not", ("or", ("not", _rewritten(left, dice)), ("not", _rewritten(right, dice))))
        case ("iff", left, right):
            return ("not", ("xor", left, right))
        case ("not", operand):
            return ("not", _rewritten(operand, dice))
    return tree


def entailment(dice: random.Random) -> Case:
    premises = [proposition(dice, 2, names=4) for _ in range(dice.randint(1, 4))]
    goal = proposition(dice, 2, names=4)
    names = set().union(names_of(goal), *map(names_of, premises))
    models = [world for world in worlds(names) if all(truth(premise, world) for premise in premises)]
    holding = [truth(goal, world) for world in models]
    if not models:
        answer = (UNCERTAIN, "contradictory_premises")
    elif all(holding):
        answer = (VERIFIED, "entailed")
    elif not any(holding):
        answer = (FAILED, "contradicted")
    else:
        answer = (FAILED, "undetermined")
    parameters = {"question": "entailed", "premises": [_formula(premise, dice) for premise in premises]}
    return Case("entailment", _formula(goal, dice), parameters, *answer)


def consistency(dice: random.Random) -> Case:
    statements = [proposition(dice, 2, names=3) for _ in range(dice.randint(2, 6))]
    names = set().union(*map(names_of, statements))
    consistent = any(all(truth(each, world) for each in statements) for world in worlds(names))
    answer = (VERIFIED, "consistent") if consistent else (FAILED, "inconsistent")
    parameters = {"question": "consistent", "premises": [infix(each, dice) for each in statements[1:]]}
    return Case("consistency", infix(statements[0], dice), parameters, *answer)


def _formula(tree: Tree, dice: random.Random) -> str:
    return infix(tree, dice) if dice.random() < 0.5 or tree[0] == "name" else prefix(tree, dice)


def _in_some_notation(tree: Tree, dice: random.Random) -> str:
    if dice.random() < 0.25:
        declared = "".join(f"(declare-const {name} Bool)" for name in sorted(names_of(tree)))
        return f"(set-logic QF_UF){declared}(assert {smtlib(tree)})(check-sat)"
    return _formula(tree, dice)


def _sat(satisfiable: bool) -> tuple[str, str]:
    return (VERIFIED, "satisfiable") if satisfiable else (FAILED, "unsatisfiable")


# Integers: every value within bounds that the formula states.

_LOW, _HIGH = -4, 5
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def _integer_term(dice: random.Random, names: str, depth: int) -> tuple[str, str, Callable[..., int]]:
    """Infix, SMT-LIB and meaning of an integer expression."""
    if depth == 0 or dice.random() < 0.3:
        if dice.random() < 0.6:
            name = dice.choice(names)
            return name, name, lambda world, name=name: world[name]
        value = dice.randint(0, 6)
        return str(value), str(value), lambda world, value=value: value
    kind = dice.choice(("+", "-", "*", "mod", "div", "neg"))
    left, left_smt, left_value = _integer_term(dice, names, depth - 1)
    if kind == "neg":
        return f"-({left})", f"(- {left_smt})", lambda world: -left_value(world)
    if kind in ("mod", "div"):
        modulus = dice.randint(2, 4)
        sign = {"mod": "%", "div": "//"}[kind]
        compute = {"mod": lambda a: a % modulus, "div": lambda a: a // modulus}[kind]
        return (
            f"(({left}) {sign} {modulus})",
            f"({kind} {left_smt} {modulus})",
            lambda world: compute(left_value(world)),
        )
    if kind == "*":
        factor = dice.randint(2, 4)
        return f"{factor} * ({left})", f"(* {factor} {left_smt})", lambda world: factor * left_value(world)
    right, right_smt, right_value = _integer_term(dice, names, depth - 1)
    operate = {"+": lambda a, b: a + b, "-": lambda a, b: a - b}[kind]
    return (
        f"({left} {kind} {right})",
        f"({kind} {left_smt} {right_smt})",
        lambda world: operate(left_value(world), right_value(world)),
    )


def integers(dice: random.Random) -> Case:
    names = "xyz"[: dice.randint(1, 3)]
    atoms = []
    for _ in range(dice.randint(1, 4)):
        left, left_smt, left_value = _integer_term(dice, names, 2)
        right, right_smt, right_value = _integer_term(dice, names, 1)
        sign = dice.choice(tuple(_COMPARE))
        atoms.append((f"{left} {sign} {right}", sign, left_smt, right_smt, left_value, right_value))

    def holds(world: Mapping[str, int]) -> bool:
        return all(_COMPARE[sign](left(world), right(world)) for _, sign, _, _, left, right in atoms)

    assignments = itertools.product(range(_LOW, _HIGH + 1), repeat=len(names))
    satisfiable = any(holds(dict(zip(names, values, strict=True))) for values in assignments)
    if dice.random() < 0.5:
        bounds = " and ".join(f"{_LOW} <= {name} <= {_HIGH}" for name in names)
        query = " and ".join([bounds, *(f"({text})" for text, *_ in atoms)])
    else:
        query = _integer_script(names, atoms)
    return Case("integers", query, {}, *_sat(satisfiable))


def _integer_script(names: str, atoms: list[Any]) -> str:
    lines = ["(set-logic QF_NIA)", *(f"(declare-fun {name} () Int)" for name in names)]
    lines += [f"(assert (and (>= {name} (- {-_LOW})) (<= {name} {_HIGH})))" for name in names]
    for _, sign, left, right, *_ in atoms:
        atom = f"(not (= {left} {right}))" if sign == "!=" else f"({sign} {left} {right})"
        lines.append(f"(assert {atom})")
    return "\n".join([*lines, "(check-sat)", "(exit)"])


# Bit vectors of four bits: every value.

_WIDTH = 4
_VECTORS: dict[str, Callable[[int, int], int]] = {
    "bvadd": lambda a, b: a + b,
    "bvsub": lambda a, b: a - b,
    "bvmul": lambda a, b: a * b,
    "bvand": lambda a, b: a & b,
    "bvor": lambda a, b: a | b,
    "bvxor": lambda a, b: a ^ b,
    "bvshl": lambda a, b: a << b,
    "bvlshr": lambda a, b: a >> b,
    "bvudiv": lambda a, b: a // b if b else 15,
    "bvurem": lambda a, b: a % b if b else a,
}
_VECTOR_ORDERS: dict[str, Callable[[int, int], bool]] = {
    "bvult": lambda a, b: a < b,
    "bvule": lambda a, b: a <= b,
    "bvslt": lambda a, b: _signed(a) < _signed(b),
    "bvsge": lambda a, b: _signed(a) >= _signed(b),
    "=": lambda a, b: a == b,
}


def _signed(value: int) -> int:
    return value - 16 if value >= 8 else value


def _vector_term(dice: random.Random, names: str, depth: int) -> tuple[str, Callable[..., int]]:
    if depth == 0:
        if dice.random() < 0.7:
            name = dice.choice(names)
            return name, lambda world, name=name: world[name]
        value = dice.randrange(16)
        return f"#b{value:04b}", lambda world, value=value: value
    operator = dice.choice(tuple(_VECTORS))
    left, left_value = _vector_term(dice, names, depth - 1)
    right, right_value = _vector_term(dice, names, depth - 1)
    compute = _VECTORS[operator]
    return f"({operator} {left} {right})", lambda world: compute(left_value(world), right_value(world)) % 16


def bit_vectors(dice: random.Random) -> Case:
    names = "ab"
    lines = ["(set-logic QF_BV)", *(f"(declare-const {name} (_ BitVec {_WIDTH}))" for name in names)]
    atoms = []
    for _ in range(dice.randint(1, 4)):
        order = dice.choice(tuple(_VECTOR_ORDERS))
        left, left_value = _vector_term(dice, names, 2)
        right, right_value = _vector_term(dice, names, 1)
        positive = dice.random() < 0.7
        lines.append(
            f"(assert {'' if positive else '(not '}({order} {left} {right}){'' if positive else ')'})"
        )
        atoms.append((_VECTOR_ORDERS[order], left_value, right_value, positive))
    satisfiable = any(
        all(order(left(world), right(world)) == positive for order, left, right, positive in atoms)
        for a, b in itertools.product(range(16), repeat=2)
        for world in [{"a": a, "b": b}]
    )
    return Case("bit vectors", "\n".join([*lines, "(check-sat)"]), {}, *_sat(satisfiable))


# Equality with one function: every partition of the terms that is a congruence.


def equality(dice: random.Random) -> Case:
    constants = "abcd"[: dice.randint(2, 4)]
    literals = []
    for _ in range(dice.randint(2, 6)):
        sides = [_equality_term(dice, constants) for _ in range(2)]
        literals.append((sides[0], sides[1], dice.random() < 0.6))
    satisfiable = any(
        all((_denoted(left, world) == _denoted(right, world)) == same for left, right, same in literals)
        for world in _structures(constants)
    )
    lines = ["(set-logic QF_UF)", "(declare-sort U 0)", "(declare-fun f (U) U)"]
    lines += [f"(declare-fun {name} () U)" for name in constants]
    for left, right, same in literals:
        atom = f"(= {_equality_text(left)} {_equality_text(right)})"
        lines.append(f"(assert {atom if same else f'(not {atom})'})")
    return Case("equality", "\n".join([*lines, "(check-sat)"]), {}, *_sat(satisfiable))


def _equality_term(dice: random.Random, constants: str) -> tuple[str, int]:
    """A constant and how often the function is applied to it."""
    return dice.choice(constants), dice.choice((0, 0, 1, 1))


def _equality_text(term: tuple[str, int]) -> str:
    name, times = term
    return f"(f {name})" if times else name


def _structures(constants: str) -> Iterator[tuple[dict[str, int], tuple[int, ...]]]:
    """Every way to place the constants and the values of the function among enough elements."""
    count = len(constants)
    elements = range(count + 2)
    for values in itertools.product(range(count), repeat=count):
        for table in itertools.product(elements, repeat=count):
            yield dict(zip(constants, values, strict=True)), table


def _denoted(term: tuple[str, int], world: tuple[dict[str, int], tuple[int, ...]]) -> int:
    name, times = term
    values, table = world
    return table[values[name]] if times else values[name]


# Arrays: reads after writes, followed by hand.


def arrays(dice: random.Random) -> Case:
    """Writes at known places, then a claim about a read."""
    array: dict[int, int] = {}
    term = "a"
    for _ in range(dice.randint(1, 5)):
        index, value = dice.randrange(4), dice.randrange(10)
        array[index] = value
        term = f"(store {term} {index} {value})"
    index = dice.choice(tuple(array))
    claimed = array[index] if dice.random() < 0.5 else dice.randrange(10)
    script = (
        f"(set-logic QF_ALIA)(declare-const a (Array Int Int))(assert (= (select {term} {index}) {claimed}))"
    )
    return Case("arrays", f"{script}(check-sat)", {}, *_sat(claimed == array[index]))


# First-order sentences: syllogisms over chains of kinds.

_KINDS = ("Cat", "Mammal", "Animal", "Being", "Plant", "Robot")


def first_order(dice: random.Random) -> Case:
    """ "All A are B" and "no A is B" along a random chain; what follows is the closure."""
    kinds = dice.sample(_KINDS, 4)
    premises: list[str] = []
    inclusions = {kind: {kind} for kind in kinds}
    exclusions: set[frozenset[str]] = set()
    for lower, upper in itertools.pairwise(kinds):
        if dice.random() < 0.8:
            premises.append(_all_are(lower, upper, dice))
            inclusions[lower].add(upper)
    if dice.random() < 0.5:
        pair = dice.sample(kinds, 2)
        premises.append(f"∀x ({pair[0]}(x) → ¬{pair[1]}(x))")
        exclusions.add(frozenset(pair))
    closure = _closure(inclusions)
    subject, predicate = dice.sample(kinds, 2)
    premises.append(f"{subject}(felix)")
    known = closure[subject]
    if _is_impossible(exclusions, known):
        answer = (UNCERTAIN, "contradictory_premises")
    elif predicate in known:
        answer = (VERIFIED, "entailed")
    elif _is_impossible(exclusions, known | closure[predicate]):
        answer = (FAILED, "contradicted")
    else:
        answer = (UNCERTAIN, "undetermined")
    return Case("first order", f"{predicate}(felix)", {"premises": premises}, *answer)


def _all_are(lower: str, upper: str, dice: random.Random) -> str:
    forms = ("∀x ({0}(x) → {1}(x))", "forall x. {0}(x) -> {1}(x)", "all x.({0}(x) implies {1}(x))")
    return dice.choice(forms).format(lower, upper)


def _closure(inclusions: dict[str, set[str]]) -> dict[str, set[str]]:
    closure = {kind: set(kinds) for kind, kinds in inclusions.items()}
    for _ in closure:
        for kind in closure:
            closure[kind] |= set().union(*(closure[upper] for upper in closure[kind]))
    return closure


def _is_impossible(exclusions: set[frozenset[str]], kinds: set[str]) -> bool:
    """Whether nothing can be of all these kinds."""
    return any(pair <= kinds for pair in exclusions)


FAMILIES = (
    propositional,
    validity,
    equivalence,
    entailment,
    consistency,
    integers,
    bit_vectors,
    equality,
    arrays,
    first_order,
)


def cases(count: int, seed: int = 1) -> Iterator[Case]:
    """`count` cases, of every family in turn; the same for the same seed."""
    dice = random.Random(seed)
    for number in range(count):
        yield FAMILIES[number % len(FAMILIES)](dice)
