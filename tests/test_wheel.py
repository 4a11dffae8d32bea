# SPDX-License-Identifier: Apache-2.0
"""What a wheel contains: its name and metadata, the command, the policy files, and the licences of all that is in it.

    test_wheel.py WHEEL [LAUNCHER...]     needs pip; installs the wheel into a temporary folder
    test_wheel.py WHEEL qemu-aarch64 -L build-wheel/arm64 build-wheel/arm64/usr/bin/python3.11

LAUNCHER runs a Python of the wheel's processor, where that is another than this one."""

import email
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
OF_EVERY_LINUX = {
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
wheel = None
launcher = [sys.executable]


class Contents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = zipfile.ZipFile(wheel)
        cls.names = cls.files.namelist()
        [metadata] = [name for name in cls.names if name.endswith(".dist-info/METADATA")]
        cls.metadata = email.message_from_bytes(cls.files.read(metadata))
        cls.folder = metadata.rsplit("/", 1)[0]

    def test_the_name_is_free_and_the_module_is_motley(self):
        self.assertEqual(self.metadata["Name"], "motley-augment")
        self.assertIn("motley/__init__.py", self.names)

    def test_a_package_index_takes_it(self):
        self.assertLess(os.path.getsize(wheel), 100 << 20)

    def test_the_version_is_the_library_s(self):
        version = re.search(r"version: '([\d.]+)'", (SOURCE / "meson.build").read_text()).group(1)
        self.assertEqual(self.metadata["Version"], version)

    def test_classifiers(self):
        classifiers = self.metadata.get_all("Classifier")
        for wanted in ("Operating System :: POSIX :: Linux", "Programming Language :: Python :: 3"):
            self.assertIn(wanted, classifiers)
        self.assertFalse([c for c in classifiers if c.startswith("License ::")])  # License-Expression says it
        self.assertEqual(self.metadata["License-Expression"], "Apache-2.0")

    def test_the_page_links_to_nothing_that_a_package_page_lacks(self):
        page = self.metadata.get_payload()
        self.assertGreater(len(page), 1000)
        for target in re.findall(r"\]\(([^)]*)\)", page):
            self.assertRegex(target, "^https://")

    def test_licences_of_all_that_is_inside(self):
        texts = {pathlib.Path(name).stem for name in self.names if name.startswith(self.folder + "/licenses/")}
        self.assertLessEqual({"LICENSE", "libyaml", "pthreadpool", "fxdiv", "random123"}, texts)
        for name in self.names:
            library = re.match(r"motley_augment\.libs/(lib[a-z-]+?)\d*-[0-9a-f]{8}\.so", name)
            if library and library.group(1) != "libmotley":
                self.assertTrue([t for t in texts if t.startswith(library.group(1))], f"no licence of {name}")

    def test_typed_as_in_the_source(self):
        marker = SOURCE / "bindings" / "python" / "motley" / "py.typed"
        self.assertEqual("motley/py.typed" in self.names, marker.exists())

    def test_every_module_and_policy_is_there(self):
        package = SOURCE / "bindings" / "python"
        for path in [*(package / "motley").rglob("*.py"), *(package / "motley").rglob("*.pyi")]:
            if path.name != "dali_flags.py":  # read at build time, for -Ddali
                self.assertIn(str(path.relative_to(package)), self.names)
        for path in (SOURCE / "policy_files").glob("*.yaml"):
            self.assertIn(f"motley/policy_files/{path.name}", self.names)

    @unittest.skipUnless(shutil.which("readelf"), "readelf is not here")
    def test_it_needs_no_more_than_its_name_says(self):
        oldest = tuple(map(int, re.search(r"manylinux_(\d+)_(\d+)", wheel).groups()))
        for name in self.names:
            if name.endswith((".so", "/command")) or ".so." in name:
                with tempfile.NamedTemporaryFile() as file:
                    file.write(self.files.read(name))
                    file.flush()
                    told = subprocess.run(["readelf", "-dV", file.name], capture_output=True, text=True).stdout
                needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", told))
                ours = {library for library in needed if library.startswith("libmotley-")}
                self.assertLessEqual(needed - ours, OF_EVERY_LINUX, name)
                self.assertIn("libc.so.6", needed)
                for version in re.findall(r"GLIBC_(\d+)\.(\d+)", told):
                    self.assertLessEqual(tuple(map(int, version)), oldest, name)

    def test_nothing_of_the_machine_is_left_in_it(self):
        for name in self.names:
            if name.endswith((".so", "/command")):
                self.assertNotIn(b"/tmp/tmp.", self.files.read(name), name)


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.site = folder.name
        platform = re.search(r"manylinux\w+|linux\w+", wheel)[0]
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "install",
                "-q",
                "--no-deps",
                "--no-index",
                "--target",
                cls.site,
                "--platform",
                platform,
                "--only-binary=:all:",
                wheel,
            ],
            check=True,
        )

    def run_python(self, *args):
        done = subprocess.run(
            [*launcher, *args],
            capture_output=True,
            text=True,
            cwd=self.site,
            timeout=300,
            env={"PATH": "/nowhere", "PYTHONPATH": self.site},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_command_by_itself(self):
        command = [*launcher[:-1], os.path.join(self.site, "motley", "command")]
        done = subprocess.run([*command, "show", "rand_augment"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("name: rand_augment", done.stdout)

    @unittest.skipIf(len(sys.argv) > 2, "a command of another processor is started by no Python")
    def test_the_command_by_both_ways(self):
        for command in (["-m", "motley"], [os.path.join(self.site, "bin", "motley")]):
            self.assertRegex(self.run_python(*command, "--version"), r"^motley [\d.]+$")
            self.assertIn("rotate", self.run_python(*command, "ops"))

    def test_policy_files_are_policies(self):
        code = (
            "import importlib.resources as r, motley\n"
            "for file in (r.files('motley') / 'policy_files').iterdir():\n"
            "    if file.name.endswith('.yaml'): motley.Policy(file); print(file.name)\n"
        )
        self.assertIn("rand_augment.yaml", self.run_python("-c", code))

    def test_a_command_that_was_not_built_says_what_to_install(self):
        os.rename(os.path.join(self.site, "motley", "command"), os.path.join(self.site, "command"))
        try:
            done = subprocess.run(
                [*launcher, "-m", "motley"], capture_output=True, text=True, env={"PYTHONPATH": self.site}
            )
        finally:
            os.rename(os.path.join(self.site, "command"), os.path.join(self.site, "motley", "command"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("apt-get install libjson-c-dev", done.stderr)


if __name__ == "__main__":
    wheel = os.path.abspath(sys.argv[1])
    if sys.argv[2:]:  # it is run in another folder, without a PATH
        launcher = [
            os.path.abspath(word) if os.path.exists(word) else shutil.which(word) or word for word in sys.argv[2:]
        ]
    unittest.main(argv=sys.argv[:1])
