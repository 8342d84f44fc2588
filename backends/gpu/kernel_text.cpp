#include "backends/gpu/kernel_text.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "backends/gpu/c_text.h"
#include "backends/gpu/coalesce.h"
#include "backends/gpu/source.h"
#include "backends/loops/walk.h"
#include "ir/support/check.h"

namespace hloc::gpu {

using loops::BufferId;
using loops::no_id;
using loops::Overload;
using loops::Statement;

namespace {

// Variables that contract_text.cpp writes.
constexpr const char* words_of_tiles[] = {"a",          "b",     "e",     "k",     "m",      "n",      "element", "left",  "right",
                                          "left_tile", "right_tile", "sums", "m_from", "n_from", "k_from", "m_own", "n_own"};

}  // namespace

KernelText::KernelText(const GpuKernel& kernel, const Launch& launch)
    : gpu_kernel_(kernel), kernel_(*kernel.kernel), launch_(launch), index_type_(launch.is_wide ? "long long" : "int"),
      values_(kernel_.values.size()), indices_(kernel_.indices.size()), accumulators_(kernel_.accumulators.size()),
      memories_(memories_of(kernel)), is_written_(kernel_.buffers.size()) {
  for (BufferId b = 0; b < memories_.size(); ++b)
    if (kernel_.buffers[b].role != loops::BufferRole::input) is_written_[memories_[b]] = true;
  together_ = launch.mapping == Mapping::block || launch.mapping == Mapping::parts;
  name_everything();
}

// ---- Names -------------------------------------------------------------------------------------------------------

std::string KernelText::unique(const std::string& wanted) {
  std::string name = wanted;
  for (int& n = last_number_[wanted]; !taken_.insert(name).second;) name = fmt::format("{}_{}", wanted, ++n + 1);
  return name;
}

void KernelText::name_everything() {
  if (launch_.contract)
    for (const char* word : words_of_tiles) taken_.insert(word);
  if (launch_.lanes > 1) taken_.insert("lane");
  if (launch_.mapping == Mapping::squares) take_words_of_squares();
  if (!launch_.spread.empty()) taken_.insert("part");
  for (const loops::Buffer& b : kernel_.buffers) buffers_.push_back(unique(c_name(b.name)));
  for (loops::ValueId v = 0; v < values_.size(); ++v)
    if (kernel_.is_constant(v)) values_[v] = c_constant(kernel_.type(v), kernel_.values[v].bits);
  for (size_t i = 0; i < indices_.size(); ++i) indices_[i] = unique(fmt::format("i{}", i));
  constexpr std::pair<loops::ScalarOp, const char*> words[] = {
      {loops::ScalarOp::Add, "sum"}, {loops::ScalarOp::Mul, "product"}, {loops::ScalarOp::Min, "least"}, {loops::ScalarOp::Max, "most"},
      {loops::ScalarOp::And, "all"}, {loops::ScalarOp::Or, "any"}, {loops::ScalarOp::Xor, "parity"}};
  for_each_statement(kernel_.body, [&](const Statement& s) {
    auto* a = s.as<loops::Accumulate>();
    if (!a || !accumulators_[a->acc].empty()) return;
    for (auto [op, word] : words)
      if (op == a->op) accumulators_[a->acc] = unique(word);
  });
  for (std::string& name : accumulators_)
    if (name.empty()) name = unique("carried");
}

void KernelText::define(loops::ValueId v, const std::string& wanted, const std::string& expression) {
  values_[v] = unique(wanted);
  line("const {} {} = {};", c_type(kernel_.type(v)), values_[v], expression);
}

std::string KernelText::affine(const loops::Affine& a) const {
  std::string out;
  for (const loops::Term& t : a.terms) {
    int64_t c = t.coefficient;
    if (out.empty()) out = c < 0 ? "-" : "";
    else out += c < 0 ? " - " : " + ";
    if (std::abs(c) != 1) out += fmt::format("{} * ", std::abs(c));
    out += indices_[t.index];
  }
  if (out.empty()) return std::to_string(a.base);
  if (a.base != 0) out += fmt::format(" {} {}", a.base < 0 ? '-' : '+', std::abs(a.base));
  return out;
}

std::string KernelText::condition(const std::vector<loops::Guard>& guards) const {
  std::string out;
  for (const loops::Guard& g : guards) {
    loops::Range r = loops::range_of(kernel_, g.affine);
    std::string x = affine(g.affine);
    if (r.lo < g.lo) out += fmt::format("{}{} >= {}", out.empty() ? "" : " && ", x, g.lo);
    if (r.hi >= g.hi) out += fmt::format("{}{} < {}", out.empty() ? "" : " && ", x, g.hi);
  }
  return out.empty() ? "true" : out;
}

std::string KernelText::element(const loops::Access& a) const { return fmt::format("{}[{}]", buffers_[a.buffer], affine(a.offset)); }

std::string KernelText::digit(const std::string& all, bool is_first, int64_t extent, int64_t inner) {
  std::string out = all;
  if (inner > 1) out += fmt::format(" / {}", inner);
  if (!is_first) out += fmt::format(" % {}", extent);
  return out;
}

// ---- The function ------------------------------------------------------------------------------------------------

std::string KernelText::run() {
  head();
  if (launch_.mapping == Mapping::tiles) {
    each(launch_.body);
    tiles(*launch_.contract);
  } else if (launch_.mapping == Mapping::squares) {
    squares();
  } else if (launch_.mapping == Mapping::parts) {
    grid();
    each(launch_.body);
    part_of_loop(launch_.spread.front());
  } else {
    grid();
    local_buffers();
    if (launch_.lanes > 1) lanes();
    else each(launch_.body);
  }
  close();
  return std::move(out_);
}

void KernelText::head() {
  std::vector<std::string> parameters;
  for (BufferId b : launch_.buffers) parameters.push_back(fmt::format("{} {}", parameter_type(gpu_kernel_, b), buffers_[b]));
  open(fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({})", launch_.threads, launch_.name,
                   fmt::join(parameters, ", ")));
}

