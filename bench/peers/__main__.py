"""`make bench-peers`: the peers alone, as a table; the JSON is in `.bench/peers.json`."""

import math

from bench.peers import RESULTS, figures


def main() -> int:
    for label, value, unit, _ in figures():
        print(f"{label:70} {'' if math.isnan(value) else format(value, '12,.2f'):>12}  {unit}")
    print(f"written to {RESULTS}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
