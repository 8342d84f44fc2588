#!/usr/bin/env python3
"""Who may include whom: a table, a walk over the sources, and a few rules of the tree that a grep can check."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PUBLIC = ["include/hloc"]
IR = PUBLIC + ["ir/"]
PLAN = ["passes/plan.h"]
# Longest prefix of the including file wins.
MAY_INCLUDE = {
    "include/hloc": PUBLIC,
    "ir/support": PUBLIC + ["ir/support"],
    "ir": IR,
    "passes": IR + ["passes/"],
    "passes/rules": ["passes/rewrite/", "passes/rules/", "ir/attr.h", "ir/shape.h", "ir/target.h", "ir/op.h", "ir/type.h", "include/hloc"],
    "backends/registry": IR + PLAN + ["backends/"],
    "backends/loops": IR + PLAN + ["backends/loops"],
    "backends/host": IR + PLAN + ["backends/loops", "backends/host", "backends/registry.h"],
    "backends/cpu": IR + PLAN + ["backends/loops", "backends/host", "backends/cpu", "backends/registry.h"],
    "backends/gpu": IR + PLAN + ["backends/loops", "backends/host", "backends/gpu", "backends/registry.h"],
    "backends/cuda": IR + PLAN + ["backends/loops", "backends/host", "backends/gpu", "backends/cuda", "backends/registry.h"],
    "backends/hip": IR + PLAN + ["backends/loops", "backends/host", "backends/gpu", "backends/hip", "backends/registry.h"],
    "backends/reference": IR + PLAN + ["backends/host", "backends/reference", "backends/registry.h"],
    "src/commands": PUBLIC + ["src/commands/"],
    "src": PUBLIC + ["ir/", "passes/", "backends/", "src/"],
    "tests": [""],
    "examples": PUBLIC + ["hloc/", "ir/", "passes/", "backends/"],
}
TARGET_WORDS = re.compile(r"\b(x86|avx|avx2|avx512|neon|aarch64|cuda|hip|tpu)\b", re.IGNORECASE)
NO_TARGETS = ("ir", "passes", "backends/loops", "backends/host", "backends/gpu")
SUFFIXES = {".h", ".cpp", ".def", ".inl"}


def sources():
    for top in ("include", "ir", "passes", "backends", "src", "tests", "examples"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path, path.relative_to(ROOT).as_posix()


def rule_for(name):
    best = max((p for p in MAY_INCLUDE if name.startswith(p)), key=len, default=None)
    return MAY_INCLUDE.get(best, [])


def strip_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def main():
    wrong, checked = [], 0
    for path, name in sources():
        text = path.read_text(errors="replace")
        checked += 1
        for line in re.findall(r'^#include "([^"]+)"', text, flags=re.MULTILINE):
            target = line
            if name.startswith("include/hloc/"):
                target = "include/hloc/" + line  # public headers name each other without a folder
            if not any(target.startswith(p) for p in rule_for(name)):
                wrong.append(f"{name}: includes {line}")
        if name.startswith(NO_TARGETS) and TARGET_WORDS.search(strip_comments(text)):
            wrong.append(f"{name}: names a target: {TARGET_WORDS.search(strip_comments(text)).group(0)}")
        if name.startswith(("ir/", "passes/", "backends/loops/")) and re.search(r"^\s*default:\s", text, flags=re.MULTILINE) and re.search(r"case (ir::)?Op::\w+:[^\n]*\n(?:(?!^}).*\n)*?\s*default:", text):
            wrong.append(f"{name}: has `default:` in a switch over ops")
        lines = text.count("\n")
        if lines > 800 and path.suffix != ".def":
            wrong.append(f"{name}: has {lines} lines (800 at most)")
    for line in wrong:
        print("layering:", line)
    print(f"layering: {checked - len(set(w.split(':')[0] for w in wrong))} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
