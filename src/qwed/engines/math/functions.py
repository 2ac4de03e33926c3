"""The functions an expression may call: their spellings and how many arguments each takes."""

from typing import Final

MANY: Final = 1_000

# canonical name: (fewest arguments, most arguments)
ARITY: Final[dict[str, tuple[int, int]]] = {
    **dict.fromkeys(
        ("sqrt", "cbrt", "abs", "floor", "ceil", "factorial", "exp", "ln", "sign", "fibonacci"), (1, 1)
    ),
    **dict.fromkeys(("sin", "cos", "tan", "cot", "sec", "csc"), (1, 1)),
    **dict.fromkeys(("asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"), (1, 1)),
    **dict.fromkeys(("log10", "log2", "degrees", "radians"), (1, 1)),
    "log": (1, 2),
    "round": (1, 2),
    **dict.fromkeys(("root", "pow", "mod", "binomial", "permutations", "percent_change", "ratio"), (2, 2)),
    **dict.fromkeys(("gcd", "lcm", "min", "max"), (1, MANY)),
    **dict.fromkeys(("sum", "product", "mean", "median", "mode", "range"), (1, MANY)),
    **dict.fromkeys(("geometric_mean", "harmonic_mean"), (1, MANY)),
    **dict.fromkeys(("variance", "sample_variance", "stdev", "sample_stdev"), (1, MANY)),
    **dict.fromkeys(("det", "inverse", "transpose", "trace", "rank"), (1, 1)),
    **dict.fromkeys(("dot", "cross"), (2, 2)),
    # finance: (principal, rate, years[, periods per year]); npv takes a rate and cash flows from year 0
    "compound_amount": (3, 4),
    "compound_interest": (3, 4),
    "simple_interest": (3, 3),
    "simple_amount": (3, 3),
    "present_value": (3, 4),
    "loan_payment": (3, 4),
    "annuity_value": (3, 4),
    "npv": (2, MANY),
    "cagr": (3, 3),
}

ALIASES: Final[dict[str, str]] = {
    **{name: name for name in ARITY},
    "squareroot": "sqrt",
    "cuberoot": "cbrt",
    "ceiling": "ceil",
    "fact": "factorial",
    "fib": "fibonacci",
    "sgn": "sign",
    "lg": "log10",
    "lb": "log2",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "cosec": "csc",
    "arsinh": "asinh",
    "arcosh": "acosh",
    "artanh": "atanh",
    "nthroot": "root",
    "power": "pow",
    "hcf": "gcd",
    "choose": "binomial",
    "comb": "binomial",
    "ncr": "binomial",
    "perm": "permutations",
    "npr": "permutations",
    "avg": "mean",
    "average": "mean",
    "total": "sum",
    "prod": "product",
    "minimum": "min",
    "maximum": "max",
    "var": "variance",
    "pvariance": "variance",
    "pstdev": "stdev",
    "std": "stdev",
    "stddev": "stdev",
    "determinant": "det",
    "inv": "inverse",
    "tr": "trace",
    "future_value": "compound_amount",
    "fv": "annuity_value",
    "pv": "present_value",
    "pmt": "loan_payment",
}

# Written without brackets they take the next factor alone: sin x, √2.
PREFIX: Final = frozenset(name for name, (_, most) in ARITY.items() if most == 1) | {"log"}

# Each says "of a list": mean of 2, 4 and 6.
OF_LIST: Final = frozenset(
    {
        *("sum", "product", "mean", "median", "mode", "range", "variance", "sample_variance", "stdev"),
        *("sample_stdev", "gcd", "lcm", "min", "max", "geometric_mean", "harmonic_mean"),
    }
)

CONSTANTS: Final = frozenset({"pi", "e", "tau"})
TRIGONOMETRIC: Final = frozenset({"sin", "cos", "tan", "cot", "sec", "csc"})
