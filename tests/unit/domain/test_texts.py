"""All texts of an action are collected in one place, within bounds."""

from qwed.domain.actions import Action
from qwed.domain.texts import MAX_BYTES, MAX_TEXTS, collect_texts, fold_name


def test_values_keys_type_and_target_are_all_collected() -> None:
    action = Action("do", query="q", code="c", target="t", parameters={"a": {"b": ["x", {"deep": "y"}]}})

    texts = collect_texts(action)

    assert [(text.where, text.value) for text in texts.values] == [
        ("query", "q"),
        ("code", "c"),
        ("target", "t"),
        ("parameters.a.b[0]", "x"),
        ("parameters.a.b[1].deep", "y"),
    ]
    assert [text.value for text in texts.names] == ["do", "a", "b", "deep"]
    assert texts.is_complete


def test_a_list_is_read_as_the_words_of_a_command_and_as_lines() -> None:
    texts = collect_texts(Action("do", parameters={"command": ["bash", "-c", "rm x y", 5]}))

    assert [(joined.slot, joined.command, joined.lines) for joined in texts.joined] == [
        ("command", "bash -c 'rm x y' 5", "bash\n-c\nrm x y\n5")
    ]


def test_a_command_is_joined_with_its_arguments() -> None:
    for parameters in (
        {"args": ["-rf", "/home"], "Cmd": "rm"},
        {"program": "rm", "flags": "-rf /home"},
        {"run": {"executable": "rm", "argv": ["-rf", "/home"]}},
    ):
        texts = collect_texts(Action("do", parameters=parameters))

        assert "rm -rf /home" in [joined.command for joined in texts.joined]


def test_other_members_are_not_joined() -> None:
    texts = collect_texts(Action("do", parameters={"first": "rm", "second": "-rf /home"}))

    assert texts.joined == ()


def test_what_json_in_a_string_holds_is_collected_too() -> None:
    texts = collect_texts(Action("do", parameters={"arguments": '{"cmd": "rm -rf /home"}'}))

    assert ("arguments.cmd", "rm -rf /home") in [(text.slot, text.value) for text in texts.values]


def test_more_than_the_bounds_is_said_to_be_incomplete() -> None:
    many = Action("do", parameters={"items": ["x"] * (MAX_TEXTS + 1)})
    long = Action("do", parameters={"text": "x" * (MAX_BYTES + 1)})
    wide = Action("do", parameters={"text": "é" * (MAX_BYTES // 2 + 1)})
    deep: list[object] = ["x"]
    for _ in range(60):
        deep = [deep]

    for action in (many, long, wide, Action("do", parameters={"deep": deep})):
        assert not collect_texts(action).is_complete


def test_a_name_is_folded_before_slots_are_compared() -> None:
    assert {fold_name(name) for name in ("code", "Code", "CODE", "ｃｏｄｅ", "c-o-d-e", "\u0441ode")} == {
        "code"
    }
    assert fold_name("country_code") == "countrycode"
