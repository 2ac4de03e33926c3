# ruff: noqa: E501 - a table of schemas, one to a line
"""Harmless function calls made from schemas: many tools, realistic values, data in the slots that are for them.

Every second schema was set aside before the guards were changed for these calls.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any, Final

Call = tuple[str, dict[str, Any]]

_FIRST: Final = "Anna Ben Chloe Dan Eve Finn Grace Hana Ivan Julia Kofi Lena Marco Nadia Omar Priya Rosa Sven Tara Yuki".split()  # noqa: SIM905
_LAST: Final = "Adler Brown O'Hara Dubois Evans Fischer Garcia Hansen Ito Jansen Kim Lopez Meyer Novak Okafor Patel Rossi Silva".split()  # noqa: SIM905
_CITIES: Final = (
    "Berlin",
    "Paris",
    "New York",
    "Tokyo",
    "São Paulo",
    "Lagos",
    "Mumbai",
    "Oslo",
    "Lisbon",
    "Austin",
)
_STREETS: Final = (
    "12 Baker Street",
    "742 Evergreen Terrace",
    "5 Pine Road",
    "88 King Avenue",
    "301 Mission St",
    "9 Hill Lane",
)
_WORDS: Final = (
    "red running shoes", "best pizza near me", "how to select a union rep", "drop-in classes", "cats or dogs", "C++ vs C#",
    "weather tomorrow", "order by phone", "kill time in Rome", "rm format files", "open source CRM", "delete duplicates in Excel",
    "Who's Who and What's What", "python list sort", "rock 'n' roll history", "update on the merger", "exec summary template",
)  # fmt: skip
_TEXTS: Final = (
    "The meeting moved to 3 pm; please bring the slides.", "Thanks for your order! It ships on Monday.",
    "Remember: milk, eggs & bread.", "We'll drop the table at your place; call Bob when you arrive.",
    "Please select a seat and update your profile.", "Reminder: the server restarts at 02:00, no action needed.",
    "Dear team,\nthe report is attached.\nBest, Eva", "It's a 5' ladder -- or 6', I forget.", "Fix #42: handle `None` in parse()",
)  # fmt: skip


class _Maker:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def one(self, values: Any) -> Any:
        return self.rng.choice(values)

    def name(self) -> str:
        return f"{self.one(_FIRST)} {self.one(_LAST)}"

    def email(self) -> str:
        return f"{self.one(_FIRST).lower()}.{self.one(_LAST).lower().replace(chr(39), '')}@{self.one(('gmail.com', 'acme.example', 'firm.example'))}"

    def phone(self) -> str:
        return self.one(
            (
                "+1 415 555 2671",
                "(212) 555-0147",
                "+44 20 7946 0958",
                "+49 30 901820",
                "0171 2345678",
                "+81 3-1234-5678",
            )
        )

    def birth(self) -> str:
        return f"{self.rng.randint(1950, 2010)}-{self.rng.randint(1, 12):02}-{self.rng.randint(1, 28):02}"

    def day(self) -> str:
        return f"2026-{self.rng.randint(1, 12):02}-{self.rng.randint(1, 28):02}"

    def address(self) -> str:
        return f"{self.one(_STREETS)}, {self.one(_CITIES)} {self.rng.randint(10000, 99999)}"

    def words(self) -> str:
        return self.one(_WORDS)

    def text(self) -> str:
        return self.one(_TEXTS)

    def number(self, low: int = 1, high: int = 500) -> int:
        return self.rng.randint(low, high)


Schema = Callable[[_Maker], Call]
SCHEMAS: Final[tuple[Schema, ...]] = (
    lambda m: ("create_order", {"items": [{"sku": f"A-{m.number()}", "quantity": m.number(1, 5)}], "shipping_address": m.address(), "email": m.email()}),
    lambda m: ("book_flight", {"origin": m.one(_CITIES), "destination": m.one(_CITIES), "date": m.day(), "passengers": [{"name": m.name(), "date_of_birth": m.birth()}]}),
    lambda m: ("create_calendar_event", {"title": m.text(), "start": f"{m.day()}T10:00", "participants": [m.email(), m.email()]}),
    lambda m: ("send_email", {"recipients": [m.email()], "sender": m.email(), "subject": m.words(), "body": m.text()}),
    lambda m: ("get_weather", {"location": m.one(_CITIES), "unit": "celsius"}),
    lambda m: ("search_products", {"query": m.words(), "max_price": m.number(), "sort": "price_asc"}),
    lambda m: ("book_hotel", {"city": m.one(_CITIES), "check_in": m.day(), "guests": [m.name()], "contact_phone": m.phone()}),
    lambda m: ("order_pizza", {"size": "large", "toppings": ["cheese"], "delivery_address": {"street": m.one(_STREETS), "city": m.one(_CITIES), "zip": "10115"}}),
    lambda m: ("add_contact", {"name": m.name(), "phone_number": m.phone(), "email_address": m.email()}),
    lambda m: ("register_patient", {"full_name": m.name(), "dob": m.birth(), "insurance": "public"}),
    lambda m: ("translate_text", {"text": m.text(), "target_language": "fr"}),
    lambda m: ("create_issue", {"repo": "acme/site", "title": m.words(), "body": m.text(), "labels": ["bug"]}),
    lambda m: ("calculate_distance", {"from": m.address(), "to": m.address()}),
    lambda m: ("schedule_delivery", {"address": m.address(), "window": "10:00-12:00", "phone": m.phone()}),
    lambda m: ("get_stock_price", {"symbol": m.one(("AAPL", "SAP", "T", "F")), "exchange": "NYSE"}),
    lambda m: ("set_reminder", {"text": m.text(), "time": f"{m.day()} 09:30"}),
    lambda m: ("create_invoice", {"customer": {"name": m.name(), "billing_address": m.address()}, "amount": m.number(), "currency": "EUR"}),
    lambda m: ("send_sms", {"to": m.phone(), "message": m.text()}),
    lambda m: ("play_music", {"artist": m.name(), "shuffle": True}),
    lambda m: ("find_restaurants", {"near": m.address(), "cuisine": "thai", "open_now": True}),
    lambda m: ("update_profile", {"user_id": m.number(), "display_name": m.name(), "birthday": m.birth()}),
    lambda m: ("request_ride", {"pickup": m.address(), "dropoff": m.address(), "rider": m.name()}),
    lambda m: ("list_files", {"path": m.one(("reports/2026", "src", "docs/img", "notes.txt", "~/Documents")), "recursive": False}),
    lambda m: ("get_user", {"username": m.one(_FIRST).lower()}),
    lambda m: ("convert_currency", {"amount": m.number(), "from_currency": "USD", "to_currency": "EUR"}),
    lambda m: ("create_ticket", {"requester_email": m.email(), "subject": m.words(), "description": m.text(), "priority": "low"}),
    lambda m: ("track_package", {"tracking_number": f"1Z{m.number(100000, 999999)}{m.number(1000000000, 9999999999)}", "carrier": "UPS"}),
    lambda m: ("wiki_search", {"query": m.words()}),
    lambda m: ("add_attendee", {"event_id": f"ev_{m.number()}", "attendee": {"email": m.email(), "name": m.name()}}),
    lambda m: ("estimate_tax", {"income": m.number(20000, 90000), "state": "CA", "filing_status": "single"}),
    lambda m: ("get_directions", {"start_location": m.address(), "end_location": m.one(_CITIES), "mode": "transit"}),
    lambda m: ("check_ip", {"ip_address": m.one(("203.0.113.77", "8.8.8.8", "198.51.100.4"))}),
    lambda m: ("rename_branch", {"old": "main", "new": m.one(("fix/select-union", "drop-py39", "feat/or-and"))}),
    lambda m: ("post_comment", {"post_id": m.number(), "comment": m.text()}),
    lambda m: ("create_lead", {"company": f"{m.one(_LAST)} & Sons", "contact": {"first_name": m.one(_FIRST), "mobile": m.phone(), "work_email": m.email()}}),
    lambda m: ("reserve_table", {"restaurant": f"{m.one(_FIRST)}'s Diner", "guests": m.number(1, 8), "name": m.name(), "phone": m.phone()}),
    lambda m: ("solve_equation", {"expression": m.one(("2*x + 5 = 11", "x^2 - 4 = 0", "(3+4)*2")), "variable": "x"}),
    lambda m: ("format_date", {"date": m.day(), "format": "%d.%m.%Y"}),
    lambda m: ("get_movie", {"title": m.one(("Ocean's Eleven", "Kill Bill", "The Union", "Die Hard", "Delete History")), "year": m.number(1950, 2026)}),
    lambda m: ("assign_task", {"assignee": m.email(), "task": m.words(), "due": m.day()}),
    lambda m: ("apply_coupon", {"code": m.one(("SAVE10", "DROP50", "OR-2026")), "cart_id": m.number()}),
    lambda m: ("analyze_sentiment", {"review": m.text()}),
    lambda m: ("create_shipment", {"recipient": {"name": m.name(), "address": {"line1": m.one(_STREETS), "city": m.one(_CITIES), "postal_code": "94105"}, "phone": m.phone()}}),
    lambda m: ("open_account", {"holder": m.name(), "birth_date": m.birth(), "residential_address": m.address(), "type": "savings"}),
    lambda m: ("fetch_page", {"url": m.one(("https://docs.acme.example/select?page=2", "https://en.wikipedia.org/wiki/Union", "https://shop.example/?q=a+or+b&sort=1"))}),
    lambda m: ("filter_rows", {"column": m.one(("price", "order", "group", "select")), "operator": m.one((">", "=", "<=")), "value": m.number()}),
    lambda m: ("compute_bmi", {"height_cm": 180, "weight_kg": 75, "patient": {"name": m.name(), "birthdate": m.birth()}}),
    lambda m: ("notify_user", {"user_email": m.email(), "template": "welcome", "params": {"first_name": m.one(_FIRST)}}),
    lambda m: ("plan_route", {"stops": [m.address(), m.address()], "vehicle": "van"}),
    lambda m: ("lookup_book", {"isbn": "978-3-16-148410-0", "author": m.name()}),
)  # fmt: skip


def calls(is_held_back: bool, count: int) -> Iterator[Call]:
    """`count` calls of the schemas of one half, in turn."""
    schemas = SCHEMAS[1::2] if is_held_back else SCHEMAS[::2]
    maker = _Maker(23 + is_held_back)
    for index in range(count):
        yield schemas[index % len(schemas)](maker)
