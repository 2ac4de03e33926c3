"""What mkdocs cannot do by itself: patterns in the navigation, and links to files beside docs/."""

import os.path
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[([^\]]*)\]\((\.\./[^)#\s]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    docs = Path(config.docs_dir)
    named = {name for name in _leaves(config.nav) if "*" not in name}
    config.nav = _unfold(config.nav, docs, named)
    return config


def _leaves(item: Any) -> list[str]:
    if isinstance(item, str):
        return [item]
    members = item.values() if isinstance(item, dict) else item
    return [leaf for member in members for leaf in _leaves(member)]


def _unfold(item: Any, docs: Path, named: set[str]) -> Any:
    if isinstance(item, dict):
        return {title: _unfold(member, docs, named) for title, member in item.items()}
    if isinstance(item, str):
        return item
    unfolded: list[Any] = []
    for member in item:
        if isinstance(member, str) and "*" in member:
            found = sorted(path.relative_to(docs).as_posix() for path in docs.glob(member))
            unfolded += [name for name in found if name not in named]
        else:
            unfolded.append(_unfold(member, docs, named))
    return unfolded


def _beside(page: str, link: str) -> str | None:
    """What a link names in the repository, if that is outside docs/ and exists."""
    name = os.path.normpath(Path("docs", page).parent / link)
    return None if name.startswith(("docs/", "..")) or not (ROOT / name).exists() else name


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The site has a copy of each file of the repository that a page links to."""
    named = {
        name
        for page in files.documentation_pages()
        for _, link in LINK.findall(page.content_string)
        if (name := _beside(page.src_uri, link)) and (ROOT / name).is_file()
    }
    for name in sorted(named):
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, f"repository/{name}.txt", content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    up = "../" * page.file.src_uri.count("/")

    def rewritten(found: re.Match[str]) -> str:
        name = _beside(page.file.src_uri, found[2])
        if name is None:
            return found[0]
        # A folder has no page of its own: its name stays.
        return f"[{found[1]}]({up}repository/{name}.txt)" if (ROOT / name).is_file() else found[1]

    return LINK.sub(rewritten, markdown)
