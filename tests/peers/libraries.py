#!/usr/bin/env python3
"""Matrix products against OpenBLAS, MKL and oneDNN; row and elementwise programs against copy speed and plain C++.

    tests/peers/libraries.py build/src/hloc [--threads N] [--repeat K]

Everything is measured in one run on the same cores (the process is pinned to them), the least of K runs each. The
libraries come from PyPI into a virtual environment in the cache folder, once; plain.cpp is built by g++ -O3
-march=native -ffast-math (sums may be reordered, as hloc's are) into the same folder. Ratios above 1: hloc is faster.
Nothing here passes or fails. Ends with 3 when there are no libraries.
"""
import argparse
import ctypes
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from environment import cache_folder, run_inside

HERE = Path(__file__).resolve().parent
ROWS, WIDTH = 65536, 1024

PRODUCT = """HloModule product
ENTRY e {{
  a = f32[{n},{n}] parameter(0)
  b = f32[{n},{n}] parameter(1)
  ROOT c = f32[{n},{n}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}
"""
HEAD = """HloModule rows
sum { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
most { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] maximum(p, q) }
ENTRY e {
  x = f32[65536,1024] parameter(0)
"""
SOFTMAX = HEAD + """  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[65536] reduce(x, low), dimensions={1}, to_apply=most
  mb = f32[65536,1024] broadcast(m), dimensions={0}
  d = f32[65536,1024] subtract(x, mb)
  e = f32[65536,1024] exponential(d)
  s = f32[65536] reduce(e, zero), dimensions={1}, to_apply=sum
  sb = f32[65536,1024] broadcast(s), dimensions={0}
  ROOT r = f32[65536,1024] divide(e, sb)
}
"""
LAYERNORM = HEAD + """  scale = f32[1024] parameter(1)
  shift = f32[1024] parameter(2)
  zero = f32[] constant(0)
  width = f32[] constant(1024)
  widths = f32[65536] broadcast(width), dimensions={}
  small = f32[] constant(1e-5)
  smalls = f32[65536] broadcast(small), dimensions={}
  total = f32[65536] reduce(x, zero), dimensions={1}, to_apply=sum
  mean = f32[65536] divide(total, widths)
  means = f32[65536,1024] broadcast(mean), dimensions={0}
  d = f32[65536,1024] subtract(x, means)
  dd = f32[65536,1024] multiply(d, d)
  squares = f32[65536] reduce(dd, zero), dimensions={1}, to_apply=sum
  variance = f32[65536] divide(squares, widths)
  more = f32[65536] add(variance, smalls)
  factor = f32[65536] rsqrt(more)
  factors = f32[65536,1024] broadcast(factor), dimensions={0}
  scales = f32[65536,1024] broadcast(scale), dimensions={1}
  shifts = f32[65536,1024] broadcast(shift), dimensions={1}
  n = f32[65536,1024] multiply(d, factors)
  ns = f32[65536,1024] multiply(n, scales)
  ROOT r = f32[65536,1024] add(ns, shifts)
}
"""
CHAIN = HEAD + """  c0 = f32[] constant(1.5)
  c1 = f32[] constant(2)
  c2 = f32[] constant(0.5)
  c3 = f32[] constant(0.25)
  b0 = f32[65536,1024] broadcast(c0), dimensions={}
  b1 = f32[65536,1024] broadcast(c1), dimensions={}
  b2 = f32[65536,1024] broadcast(c2), dimensions={}
  b3 = f32[65536,1024] broadcast(c3), dimensions={}
  v0 = f32[65536,1024] multiply(x, b0)
  v1 = f32[65536,1024] add(v0, b1)
  v2 = f32[65536,1024] multiply(v1, x)
  v3 = f32[65536,1024] add(v2, b2)
  ROOT r = f32[65536,1024] multiply(v3, b3)
}
"""


