# SPDX-License-Identifier: Apache-2.0
"""Counts the cases of finished `meson test` runs, skipped ones included, and prints the sums as the last line. Before
it stands what sweeps left out of their cases, as the tests themselves say it (tests/sweep.h).

    count_tests.py [--failed-steps N] [--skipped-steps N] BUILD_DIR...

Meson counts programs; a program holds many cases, and Criterion exits with 0 when all of them were skipped. So the
cases are counted in what each program printed: Criterion, unittest, pytest and TAP have their own closing lines.
(Criterion names what it skips only when CRITERION_VERBOSITY_LEVEL is 1 or more, as scripts/test.sh sets it.) The
exit status is 1 when a case failed, or when no case passed. Steps that failed outside any case (a build, say) count as
failed cases when there are more of them."""

import argparse
import json
import pathlib
import re
import sys

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def numbers(pattern, text):
    """The sums of the pattern's groups over all its matches, or None without a match."""
    found = [[int(group or 0) for group in match.groups()] for match in re.finditer(pattern, text, re.M)]
    return [sum(column) for column in zip(*found)] if found else None


def count_criterion(text):
    found = numbers(r"Synthesis: Tested: (\d+) \| Passing: (\d+)", text)
    if not found:
        return None
    tested, passing = found  # neither counts what was skipped; failing counts what crashed, too
    return passing, tested - passing, len(re.findall(r"^\[SKIP\] \S+::\S+", text, re.M))


def count_unittest(text):
    found = numbers(r"^Ran (\d+) tests? in", text)
    if not found:
        return None
    failed, errors, skipped = (
        numbers(rf"^(?:OK|FAILED) \(.*?{word}=(\d+)", text) or [0] for word in ("failures", "errors", "skipped")
    )
    bad = failed[0] + errors[0]
    return max(found[0] - bad - skipped[0], 0), bad, skipped[0]


def count_pytest(text):
    last = re.findall(r"^=*\s*((?:\d+ \w+(?:, )?)+) in [\d.]+s", text, re.M)
    if not last:
        return None
    words = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", last[-1])}
    return (
        words.get("passed", 0),
        words.get("failed", 0) + words.get("error", 0) + words.get("errors", 0),
        words.get("skipped", 0),
    )


def count_tap(text):
    lines = re.findall(r"^(not ok|ok)\b(.*)$", text, re.M)
    if not lines or not re.search(r"^1\.\.\d+", text, re.M):
        return None
    skipped = sum("# skip" in rest.lower() for _, rest in lines)
    failed = sum(word == "not ok" for word, _ in lines)
    return len(lines) - skipped - failed, failed, skipped


def output(test):
    return ANSI.sub("", (test.get("stdout") or "") + "\n" + (test.get("stderr") or ""))


def count(test):
    text = output(test)
    good, skip = test["result"] in ("OK", "EXPECTEDFAIL"), test["result"] == "SKIP"
    for parse in (count_criterion, count_unittest, count_pytest, count_tap):
        found = parse(text)
        if found:
            passed, failed, skipped = found
            if not good and not skip and not failed:  # killed, timed out, or failed outside any case
                failed = 1
            return passed, failed, skipped
    return int(good), int(not good and not skip), int(skip)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--failed-steps", type=int, default=0)
    parser.add_argument("--skipped-steps", type=int, default=0)
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    total = [0, 0, 0]
    for folder in args.folders:
        log = folder / "meson-logs" / "testlog.json"
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
        for line in lines:
            test = json.loads(line)
            cases = count(test)
            total = [a + b for a, b in zip(total, cases)]
            if cases[1] or cases[2]:
                print(f"{folder}: {test['name']}: {cases[0]} passed, {cases[1]} failed, {cases[2]} skipped")
            for part in re.findall(r"^left out: (.*)$", output(test), re.M):
                print(f"{folder}: {test['name']}: left out {part}")
    passed, failed, skipped = total[0], max(total[1], args.failed_steps), total[2] + args.skipped_steps
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
