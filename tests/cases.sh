# The cases that must pass, sourced by run.sh: this project's own small ones, and the large set where it is present.
source tests/case_lists.sh

if [ -d "$shared/cases" ]; then
  all=() native=() science=()
  for c in $reference_cases; do all+=("$shared/cases/basics/$c"); done
  for c in $model_cases; do all+=("$shared/cases/models/$c"); done
  for c in $science_cases; do science+=("$shared/cases/science/$c"); done
  for c in $native_cases; do native+=("$shared/cases/$c"); done
  for form in hlo mlir; do
    count "reference, $form" "$hloc" check --target reference --form $form --jobs "$jobs" "${all[@]}"
    count "native, $form" "$hloc" check --form $form --jobs "$jobs" "${all[@]}"
    for target in native x86-64-v3; do
      count "$target without fallback, $form" "$hloc" check --target $target --no-fallback --form $form --jobs "$jobs" "${native[@]}"
    done
    for target in cuda:host hip:host; do
      count "$target without fallback, $form" "$hloc" check --target $target --no-fallback --form $form --jobs "$jobs" "${all[@]}" "${science[@]}"
    done
  done
  if command -v qemu-aarch64 >/dev/null; then
    for form in hlo mlir; do
      count "aarch64 without fallback, $form" "$hloc" check --target aarch64 --no-fallback --form $form --jobs "$jobs" "${all[@]}" "${science[@]}"
    done
  else
    echo "skipped: no case runs on aarch64, qemu-aarch64 is missing (Debian: qemu-user)"
  fi
  count "two threads" "$hloc" check --threads 2 --no-fallback --form hlo "${native[@]}"
fi
if [ -d "$shared/conformance/hlo" ]; then
  count "HLO corpus" "$hloc" check --form hlo --jobs "$jobs" "$shared/conformance/hlo"
fi
