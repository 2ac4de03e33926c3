"""A disguised name has the skeleton of the name it imitates."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwed.domain.registry import DANGEROUS_TOOLS, SAFE_TOOLS
from qwed.domain.skeleton import compact_skeleton, skeleton, without_invisible


@pytest.mark.parametrize(
    "disguised",
    [
        "DROP_TABLE",
        "dRoP_tAbLe",
        "ｄｒｏｐ＿ｔａｂｌｅ",
        "dr\u043ep_t\u0430bl\u0435",
        "DR\u039f\u03a1_\u03a4\u0391\u0392L\u0395",
        "𝓭𝓻𝓸𝓹_𝖙𝖆𝖇𝖑𝖊",
        "ⓓⓡⓞⓟ_table",
        "🅳🆁🅾🅿_table",
        "ᴅʀᴏᴘ_ᴛᴀʙʟᴇ",
        "dröp_tàble",
        "drop\u200b_ta\u202eble\ufeff",
        "dr\U000e0041op_table",
        "drop\x00_table",
        "drop-table",
        "drop table",
        "drop\u00a0table",
        "drop\u2011table",
        "drop__table",
        " drop_table ",
        "drop.table",
    ],
)
def test_a_disguised_drop_table_folds_to_drop_table(disguised: str) -> None:
    assert skeleton(disguised) == "drop_table"


@pytest.mark.parametrize("name", ["dropTable", "DropTable", "DROPTABLE", "drop-Table", "d.r.o.p table"])
def test_camel_case_meets_the_name_in_the_compact_skeleton(name: str) -> None:
    assert compact_skeleton(name) == compact_skeleton("drop_table")


@pytest.mark.parametrize("name", [*sorted(DANGEROUS_TOOLS | SAFE_TOOLS), "v2_tool_10", "http2_get"])
def test_a_plain_name_is_its_own_skeleton(name: str) -> None:
    assert skeleton(name) == name


def test_the_dangerous_and_the_safe_names_stay_apart() -> None:
    assert not {compact_skeleton(name) for name in DANGEROUS_TOOLS} & {
        compact_skeleton(name) for name in SAFE_TOOLS
    }


@pytest.mark.parametrize("name", ["drop_tables", "dr0p_table", "crop_table", "drop_cable", ""])
def test_another_name_keeps_another_skeleton(name: str) -> None:
    assert skeleton(name) != "drop_table"


def test_every_single_character_folds_to_a_fixed_point() -> None:
    unstable = [code for code in range(sys.maxunicode + 1) if skeleton(once := skeleton(chr(code))) != once]

    assert unstable == []


@given(st.text(max_size=40))
def test_folding_twice_changes_nothing(text: str) -> None:
    assert skeleton(skeleton(text)) == skeleton(text)


@given(st.text(alphabet=st.characters(max_codepoint=0x24F), max_size=40))
def test_case_and_composition_do_not_matter(text: str) -> None:
    assert skeleton(unicodedata.normalize("NFD", text)) == skeleton(unicodedata.normalize("NFC", text))


@given(st.text(alphabet="abcxyz_", max_size=20), st.integers(0, 20))
def test_an_invisible_character_anywhere_does_not_matter(name: str, position: int) -> None:
    hidden = name[:position] + "\u200d\u2066" + name[position:]

    assert skeleton(hidden) == skeleton(name)
    assert without_invisible(hidden) == name


def test_a_long_name_is_folded_in_linear_time() -> None:
    assert skeleton("\u0430\u0301" * 200_000) == "a" * 200_000
