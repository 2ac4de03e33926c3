# ruff: noqa: E501
"""Worked answers in a fourth manner, that of tutors and of forms; see `worked_answers`.

Written after the rules and never used to change them: what the page reports as unseen.
"""

from typing import Final

from tests.corpora.worked_answers import Words

WORDS: Final = Words(
    ("Aisha", "Coach Miller", "the twins", "Bo", "Mom", "the council", "Ms. Park", "Diego's dad"),
    ("cupcakes", "seats", "gallons", "envelopes", "sandwiches", "kittens", "miles", "coupons"),
    ("Hall B", "the zoo", "Route 66", "Oak Avenue"),
)

TEMPLATES: Final = (
    "Remember that {name} had {n} {things} to begin with; after giving {a} away there were {n} - {a} = {=n-a} {things}.",
    "Altogether {name} paid {a} x ${p} + {b} x ${c} = ${=a*p+b*c} at {place}.",
    "{name}'s {a} {things} plus the other {b} make {a} + {b} = {=a+b}.",
    "On the {a}th day, {place} sold {b} * {c} = {=b*c} {things}.",
    "For {a} people at ${p} each, it's {a} people x ${p}/person = ${=a*p}.",
    "A dozen is 12, so {w:a} dozen is {a} * 12 = {=a*12} {things}.",
    "{name} saved {q}% of ${k|,}: {q}% × ${k|,} = ${=k*q/100|,}",
    "Total hours: {a} + {b} + {c} + {d} = {=a+b+c+d} hours",
    "{m} ÷ {a} = {=m/a}, which means each bus carries {m/a} {things}. :: m%a==0",
    "If you take away {w:a}, you get {n}-{a}={=n-a}.",
    "We multiply {a} by {b}, giving us {a} × {b} = {=a*b} {things} in all.",
    "The bus left with {a} passengers + {b} passengers - {c} passengers = {=a+b-c} passengers. :: a+b>c",
    "{name} scored {a} + {b} = {=a+b} points in the first half and {c} + {d} = {=c+d} in the second, so {=a+b} + {=c+d} = {=a+b+c+d} overall.",
    "That is ${n}.00 / {a} = ${=n/a|2} per {thing}",
    "Of {n} {things}, a third is {n}/3 = {=n/3}. :: n%3==0",
    "{a} cats x 4 legs = {=a*4} legs; {b} birds x 2 legs = {=b*2} legs",
    "(Length) {a} ft x (width) {b} ft = {=a*b} sq ft",
    "Subtotal: ${m} + ${n} = ${=m+n} (before tax)",
    "With tax: ${n} + 0.1*${n} = ${=n*11/10|2}",
    "{name} walked for {a} minutes at {b} steps per minute, i.e. {a}*{b} = {=a*b} steps",
    "This year's price is ${n} + ${p} = ${=n+p}, up from ${n} in 2019.",
    "5 of the {a} boxes were empty, leaving {a} - 5 = {=a-5} boxes, or ({=a-5})({b}) = {=(a-5)*b} {things}. :: a>6",
    "{a}*({b}+{c})={=a*(b+c)} minutes of practice",
    "Half the time is {n} / 2 = {=n/2} seconds. :: n%2==0",
    "Bill #2: {a} @ ${r|2} = ${=a*r|2}",
    "The change from $100 is $100 - ${p} = ${=100-p}.",
)

RATIONALES: Final = (
    "Ans: ({m} x {a})/{a} = {=m}",
    "Number of students = {a} rows x {b} = {=a*b}, hence option (3)",
    "Speed of the train = {m} m / {a} s = {=m/a} m/s :: m%a==0",
    "Solving, x = ({n} - {a})/{b} = {=(n-a)/b} :: (n-a)%b==0",
    "Total C.P. = Rs. ({n} + {m}) = Rs. {=n+m}",
    "Total age = {a} x {b} = {=a*b} years; new total = {=a*b} + {c} = {=a*b+c} years",
    "Since 1 km = 1000 m, {a} km = {a} x 1000 = {=a*1000} m",
    "S.I. = (P x R x T)/100 = ({k} x {a} x {b})/100 = {=k*a*b/100} :: (k*a*b)%100==0",
    "Fraction left = 1 - 1/{a} - 1/{b}; {a} + {b} = {=a+b}",
    "{a}³ = {=a*a*a} and {b} squared is {=b*b}",
    "Here n = {a}, so 2n + 1 = 2*{a} + 1 = {=2*a+1}",
    "% profit = ({b}/{a}) x 100 = {=b*100/a|2}%",
    "LHS = {a} + {b} x {c} = {=a+b*c}, RHS = {d}",
)
