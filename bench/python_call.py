# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs beyond the C call, by the ways to make it; doc/benchmarks.md has a run of it.

    PYTHONPATH=BUILD/bindings/python python3 bench/python_call.py --library BUILD/libmotley.so [--write]
    python3 bench/python_call.py --cuda [--out FILE.json] && bench/tables.py

With --cuda: host time of calls on CUDA tensors, of the package as installed, in bench/results/DATE-python-cuda.json.
Without it: the work is nothing (one 1x1 image, a policy of `identity`, one thread). `nanobind`'s row needs that package
and g++, the plain module's a C compiler and Python's headers; what is missing is left out and said."""

import argparse
import importlib.util
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time

import motley
from conditions import PYTHON_PATHS, ROOT, conditions, processor
from motley import _native
from motley._core import ffi, lib

HERE = pathlib.Path(__file__).resolve().parent.parent / "bindings" / "python"
INCLUDE = HERE.parent.parent / "include"

OURS = "#include <string.h>\n" + (HERE / "call.h").read_text()
C_COMMON = "#include <Python.h>\n#include <motley.h>\n" + OURS
C_MODULE = (
    C_COMMON
    + """
static PyObject *run(PyObject *self, PyObject *const *a, Py_ssize_t n)
{
    (void)self; (void)n;
    unsigned long long v[8];
    for (int i = 0; i < 8; i++) {
        v[i] = PyLong_AsUnsignedLongLong(a[i]);
        if (v[i] == (unsigned long long)-1 && PyErr_Occurred())
            return NULL;
    }
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = run_call((kept_call *)v[0], v[1], v[2], v[3], v[4], (uint32_t)v[5], v[6], v[7], 0, 0, 0);
    Py_END_ALLOW_THREADS
    return PyLong_FromLong(status);
}
static PyMethodDef methods[] = { { "run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, NULL }, { NULL } };
static PyModuleDef module = { PyModuleDef_HEAD_INIT, "plain", NULL, -1, methods };
PyMODINIT_FUNC PyInit_plain(void) { return PyModule_Create(&module); }
"""
)
NANOBIND_MODULE = (
    """
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
extern "C" {
#include <motley.h>
}
"""
    + OURS
    + """
namespace nb = nanobind;
NB_MODULE(nano, m)
{
    m.def("run", [](uintptr_t call, uintptr_t src, uintptr_t dst, uintptr_t stream, uint64_t seed, uint32_t epoch,
                    uint64_t first, uintptr_t ids) {
        nb::gil_scoped_release release;
        return (int)run_call((kept_call *)call, src, dst, stream, seed, epoch, first, ids, 0, 0, 0);
    });
    m.def("run_array", [](uintptr_t call, nb::ndarray<uint8_t> a, uint64_t seed, uint32_t epoch, uint64_t first) {
        nb::gil_scoped_release release;
        return (int)run_call((kept_call *)call, (uintptr_t)a.data(), 0, 0, seed, epoch, first, 0, 0, 0, 0);
    });
}
"""
)


def compiled(folder, name, compiler, source, suffix, library, *more):
    path = folder / (name + suffix)
    path.write_text(source)
    out = folder / (name + sysconfig.get_config_var("EXT_SUFFIX"))
    command = [
        compiler,
        "-O2",
        "-shared",
        "-fPIC",
        f"-I{INCLUDE}",
        f"-I{sysconfig.get_path('include')}",
        str(path),
        *more,
        str(library),
        f"-Wl,-rpath,{library.parent}",
        "-o",
        str(out),
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as wrong:
        print(f"{name}: left out: {(getattr(wrong, 'stderr', '') or str(wrong)).strip().splitlines()[-1]}")
        return None
    spec = importlib.util.spec_from_file_location(name, out)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nanoseconds(function, batches):
    """Median over batches of the mean of a batch, of about 2 ms; the batches of all functions alternate."""
    number = max(1, int(2e6 / batches[0])) if batches else 10
    start = time.perf_counter_ns()
    for _ in range(number):
        function()
    batches.append((time.perf_counter_ns() - start) / number)


def on_cuda():
    """Host time of calls that find the device idle: what a training loop pays for them."""
    import torch

    batch = torch.zeros((256, 3, 224, 224), dtype=torch.uint8, device="cuda")
    ids = torch.arange(256)
    random = torch.Generator().manual_seed(1)
    sizes = torch.randint(200, 501, (256, 2), generator=random).tolist()
    images = [torch.zeros((height, width, 3), dtype=torch.uint8, device="cuda") for height, width in sizes]
    out = torch.empty((256, 3, 224, 224), dtype=torch.float16, device="cuda")
    degrees = torch.rand(256, generator=random, dtype=torch.float64) * 60 - 30
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    plain, fused = motley.rand_augment(seed=1), motley.rand_augment(seed=1, normalize=(mean, std), dtype="float16")
    in_place = motley.rand_augment(seed=1, layout="hwc")
    transform = motley.Transform("torchvision_train", seed=1, dtype="float16", layout="hwc")
    of_batch, other = motley.Transform("torchvision_train", seed=1, dtype="float16"), torch.empty_like(batch)
    calls = {
        "stage.apply_(batch)": lambda: plain.apply_(batch),
        "stage.apply_(batch, sample_ids=tensor)": lambda: plain.apply_(batch, sample_ids=ids, epoch=0),
        "stage(batch)": lambda: plain(batch),
        "stage(batch), fused float16 output": lambda: fused(batch),
        "stage.apply_(list of 256 tensors)": lambda: in_place.apply_(images),
        "stage(list of 256 tensors)": lambda: in_place(images),
        "ops.rotate(batch, list of 256 numbers)": lambda: motley.ops.rotate(batch, degrees.tolist()),
        "ops.rotate(batch, tensor of 256)": lambda: motley.ops.rotate(batch, degrees),
        "stage(batch, out=other)": lambda: plain(batch, out=other),
        "transform(batch)": lambda: of_batch(batch),
        "transform(batch, out=floats)": lambda: of_batch(batch, out=out),
        "transform(list of 256 tensors, out=batch)": lambda: transform(images, out=out),
        "torch.empty_like(batch)": lambda: torch.empty_like(batch),
    }
    rows = []
    for name, function in calls.items():
        times = []
        for turn in range(1100):
            torch.cuda.synchronize()
            start = time.perf_counter_ns()
            function()
            if turn >= 100:  # the first turns take memory and warm up
                times.append((time.perf_counter_ns() - start) / 1000)
        rows.append({"call": name, "us": round(statistics.median(times), 1), "least_us": round(min(times), 1)})
        print(json.dumps(rows[-1]), flush=True)
    return {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}


def write_table(table, mark="python-call"):
    """Puts the table between its marks in doc/benchmarks.md."""
    page = HERE.parent.parent / "doc" / "benchmarks.md"
    begin, rest = page.read_text().split(f"<!-- {mark} -->\n")
    end = f"<!-- /{mark} -->"
    page.write_text(begin + "\n".join([f"<!-- {mark} -->", *table, end]) + rest.split(end)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, help="path of libmotley.so")
    parser.add_argument("--cuda", action="store_true", help="calls on a CUDA batch")
    parser.add_argument("--write", action="store_true", help="put the table into doc/benchmarks.md")
    parser.add_argument("--commit", help="with --cuda, where git cannot say it")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=31)
    args = parser.parse_args()
    if args.cuda:
        result = {**conditions(PYTHON_PATHS, args.commit), **on_cuda()}
        out = args.out or ROOT / f"bench/results/{result['date']}-python-cuda.json"
        out.write_text(json.dumps(result, indent=1) + "\n")
        return
    if not args.library:
        parser.error("--library is missing: the path of libmotley.so, such as build/libmotley.so")
    library = args.library.resolve()
    stage = motley.Transform("motley: 1\nname: nothing\nbranches: [identity]\n", threads=1)
    transform = motley.Transform(
        "motley: 1\nname: nothing\nstages:\n  - flip: {horizontal: 0.5}\n  - output: {}\n", threads=1
    )
    rows = {}
    try:
        import torch

        pixels, ids = torch.zeros((1, 3, 1, 1), dtype=torch.uint8), torch.arange(1)
        pointer, what = pixels.data_ptr(), f"torch {torch.__version__}"
    except ImportError:
        import numpy

        pixels, ids = numpy.zeros((1, 1, 1, 3), numpy.uint8), numpy.arange(1)
        pointer, what = pixels.ctypes.data, f"numpy {numpy.__version__}"
    stage.apply_(pixels)
    call = next(iter(_native.local.calls.values())).c
    address = int(ffi.cast("uintptr_t", call))
    rows["CFFI, run_call (ours)"] = lambda: lib.run_call(call, pointer, 0, 0, 1, 2, 3, 0, 0, 0, 0)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        plain = compiled(folder, "plain", "cc", C_MODULE, ".c", library)
        if plain:
            rows["plain C module, run_call"] = lambda: plain.run(address, pointer, 0, 0, 1, 2, 3, 0)
        try:
            import nanobind

            root = pathlib.Path(nanobind.__file__).parent
            nano = compiled(
                folder,
                "nano",
                "g++",
                NANOBIND_MODULE,
                ".cpp",
                library,
                "-std=c++17",
                f"-I{root}/include",
                f"-I{root}/ext/robin_map/include",
                str(root / "src" / "nb_combined.cpp"),
            )
        except ImportError:
            nano = print("nano: left out: no package nanobind")
        if nano:
            rows["nanobind, run_call"] = lambda: nano.run(address, pointer, 0, 0, 1, 2, 3, 0)
            rows["nanobind, given the array"] = lambda: nano.run_array(address, pixels, 1, 2, 3)
        rows["stage.apply_(array)"] = lambda: stage.apply_(pixels)
        rows["stage.apply_(array, sample_ids=ids)"] = lambda: stage.apply_(pixels, sample_ids=ids, epoch=0)
        rows["stage(array)"] = lambda: stage(pixels)
        rows["transform(array)"] = lambda: transform(pixels)
        rows["ops.invert(array)"] = lambda: motley.ops.invert(pixels, threads=1)
        many, of_many = pixels[[0] * 256], list(pixels[[0] * 256])
        rows["stage(array of 256)"] = lambda: stage(many)
        rows["transform(array of 256)"] = lambda: transform(many)
        rows["transform(list of 256)"] = lambda: transform(of_many)
        if what.startswith("torch"):
            rows["torch.empty_like(array)"] = lambda: torch.empty_like(pixels)
        rows["an empty function"] = lambda: None
        times = {name: [] for name in rows}
        for _ in range(args.rounds):
            for name, function in rows.items():
                nanoseconds(function, times[name])
    table = ["| way | median | least |", "|---|---|---|"]
    table += [
        f"| {name} | {statistics.median(batches):.0f} ns | {min(batches):.0f} ns |" for name, batches in times.items()
    ]
    table += [
        "",
        f"{args.rounds} rounds in turns: {processor()}, Python {platform.python_version()}, {what}, CFFI "
        f"{sys.modules['_cffi_backend'].__version__}. Measured by `bench/python_call.py`.",
    ]
    print("\n".join(table))
    if args.write:
        write_table(table)


if __name__ == "__main__":
    main()
