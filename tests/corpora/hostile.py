"""Texts made to keep their reader busy: each must be answered, and what that costs is bounded.

The tests count the calls that an answer takes; `bench/hostile.py` has the time.
"""

CODE = {
    "parentheses": "(" * 60_000,
    "balanced": "(" * 5_000 + ")" * 5_000,
    "minus": "-" * 60_000 + "1",
    "attributes": "a" + ".b" * 30_000,
    "calls": "f" + "()" * 30_000,
    "sum": "1" + "+1" * 30_000,
    "doubling": "x='a'\n" + "x=x+x\n" * 8_000,
    "ifs": "if a: b=1\n" * 6_000,
    "loops": "".join(" " * i + f"for x{i} in range(99):\n" for i in range(60)) + " " * 60 + "pass",
    "call tree": "def f0(x): return x\n"
    + "\n".join(f"def f{i}(x): return f{i - 1}(f{i - 1}(x))" for i in range(1, 900))
    + "\nf899(1)",
    "tower": "9**9**9**9",
    "null": "a\0b",
    "surrogate": "\ud800",
    "digits": "9" * 60_000,
    "lambdas": "lambda:" * 9_000 + "1",
    "comprehensions": "[" * 50 + "x" + " for x in range(99)]" * 50,
    "replace": "x='a'*60000\n" + "y=x.replace('','b'*60000)\n" * 100,
    "pipes": "a|" * 30_000,
    "substitutions": "$(" * 20_000,
    "braces": "echo " + "{a,b}" * 10_000,
    "doubling variables": "a=1;" + "a=$a$a;" * 8_000,
    "here-documents": "<<a " * 10_000,
    "functions": "".join(f"f{i}(){{ f{i + 1}; f{i + 1}; }};" for i in range(2_500)),
    "quotes": "'" * 60_000,
    "templates": "`${" * 10_000,
    "arrows": "a=>" * 20_000,
    "stars": "/" + "*a" * 20_000,
}

SQL = {
    "many ors": "SELECT 1 FROM t WHERE " + "a = 1 OR " * 20_000 + "b = 2",
    "ors within the bounds": "SELECT 1 FROM t WHERE " + "a = 1 OR " * 8_000 + "b = 2",
    "parentheses": "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
    "open parentheses": "SELECT " + "(" * 50_000,
    "nots": "SELECT 1 FROM t WHERE " + "NOT " * 20_000 + "a",
    "minuses": "SELECT " + "- " * 20_000 + "1",
    "cases": "SELECT " + "CASE WHEN a THEN " * 3_000 + "1" + " END" * 3_000,
    "joins without conditions": "SELECT 1 FROM t " + "JOIN t " * 40,
    "left joins, conditions last": "SELECT 1 FROM t " + "LEFT JOIN t " * 30 + "ON 1=1 " * 30,
    "subscripts": "SELECT a" + "[1]" * 20_000,
    "unions": "SELECT 1 " + "UNION SELECT 1 " * 6_000,
    "an open string": "SELECT '" + "a" * 50_000,
    "quotes": "'" * 50_001,
    "backslashes": "SELECT '" + "\\'" * 30_000,
    "open comments": "/*" * 30_000,
    "dollars": "SELECT " + "$a$" * 20_000,
    "semicolons": ";" * 90_000,
    "statements": "SELECT 1;" * 10_000,
    "explains": "EXPLAIN " * 10_000 + "SELECT 1",
    "prepares": "PREPARE x AS " * 5_000 + "SELECT 1",
    "intervals": "SELECT " + "INTERVAL " * 9_000 + "1",
    "a nul": "SELECT 1\x00",
    "a surrogate": "SELECT '\ud800'",
    "a megabyte": "SELECT '" + "a" * 1_000_000 + "'",
    "a block": "DO $$ " + "BEGIN DELETE FROM t; END; " * 3_000 + "$$",
    "executable comments": "SELECT 1 " + "/*!50000 UNION SELECT 1 */" * 3_000,
    "types": "SELECT CAST(a AS " + "ARRAY<" * 5_000 + "INT" + ">" * 5_000 + ")",
    "equations": "SELECT a" + " = b" * 20_000,
    "true equations": "SELECT 1 FROM t WHERE x OR 1" + "=1" * 20_000,
    "sums": "SELECT 1 FROM t WHERE a = 1 OR " + "1+" * 20_000 + "1 = 2",
    "ors and ands": "SELECT 1 FROM t WHERE " + "a = 1 OR b = 2 AND 1=1 AND " * 3_000 + "c",
    "exists": "SELECT 1 FROM t WHERE " + "EXISTS (SELECT 1 FROM t) OR " * 2_500 + "a",
    "tables": "SELECT 1 FROM " + ", ".join(f"t{number}" for number in range(9_000)),
    "ctes": "WITH " + ", ".join(f"a{n} AS (SELECT * FROM a{n - 1})" for n in range(1, 2_500)) + " SELECT 1",
    "columns of many tables": "SELECT "
    + "a, " * 30_000
    + "a FROM "
    + ", ".join(f"t x{n}" for n in range(290)),
    "a dotted function": "SELECT a" + ".b" * 20_000 + "(1)",
    "doubling stars": "WITH a0 AS (SELECT * FROM t), "
    + ", ".join(f"a{n} AS (SELECT x.*, y.* FROM a{n - 1} x, a{n - 1} y)" for n in range(1, 40))
    + " SELECT * FROM a39",
}