class Measure:
    def __init__(self, hloc, threads, repeat):
        self.hloc, self.threads, self.repeat = hloc, threads, repeat
        self.folder = tempfile.TemporaryDirectory()

    def hloc_ms(self, program):
        """Least milliseconds of a program: its text, or the folder of a case."""
        if not isinstance(program, Path):
            path = Path(self.folder.name) / "program.hlo"
            path.write_text(program)
            program = path
        command = [self.hloc, "bench", str(program), "--json", "--threads", str(self.threads), "--repeat", str(self.repeat)]
        got = subprocess.run(command, capture_output=True, text=True)
        if got.returncode != 0:
            sys.exit(got.stderr)
        return json.loads(got.stdout)["run_ms_min"]

    def best_ms(self, call):
        best = math.inf
        call()
        for _ in range(self.repeat):
            began = time.perf_counter()
            call()
            best = min(best, 1e3 * (time.perf_counter() - began))
        return best


def library(pattern):
    found = sorted(Path(sys.prefix).rglob(pattern))
    return ctypes.CDLL(str(found[-1]), mode=ctypes.RTLD_GLOBAL) if found else None


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def products(measure):
    import numpy as np

    i64, i32, f32 = ctypes.c_int64, ctypes.c_int32, ctypes.c_float
    row_major, plain = 101, 111
    openblas, mkl, onednn = library("libscipy_openblas64_*.so"), library("libmkl_rt.so.*"), library("libdnnl.so.*")
    print(f"\n{'f32 product':14} {'hloc ms':>9} {'GFLOP/s':>8}   " + " ".join(f"{name + ' ms':>12} {'ratio':>6}" for name in ("OpenBLAS", "MKL", "oneDNN")))
    for n in (512, 1024):
        a, b = (np.random.default_rng(seed).uniform(-1, 1, (n, n)).astype(np.float32) for seed in (1, 2))
        c = np.zeros((n, n), np.float32)
        ours = measure.hloc_ms(PRODUCT.format(n=n))
        calls = {
            "OpenBLAS": openblas and (lambda: openblas.scipy_cblas_sgemm64_(row_major, plain, plain, i64(n), i64(n), i64(n), f32(1), pointer(a), i64(n), pointer(b),
                                                                         i64(n), f32(0), pointer(c), i64(n))),
            "MKL": mkl and (lambda: mkl.cblas_sgemm(row_major, plain, plain, i32(n), i32(n), i32(n), f32(1), pointer(a), i32(n), pointer(b), i32(n), f32(0),
                                                    pointer(c), i32(n))),
            "oneDNN": onednn and (lambda: onednn.dnnl_sgemm(ctypes.c_char(b"N"), ctypes.c_char(b"N"), i64(n), i64(n), i64(n), f32(1), pointer(a), i64(n), pointer(b),
                                                            i64(n), f32(0), pointer(c), i64(n))),
        }
        row = f"{n:>4} x {n:<7} {ours:9.3f} {2e-6 * n**3 / ours:8.1f}   "
        for name, call in calls.items():
            if call is None:
                row += f"{'none':>12} {'':>6} "
                continue
            c[:] = 0
            theirs = measure.best_ms(call)
            if not np.allclose(c, a @ b, atol=1e-3):
                sys.exit(f"the product of {name} is wrong")
            row += f"{theirs:12.3f} {theirs / ours:6.2f} "
        print(row, flush=True)


def plain_library(folder):
    source, built = HERE / "plain.cpp", folder / "plain.so"
    if not built.exists() or built.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["g++", "-O3", "-march=native", "-ffast-math", "-std=c++20", "-shared", "-fPIC", "-pthread", str(source), "-o", str(built)], check=True)
    lib = ctypes.CDLL(str(built))
    for name in ("copy", "softmax", "layernorm", "chain", "nbody", "jacobi"):
        getattr(lib, name + "_ms").restype = ctypes.c_double
    return lib


def aligned(shape):
    import numpy as np

    count = math.prod(shape)
    raw = np.zeros(count + 16, np.float32)
    skip = (-raw.ctypes.data % 64) // 4
    return raw[skip : skip + count].reshape(shape)


