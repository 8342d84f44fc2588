"""Reads lines `CASE JSON` of `hloc bench --json`; prints a table and the median compile time."""
import json
import sys

rows = [line.split(" ", 1) for line in sys.stdin if line.strip()]
print(f"\n{'case':28} {'compile ms':>10} {'run ms':>9} {'kernels':>8} {'host steps':>10}")
times = []
for name, text in rows:
    j = json.loads(text)
    times.append(j["compile_ms"])
    print(f"{name:28} {j['compile_ms']:10.2f} {j['run_ms_min']:9.3f} {j['kernels']:8} {j['fallback_kernels']:10}")
times.sort()
print(f"compile ms: median {times[len(times) // 2]:.2f}, most {times[-1]:.2f}")