void KernelText::grid() {
  if (launch_.grid.empty()) return;
  bool by_thread = launch_.mapping == Mapping::threads;
  std::string n = unique(by_thread ? "thread" : "iteration");
  if (by_thread) {
    line("const {0} {1} = ({0})blockIdx.x * {2} + threadIdx.x;", index_type_, n, launch_.threads);
    int64_t threads = launch_.iterations / launch_.lanes;
    if (threads % launch_.threads != 0) line("if ({} >= {}) return;", n, threads);
  } else {
    std::string block = launch_.mapping == Mapping::parts ? fmt::format("blockIdx.x / {}", launch_.spread.front().parts) : "blockIdx.x";
    line("const {} {} = {};", index_type_, n, block);
  }
  int64_t all = launch_.iterations / launch_.lanes, inner = all;
  for (const GridLevel& level : launch_.grid) {
    each(level.statements);
    bool is_last = &level == &launch_.grid.back(), is_first = inner == all;
    int64_t extent = level.loop->extent / (is_last ? launch_.lanes : 1);
    inner /= extent;
    std::string i = digit(n, is_first, extent, inner);
    if (is_last && launch_.lanes > 1) i += fmt::format(" * {}", launch_.lanes);
    line("const {} {} = {};", index_type_, indices_[level.loop->index], i);
  }
}

