// Interval arithmetic for bounds: does an address stay in its buffer wherever its guards hold?
#include <algorithm>
#include <numeric>
#include <unordered_map>

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

int64_t floor_bound(int64_t x, int64_t divisor) { return x / divisor - (x % divisor < 0); }

// lo <= k * x <= hi as bounds of x; the first coefficient becomes positive and the coefficients' common divisor 1.
void reduce_fact(std::vector<Term>& terms, Range& r) {
  int64_t divisor = 0;
  for (const Term& t : terms) divisor = std::gcd(divisor, t.coefficient);
  if (divisor == 0) return;
  if (terms[0].coefficient < 0) divisor = -divisor;
  for (Term& t : terms) t.coefficient /= divisor;
  if (divisor < 0) r = {-r.hi, -r.lo};
  int64_t size = std::abs(divisor);
  r = {-floor_bound(-r.lo, size), floor_bound(r.hi, size)};
}

// One fact for each set of terms; two guards on the same terms meet.
std::vector<Fact> facts_of(const Kernel& kernel, const std::vector<Guard>& guards) {
  std::vector<Fact> facts;
  for (const Guard& g : guards) {
    Affine sum = g.affine;
    sum.base = 0;
    constexpr int64_t far = int64_t{1} << 62;
    Range natural = range_of(kernel, sum);
    natural = {std::clamp(natural.lo, -far, far), std::clamp(natural.hi, -far, far)};
    Range r{std::max(natural.lo, g.lo - g.affine.base), std::min(natural.hi, g.hi - 1 - g.affine.base)};
    reduce_fact(sum.terms, r);
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

// Whether a * factor and sums with it cannot overflow.
bool may_multiply(const Affine& a, int64_t factor) {
  constexpr int64_t most = int64_t{1} << 60;
  if (factor > most || factor < -most) return false;
  int64_t limit = most / std::max<int64_t>(std::abs(factor), 1);
  auto fits = [limit](int64_t x) { return x <= limit && x >= -limit; };
  return fits(a.base) && std::all_of(a.terms.begin(), a.terms.end(), [&](const Term& t) { return fits(t.coefficient); });
}

// One step of `recombined`; false: there is nothing to do.
bool recombine_once(const Kernel& kernel, Affine& affine) {
  for (const Term& m : affine.terms) {
    const Index& mod = kernel.indices[m.index];
    if (mod.kind != IndexKind::mod || !may_multiply(mod.of, m.coefficient) || !may_multiply(mod.divisor, m.coefficient)) continue;
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

}  // namespace

Affine recombined(const Kernel& kernel, const Affine& affine) {
  Affine a = affine;
  while (recombine_once(kernel, a)) continue;  // each step removes two indices for older ones
  return a;
}

namespace {

int64_t saturated_bound(Wide128b x) { return x > INT64_MAX ? INT64_MAX : x < INT64_MIN ? INT64_MIN : static_cast<int64_t>(x); }

// Ranges where the guards hold; those of derived indices follow from what they are made of.
class GuardedRanges {
 public:
  GuardedRanges(const Kernel& kernel, std::vector<Fact> facts) : kernel_(kernel), facts_(std::move(facts)) {
    // Facts of many terms first: what they cover, single ones can only cover worse.
    std::stable_sort(facts_.begin(), facts_.end(), [](const Fact& a, const Fact& b) { return a.terms.size() > b.terms.size(); });
  }

  Range of(const Affine& affine) {
    for (IndexId i : derived_below(affine)) known_.emplace(i, of_derived(kernel_.indices[i]));
    return sum(affine);
  }

 private:
  // Derived indices that the expression depends on, each behind those that it is made from: they have larger numbers.
  std::vector<IndexId> derived_below(const Affine& affine) const {
    std::vector<IndexId> list;
    std::vector<const Affine*> stack{&affine};
    while (!stack.empty()) {
      const Affine* a = stack.back();
      stack.pop_back();
      for (const Term& t : a->terms) {
        const Index& i = kernel_.indices[t.index];
        bool is_derived = i.kind == IndexKind::floor_div || i.kind == IndexKind::mod;
        if (!is_derived || known_.count(t.index) || std::find(list.begin(), list.end(), t.index) != list.end()) continue;
        list.push_back(t.index);
        stack.push_back(&i.of);
      }
    }
    std::sort(list.begin(), list.end());
    return list;
  }

  Range of_derived(const Index& i) {
    Range r = sum(i.of), q{floor_bound(r.lo, i.divisor), floor_bound(r.hi, i.divisor)};
    if (i.kind == IndexKind::floor_div) return {std::max(q.lo, i.range.lo), std::min(q.hi, i.range.hi)};
    if (q.lo != q.hi) return i.range;
    return {r.lo - q.lo * i.divisor, r.hi - q.lo * i.divisor};
  }

  Range of_index(IndexId i) const {
    auto it = known_.find(i);
    return it == known_.end() ? kernel_.indices[i].range : it->second;
  }

  Range sum(const Affine& affine) {
    Affine rest = affine;
    WideRange total{affine.base, affine.base};
    for (const Fact& f : facts_) {
      int64_t factor = factor_in(f, rest);
      if (factor == 0) continue;
      total.add(factor, f.range);
      std::erase_if(rest.terms, [&](const Term& t) {
        return std::any_of(f.terms.begin(), f.terms.end(), [&](const Term& x) { return x.index == t.index; });
      });
    }
    for (const Term& t : rest.terms) total.add(t.coefficient, of_index(t.index));
    return {saturated_bound(total.lo), saturated_bound(total.hi)};
  }

  const Kernel& kernel_;
  std::vector<Fact> facts_;
  std::unordered_map<IndexId, Range> known_;
};

}  // namespace

bool stays_within(const Kernel& kernel, const Affine& affine, const std::vector<Guard>& guards, Range within) {
  std::vector<Fact> facts = facts_of(kernel, guards);
  for (const Fact& f : facts)
    if (f.range.lo > f.range.hi) return true;  // never touched
  auto inside = [within](Range r) { return r.lo >= within.lo && r.hi <= within.hi; };
  GuardedRanges ranges(kernel, std::move(facts));
  return inside(ranges.of(affine)) || inside(ranges.of(recombined(kernel, affine)));
}

}  // namespace hloc::loops
