#!/usr/bin/env python3
"""Compile and run times of cases, hloc against XLA on this machine's CPU, both in one run.

    tests/peers/cases_vs_xla.py build/src/hloc [--threads N] [--repeat K] [CASE...]

A CASE is a folder with module.mlir and case.json; without any, the listed cases of the folder of shared cases (or of
$HLOC_SHARED). Both compile the same StableHLO text, once, from memory, and run on the same number of cores (the process
is pinned to them) with inputs that already lie in memory; the least of K runs counts. XLA comes with jaxlib, installed
from PyPI into a virtual environment in the cache folder, once. Prints a table and geometric means of the ratios (above 1:
hloc is faster). Nothing here passes or fails. Ends with 3 when there is no jaxlib.
"""
import argparse
import json
import math
import os
import subprocess
import time
from pathlib import Path

from environment import cache_folder, run_inside

BASICS = """add_mul activations transcendental_f32 broadcasts transposes slices_strided pad_basic iota_reverse_concat clamp_select
  logical int_bits int_divmod rounding nan_inf_compare reduce_all reduce_3d_middle reduce_int softmax log_softmax_xent layernorm
  gelu_mlp matmul_64 matmul_512 matmul_odd_sizes batched_matmul matvec_vecmat_dot while_newton_sqrt while_collatz while_nested
  cond_branch fori_matrix_power dynamic_slice dynamic_update_slice scan_ema"""
MODELS = "mlp_mnist_forward mlp_mnist_train_step digits_mlp"
SCIENCE = "black_scholes nbody_step jacobi_stencil sir_ode_rk4 heat_adi conjugate_gradient kmeans_iteration conway_life"


NAMES = {"pred": "bool", "f16": "float16", "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128", "bf16": "bfloat16",
         **{f"{k}{n}": f"{'u' if k == 'u' else ''}int{n}" for k in "su" for n in (8, 16, 32, 64)}}


def fill_bits(seed, count):
    """A SplitMix64 of seed and position, as the README of the cases defines it."""
    import numpy as np

    with np.errstate(over="ignore"):
        z = np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def input_array(folder, entry):
    import ml_dtypes  # comes with jax; gives numpy bfloat16
    import numpy as np

    dtype = np.dtype(getattr(ml_dtypes, "bfloat16")) if entry["dtype"] == "bf16" else np.dtype(NAMES[entry["dtype"]])
    shape = tuple(entry["shape"])
    if "file" in entry:
        return np.load(folder / entry["file"]).view(dtype).reshape(shape)
    fill, count = entry["fill"], math.prod(shape)
    if fill["kind"] == "uniform":
        u = (fill_bits(fill["seed"], count) >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
        return (np.float32(fill["lo"]) + np.float32(fill["hi"] - fill["lo"]) * u).astype(dtype).reshape(shape)
    if fill["kind"] == "randint":
        offset = fill_bits(fill["seed"], count) % np.uint64(fill["hi"] - fill["lo"])
        return (offset.astype(np.int64) + fill["lo"]).astype(dtype).reshape(shape)
    return np.full(shape, fill.get("value", 0), dtype)


def xla_figures(case, repeat):
    """(compile ms, run ms) of XLA:CPU."""
    import jax
    from jaxlib import xla_client

    device = jax.devices("cpu")[0]
    text = (Path(case) / "module.mlir").read_text()
    devices = xla_client.DeviceList((device,))
    began = time.perf_counter()
    program = device.client.compile_and_load(text, devices, xla_client.CompileOptions())
    compile_ms = 1e3 * (time.perf_counter() - began)
    meta = json.loads((Path(case) / "case.json").read_text())
    arrays = [input_array(Path(case), entry) for entry in meta["inputs"]]
    buffers = [jax.device_put(a, device) for a in arrays]
    best = math.inf
    until = time.perf_counter() + 1.0
    runs = 0
    while runs < 3 or (runs < repeat and time.perf_counter() < until):
        if any(b.is_deleted() for b in buffers):  # the program takes some of its inputs for itself
            buffers = [jax.device_put(a, device, may_alias=False) for a in arrays]
            jax.block_until_ready(buffers)
        began = time.perf_counter()
        for out in program.execute_sharded(buffers).disassemble_into_single_device_arrays():
            out[0].block_until_ready()
        best = min(best, 1e3 * (time.perf_counter() - began))
        runs += 1
    return compile_ms, best


def hloc_figures(hloc, case, repeat, threads):
    command = [hloc, "bench", case, "--json", "--repeat", str(repeat), "--threads", str(threads)]
    got = subprocess.run(command, capture_output=True, text=True)
    if got.returncode != 0:
        return None
    figures = json.loads(got.stdout)
    return figures["compile_ms"], figures["run_ms_min"]


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def measure(arguments):
    cores = sorted(os.sched_getaffinity(0))[: arguments.threads]
    os.sched_setaffinity(0, cores)
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + f" --xla_cpu_multi_thread_eigen={'true' if len(cores) > 1 else 'false'}"
    import jax

    jax.config.update("jax_enable_x64", True)
    print(f"{'case':34} {'XLA compile':>12} {'hloc':>9} {'ratio':>7}   {'XLA run ms':>11} {'hloc':>9} {'ratio':>7}")
    compile_ratios, run_ratios, science = [], [], []
    for case in arguments.cases:
        ours = hloc_figures(arguments.hloc, case, arguments.repeat, len(cores))
        if ours is None:
            print(f"{case}: hloc failed")
            continue
        try:
            theirs = xla_figures(case, arguments.repeat)
        except Exception as e:  # every binding raises its own kind
            print(f"{case}: XLA failed: {str(e).splitlines()[0]}")
            continue
        compile_ratios.append(theirs[0] / ours[0])
        run_ratios.append(theirs[1] / ours[1])
        if "science" in case:
            science.append(run_ratios[-1])
        name = "/".join(Path(case).parts[-2:])
        print(f"{name:34} {theirs[0]:12.1f} {ours[0]:9.2f} {compile_ratios[-1]:7.1f}   {theirs[1]:11.4f} {ours[1]:9.4f} {run_ratios[-1]:7.2f}", flush=True)
    print(f"geometric means over {len(run_ratios)} cases, {len(cores)} threads: compile {mean(compile_ratios):.1f}, run {mean(run_ratios):.2f}"
          + (f"; science run {mean(science):.2f}, least {min(science):.2f}" if science else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hloc")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=100)
    arguments = parser.parse_intermixed_args()
    run_inside(cache_folder("jax"), ["jax", "numpy"])
    if not arguments.cases:
        shared = Path(os.environ.get("HLOC_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "cases"
        arguments.cases = [str(shared / kind / name) for kind, names in (("basics", BASICS), ("models", MODELS), ("science", SCIENCE)) for name in names.split()]
    measure(arguments)


if __name__ == "__main__":
    main()