// Loads by vectors, the body for each lane, stores by vectors.
void KernelText::lanes() {
  Coalescing coalescing(gpu_kernel_, launch_);
  std::map<const Statement*, std::string> parts;
  std::vector<std::string> after;
  for (const Statement* s : launch_.body) {
    auto* load = s->as<loops::Load>();
    auto* store = s->as<loops::Store>();
    if (!load && !store) continue;
    const loops::Access& a = load ? load->access : store->access;
    if (!coalescing.is_by_lanes(a, launch_.lanes)) continue;
    std::string part = unique(buffers_[a.buffer] + "_part");
    std::string type = fmt::format("vector<{}, {}>", c_type(kernel_.buffers[a.buffer].element), launch_.lanes);
    std::string at = fmt::format("({}{}*)(&{})", load ? "const " : "", type, element(a));
    if (load) line("const {} {} = *{};", type, part, at);
    else line("{} {};", type, part), after.push_back(fmt::format("*{} = {};", at, part));
    parts[s] = part;
  }
  std::string& index = indices_[launch_.grid.back().loop->index];
  std::string from = std::exchange(index, unique(index + "_lane"));
  line("#pragma unroll");
  open(fmt::format("for (int lane = 0; lane < {}; ++lane)", launch_.lanes));
  size_t start = out_.size();
  for (const Statement* s : launch_.body) {
    auto part = parts.find(s);
    if (part == parts.end()) statement(*s);
    else if (auto* load = s->as<loops::Load>()) define(load->result, buffers_[load->access.buffer] + "_at", part->second + ".at[lane]");
    else line("{}.at[lane] = {};", part->second, value(s->as<loops::Store>()->value));
  }
  std::string rest = out_.substr(start);
  if (rest.find(index) != rest.npos) {
    out_.resize(start);
    line("const {} {} = {} + lane;", index_type_, index, from);
    out_ += rest;
  }
  close();
  for (const std::string& store : after) line("{}", store);
}

void KernelText::local_buffers() {
  for (BufferId b = 0; b < buffers_.size(); ++b) {
    const loops::Buffer& buffer = kernel_.buffers[b];
    std::string_view type = c_type(buffer.element);
    std::string all = buffers_[b];
    switch (launch_.places[b]) {
      case Place::none:
      case Place::global: break;
      case Place::registers: line("{} {}[{}];", type, all, buffer.count); break;
      case Place::shared: line("__shared__ {} {}[{}];", type, all, buffer.count); break;
      case Place::per_thread:
        buffers_[b] = unique(all + "_own");
        line("{}* {} = {} + ((long long)blockIdx.x * {} + threadIdx.x) * {};", type, buffers_[b], all, launch_.threads, buffer.count);
        break;
      case Place::per_block:
        buffers_[b] = unique(all + "_own");
        line("{}* {} = {} + (long long)blockIdx.x * {};", type, buffers_[b], all, buffer.count);
        break;
    }
  }
}

// ---- Barriers ----------------------------------------------------------------------------------------------------

void KernelText::barrier() {
  line("__syncthreads();");
  read_.clear(), dirty_.clear();
}

void KernelText::wait_for(const std::set<BufferId>& reads, const std::set<BufferId>& writes) {
  auto meets = [](const std::set<BufferId>& a, const std::set<BufferId>& b) {
    return std::any_of(a.begin(), a.end(), [&](BufferId x) { return b.count(x) != 0; });
  };
  if (meets(reads, dirty_) || meets(writes, dirty_) || meets(writes, read_)) barrier();
  read_.insert(reads.begin(), reads.end());
  dirty_.insert(writes.begin(), writes.end());
}

KernelText::Touched KernelText::touched_by(std::initializer_list<const loops::Block*> blocks) const {
  Touched out;
  for (const loops::Block* b : blocks)
    for_each_statement(*b, [&](const Statement& s) {
      if (auto* l = s.as<loops::Load>(); l && is_written_[memory(l->access.buffer)]) out.reads.insert(memory(l->access.buffer));
      if (auto* st = s.as<loops::Store>()) out.writes.insert(memory(st->access.buffer));
    });
  return out;
}

// ---- Statements --------------------------------------------------------------------------------------------------

void KernelText::each(const Statements& statements) {
  for (const Statement* s : statements) statement(*s);
}

