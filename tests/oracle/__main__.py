"""`python -m tests.oracle record` and `python -m tests.oracle compare FILE`."""

import argparse
import concurrent.futures
import itertools
import multiprocessing
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.oracle import recording
from tests.oracle.comparing import compare, read_ignored
from tests.oracle.run import play_as_text


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    commands = parser.add_subparsers(required=True)
    record = commands.add_parser("record", help="play worlds and keep what came of them")
    record.add_argument(
        "--count", type=int, default=21_000, help="play worlds until so many requests were made"
    )
    record.add_argument("--out", type=Path, default=recording.DEFAULT)
    record.add_argument("--salt", default="", help="draw other ids: the recording must be the same")
    record.set_defaults(run=_record)
    again = commands.add_parser("compare", help="play the same worlds again and say what differs")
    again.add_argument("file", type=Path, nargs="?", default=recording.DEFAULT)
    again.add_argument("--count", type=int, default=sys.maxsize, help="stop after so many requests")
    again.add_argument("--show", type=int, default=10, help="how many differences to show")
    again.add_argument("--ignore", action="append", default=[], metavar="PATH", help="such as wrote.*.checks")
    again.add_argument("--worlds", help="only these, such as 3 or 10-20")
    again.add_argument("--salt", default="", help="draw other ids: nothing may differ")
    again.set_defaults(run=_compare)
    for command in (record, again):
        command.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    return int(options.run(options))


def _record(options: argparse.Namespace) -> int:
    def enough() -> Iterator[tuple[int, list[str]]]:
        made = 0
        for number, lines in _played(itertools.count(), options):
            made += sum(map(recording.is_request, lines))
            yield number, lines
            if made >= options.count:
                return

    made = recording.write(options.out, enough())
    print(f"{made} requests in {options.out}, {options.out.stat().st_size} bytes")
    return 0


def _compare(options: argparse.Namespace) -> int:
    ignored, found, made = [*read_ignored(), *options.ignore], 0, 0
    kept = _chosen(recording.read(options.file), options)
    kept, numbered = itertools.tee(kept)
    for (number, old), (_, new) in zip(
        kept, _played((number for number, _ in numbered), options), strict=False
    ):
        differences = compare(number, old, new, ignored)
        for difference in differences[: max(0, options.show - found)]:
            print(difference, "\n")
        found += len(differences)
        made += sum(map(recording.is_request, old))
    print(f"{made} requests compared, {found} differ")
    return 1 if found else 0


def _chosen(
    worlds: Iterable[tuple[int, list[str]]], options: argparse.Namespace
) -> Iterator[tuple[int, list[str]]]:
    first, _, last = (options.worlds or "").partition("-")
    made = 0
    for number, lines in worlds:
        if options.worlds and not int(first) <= number <= int(last or first):
            continue
        yield number, lines
        made += sum(map(recording.is_request, lines))
        if made >= options.count:
            return


def _played(numbers: Iterable[int], options: argparse.Namespace) -> Iterator[tuple[int, list[str]]]:
    if options.jobs == 1:
        yield from ((number, play_as_text(number, options.salt)) for number in numbers)
        return
    ahead = iter(numbers)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        while batch := list(itertools.islice(ahead, 8 * options.jobs)):
            yield from zip(batch, pool.map(play_as_text, batch, itertools.repeat(options.salt)), strict=True)


if __name__ == "__main__":
    sys.exit(main())
