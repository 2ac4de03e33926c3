# ruff: noqa: E501
"""Worked answers in a third manner, that of assistants; see `worked_answers`.

They were written before the last change of the rules and are measured, not looked at.
"""

from typing import Final

from tests.corpora.worked_answers import Words

WORDS: Final = Words(
    ("Priya", "the Garcia family", "Farmer Joe", "Lena", "our team", "Mr. Osei", "the school", "Ivan"),
    ("laptops", "oranges", "bottles of water", "trees", "chairs", "postcards", "T-shirts", "Lego bricks"),
    ("the warehouse", "Room 12", "the 2nd floor", "Lake Street"),
)

TEMPLATES: Final = (
    "**Step 1:** Multiply the number of {things} by the price: {a} × ${p} = ${=a*p}.",
    "- Cost of {things}: {a} × {p} = {=a*p} dollars",
    "1. {name} buys {a} {things}: {a} * {b} = {=a*b}",
    "2) Subtract the refund: {n} − {a} = **{=n-a}**",
    "Step 3 - {a} + {b} = {=a+b}",
    "To find the total, we add {m} and {n}: {m} + {n} = {=m+n}.",
    "Since each of the {a} shelves in {place} holds {b} {things}, the total is {a} × {b} = {=a*b} {things}.",
    "So, {name} has ${n} - ${a} = ${=n-a} left over (enough for {things}).",
    "{name} works {a} hours a day, 5 days a week, which means {a} × 5 = {=a*5} hours a week.",
    "\\({a} \\times {b} = {=a*b}\\)",
    "$${m} + {n} = {=m+n}$$",
    "The price after a {q}% discount: ${n} × (1 - 0.{q}) = ${=n*(100-q)/100|2} :: q>9",
    "The price after tax is ${n} × 1.{q} = ${=n*(100+q)/100|2}. :: q>9",
    "That's {a} groups of {b}, i.e. {a} x {b} = {=a*b} {things}.",
    "Total = ${m} + ${n} = ${=m+n}",
    "Monday: {a} × {b} = {=a*b}, Tuesday: {c} × {d} = {=c*d}, together {=a*b} + {=c*d} = {=a*b+c*d}.",
    "{name} rode {a} km on day 1 and {b} km on day 2, so {a} km + {b} km = {=a+b} km.",
    "Each minute has 60 seconds, so {a} minutes = {a} × 60 = {=a*60} seconds.",
    "Remaining: {k|,} - {n} = {=k-n|,} {things}",
    "Average: ({a} + {b} + {c}) / 3 = {=(a+b+c)/3|2}",
    "{name} (aged {a}) is {b} years younger than Ana, so Ana is {a} + {b} = {=a+b}.",
    "Dividing both by {a}, we get {a*b} ÷ {a} = {=b} {things} per person.",
    "Of these {n}, {q}% were sold: {n} × {q}% = {=n*q/100}. :: (n*q)%100==0",
    "=> {a} * {b} = {=a*b}",
    "The 3 {things} in {place} cost {a} + {b} + {c} = {=a+b+c} euros in total.",
    "If {name} doubles it, that gives 2 × {n} = {=2*n} {things}!",
    "{name} spent {a} of {n} coins, leaving {n} - {a} = {=n-a} coins; {name} then found {b} more ({=n-a} + {b} = {=n-a+b}).",
    "Check: {a} × {b} = {=a*b} ✓",
    "First, the area: {a} m × {b} m = {=a*b} m²",
    "Therefore the answer is {a} × {b} − {c} = {=a*b-c}. :: a*b>c",
    "Number of {things} = {a} per row × {b} rows = {=a*b}",
    "Revenue: {a} {things} × ${r|2}/{thing} = ${=a*r|2}",
    "Costs for 2023 were ${k|,} and for 2024 ${n|,}, a sum of ${k|,} + ${n|,} = ${=k+n|,}.",
    "Time: {a} h × 60 min/h = {=a*60} min",
    "So far {a} + {b} = {=a+b}, and with the other {c}, {=a+b} + {c} = {=a+b+c}.",
    "You need {m} / {a} = {=m/a} trips. :: m%a==0",
    "Interest for one year: ${k|,} × {a}% = ${=k*a/100|,}",
)

RATIONALES: Final = (
    "Using d = v * t: {p} * {a} = {=p*a} miles",
    "Let n be the count. Since {a}n = {a*b}, n = {a*b}/{a} = {=b}.",
    "By Pythagoras: {a*3}^2 + {a*4}^2 = {=25*a*a}, so the hypotenuse is {5*a}.",
    "The sum of the first {a} numbers: {a}({a} + 1)/2 = {=a*(a+1)/2}",
    "Substituting x = {a}: {b}({a}) + {c} = {=a*b+c}",
    "f({a}) = {b} * {a} - {c} = {=a*b-c}",
    "The probability is {a} out of {a+b}, i.e. {a}/{a+b}.",
    "Simplify: {a}({b} + {c}) = {a*b} + {a*c} = {=a*b+a*c}",
    "Percent change = ({n} - {m})/{m} × 100% = {=(n-m)*100/m|2}% :: n>m",
    "Ratio of boys to girls = {a}:{b}; total parts = {a} + {b} = {=a+b}; each part = {(a+b)*c} ÷ {a+b} = {=c}",
    "√{a*a} = {=a}",
    "Weighted mean = ({a} × {b} + {c} × {d}) / ({a} + {c}) = {=(a*b+c*d)/(a+c)|2}",
    "Rate = {m} pages / {a} min = {=m/a} pages/min :: m%a==0",
    "Circumference = 2 × 3.14 × {a} = {=2*a*3.14|2} cm",
    "Surface area = 6 × {a}² = {=6*a*a} cm²",
    "From (1), y = {a}. From (2), y + {b} = {=a+b}.",
    "{a} ≠ {b}, so no. But {c} + {d} = {=c+d}. :: a!=b",
    "Then 2x = {2*a} → x = {=a}",
)
