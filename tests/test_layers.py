# SPDX-License-Identifier: Apache-2.0
"""The layers of doc/architecture.md are true: who includes whom, who names an op, and what a new op costs.

SOURCE is the repository."""

import ast
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("SOURCE", pathlib.Path(__file__).parent.parent))
PAGE = (SOURCE / "doc" / "architecture.md").read_text()
CODE = {".c", ".h", ".cu", ".cuh", ".cpp", ".inc"}
NO_CODE = {"packaging", "subprojects"}  # of ours


def folders():
    """Everything at the top but what is built or hidden."""
    return sorted(path.name for path in SOURCE.iterdir() if path.is_dir() and not re.match(r"\.|build|dist", path.name))


def sources(folder):
    return [path for path in sorted((SOURCE / folder).rglob("*")) if path.suffix in CODE]


def table():
    """{folder: what it may include besides itself}, from the page's table of includes."""
    rows = re.findall(r"^\| `(\w+)/` includes \| (.*) \|$", PAGE, re.M)
    return {folder: re.findall(r"`([\w./]+)`", allowed) for folder, allowed in rows}


FOLDERS = [name for name in folders() if name not in NO_CODE and sources(name)]


def included(path):
    """What a file includes of ours: "kernels/cpu.h", or "include" for a public header."""
    for name in re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', path.read_text(), re.M):
        if name == "motley.h" or name.startswith("motley/"):
            yield "include/" + name
        elif name.split("/")[0] in FOLDERS:
            yield name


def ops():
    text = (SOURCE / "augmentations" / "ops.h").read_text()
    return re.findall(r"^\s+X\((\w+),\s*(\w+),\s*(\w+)\)", text, re.M)


class Map(unittest.TestCase):
    """tests/README.md leads from every source file to its tests."""

    PAGE = (SOURCE / "tests" / "README.md").read_text()

    def test_every_source_file_has_a_row(self):
        rows = re.findall(r"^\| (`.*?) \| .* \| .* \|$", self.PAGE, re.M)
        patterns = [pattern for row in rows for pattern in re.findall(r"`([^`]+)`", row)]
        self.assertGreater(len(patterns), 40)
        tested = (
            "include",
            "base",
            "augmentations",
            "policies",
            "kernels",
            "followers",
            "dispatch",
            "tools",
            "bindings",
        )
        files = [str(path.relative_to(SOURCE)) for folder in tested for path in sources(folder)]
        for name in files:
            self.assertTrue(
                any(fnmatch.fnmatch(name, pattern) for pattern in patterns),
                f"{name} has no row in tests/README.md: say which tests check it",
            )
        for pattern in patterns:
            self.assertTrue(list(SOURCE.glob(pattern)), f"tests/README.md has a row for {pattern}, which is not there")

    def test_every_test_is_named(self):
        for path in sorted((SOURCE / "tests").glob("*.*")):
            if path.name not in ("README.md", "meson.build"):
                name = re.sub(r"^check.*\.c$", "check*.c", path.name)
                self.assertTrue(
                    path.name in self.PAGE or name in self.PAGE, f"tests/README.md does not name {path.name}"
                )
        for name in re.findall(r"`((?:pillow/|golden/|peers/)?\w+\.(?:c|py|h|sh|inc|supp))`", self.PAGE):
            self.assertTrue(
                (SOURCE / "tests" / name).exists() or (SOURCE / "scripts" / name).exists(),
                f"tests/README.md names {name}, which is not there",
            )

    def test_python_tests_have_the_names_of_modules(self):
        """test_<module>.py or test_<module>_<part>.py, unless the page names the file."""
        package = SOURCE / "bindings" / "python" / "motley"
        paths = [path.relative_to(package).with_suffix("") for path in package.rglob("*.py")]
        modules = {"_".join(path.parts).replace("___init__", "").lstrip("_") for path in paths}
        for path in sorted((SOURCE / "bindings" / "python" / "tests").glob("test_*.py")):
            words = path.stem.split("_")[1:]
            known = any("_".join(words[:end]) in modules for end in range(1, len(words) + 1))
            self.assertTrue(known or path.name in self.PAGE, f"{path.name} has no module's name")

    def test_what_stands_for_criterion_has_every_macro(self):
        """Builds with the thread sanitizer, and those for another processor, have no Criterion: tests/in_process."""

        def macros(paths):
            return {name for path in paths for name in re.findall(r"\bcr_\w+", path.read_text())}

        tests = SOURCE / "tests"
        missing = macros([*tests.glob("*.c"), *tests.glob("*.h")]) - macros((tests / "in_process").rglob("*.h"))
        self.assertEqual(sorted(missing), [], "tests/in_process/criterion/criterion.h lacks what tests use")


