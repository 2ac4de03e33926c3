"""Programs that start programs: the table is well formed, and what it lists is found in a command line."""

import re

import pytest
from tests.support.commands import read_commands, split

from qwed.domain.findings import Status
from qwed.engines.code import inspect_shell
from qwed.engines.code.shell.capabilities import FIELDS, KINDS, read_option, read_table

PROGRAMS = read_table()["program"]


def rules(text):
    return [problem.rule for problem in inspect_shell(text).problems]


def is_found(text):
    return inspect_shell(text).status is not Status.VERIFIED


def options_of(kind):
    return [
        (name, read_option(kind, text))
        for entry in PROGRAMS
        for name in entry["names"].split()[:1]
        for text in entry.get(kind, "").split()
    ]


def test_every_entry_of_the_table_has_names_and_known_fields_only():
    assert all(entry["names"].split() for entry in PROGRAMS)
    assert {field for entry in PROGRAMS for field in entry} <= FIELDS
    assert all(any(field in entry for field in (*KINDS, "says", "runs")) for entry in PROGRAMS)
    assert all(entry.get("style", "words") == "words" for entry in PROGRAMS)


def test_every_pattern_of_the_table_has_a_group_for_the_command():
    patterns = [each for entry in PROGRAMS for field in ("says", "runs") for each in entry.get(field, ())]

    assert all(re.compile(pattern).groups for pattern in patterns)


def test_the_table_knows_of_more_than_250_programs():
    assert len({name for entry in PROGRAMS for name in entry["names"].split()}) > 250


@pytest.mark.parametrize(("name", "option"), options_of("shell"))
def test_a_shell_behind_any_option_that_runs_a_command_is_found(name, option):
    key = option.key.replace("*", "x") + "=" if option.key else ""
    before = f"{option.after} " if option.after else ""
    given = option.name.removeprefix("=") + ("=" if option.name.startswith("=") else "")
    between = "" if given.endswith(("=", ":")) else " "

    assert is_found(f"{name} {before}{given}{between}'{key}sh -c \"id > out\"'")


@pytest.mark.parametrize(("name", "option"), options_of("loads"))
def test_a_file_in_scratch_space_behind_any_option_that_loads_code_is_found(name, option):
    key = option.key.replace("*", "x") + "=" if option.key else ""
    before = f"{option.after} " if option.after else ""
    given = "" if option.name == "*" else option.name
    between = "" if option.name.endswith(("=", ":")) else " "

    assert is_found(f"{name} {before}{given}{between}{key}/tmp/there/x.so")


def test_nine_of_ten_misuses_are_found_in_the_half_that_rules_were_not_written_from():
    _, held_out = split(read_commands("misused"))

    assert sum(map(is_found, held_out)) >= 0.9 * len(held_out)


def test_at_most_one_ordinary_command_in_200_raises_an_alarm():
    written_from, held_out = split(read_commands("ordinary"))

    assert sum(map(is_found, held_out)) <= 0.005 * len(held_out)
    assert [text for text in written_from if is_found(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "tar xf a.tar --to-comm=/bin/sh",
        "tar cf a.tar b --checkpoint=1 --checkpoint-act=exec=/bin/sh",
        "split --filt=/bin/sh a",
    ],
)
def test_an_abbreviated_option_is_the_whole_one(text):
    assert is_found(text)


def test_an_unknown_option_of_a_program_whose_options_are_all_listed_is_a_doubt():
    assert rules("tar xf a.tar --frobnicate") == ["unknown-option"]
    assert rules("sort -Y names.txt") == ["unknown-option"]


def test_a_file_that_the_script_wrote_is_read_where_an_option_loads_it():
    assert "spawns-a-shell" in rules("T=$(mktemp)\necho '/bin/sh' > $T\ntar xf a.tar --to-command=$T")


def test_a_scratch_directory_of_the_script_may_be_removed():
    assert inspect_shell('d=$(mktemp -d)\ncp a.txt "$d"\nrm -rf "$d"').status is Status.VERIFIED


@pytest.mark.parametrize(
    "text",
    [
        "sysctl -w vm.swappiness=1",
        "sysctl vm.swappiness=1",
        "sysctl -p",
        "passwd root",
        "cryptsetup luksFormat /dev/sda3",
        "cryptsetup luksErase /dev/sda3",
        "mdadm --zero-superblock /dev/sda",
        "systemctl start nginx",
        "systemctl --user enable miner",
        "iptables -F",
        "wipefs -a /dev/sda",
    ],
)
def test_administration_that_changes_the_machine_is_still_refused(text):
    assert inspect_shell(text).harms