void KernelText::block(const loops::Block& statements) {
  for (const Statement& s : statements) statement(s);
}

void KernelText::statement(const Statement& s) {
  auto index_value = [&](const loops::IndexValue& v) {
    define(v.result, "n", fmt::format("({})({})", c_type(kernel_.type(v.result)), affine(v.affine)));
  };
  auto declare = [&](const loops::Declare& d) {
    line("{} {} = {};", c_type(kernel_.accumulators[d.acc].type), accumulators_[d.acc], value(d.init));
  };
  std::visit(Overload{[&](const loops::Compute& c) { compute(c); }, [&](const loops::Load& l) { load(l); },
                      [&](const loops::Store& x) { store(x); }, index_value,
                      [&](const loops::Test& t) { define(t.result, "inside", condition(t.guards)); },
                      [&](const loops::Derive& d) { derive(d.index); }, declare,
                      [&](const loops::Accumulate& a) { accumulate(a); },
                      [&](const loops::Set& x) { line("{} = {};", accumulators_[x.acc], value(x.value)); },
                      [&](const loops::Get& g) { define(g.result, "got", accumulators_[g.acc]); },
                      [&](const loops::Loop& l) { loop(l); }, [&](const loops::Contract& c) { shared_contract(c); }},
             s.what);
}

void KernelText::compute(const loops::Compute& c) {
  std::array<std::string, 3> args;
  ElementType operand = ElementType::invalid;
  for (size_t i = 0; i < loops::facts(c.op).operands; ++i) args[i] = value(c.args[i]), operand = kernel_.type(c.args[i]);
  define(c.result, "t", c_expression(c, operand, kernel_.type(c.result), args));
}

void KernelText::load(const loops::Load& l) {
  BufferId m = memory(l.access.buffer);
  if (together_ && is_written_[m]) wait_for({m}, {});
  std::string from = element(l.access);
  if (l.otherwise != no_id) from = fmt::format("{} ? {} : {}", condition(l.access.guards), from, value(l.otherwise));
  define(l.result, buffers_[l.access.buffer] + "_at", from);
}

void KernelText::store(const loops::Store& s) {
  std::vector<std::string> only;
  if (together_) {
    wait_for({}, {memory(s.access.buffer)});
    only.push_back("threadIdx.x == 0");
  }
  if (!s.access.guards.empty()) only.push_back(condition(s.access.guards));
  std::string done = fmt::format("{} = {};", element(s.access), value(s.value));
  if (only.empty()) line("{}", done);
  else line("if ({}) {}", fmt::join(only, " && "), done);
}

void KernelText::derive(loops::IndexId id) {
  const loops::Index& i = kernel_.indices[id];
  std::string x;
  if (i.kind == loops::IndexKind::from_value) {
    x = fmt::format("({})clamped<{}>({}, {}, {})", index_type_, c_type(kernel_.type(i.value)), value(i.value), i.range.lo, i.range.hi);
  } else {
    bool positive = loops::range_of(kernel_, i.of).lo >= 0;
    std::string of = affine(i.of);
    if (i.of.terms.size() > 1 || i.of.base != 0 || !positive) of = "(" + of + ")";
    std::string quotient = fmt::format("{} / {}", of, i.divisor);
    if (!positive) quotient = fmt::format("floor_div<{}>({}, {})", index_type_, of, i.divisor);
    if (i.kind == loops::IndexKind::floor_div) x = quotient;
    else x = positive ? fmt::format("{} % {}", of, i.divisor) : fmt::format("{} - {} * {}", of, i.divisor, quotient);
  }
  line("const {} {} = {};", index_type_, indices_[id], x);
}

void KernelText::accumulate(const loops::Accumulate& a) {
  const std::string& acc = accumulators_[a.acc];
  line("{} = {};", acc, c_combination(a.op, kernel_.accumulators[a.acc].type, acc, value(a.value)));
}

void KernelText::loop_of_one(const loops::Loop& l, const std::string& head) {
  open(head);
  block(l.body);
  close();
}

