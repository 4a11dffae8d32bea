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
def test_a_single_image_starts_no_thread():
    work = ("stage(images[0])", "stage(images[:1])", "motley.ops.rotate(images[0], 9)", "stage(images[:0])",
            "motley.ops.resize(images[0], (8, 8))", "motley.RandAugment(threads=4)(images[0])")  # fmt: skip
    assert started("\n".join(work)) == 0


def test_affinity():
    assert started("stage(images)", cpu=min(os.sched_getaffinity(0))) == 0


def test_omp_num_threads():
    """Each Python thread reads it when it first works."""
    every, values = motley._core.lib.motley_default_threads() - 1, ("1", "1,4", "", "many", "0", "999")
    code = f"""
counts, kept, done = [], [], threading.Event()
def work():
    kept.append(native())
    stage(images)
    counts.append(native() - kept[-1])
    begun.release()
    done.wait()
begun = threading.Semaphore(0)
for value in {values}:
    os.environ["OMP_NUM_THREADS"] = value
    threading.Thread(target=work, daemon=True).start()
    begun.acquire()
at_first = native() - sum(100 ** i * count for i, count in enumerate(counts))
"""
    assert started(code) == sum(100**i * count for i, count in enumerate((0, 0, every, every, every, every)))


@needs_two
@pytest.mark.slow
def test_torchs_number(forked, tmp_path):
    pytest.importorskip("torch")
    for before, count in ("", 0), ("torch.set_num_threads(2)", 1):  # at first it is that of OMP_NUM_THREADS
        script = tmp_path / "script.py"
        script.write_text(COUNTED.format(first="torch", before=before, work="stage(images)"))
        assert json.loads(forked(([script], {}))[0]) == count


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
