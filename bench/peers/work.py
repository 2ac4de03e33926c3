"""The same work for everybody: may `lookup_order` run, and is this order shaped as it should be?"""

ALLOWED, REFUSED = "lookup_order", "drop_table"
SCHEMA = {
    "type": "object",
    "required": ["order_id", "total", "items"],
    "properties": {
        "order_id": {"type": "string"},
        "total": {"type": "number", "minimum": 0},
        "items": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["name", "price"],
                "properties": {"name": {"type": "string"}, "price": {"type": "number"}},
            },
        },
    },
}
ORDER = {"order_id": "ORD-123", "total": 99.99, "items": [{"name": "Widget", "price": 99.99}]}
WRONG = {"order_id": "ORD-123", "total": 99.99, "items": [{"name": "Widget", "price": "much"}]}


def arguments(number: int) -> dict:
    return {"order_id": f"ORD-{number}"}