MATH = {
    "a megabyte of brackets": "(" * 1_000_000,
    "five thousand brackets": "(" * 5_000 + "1" + ")" * 5_000,
    "a hundred brackets": "(" * 100 + "1" + ")" * 100,
    "a tower of powers": "9**9**9**9",
    "a long tower": "^".join(["2"] * 1_500),
    "large factors": "2^65000 * 2^65000",
    "many large powers": "+".join(["3^40000"] * 900),
    "a large factorial": "100000!",
    "factorials of factorials": "((5!)!)!",
    "many factorials": "5" + "!" * 3_000,
    "many signs": "-" * 3_000 + "1",
    "many roots": "√" * 3_000 + "2",
    "many root words": "sqrt " * 3_000 + "2",
    "many parts": "half of " * 1_500 + "2",
    "many comparisons": "5 less than " * 1_000 + "5",
    "many derivatives": "derivative of " * 1_000 + "x",
    "many verbs": "increasing " * 1_500,
    "twenty thousand digits": "9" * 20_000,
    "a huge exponent": "1e999999999",
    "many sums of fractions": "+".join(f"1/{n}" for n in range(1, 1_000)),
    "many variables": "(x+y+z+a+b+c)^60 = 1",
    "many factors": "*".join(["(x+y+z+1)"] * 60) + " = x",
    "a tower of exponentials": "exp(exp(exp(exp(100)))) = 1",
    "a huge exponential": "e^(10^9) = 1",
    "the sine of a huge number": "sin(10^4000) = 0.5",
    "a huge root": "root(2, 100000)",
    "a huge power of pi": "pi^1000000000",
    "open matrices": "[" * 2_000,
    "the power of a matrix": "[[1,2],[3,4]]^200",
    "a huge binomial": "5000 choose 2500",
    "a high degree": "solve x^20 - 99999999x + 1 = 0; x = 1",
    "open annotations": "<<" * 1_900,
    "many annotations": "<<1=1>>" * 2_500,
    "many statements": "1=1;" * 4_000,
    "a long chain": "=".join(["1"] * 1_900),
    "many words": "so " * 3_900,
    "many labels": ("5 " + "apple " * 5 + "+ ") * 400 + "1 = 2",
    "many number words": "one hundred " * 1_500,
    "many full stops": "." * 3_900,
    "many commas": "1," * 1_900,
    "many bars": "|1" * 1_900,
    "many percent signs": "5%" * 1_900,
    "a mark of ours": "5\x00USD + 5\x00*9 = 10",
    "a lone surrogate": "\ud800 + 1",
    "other digits": "١ + ٢",
    "code": "__import__('os').system('true')",
    "attributes": "().__class__.__bases__[0].__subclasses__()",
    "a lambda": "(lambda: 1)()",
    "a pole": "∫_{-1}^1 1/x dx = 0",
    "an improper integral": "∫_0^1 1/x dx = 5",
    "has and has": "x has " * 150 + "solutions",
    "long interest": "compound interest on $" + "1" * 500 + " at 5% for 10 years is $5",
}

_MEGABYTE = 1 << 20

#: JSON whose depth is dear to measure.
JSON = {
    "many": b"[" + b"[]," * (_MEGABYTE // 3) + b"[]]",
    "deep": b"[" * _MEGABYTE,
    "quotes": b"[" * 65 + b'"' * _MEGABYTE,
    "escapes": b'"' + b'\\"' * (_MEGABYTE // 2) + b"[" * 65,
    "both": b"[" * 65 + b'"\\",' * (_MEGABYTE // 4),
    "closed": b"]" * _MEGABYTE + b"[" * 65,
}

#: What begins like a secret, over and over.
SECRETS = (
    "sk-",
    "password ",
    "password:",
    "eyJ.",
    "://a:",
    "-----BEGIN PRIVATE KEY-----",
    "aws a1/",
    "1token=-",
    "key-",
    '"pass":',
)

#: Patterns of an ignore file, and a path that each nearly matches.
IGNORED = (
    (b"*a" * 60 + b"b", b"a" * 250),
    (b"/".join([b"**", b"a"] * 40) + b"/b", b"/".join([b"a"] * 1000)),
    (b"[!x]*" * 60 + b"y", b"a" * 250),
)

#: Agent states that never end.
STATES = (
    '"' + '\\"' * 400_000,
    '{"a":"' + "[" * 900_000,
    "[" * 900_000,
    '"' * 900_000,
    "[{" * 400_000,
)
