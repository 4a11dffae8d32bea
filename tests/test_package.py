# SPDX-License-Identifier: Apache-2.0
"""What a user gets: exported names, headers that stand alone, the installed tree, completion of the command in bash.

SOURCE and BUILD are the two directories, LIBRARY the shared library, CC the C compiler."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = pathlib.Path(os.environ["SOURCE"]), pathlib.Path(os.environ["BUILD"])
LIBRARY, CC = os.environ["LIBRARY"], os.environ["CC"].split()
SOVERSION = re.search(r"soversion: '(\d+)'", (SOURCE / "meson.build").read_text())[1]
HEADERS = sorted((SOURCE / "include").rglob("*.h"))
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


def run(*args, **options):
    done = subprocess.run([str(a) for a in args], check=True, capture_output=True, text=True, timeout=120, **options)
    return done.stdout


def declared():
    text = "".join(header.read_text() for header in HEADERS)
    return set(re.findall(r"MOTLEY_API[^;]*?\b(motley_\w+)\(", text))


class Functions(unittest.TestCase):
    MOST = 60

    def test_no_more_than_a_reader_keeps_in_mind(self):
        self.assertLessEqual(len(declared()), self.MOST, "one function for one idea: " + " ".join(sorted(declared())))


class Version(unittest.TestCase):
    def test_every_place_that_states_it_agrees(self):
        version = re.search(r"version: '([\d.]+)'", (SOURCE / "meson.build").read_text()).group(1)
        header = (SOURCE / "include" / "motley" / "version.h").read_text()
        parts = [re.search(rf"MOTLEY_VERSION_{part} (\d+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH")]
        self.assertEqual(".".join(parts), version)
        self.assertIn(f"version: {version}\n", (SOURCE / "CITATION.cff").read_text())
        self.assertIn('dynamic = ["version"]', (SOURCE / "pyproject.toml").read_text())
        self.assertIn(f'version: "{version}"', (SOURCE / "packaging" / "conda" / "recipe.yaml").read_text())
        self.assertTrue((SOURCE / "packaging" / "debian" / "changelog").read_text().startswith(f"motley ({version})"))

    def test_tests_that_scripts_name_are_there(self):
        folders = [SOURCE / "tests", SOURCE / "bindings" / "python" / "tests"]
        there = {path.name for folder in folders for path in folder.rglob("test_*.py")}
        workflows = (SOURCE / ".github" / "workflows").glob("*.yml")
        scripts = [*(SOURCE / "scripts").glob("*.sh"), *(SOURCE / "tests").glob("*.sh"), *workflows]
        for file in [*scripts, SOURCE / ".ci" / "run", SOURCE / "pyproject.toml", SOURCE / "RELEASING.md"]:
            text = re.sub(
                r"test_\{([\w,]+)\}\.py", lambda m: " ".join(f"test_{n}.py" for n in m[1].split(",")), file.read_text()
            )
            self.assertLessEqual(set(re.findall(r"\btest_\w+\.py", text)), there, file.name)

    def test_the_page_of_what_is_supported_is_what_the_files_say(self):
        page = (SOURCE / "doc" / "supported.md").read_text()
        self.assertEqual(
            page,
            run(sys.executable, SOURCE / "doc" / "supported.py"),
            "write it again: doc/supported.py >doc/supported.md",
        )


class Package(unittest.TestCase):
    @unittest.skipUnless(shutil.which("nm"), "nm is not here")
    def test_exports_are_the_declared_functions(self):
        names = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", LIBRARY).splitlines()}
        sanitizers = {name for name in names if re.match(r"__(asan|odr_asan|ubsan|tsan)", name)}
        self.assertGreater(len(names), 20)
        self.assertEqual(names - sanitizers - {f"MOTLEY_{SOVERSION}"}, declared())

    @unittest.skipUnless(shutil.which("objdump"), "objdump is not here")
    def test_exports_carry_the_version_of_the_interface(self):
        for line in run("objdump", "-T", LIBRARY).splitlines():
            if " motley_" in line:
                self.assertIn(f"MOTLEY_{SOVERSION}", line)

    def test_the_library_needs_no_cuda(self):
        if not shutil.which("readelf"):
            self.skipTest("readelf is not here")
        self.assertNotRegex(run("readelf", "-d", LIBRARY), r"NEEDED.*(cuda|curand|nv)")

    def test_each_header_stands_alone_in_c(self):
        for header in HEADERS:
            subprocess.run([*CC, "-std=c11", *STRICT, "-I", SOURCE / "include", "-x", "c", header], check=True)

    @unittest.skipUnless(shutil.which("c++"), "a C++ compiler is not here")
    def test_each_header_stands_alone_in_cpp(self):
        for header in HEADERS:
            subprocess.run(["c++", "-std=c++11", *STRICT, "-I", SOURCE / "include", "-x", "c++", header], check=True)

    def test_headers_are_short(self):
        for header in HEADERS:
            self.assertLess(len(header.read_text().splitlines()), 200, header)

    def test_the_lines_of_the_readme_compile_and_run(self):
        lines = re.search(r"^```c\n(.*?)^```$", (SOURCE / "README.md").read_text(), re.M | re.S)[1]
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "readme"
            main = "#include <stdlib.h>\nint main(void) { return augment(calloc(256, 224 * 224 * 3)); }\n"
            run(
                *CC,
                "-std=c11",
                *STRICT[:4],
                "-I",
                SOURCE / "include",
                "-x",
                "c",
                "-",
                "-x",
                "none",
                LIBRARY,
                f"-Wl,-rpath,{pathlib.Path(LIBRARY).parent}",
                "-o",
                program,
                input=lines + main,
            )
            run(program)

    def test_params_structs_say_their_size_and_are_tested(self):
        tested = (SOURCE / "tests" / "test_params.c").read_text()
        found = []
        for header in HEADERS:
            found += re.findall(r"typedef struct (motley_\w+_params) \{\n([^\n]*)", header.read_text())
        self.assertGreater(len(found), 8)
        for name, first in found:
            self.assertTrue(first.startswith("    size_t struct_size;"), f"{name} must begin with it: motley.h, Params")
            self.assertIn(f"TYPE({name})", tested, "tests/test_params.c has no function that takes it")

    def test_tools_and_examples_include_only_the_public_header(self):
        for folder in ("tools", "examples"):
            for path in (SOURCE / folder).glob("*.[ch]"):
                for name in re.findall(
                    r'#include ["<]((?:motley|augmentations|policies|kernels|dispatch)[^">]*)', path.read_text()
                ):
                    self.assertEqual(name, "motley.h", path)


@unittest.skipUnless(shutil.which("meson"), "meson is not here")
class Missing(unittest.TestCase):
    def test_one_message_names_all_that_a_bare_machine_lacks(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                ["meson", "setup", folder, SOURCE, "-Dtools=enabled", "-Dpython=enabled", "-Dcuda=disabled"],
                env={**os.environ, "CC": "/nowhere/cc", "PKG_CONFIG_LIBDIR": "/nowhere"},
                capture_output=True,
                text=True,
            )
        self.assertNotEqual(done.returncode, 0)
        message = done.stdout[done.stdout.index("ERROR") :]
        for what in ("a C compiler", "json-c", "libjpeg", "libpng", "libexif"):
            self.assertIn(what, message)
        for library in ("libyaml", "pthreadpool", "random123"):
            carried = any(path.is_dir() for path in (SOURCE / "subprojects").glob(library + "-*"))
            self.assertEqual(library in message, not carried)
        command = re.search("apt-get install (.*)", message).group(1).split()
        for package in ("gcc", "libc6-dev", "libjson-c-dev", "libjpeg-dev", "libpng-dev", "libexif-dev"):
            self.assertIn(package, command)


@unittest.skipUnless(shutil.which("meson"), "meson is not here")
class Configured(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="motley-setup-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def setup(self, *args, **environment):
        off = [f"-D{name}=disabled" for name in ("cuda", "tools", "tests", "examples", "docs", "python", "bench")]
        return subprocess.run(
            ["meson", "setup", self.dir / "build", SOURCE, *off, *args],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, **environment},
        )

    def test_flags_of_the_environment_cannot_change_results(self):
        hostile = "-Ofast -ffast-math -ffinite-math-only -funsigned-char -mfma -ffp-contract=fast -ftree-slp-vectorize"
        done = self.setup(CFLAGS=hostile)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        commands = json.loads((self.dir / "build" / "compile_commands.json").read_text())
        folders = "augmentations|base|dispatch|followers|kernels|policies"
        ours = [c for c in commands if re.search(rf"/({folders})/[^/]*$", c["file"])]
        self.assertGreater(len(ours), 20)
        for command in ours:
            words = command["command"].split()
            last = {word: i for i, word in enumerate(words)}
            for ours_is, users in (
                ("-ffp-contract=off", "-ffp-contract=fast"),
                ("-fno-fast-math", "-ffast-math"),
                ("-fno-fast-math", "-Ofast"),
                ("-fno-finite-math-only", "-ffinite-math-only"),
                ("-fsigned-char", "-funsigned-char"),
                ("-fno-tree-slp-vectorize", "-ftree-slp-vectorize"),
            ):
                self.assertGreater(last.get(ours_is, -1), last[users], command["file"])

    def test_what_a_compiler_tells_of_its_flags_is_checked(self):
        flags = [
            *CC,
            "-std=c11",
            "-fsyntax-only",
            "-I",
            SOURCE,
            "-I",
            SOURCE / "include",
            SOURCE / "kernels" / "reference.c",
        ]
        run(*flags)
        for bad in "-ffast-math", "-Ofast", "-ffinite-math-only", "-funsigned-char":
            done = subprocess.run([str(a) for a in [*flags, bad]], capture_output=True, text=True)
            self.assertIn("#error", done.stderr, bad)

    def test_big_endian_is_refused(self):
        cross = self.dir / "big.ini"
        cross.write_text(
            f"[binaries]\nc = {CC!r}\n[host_machine]\nsystem = 'linux'\ncpu_family = 's390x'\n"
            "cpu = 's390x'\nendian = 'big'\n[properties]\nneeds_exe_wrapper = true\n"
        )
        done = self.setup("--cross-file", str(cross))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the host is big-endian", done.stdout)

    def test_pip_on_another_system_says_what_is_supported(self):
        for system in ("darwin", "windows"):
            cross = self.dir / f"{system}.ini"
            cross.write_text(
                f"[binaries]\nc = {CC!r}\n[host_machine]\nsystem = '{system}'\ncpu_family = 'aarch64'\n"
                "cpu = 'aarch64'\nendian = 'little'\n"
            )
            done = self.setup("--cross-file", str(cross), "-Dpython=enabled")
            self.assertNotEqual(done.returncode, 0)
            [sentence] = re.findall(r"ERROR: (.*)", done.stdout)
            self.assertIn(f"runs on Linux (x86-64 and 64-bit ARM) only, not on {system}", sentence)

    def test_a_linker_without_version_scripts_gets_none(self):
        compiler = self.dir / "cc"
        compiler.write_text(
            "#!/bin/sh\ncase \"$*\" in *--version-script*) echo 'unknown option' >&2; exit 1;; esac\n"
            f'exec {shlex.join(CC)} "$@"\n'
        )
        compiler.chmod(0o755)
        done = self.setup(CC=str(compiler))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("version-script", (self.dir / "build" / "build.ninja").read_text())


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("meson"):
            raise unittest.SkipTest("meson is not here")
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="motley-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.root)
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", cls.root)

    def found(self, pattern):
        paths = [p for p in self.root.rglob(pattern)]
        self.assertTrue(paths, f"{pattern} was not installed")
        return paths[0]

    def test_everything_is_there(self):
        for pattern in (
            "include/motley.h",
            "include/motley/apply.h",
            "libmotley.so.0.*",
            "motley.pc",
            "motley/policies/rand_augment.yaml",
        ):
            self.found(pattern)
        if (BUILD / "tools" / "motley").exists():
            self.found("bin/motley")
            self.found("bash-completion/completions/motley")
        if (BUILD / "doc" / "motley.1").exists():
            self.assertIn("MOTLEY", self.found("man1/motley.1").read_text().upper())

    def test_the_command_starts_where_it_was_installed(self):
        if not (BUILD / "tools" / "motley").exists():
            self.skipTest("the command was not built")
        environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
        self.assertRegex(run(self.found("bin/motley"), "--version", env=environment), r"^motley \d+\.")

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not here")
    def test_a_program_builds_with_cmake(self):
        prefix = self.found("motley.h").parents[1]
        sanitize = re.findall(r"-fsanitize=[\w,]+", (BUILD / "compile_commands.json").read_text())[:1]
        folder = self.root / "cmake-build"
        run(
            "cmake",
            "-S",
            SOURCE / "examples" / "cmake",
            "-B",
            folder,
            f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_C_FLAGS={' '.join(sanitize)}",
        )
        run("cmake", "--build", folder)
        self.assertEqual(len(re.findall(r"^image \d: \w+", run(folder / "rand_augment"), re.M)), 4)

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not here")
    def test_a_program_builds_with_pkg_config_alone(self):
        folder = self.found("motley.pc").parent
        environment = {**os.environ, "PKG_CONFIG_PATH": str(folder), "PKG_CONFIG_SYSROOT_DIR": str(self.root)}
        flags = run("pkg-config", "--cflags", "--libs", "motley", env=environment).split()
        program = self.root / "program"
        sanitize = re.findall(r"-fsanitize=[\w,]+", (BUILD / "compile_commands.json").read_text())[:1]
        run(*CC, *sanitize, SOURCE / "examples" / "rand_augment.c", "-o", program, *flags)
        shown = run(program, env={**os.environ, "LD_LIBRARY_PATH": str(folder.parent)})
        self.assertEqual(len(re.findall(r"^image \d: \w+", shown, re.M)), 4)


@unittest.skipUnless(shutil.which("bash") and (BUILD / "tools" / "motley").exists(), "bash or the command is not here")
class Completion(unittest.TestCase):
    def complete(self, *words):
        script = (
            'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _motley; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = run(
            "bash",
            "-c",
            script,
            "bash",
            SOURCE / "tools" / "completion" / "motley.bash",
            BUILD / "tools" / "motley",
            *words,
        )
        return done.split()

    def test_commands_policies_ops_and_options(self):
        self.assertEqual(self.complete("app"), ["apply"])
        self.assertIn("rand_augment", self.complete("draw", "rand"))
        self.assertIn("rotate", self.complete("op", "ro"))
        self.assertEqual(self.complete("apply", "rand_augment", "--va"), ["--variants"])
        self.assertEqual(self.complete("op", "rotate", "9", "--interpolation", "bic"), ["bicubic"])
        self.assertEqual(self.complete("draw", "dino", "--only", "loc"), ["local"])


if __name__ == "__main__":
    unittest.main()
