#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs torchvision's and timm's own tests of Compose, of the policies and of whole recipes: on the library itself, and
after motley.torchvision.take_over(), which fuses every Compose. Writes the counts beside each other, and fails when a
test that passes on the library does not pass on Motley and REASONS does not say why.

    PYTHONPATH=BUILD_DIR/bindings/python tests/peers/run.py [--torchvision PATH] [--timm PATH] [--report]
    tests/peers/run.py --fetch DIRECTORY
    PYTHONPATH=BUILD_DIR/bindings/python tests/peers/run.py --check DIRECTORY

    --torchvision PATH    a checkout of torchvision, or its source archive (.tar.gz), which PyPI does not have;
                          without, apt-get downloads Debian's, of bookworm for 0.14 and of trixie for later versions
    --timm PATH           the same of timm; without, pip downloads the source distribution of the installed version
    --report              run nothing; write README.md's table from results/
    --fetch DIRECTORY     put torchvision's archive there, if none is there yet
    --check DIRECTORY     run torchvision's tests of the archive there, and write nothing; the status is 77 where
                          torchvision or the archive is missing

Run it by the Python whose torchvision and timm are to be tested (pytest and expecttest have to be there). The tests may
be of another release than the library: what fails on the library itself counts for nothing."""

import argparse
import collections
import datetime
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
V1 = "autoaugment or randaugment or trivialaugmentwide or compose or Compose"
V2 = "TestAutoAugmentTransforms or classification_preset or detection_preset or TestCompose or ContainerTransforms"
SUITES = [  # name, library, file, -k
    ("v1 on PIL images", "torchvision", "test/test_transforms.py", V1),
    ("v2", "torchvision", "test/test_transforms_v2.py", V2),
    ("timm data", "timm", "tests/test_data.py", ""),
]
HOWS = ("itself", "take_over")
ARCHIVE = "pytorch-vision_*.orig.tar.*"
REASONS = {  # pattern of a test's id -> why Motley cannot pass what the library passes
}


def unpacked(path, into):
    """The root of a checkout or of an archive."""
    path = pathlib.Path(path).resolve()
    if path.is_dir():
        return path
    with tarfile.open(path) as archive:
        archive.extractall(
            into, [m for m in archive.getmembers() if m.isfile() and m.name[0] != "/" and ".." not in m.name]
        )
    return next(child for child in into.iterdir() if child.is_dir())


def sources_of(release, into):
    """apt-get's options for a release's sources, from the mirror of the system's packages. Its own settings stay as
    they are."""
    sites = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"], capture_output=True, text=True
    ).stdout.split()
    site = next((site for site in sites if site.rstrip("/").endswith("/debian")), "")
    (into / "sources.list").write_text(f"deb-src {site} {release} main\n" if site else "")
    for name in ("lists/partial", "cache/archives/partial"):
        (into / name).mkdir(parents=True)
    options = {"Dir::Etc::sourcelist": "sources.list", "Dir::State::lists": "lists", "Dir::Cache": "cache"}
    found = ["-o", "Dir::Etc::sourceparts=-", *(f"-o{name}={into / path}" for name, path in options.items())]
    subprocess.run(["apt-get", *found, "update", "--quiet"], check=False, stdout=sys.stderr)
    return found


def fetched(library, version, into):
    if library == "timm":
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            "timm",
            f"timm=={version}",
        ]
    elif shutil.which("apt-get"):
        release = "bookworm" if version.startswith("0.14") else "trixie"
        command = [
            "apt-get",
            *sources_of(release, into),
            "source",
            "--quiet",
            "--download-only",
            "--tar-only",
            "pytorch-vision",
        ]
    else:
        command = ["true"]
    subprocess.run(command, cwd=into, check=False, stdout=sys.stderr)
    archives = [*into.glob("timm-*.tar.gz"), *into.glob(ARCHIVE)]
    if not archives:
        print(f"{library}: no source archive could be fetched: give --{library} PATH; its tests are left out")
        return None
    return archives[0]


def run(root, file, selection, how, scratch):
    """{test id: 'passed', 'failed' or 'skipped'}"""
    place = scratch / how
    tests = place / pathlib.Path(file).parent
    if not tests.exists():
        tests.mkdir(parents=True)
        for path in (root / pathlib.Path(file).parent).rglob("*"):
            to = tests / path.relative_to(root / pathlib.Path(file).parent)
            if path.is_dir():
                to.mkdir(exist_ok=True)
            else:
                to.write_bytes(path.read_bytes())
    (place / "takes_over.py").write_text("import motley.torchvision\nmotley.torchvision.take_over()\n")
    (place / "pytest.ini").write_text("[pytest]\n")
    xml_path = place / "result.xml"
    xml_path.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--junitxml={xml_path}",
        "--tb=no",
        file,
    ]
    command += ["-k", selection] if selection else []
    command += ["-p", "takes_over"] if how == "take_over" else []
    path = ":".join([str(place), *(p for p in sys.path[1:] if "bindings" in p)])
    done = subprocess.run(["env", f"PYTHONPATH={path}", *command], cwd=place, capture_output=True, text=True)
    if not xml_path.exists():
        raise SystemExit(f"run.py: pytest did not run {file}:\n{done.stdout}{done.stderr}")
    found = {}
    for case in xml.etree.ElementTree.parse(xml_path).iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[f"{case.get('classname', '').split('.')[-1]}::{case.get('name')}"] = outcome
    return found


def reason(test):
    return next((why for pattern, why in REASONS.items() if re.search(pattern, test)), None)


def compare(library, version, root, scratch):
    rows = []
    for name, owner, file, selection in SUITES:
        if owner != library or not (root / file).exists():
            continue
        outcomes = {how: run(root, file, selection, how, scratch) for how in HOWS}
        itself = outcomes["itself"]
        row = {"tests": name, "file": file, "ran": sum(o != "skipped" for o in itself.values())}
        for how, found in outcomes.items():
            row[how] = sum(o == "passed" for o in found.values())
        row["worse"] = {
            how: [test for test, o in itself.items() if o == "passed" and found.get(test) != "passed"]
            for how, found in outcomes.items()
        }
        rows.append(row)
        print(
            f"{library} {version}, {name}: "
            + ", ".join(f"{how} {row[how]}" for how in outcomes)
            + f" of {row['ran']} pass",
            flush=True,
        )
    return rows


def report():
    lines = ["| library | its tests of | run | on the library | after take_over() |", "|---|---|---:|---:|---:|"]
    reasons = collections.Counter()
    for path in sorted((HERE / "results").glob("*.json"), reverse=True):
        result = json.loads(path.read_text())
        for row in result["rows"]:
            lines.append(
                f"| {result['library']} {result['version']} | {row['tests']} ({result['tests']}) | "
                f"{row['ran']} | " + " | ".join(str(row[how]) for how in HOWS) + " |"
            )
            reasons.update(
                (row["tests"], how, test.split("[")[0].split("::")[-1], reason(test) or "not explained")
                for how, worse in row["worse"].items()
                for test in worse
            )
    grouped = [f"- {tests}, {how}: {count} of `{test}`: {why}" for (tests, how, test, why), count in reasons.items()]
    lines += ["", *(grouped or ["No test that passes on the library fails on Motley."])]
    page = HERE / "README.md"
    text = page.read_text()
    begin, end = "<!-- counts -->", "<!-- /counts -->"
    page.write_text(text.split(begin)[0] + "\n".join([begin, *lines, end]) + text.split(end)[1])


def unexplained_of(rows):
    return [
        f"{row['tests']}, {how}: {test}"
        for row in rows
        for how, worse in row["worse"].items()
        for test in worse
        if not reason(test)
    ]


def refuse(unexplained):
    if unexplained:
        raise SystemExit("run.py: pass on the library and not on Motley, unexplained:\n  " + "\n  ".join(unexplained))


def fetch(directory):
    version = __import__("torchvision").__version__
    if not [*directory.glob(ARCHIVE)]:
        with tempfile.TemporaryDirectory() as scratch:
            found = fetched("torchvision", version, pathlib.Path(scratch))
            if found:
                shutil.copy(found, directory)


def check(directory):
    archives = sorted(directory.glob(ARCHIVE))
    try:
        version = __import__("torchvision").__version__
    except ImportError:
        archives, version = [], None
    if not archives:
        print(f"skipped: no torchvision, or no {directory / ARCHIVE}: scripts/setup.sh ci downloads it")
        raise SystemExit(77)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "source").mkdir()
        root = unpacked(archives[-1], scratch / "source")
        refuse(unexplained_of(compare("torchvision", version, root, scratch)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torchvision", metavar="PATH")
    parser.add_argument("--timm", metavar="PATH")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--fetch", metavar="DIRECTORY", type=pathlib.Path)
    parser.add_argument("--check", metavar="DIRECTORY", type=pathlib.Path)
    options = parser.parse_args()
    unexplained = []
    if options.fetch or options.check:
        return fetch(options.fetch) if options.fetch else check(options.check)
    for library in () if options.report else ("torchvision", "timm"):
        try:
            version = __import__(library).__version__.split("+")[0]
        except ImportError:
            print(f"{library} is not installed; its tests are left out")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            (scratch / "source").mkdir()
            source = getattr(options, library) or fetched(library, version, scratch)
            if source is None:
                continue
            root = unpacked(source, scratch / "source")
            of = re.search(r"\d+\.\d+(\.\d+)?", pathlib.Path(source).name)
            rows = compare(library, version, root, scratch)
        result = {
            "library": library,
            "version": version,
            "tests": f"of {of[0]}" if of else "of a checkout",
            "date": datetime.date.today().isoformat(),
            "rows": rows,
        }
        (HERE / f"results/{library}-{version}.json").write_text(json.dumps(result, indent=1) + "\n")
        unexplained += unexplained_of(rows)
    report()
    refuse(unexplained)


if __name__ == "__main__":
    main()