class Layers(unittest.TestCase):
    def test_every_include_is_an_arrow_of_the_page(self):
        arrows = table()
        self.assertEqual(sorted(arrows), FOLDERS)
        for folder in FOLDERS:
            used = set()
            for path in sources(folder):
                for name in included(path):
                    if name.startswith(folder + "/"):
                        continue
                    fits = [allowed for allowed in arrows[folder] if name == allowed or name.startswith(allowed)]
                    self.assertTrue(
                        fits,
                        f"{path.relative_to(SOURCE)} includes {name}, but doc/architecture.md draws "
                        f"no such arrow from {folder}/: move what is needed, or change the page",
                    )
                    used.update(fits)
            self.assertEqual(sorted(set(arrows[folder]) - used), [], f"{folder}/ uses no such arrow any more")

    def test_no_file_outside_augmentations_names_an_op(self):
        self.assertGreater(len(ops()), 20)
        constants = "|".join(constant for _, constant, _ in ops())
        shapes = {shape.lower() for shape, _, _ in ops()}
        for folder in set(FOLDERS) - {"augmentations", "tools", "examples", "bindings", "bench", "tests"}:
            for path in sources(folder):
                text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
                found = re.findall(rf"\bMOT_OP_(?:{constants})\b", text)
                found += [
                    stem
                    for _, _, stem in ops()
                    if stem not in shapes and re.search(rf'"{stem}"|\bmot_{stem}(_prepare)?\(', text)
                ]
                self.assertEqual(
                    found,
                    [],
                    f"{path.relative_to(SOURCE)} names an op: let a fact of its row say it (augmentations/table.h)",
                )


class Cuda(unittest.TestCase):
    """dispatch/cuda reads from top to bottom: a file uses those of rows below its own in the page's table, by includes
    and by calls. pool and timeline use each other, since memory is released once the device has done its calls."""

    TABLE = re.search(r"^In `dispatch/cuda/`.*?\n\n(.*?)\n\n", PAGE, re.M | re.S)[1].split("\n")[2:]
    ROWS = [re.findall(r"`(\w+)\.", row.split("|")[1]) for row in TABLE]

    def arrows(self):
        """{file without its suffix: those that it uses}"""
        code = {path: re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S) for path in sources("dispatch/cuda")}
        bodies = {path: text for path, text in code.items() if path.suffix in (".c", ".cu")}
        found = {path.stem: set() for path in bodies}
        head = r"^(?!static)[a-z][^;{}()]*\b(mot_\w+)\([^;{}]*\)\n\{"
        home = {name: path.stem for path, text in bodies.items() for name in re.findall(head, text, re.M)}
        self.assertGreater(len(home), 60)
        for path in code:
            for name in included(path):
                other = pathlib.Path(name)
                if str(other.parent) == "dispatch/cuda" and {path.stem, other.stem} <= set(found):
                    found[path.stem].add(other.stem)
        for path, text in bodies.items():
            found[path.stem] |= {home[name] for name in set(re.findall(r"\bmot_\w+", text)) & set(home)}
        return {name: others - {name} for name, others in found.items()}

    def test_a_file_uses_those_below_it(self):
        row, arrows = {name: i for i, names in enumerate(self.ROWS) for name in names}, self.arrows()
        self.assertEqual(sorted(row), sorted(arrows), "doc/architecture.md's table has other files")
        self.assertGreater(sum(map(len, arrows.values())), 60)
        upwards = {(name, other) for name in arrows for other in arrows[name] if row[other] <= row[name]}
        self.assertEqual(upwards, {("pool", "timeline")})

    def test_no_file_names_a_stage(self):
        """What the GPU has to know of a stage is in the facts that mot_transform_finish finds."""
        kinds = re.findall(
            r"\bMOT_STAGE_\w+", (SOURCE / "policies" / "transform.h").read_text().split("mot_stage_kind;")[0]
        )
        kinds = [kind for kind in kinds if kind != "MOT_STAGE_POLICY_BLOCKS"]
        self.assertGreater(len(kinds), 12)
        for path in [*sources("dispatch/cuda"), *sources("kernels")]:
            found = re.findall(rf"\b(?:{'|'.join(kinds)}|MOT_STAGE_BLOCK)\b", path.read_text())
            self.assertEqual(found, [], f"{path.relative_to(SOURCE)} names a stage: let a fact of it say it")


