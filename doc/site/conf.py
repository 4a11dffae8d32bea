# SPDX-License-Identifier: Apache-2.0
"""The documentation site: the repository's pages, the public headers and the docstrings. scripts/docs.sh builds it."""

import ast
import pathlib
import re
import shutil
import sys

from docutils import nodes
from sphinx.ext.napoleon import GoogleDocstring

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "doc" / "site"))
sys.path.insert(0, str(ROOT / "build" / "bindings" / "python"))

project = "Motley"
author = "The authors of Motley"
version = release = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text()).group(1)
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "doc/site/index"
include_patterns = ["*.md", "doc/*.md", "doc/notes/*.md", "doc/site/**", "bindings/python/README.md", "tests/README.md"]
exclude_patterns = ["doc/site/__pycache__"]
html_theme = "furo"
html_title = f"Motley {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_copyright = False
myst_heading_anchors = 3
autodoc_mock_imports = ["torch", "torchvision", "timm", "numpy", "PIL", "ffcv", "nvidia"]
autodoc_member_order = "bysource"
suppress_warnings = ["myst.header"]


def keep_links_inside(app, name, source):
    """Links to pages of the site stay, those to other files of the repository become their text. A file that is not
    there is an error."""
    folder = (ROOT / app.env.doc2path(name, base=False)).parent

    def mend(match):
        image, text, target = match.groups()
        path = target.split("#")[0]
        if "://" in target or not path:
            return match.group(0)
        if not (folder / path).exists():
            raise FileNotFoundError(f"{name}: the link to {target} leads nowhere")
        if image or (folder / path).resolve().relative_to(ROOT).with_suffix("").as_posix() in app.env.found_docs:
            return match.group(0)
        return text

    source[0] = re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]*)\)", mend, source[0])


def write_headers(app):
    """A page for each public header: its functions as entries of the index, everything else as it stands."""
    target = pathlib.Path(app.srcdir) / "doc" / "site" / "c"
    shutil.rmtree(target, ignore_errors=True)  # pages of headers that are gone
    target.mkdir()
    pages = []
    for header in sorted((ROOT / "include" / "motley").glob("*.h")):
        text = header.read_text()
        title = f"motley/{header.name}"
        page = [title, "=" * len(title), ""]
        page += [" ".join(re.search(r"/\*\*(.*?)\*/", text, re.S).group(1).replace("\n *", "\n").split()), ""]
        for comment, prototype in re.findall(r"/\*\*((?:(?!\*/).)*)\*/\s*MOTLEY_API ([^;{]*\));", text, re.S):
            page += [".. c:function:: " + " ".join(prototype.split()), "", "   .. code-block:: text", ""]
            page += ["      " + re.sub(r"^ \* ? ?", "", line).rstrip() for line in comment.strip().split("\n")] + [""]
        page += [
            "The whole header",
            "-" * 16,
            "",
            f".. literalinclude:: ../../../include/motley/{header.name}",
            "   :language: c",
            "",
        ]
        (target / f"{header.stem}.rst").write_text("\n".join(page))
        pages.append(f"   {header.stem}")
    top = [
        "The C interface",
        "===============",
        "",
        "Programs include ``motley.h``, which includes these.",
        "",
        ".. toctree::",
        "",
    ]
    (target / "index.rst").write_text("\n".join(top + pages) + "\n")


def write_torchvision(app):
    """motley.torchvision from its source, because its classes are made of torchvision's."""
    folder = ROOT / "bindings" / "python" / "motley" / "torchvision"
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())).split("\n")
    keep_columns(app, "module", "", None, None, text)
    for name, wanted in (("fused.py", ["fuse"]), ("__init__.py", ["take_over", "hand_back"])):
        for node in ast.parse((folder / name).read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name in wanted:
                returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
                text += ["", f".. py:function:: motley.torchvision.{node.name}({ast.unparse(node.args)}){returns}", ""]
                docstring = re.sub(r"\n\n(?=    \S)", "\n\n::\n\n", ast.get_docstring(node))  # code
                text += ["   " + line for line in GoogleDocstring(docstring).lines()]
    (pathlib.Path(app.srcdir) / "doc" / "site" / "c" / "torchvision.txt").write_text("\n".join(text) + "\n")


def keep_columns(app, what, name, obj, options, lines):
    """A module's text stands as it is below its first sentence: it is written to be read in a terminal."""
    if what == "module" and "" in lines:
        end = lines.index("")
        lines[end:] = ["", ".. code-block:: text", "", *("   " + line for line in lines[end:])]


def write_llms_txt(app, failure):
    """llms.txt: every page with its title and first sentence, for readers that are programs."""
    if failure or app.builder.name != "html":
        return
    lines = ["# Motley", "", "> A different augmentation for every image of a batch.", ""]
    for name, title in sorted(app.env.titles.items()):
        paragraph = next(iter(app.env.get_doctree(name).findall(nodes.paragraph)), None)
        sentence = re.split(r"(?<=[.:])\s", " ".join(paragraph.astext().split()))[0] if paragraph else ""
        lines.append(f"- [{title.astext()}]({name}.html): {sentence}")
    (pathlib.Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n")


def setup(app):
    app.connect("autodoc-process-docstring", keep_columns)
    app.connect("build-finished", write_llms_txt)
    app.connect("builder-inited", write_headers, priority=400)
    app.connect("builder-inited", write_torchvision, priority=401)
    app.connect("source-read", keep_links_inside)
