# SPDX-License-Identifier: Apache-2.0
"""How many native threads are started, and when: /proc/self/task has them all."""

import json
import os
import sys
import sysconfig

import pytest
from conftest import output_of

import motley

COUNTED = """
import json, os, threading, {first}
import numpy as np
{before}
import motley
def native():
    return len(os.listdir("/proc/self/task"))
stage, images = motley.RandAugment(), np.zeros((64, 16, 16, 3), np.uint8)
at_first = native()
{work}
print(json.dumps(native() - at_first))
"""
TWO = len(os.sched_getaffinity(0)) > 1 and motley._core.lib.motley_default_threads() > 1
needs_two = pytest.mark.skipif(not TWO, reason="needs two processors")


def started(work, first="os", before="", environment=None, cpu=None):
    """How many native threads more there are after `work`."""
    clean = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    clean["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's
    pinned = None if cpu is None else lambda: os.sched_setaffinity(0, {cpu})
    code = COUNTED.format(first=first, before=before, work=work)
    return json.loads(output_of(sys.executable, "-c", code, env={**clean, **(environment or {})}, preexec_fn=pinned))


@needs_two
def test_every_processor_by_default():
    assert started("stage(images)") == motley._core.lib.motley_default_threads() - 1


@needs_two
@pytest.mark.parametrize("work", ["stage(images[0])", "stage(images[:1])", "motley.ops.rotate(images[0], 9)",
                                  "motley.ops.resize(images[0], (8, 8))", "stage(images[:0])",
                                  "motley.RandAugment(threads=4)(images[0])"])  # fmt: skip
def test_a_single_image_starts_no_thread(work):
    assert started(work) == 0


def test_affinity():
    assert started("stage(images)", cpu=min(os.sched_getaffinity(0))) == 0


@pytest.mark.parametrize("value, count", [("1", 0), ("1,4", 0), ("", None), ("many", None), ("0", None), ("999", None)])
def test_omp_num_threads(value, count):
    every = motley._core.lib.motley_default_threads() - 1
    assert started("stage(images)", environment={"OMP_NUM_THREADS": value}) == (every if count is None else count)


@pytest.mark.slow
def test_torchs_number():
    pytest.importorskip("torch")
    assert started("stage(images)", first="torch", before="torch.set_num_threads(1)") == 0
    assert started("stage(images)", first="torch", environment={"OMP_NUM_THREADS": "1"}) == 0


def test_what_the_caller_says_counts():
    with_three = "motley.RandAugment(threads=3)(images)"
    assert started(with_three, environment={"OMP_NUM_THREADS": "1"}) == 2


@needs_two
def test_many_threads_of_single_images():
    """Sixteen Python threads, of which each works on images one by one, are sixteen native threads and no more."""
    assert (
        started("""
inside = threading.Barrier(17, timeout=60)
def work(i):
    for k in range(4):
        stage(images[i], sample_ids=i, epoch=0)
    inside.wait()
    threading.Event().wait()
for i in range(16):
    threading.Thread(target=work, args=(i,), daemon=True).start()
inside.wait()
""")
        == 16
    )


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has an interpreter lock")
def test_no_module_brings_the_interpreter_s_lock_back():
    """An extension that does not declare that it works without the lock switches it on, with a RuntimeWarning."""
    code = "import sys, motley, motley.timm; motley.RandAugment(); print(sys._is_gil_enabled())"
    assert output_of(sys.executable, "-W", "error::RuntimeWarning", "-c", code) == "False\n"