def functions(path):
    """(name, lines) of every function of a C or CUDA file that clang-format has laid out."""
    lines = path.read_text().split("\n")
    for i, line in enumerate(lines):
        opens = re.match(r"^( {0,4})\{$", line)
        if not opens or not re.search(r"\)( const)?$", lines[i - 1]):
            continue
        first, end = i, lines.index(opens[1] + "}", i)
        while lines[first - 1].strip() and not re.search(r"^#|(\*/|[;}\\])$", lines[first - 1]):
            first -= 1
        head = re.sub(r"__launch_bounds__\([^)]*\)", "", " ".join(lines[first:i]))
        yield re.search(r"(\w+)\(", head)[1], end - first + 1


class Sizes(unittest.TestCase):
    """A file or a function of the library can be read in one go."""

    FOLDERS = ("include", "base", "augmentations", "policies", "kernels", "followers", "dispatch")
    FILE, FUNCTION = 700, 60
    LONGER = {  # and why
        "run_program": "a switch over the instructions",
        "walk": "a hot loop; split further, it takes other instructions",
        "store_directly": "the same",
        "store_bytes_of_planes": "the same",
        "warp_fixed": "to be split",
        "draw_kernel": "to be split",
        "mot_tiles_plan_of": "to be split",
    }

    def test_files(self):
        for folder in self.FOLDERS:
            for path in sources(folder):
                name, lines = str(path.relative_to(SOURCE)), path.read_text().count("\n")
                self.assertLessEqual(lines, self.FILE, f"{name}: split it along its sections")

    def test_lines_of_the_manual(self):
        """The formatter does not touch comments in include/, so nothing else keeps them within 120 columns."""
        for path in sources("include"):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                self.assertLessEqual(len(line), 120, f"{path}:{number}")

    def test_functions(self):
        found, longer = 0, {}
        for folder in self.FOLDERS:
            for path in sources(folder):
                for name, lines in functions(path):
                    found += 1
                    if lines > self.FUNCTION:
                        longer[name] = f"{path.relative_to(SOURCE)}: {name} has {lines} lines"
        self.assertGreater(found, 1500)
        for name, what in longer.items():
            self.assertIn(name, self.LONGER, f"{what}, more than {self.FUNCTION}: split it")


