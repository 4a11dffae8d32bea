# SPDX-License-Identifier: Apache-2.0
"""What calls on lists of images, and values for each image, cost Python; and what imports cost.

    PYTHONPATH=BUILD/bindings/python python3 bench/python_lists.py [--rounds N] [--write]

The images are tiny, 256 of 8x8, one thread works, and the policy changes nothing, so that nearly all of a call is what
Python and the C of the binding do. In process time, by turns; imports are timed in fresh processes, with modules that
are compiled. Kinds of images whose package is missing are left out. --write puts the table into
doc/benchmarks.md."""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time

import motley
from conditions import processor
from python_call import write_table

COUNT, SIDE = 256, 8


def calls():
    """{name: function} of what is timed."""
    import numpy

    stage = motley.Transform("motley: 1\nname: nothing\nbranches: [identity]\n", threads=1)
    random = numpy.random.default_rng(1)
    batch = random.integers(0, 256, (COUNT, SIDE, SIDE, 3), "uint8")
    sizes = random.integers(SIDE, SIDE + 4, (COUNT, 2)).tolist()
    mixed = [random.integers(0, 256, (*size, 3), "uint8") for size in sizes]
    degrees = random.uniform(-30, 30, COUNT)
    lists = {"arrays": list(batch), "arrays of many sizes": mixed}
    batches = {"array": batch}
    try:
        import torch

        torch.set_num_threads(1)
        lists["tensors"] = list(torch.from_numpy(batch).permute(0, 3, 1, 2))
        lists["tensors of many sizes"] = [torch.from_numpy(image).permute(2, 0, 1) for image in mixed]
        batches["tensor"] = torch.from_numpy(batch).permute(0, 3, 1, 2).contiguous()
    except ImportError:
        pass
    try:
        from PIL import Image

        lists["PIL images"] = [Image.fromarray(image).copy() for image in batch]
    except ImportError:
        pass
    found = {}
    for name, images in lists.items():
        found[f"stage(list of {COUNT} {name})"] = lambda images=images: stage(images)
        if name != "PIL images":
            found[f"stage.apply_(list of {COUNT} {name})"] = lambda images=images: stage.apply_(images)
    for name, images in batches.items():
        ways = {"a list": degrees.tolist(), "float64": degrees, "float32": degrees.astype("float32")}
        for how, values in ways.items():
            found[f"ops.rotate({name} of {COUNT}, {how})"] = lambda images=images, values=values: motley.ops.rotate(
                images, values, threads=1
            )
        found[f"ops.rotate({name} of {COUNT}, one number)"] = lambda images=images: motley.ops.rotate(
            images, 12.5, threads=1
        )
    return found


def microseconds(function, runs):
    """A further time per call in `runs`, of calls that take about 5 ms."""
    number = max(1, int(5000 / runs[0])) if runs else 2
    start = time.process_time_ns()
    for _ in range(number):
        function()
    runs.append((time.process_time_ns() - start) / number / 1000)


def import_times(rounds):
    """The least and median milliseconds of imports in a fresh process, beside those of nothing and of torch."""
    scripts = {"motley": "import motley", "motley.torch beside torch": "import motley.torch"}
    times = {name: [] for name in scripts}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(rounds + 1):  # the first compiles
        for name, script in scripts.items():
            before = "import torch" if "torch" in name else "pass"
            timed = f"import time\n{before}\nstart = time.process_time()\n{script}\nprint(time.process_time() - start)"
            run = subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, env=environment)
            if run.returncode == 0:
                times[name].append(float(run.stdout) * 1000)
    return {name: found[1:] for name, found in times.items() if found[1:]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--write", action="store_true", help="put the table into doc/benchmarks.md")
    args = parser.parse_args()
    functions = calls()
    times = {name: [] for name in functions}
    for _ in range(args.rounds + 1):  # the first says how often each is called in a turn
        for name, function in functions.items():
            microseconds(function, times[name])
    table = ["| call | median | least |", "|---|---:|---:|"]
    for name, runs in times.items():
        table.append(f"| {name} | {statistics.median(runs[1:]):.0f} us | {min(runs[1:]):.0f} us |")
    for name, runs in import_times(max(args.rounds // 2, 3)).items():
        table.append(f"| import {name} | {statistics.median(runs):.1f} ms | {min(runs):.1f} ms |")
    modules = [f"{name} {sys.modules[name].__version__}" for name in ("numpy", "torch", "PIL") if name in sys.modules]
    how = f"{args.rounds} rounds in turns: {processor()}, Python {platform.python_version()}, {', '.join(modules)}"
    table += ["", f"{how}. Measured by `bench/python_lists.py`."]
    print("\n".join(table))
    if args.write:
        write_table(table, "python-lists")


if __name__ == "__main__":
    main()
