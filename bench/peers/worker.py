"""Runs in a peer's own environment: imports its driver, then does as much of each work as it is told.

One JSON line in, one out: `{"work": …, "count": …}` gives the CPU seconds of that many repetitions.
"""

import importlib.util
import json
import sys
import time
import warnings
from pathlib import Path


def rss_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def main() -> int:
    warnings.simplefilter("ignore")
    answers, sys.stdout = sys.stdout, sys.stderr
    before = time.process_time()
    spec = importlib.util.spec_from_file_location("driver", sys.argv[1])
    driver = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(driver)
    imported = {"import_cpu_ms": (time.process_time() - before) * 1000, "import_rss_mb": rss_mb()}
    works = driver.works()
    for work in works.values():
        work(0)
    print(json.dumps({**imported, "works": sorted(works), "rss_mb": rss_mb()}), file=answers, flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        work = works[order["work"]]
        started = time.process_time()
        for number in range(order["count"]):
            work(number)
        print(json.dumps({"cpu": time.process_time() - started}), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