class Python(unittest.TestCase):
    """The Python package's modules import those that stand above them, and can be read in one go."""

    ROOT, LINES = SOURCE / "bindings" / "python" / "motley", 700
    ROWS = [re.findall(r"`(\w+)`", row) for row in re.findall(r"^\| (`_core`.*?|`\w+`, `\w+`.*?) \|", PAGE, re.M)]

    def modules(self):
        """{"torch.collate": its file}"""
        files = sorted(self.ROOT.rglob("*.py"))
        return {
            ".".join(path.relative_to(self.ROOT).with_suffix("").parts).replace(".__init__", ""): path for path in files
        }

    def imported(self, name, path):
        """The modules that this one imports while it is imported itself."""
        package = name.split(".")[: None if path.name == "__init__.py" and name != "__init__" else -1]
        waiting = list(ast.parse(path.read_text()).body)
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                waiting += node.orelse
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1] if node.level else None
                parts = [*(["motley", *base] if base is not None else []), *(node.module or "").split(".")]
                parts = [part for part in parts if part]
                yield from (".".join([*parts, alias.name]) for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif not isinstance(node, (ast.FunctionDef, ast.Lambda)):
                waiting += ast.iter_child_nodes(node)

    def arrows(self):
        modules, found = self.modules(), {}
        for name, path in modules.items():
            found[name] = set()
            for dotted in self.imported(name, path):
                parts = dotted.split(".")
                if parts[0] == "motley":
                    names = [".".join(parts[1:end]) for end in range(len(parts), 1, -1)]
                    found[name].add(next((n for n in names if n in modules or n == "_core"), "__init__"))
        return found

    def test_modules_import_those_above_them(self):
        place = {module: i for i, row in enumerate(self.ROWS) for module in row}
        arrows = self.arrows()
        self.assertGreater(sum(map(len, arrows.values())), 100)
        for module, others in arrows.items():
            self.assertIn(module.split(".")[0], place, "the table of doc/architecture.md lacks this module")
            for other in others:
                below = place[other.split(".")[0]] > place[module.split(".")[0]]
                self.assertFalse(below, f"{module} imports {other}, which stands below it in doc/architecture.md")

    def test_no_circles(self):
        arrows, done = self.arrows(), set()

        def visit(module, way):
            self.assertNotIn(module, way, "modules import each other")
            if module not in done:
                for other in arrows.get(module, ()):
                    visit(other, (*way, module))
                done.add(module)

        for module in arrows:
            visit(module, ())

    def test_sizes(self):
        for name, path in self.modules().items():
            lines = path.read_text().count("\n")
            self.assertLessEqual(lines, self.LINES, f"{name}: split it along its sections")


class Device(unittest.TestCase):
    """kernels/cuda/device.cuh alone has inline assembly, so that every instruction has its emulation."""

    def test_no_other_file_has_assembly(self):
        texts = {
            path: path.read_text()
            for folder in ("kernels", "followers", "augmentations", "policies", "dispatch")
            for path in sources(folder)
        }
        found = [
            str(path.relative_to(SOURCE))
            for path, text in texts.items()
            if re.search(r"\basm\b\s*(volatile)?\s*\(", text) and path.suffix in (".cu", ".cuh")
        ]
        self.assertEqual(found, ["kernels/cuda/device.cuh"])


# What a stage takes that draws steps, with one key: edits of files in policies/, and none elsewhere. It is a copy of
# grayscale, which draws one op.
STAGE = {
    "policies/transform.h": [
        ("MOT_STAGE_KINDS\n} mot_stage_kind", "MOT_STAGE_PROBE,\n    MOT_STAGE_KINDS\n} mot_stage_kind")
    ],
    "policies/stage_keys.c": [
        (
            "    [MOT_STAGE_TO_RGB] =",
            '    [MOT_STAGE_PROBE] = FORM("probe", grayscale, 3, STEPS, 0, 0),\n    [MOT_STAGE_TO_RGB] =',
        )
    ],
    "policies/transform.c": [
        ("    case MOT_STAGE_GRAYSCALE:\n", "    case MOT_STAGE_PROBE:\n    case MOT_STAGE_GRAYSCALE:\n")
    ],
    "policies/transform_draw.h": [
        ("stage->kind == MOT_STAGE_GRAYSCALE ?", "stage->kind != MOT_STAGE_BLUR ?"),
        ("if (stage->kind == MOT_STAGE_GRAYSCALE) {", "if (stage->kind != MOT_STAGE_BLUR) {"),
    ],
}

# Its test: with other stages around it, in a crop, an output and views, it does what grayscale does by the same chance.
STAGE_TEST = r"""
#include <motley.h>
#include <stdio.h>
#include <string.h>

static uint8_t in[20 * 24 * 3];

static int apply(motley_backend backend, const char *stage, float *out)
{
    char text[400];
    motley_policy *policy, *shown;
    motley_context *context;
    motley_error error = { 0 };
    char *print;
    snprintf(text, sizeof text, "motley: 1\nname: x\nstages:\n  - random_resized_crop: {size: 16}\n"
             "  - policy: rand_augment\n  - %s: {}\n  - flip: {vertical: 0.5}\n", stage);
    if (motley_policy_parse(text, strlen(text), NULL, &policy, &error) == MOTLEY_OK) /* flip comes before the others */
        return fprintf(stderr, "a wrong order is taken\n");
    snprintf(text, sizeof text, "motley: 1\nname: x\nstages:\n  - random_resized_crop: {size: 16}\n"
             "  - flip: {vertical: 0.5}\n  - policy: rand_augment\n  - %s: {}\n  - output: {mean: 0.5, std: 0.5}\n"
             "  - erase: {}\n", stage);
    const motley_batch src = { .count = 1, .channels = 3, .data = in, .width = 24, .height = 20 };
    const motley_batch dst = { .count = 1, .channels = 3, .dtype = MOTLEY_F32, .data = out, .width = 16, .height = 16 };
    const motley_context_params params = { .backend = backend };
    if (motley_policy_parse(text, strlen(text), NULL, &policy, &error) != MOTLEY_OK ||
        motley_policy_print(policy, MOTLEY_PRINT_TEXT, &print, &error) != MOTLEY_OK ||
        motley_policy_parse(print, strlen(print), NULL, &shown, &error) != MOTLEY_OK ||
        motley_context_create(&params, &context, &error) != MOTLEY_OK ||
        motley_apply(context, shown, &src, &dst, NULL, &error) != MOTLEY_OK)
        return fprintf(stderr, "%s\n", error.message);
    return 0;
}

int main(void)
{
    static float out[3][16 * 16 * 3];
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)(i * 37 + i / 11);
    return apply(MOTLEY_BACKEND_CPU, "grayscale", out[0]) || apply(MOTLEY_BACKEND_CPU, "probe", out[1]) ||
           apply(MOTLEY_BACKEND_REFERENCE, "probe", out[2]) || memcmp(out[0], out[1], sizeof out[0]) != 0 ||
           memcmp(out[0], out[2], sizeof out[0]) != 0;
}
"""


def add_stage(tree):
    """Gives a copy of the tree one more stage."""
    for name, edits in STAGE.items():
        text = (tree / name).read_text()
        for old, new in edits:
            assert text.count(old) == 1, f"{name} has {old!r} {text.count(old)} times"
            text = text.replace(old, new)
        (tree / name).write_text(text)


@unittest.skipUnless(shutil.which("meson"), "meson is not here")
class Additions(unittest.TestCase):
    def test_a_new_op_of_any_shape_is_two_files(self):
        """A copy of the tree gets one more op of each shape, itself a copy of one that is there: its header, and its
        two lines in ops.h; and one more stage, which takes policies/ alone. The library must build, the matrix must
        find the op equal on all backends, and the stage must do what it is a copy of."""
        first = {}
        for shape, constant, stem in ops():
            first.setdefault(shape, (constant, stem))
        first["POINT"] = "INVERT", "invert"  # the first one, identity, does nothing
        with tempfile.TemporaryDirectory(prefix="motley-op-") as folder:
            tree = pathlib.Path(folder)
            for name in folders():
                shutil.copytree(SOURCE / name, tree / name)
            for path in SOURCE.glob("*"):
                if path.is_file():
                    shutil.copy(path, tree)
            path = tree / "augmentations" / "ops.h"
            text = path.read_text()
            for shape, (constant, stem) in first.items():
                header = (tree / "augmentations" / f"{stem}.h").read_text()
                new = f"probe_{shape.lower()}"
                (tree / "augmentations" / f"{new}.h").write_text(
                    re.sub(
                        rf"\b((?:mot_)?){stem}\b",
                        rf"\1{new}",
                        header.replace(f"mot_{stem}", f"mot_{new}").replace(f"MOT_{constant}", f"MOT_{new.upper()}"),
                    )
                )
                public = '#include "motley/op.h"'
                text = text.replace(public, f'#include "augmentations/{new}.h"\n{public}')
                text = re.sub(
                    r"(MOT_OPS\(X\)(?:.*\\\n)+.*\))\n", rf"\1 \\\n    X({shape}, {new.upper()}, {new})\n", text, count=1
                )
            path.write_text(text)
            add_stage(tree)
            (tree / "probe.c").write_text(STAGE_TEST)
            version = re.search(r"^  version: '([\d.]+)'", (tree / "meson.build").read_text(), re.M)
            library = f"libmotley.so.{version[1]}"
            off = [f"-D{name}=disabled" for name in ("cuda", "tools", "examples", "docs", "python", "bench")]
            setup = ["meson", "setup", tree / "build", tree, "-Dtests=enabled", "-Dcpu_sets=", "-Doptimization=1", *off]
            for command in (
                setup,
                ["ninja", "-C", tree / "build", "tests/check", library],
                ["cc", "-I", tree / "include", tree / "probe.c", tree / "build" / library, "-o", tree / "probe"],
                ["env", f"LD_LIBRARY_PATH={tree / 'build'}", tree / "probe"],
                *([tree / "build" / "tests" / "check", "--op", f"probe_{shape.lower()}"] for shape in first),
            ):
                done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
                self.assertEqual(done.returncode, 0, (done.stdout + done.stderr)[-4000:])


if __name__ == "__main__":
    unittest.main()