def rows(measure, plain):
    import numpy as np

    i64 = ctypes.c_int64
    x, out = aligned((ROWS, WIDTH)), aligned((ROWS, WIDTH))
    x[:] = np.random.default_rng(1).uniform(-1, 1, x.shape)
    scale, shift = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
    ending = (i64(ROWS), i64(WIDTH), measure.threads, measure.repeat)
    kept = plain.copy_ms(pointer(out), pointer(x), i64(ROWS), i64(WIDTH), 0, measure.threads, measure.repeat)
    past = plain.copy_ms(pointer(out), pointer(x), i64(ROWS), i64(WIDTH), 1, measure.threads, measure.repeat)
    speed = 8e-6 * ROWS * WIDTH
    print(f"\nf32[{ROWS},{WIDTH}], cold: copy {kept:.1f} ms ({speed / kept:.1f} GB/s), past the caches {past:.1f} ms ({speed / past:.1f} GB/s)")
    print(f"{'program':10} {'hloc ms':>9} {'GB/s':>6} {'of copy':>8} {'of copy past the caches':>24} {'C++ ms':>9} {'ratio':>6}")
    programs = (("softmax", SOFTMAX, plain.softmax_ms, ()), ("layernorm", LAYERNORM, plain.layernorm_ms, (pointer(scale), pointer(shift))),
                ("chain", CHAIN, plain.chain_ms, ()))
    for name, text, call, extra in programs:
        ours = measure.hloc_ms(text)
        theirs = call(pointer(out), pointer(x), *extra, *ending)
        print(f"{name:10} {ours:9.2f} {speed / ours:6.1f} {kept / ours:8.2f} {past / ours:24.2f} {theirs:9.2f} {theirs / ours:6.2f}", flush=True)


def science(measure, plain):
    import numpy as np

    shared = Path(os.environ.get("HLOC_SHARED", HERE.parents[2] / "shared")) / "cases" / "science"
    if not shared.exists():
        return
    from cases_vs_xla import input_array

    print(f"\n{'program':16} {'hloc ms':>9} {'C++ ms':>9} {'ratio':>6}")
    for name in ("nbody_step", "jacobi_stencil"):
        case = shared / name
        about = json.loads((case / "case.json").read_text())
        inputs = [input_array(case, entry) for entry in about["inputs"]]
        n = ctypes.c_int64(inputs[0].shape[0])
        ours = measure.hloc_ms(case)
        out = [np.zeros_like(inputs[0]) for _ in range(2)]
        if name == "nbody_step":
            theirs = plain.nbody_ms(*map(pointer, out), *map(pointer, inputs), n, measure.threads, measure.repeat)
        else:
            theirs = plain.jacobi_ms(pointer(out[0]), pointer(inputs[0]), n, measure.repeat)
        kept = out[0].ravel()[:: about["outputs"][0].get("every", 1)]
        if not np.allclose(kept, np.load(case / "out0.npy").ravel(), rtol=1e-3, atol=2e-3):
            sys.exit(f"plain.cpp computes {name} wrong")
        print(f"{name:16} {ours:9.3f} {theirs:9.3f} {theirs / ours:6.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hloc")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=20)
    arguments = parser.parse_args()
    folder = cache_folder("libraries")
    os.environ["LD_LIBRARY_PATH"] = str(folder / "lib")  # where oneDNN finds what it needs
    run_inside(folder, ["numpy", "ml_dtypes", "scipy-openblas64", "mkl", "onednn"])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    for name in ("OPENBLAS", "MKL", "OMP"):
        os.environ[name + "_NUM_THREADS"] = str(arguments.threads)
    measure = Measure(arguments.hloc, arguments.threads, arguments.repeat)
    print(f"{arguments.threads} threads, least of {arguments.repeat} runs")
    products(measure)
    plain = plain_library(folder)
    rows(measure, plain)
    science(measure, plain)


if __name__ == "__main__":
    main()