void KernelText::loop(const loops::Loop& l) {
  if (together_ && is_shared_loop(kernel_, l)) return shared_loop(l);
  const std::string& i = indices_[l.index];
  if (l.kind == loops::LoopKind::unrolled) line("#pragma unroll");
  std::string go_on = l.go_on == no_id ? "" : " && " + accumulators_[l.go_on];
  open(fmt::format("for ({} {} = 0; {} < {}{}; ++{})", index_type_, i, i, l.extent, go_on, i));
  // Every iteration sees what the one before wrote, and writes what it has read.
  if (together_ && !touched_by({&l.body}).writes.empty()) barrier();
  block(l.body);
  close();
}

std::vector<KernelText::Own> KernelText::own_sums(const loops::Loop& l) {
  std::vector<Own> out;
  for (const Collected& c : collected_by(l)) {
    ElementType type = kernel_.accumulators[c.acc].type;
    std::string& name = accumulators_[c.acc];
    std::string all = std::exchange(name, unique("own_" + name));
    line("{} {} = {};", c_type(type), name, c_constant(type, loops::neutral_bits(c.op, type)));
    out.push_back({c, type, all, name});
  }
  return out;
}

std::string KernelText::sum_of_block(const Own& own) {
  std::string slots = unique(own.name + "_of_wave"), all = unique("block_" + own.name);
  accumulators_[own.collected.acc] = own.name;
  line("__shared__ {} {}[{}];", c_type(own.type), slots, launch_.threads / least_wave);
  line("const {0} {1} = block_reduce<{2}>({3}, {4}, []({0} a, {0} b) -> {0} {{ return {5}; }});", c_type(own.type), all, launch_.threads,
       own.own, slots, c_combination(own.collected.op, own.type, "a", "b"));
  read_.clear(), dirty_.clear();
  return all;
}

void KernelText::shared_loop(const loops::Loop& l) {
  const Spread* spread = spread_of(launch_, &l);
  Touched touched = spread ? Touched{} : touched_by({&l.body});
  wait_for(touched.reads, touched.writes);
  std::vector<Own> sums = own_sums(l);
  if (spread) {
    open(fmt::format("for (int part = threadIdx.x; part < {}; part += {})", spread->parts, launch_.threads));
    for (size_t k = 0; k < sums.size(); ++k) {
      std::string part = fmt::format("{}[blockIdx.x * {} + part]", buffers_[spread->sums[k]], spread->parts);
      line("{} = {};", sums[k].own, c_combination(sums[k].collected.op, sums[k].type, sums[k].own, part));
    }
    close();
  } else {
    together_ = false;
    const std::string& i = indices_[l.index];
    loop_of_one(l, fmt::format("for ({} {} = threadIdx.x; {} < {}; {} += {})", index_type_, i, i, l.extent, i, launch_.threads));
    together_ = true;
  }
  for (const Own& own : sums) {
    std::string block = sum_of_block(own);
    line("{} = {};", own.name, c_combination(own.collected.op, own.type, own.name, block));
  }
}

void KernelText::part_of_loop(const Spread& spread) {
  line("const {} part = blockIdx.x % {};", index_type_, spread.parts);
  std::vector<Own> sums = own_sums(*spread.loop);
  together_ = false;
  const std::string& i = indices_[spread.loop->index];
  loop_of_one(*spread.loop, fmt::format("for ({0} {1} = part * {2} + threadIdx.x; {1} < {3}; {1} += {4})", index_type_, i,
                                        launch_.threads, spread.loop->extent, spread.parts * launch_.threads));
  together_ = true;
  for (size_t k = 0; k < sums.size(); ++k) {
    std::string block = sum_of_block(sums[k]);
    line("if (threadIdx.x == 0) {}[blockIdx.x] = {};", buffers_[spread.sums[k]], block);
  }
}

}  // namespace hloc::gpu
