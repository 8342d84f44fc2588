// Interval arithmetic for bounds: does an address stay in its buffer wherever its guards hold?
#include <algorithm>

#include "backends/loops/verify.h"

namespace hloc::loops {
namespace {

// range.lo <= Σ terms <= range.hi, the base moved into the range.
struct Fact {
  std::vector<Term> terms;
  Range range;
};

__extension__ typedef __int128 Wide128b;

struct WideRange {
  Wide128b lo = 0, hi = 0;
  void add(Wide128b factor, Range r) {
    lo += std::min(factor * r.lo, factor * r.hi);
    hi += std::max(factor * r.lo, factor * r.hi);
  }
};

// One fact for each set of terms; two guards on the same terms meet.
std::vector<Fact> facts_of(const Kernel& kernel, const std::vector<Guard>& guards) {
  std::vector<Fact> facts;
  for (const Guard& g : guards) {
    Affine sum = g.affine;
    sum.base = 0;
    Range natural = range_of(kernel, sum);
    Range r{std::max(natural.lo, g.lo - g.affine.base), std::min(natural.hi, g.hi - 1 - g.affine.base)};
    auto same = std::find_if(facts.begin(), facts.end(), [&](const Fact& f) { return f.terms == sum.terms; });
    if (same == facts.end()) facts.push_back({sum.terms, r});
    else same->range = {std::max(same->range.lo, r.lo), std::min(same->range.hi, r.hi)};
  }
  return facts;
}

// The factor by which the fact's terms all stand in `affine`, or 0.
int64_t factor_in(const Fact& fact, const Affine& affine) {
  if (fact.terms.empty()) return 0;
  int64_t c = affine.coefficient(fact.terms[0].index);
  if (c % fact.terms[0].coefficient != 0) return 0;
  int64_t factor = c / fact.terms[0].coefficient;
  for (const Term& t : fact.terms)
    if (affine.coefficient(t.index) != factor * t.coefficient) return 0;
  return factor;
}

// One step of `recombined`; false: there is nothing to do.
bool recombine_once(const Kernel& kernel, Affine& affine) {
  for (const Term& m : affine.terms) {
    const Index& mod = kernel.indices[m.index];
    if (mod.kind != IndexKind::mod || m.coefficient > INT64_MAX / mod.divisor || m.coefficient < INT64_MIN / mod.divisor) continue;
    for (const Term& q : affine.terms) {
      const Index& div = kernel.indices[q.index];
      if (div.kind != IndexKind::floor_div || div.divisor != mod.divisor || div.of != mod.of) continue;
      if (q.coefficient != m.coefficient * mod.divisor) continue;
      Affine whole = mod.of * m.coefficient;
      IndexId a = m.index, b = q.index;
      std::erase_if(affine.terms, [a, b](const Term& t) { return t.index == a || t.index == b; });
      affine += whole;
      return true;
    }
  }
  return false;
}

bool stays_as_written(const Kernel& kernel, const Affine& affine, const std::vector<Guard>& guards, Range within);

}  // namespace

Affine recombined(const Kernel& kernel, const Affine& affine) {
  Affine a = affine;
  while (recombine_once(kernel, a)) continue;  // each step removes two indices for older ones
  return a;
}

bool stays_within(const Kernel& kernel, const Affine& affine, const std::vector<Guard>& guards, Range within) {
  return stays_as_written(kernel, affine, guards, within) ||
         stays_as_written(kernel, recombined(kernel, affine), guards, within);
}

namespace {

bool stays_as_written(const Kernel& kernel, const Affine& affine, const std::vector<Guard>& guards, Range within) {
  std::vector<Fact> facts = facts_of(kernel, guards);
  for (const Fact& f : facts)
    if (f.range.lo > f.range.hi) return true;  // never touched
  // Facts of many terms first: what they cover, single ones can only cover worse.
  std::stable_sort(facts.begin(), facts.end(), [](const Fact& a, const Fact& b) { return a.terms.size() > b.terms.size(); });
  Affine rest = affine;
  WideRange total{affine.base, affine.base};
  for (const Fact& f : facts) {
    int64_t factor = factor_in(f, rest);
    if (factor == 0) continue;
    total.add(factor, f.range);
    std::erase_if(rest.terms, [&](const Term& t) {
      return std::any_of(f.terms.begin(), f.terms.end(), [&](const Term& x) { return x.index == t.index; });
    });
  }
  for (const Term& t : rest.terms) total.add(t.coefficient, kernel.indices[t.index].range);
  return total.lo >= within.lo && total.hi <= within.hi;
}

}  // namespace

}  // namespace hloc::loops
