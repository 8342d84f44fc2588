#include "ir/read/hlo_sharding.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/hlo_attributes.h"

namespace hloc::ir {
namespace {

constexpr std::string_view sharding_words[] = {"replicated", "maximal",  "manual",     "unknown", "unreduced", "devices",
                                               "device",     "metadata", "shard_as",   "shard_like", "last_tile_dims",
                                               "last_tile_dim_replicate", "mesh", "maximal_mesh"};

// The number of devices of a grid, or -1 when it does not fit.
int64_t grid_size(const Ints& grid) {
  int64_t n = 1;
  for (int64_t size : grid)
    if (size < 0 || __builtin_mul_overflow(n, size, &n)) return -1;
  return n;
}

bool find_kind(std::string_view word, Sharding::Kind& out) {
  for (size_t i = 0; i < std::size(HloWords<Sharding::Kind>::list); ++i)
    if (!word.empty() && HloWords<Sharding::Kind>::list[i] == word) {
      out = static_cast<Sharding::Kind>(i);
      return true;
    }
  return false;
}

// What stands after "<=" in `[2,4]<=[4,2]T(1,0)`.
bool iota_source(HloLexer& lex, Loc begin, IotaTile& out) {
  if (!read_numbers(lex, '[', ']', out.reshape, "a size")) return false;
  if (lex.accept_word("T")) {
    if (!read_numbers(lex, '(', ')', out.transpose, "a dimension number")) return false;
    Ints sorted = out.transpose;
    std::sort(sorted.begin(), sorted.end());
    bool permutes = sorted.size() == out.reshape.size();
    for (size_t i = 0; i < sorted.size(); ++i) permutes &= sorted[i] == static_cast<int64_t>(i);
    if (!permutes)
      return lex.fail({begin.begin, lex.raw_offset()}, fmt::format("T(…) must name each of the {} dimensions once", out.reshape.size()));
  }
  if (grid_size(out.reshape) != grid_size(out.dims) || grid_size(out.dims) < 0)
    return lex.fail({begin.begin, lex.raw_offset()},
                     fmt::format("the grid has {} devices, but {} are generated", grid_size(out.dims), grid_size(out.reshape)));
  return true;
}

class ShardingReader {
 public:
  explicit ShardingReader(HloLexer& lexer) : lex_(lexer) {}

  bool read(Sharding& out) {
    if (!lex_.expect('{', "'{' and a sharding")) return false;
    if (lex_.accept('}')) {
      out.kind = Sharding::tuple;
      return true;
    }
    if (lex_.peek() != '{') return single(out);
    out.kind = Sharding::tuple;
    do {
      if (!lex_.expect('{', "'{' and a sharding")) return false;
      out.parts.emplace_back();
      if (!single(out.parts.back())) return false;
    } while (lex_.accept(','));
    return lex_.expect('}', "',' or '}' in a tuple of shardings");
  }

 private:
  // After the opening brace, up to and with the closing one.
  bool single(Sharding& out) {
    std::string_view first = lex_.peek_word();
    if (first == "mesh" || first == "maximal_mesh") return named(out);
    Loc begin = lex_.next_loc();
    bool has_kind = false, has_device = false;
    while (!lex_.accept('}')) {
      std::string_view word = lex_.peek_word();
      Sharding::Kind kind;
      if (find_kind(word, kind)) {
        lex_.word();
        if (has_kind) return lex_.fail_at(word, "a sharding has one kind, but a second one follows");
        has_kind = true;
        out.kind = kind;
      } else if (word == "device") {
        lex_.word();
        has_device = true;
        if (!lex_.expect('=', "'='") || !lex_.integer(out.device, "a device number")) return false;
      } else if (word == "devices") {
        lex_.word();
        if (has_kind) return lex_.fail_at(word, "a sharding has one kind, but a second one follows");
        has_kind = true;
        out.kind = Sharding::tiled;
        if (!tiled(out)) return false;
      } else if (!detail(word, out)) {
        return false;
      }
    }
    if (!has_kind) return lex_.fail(begin, "expected a kind of sharding: replicated, maximal, manual, unknown, unreduced or devices=[…]");
    if (has_device != (out.kind == Sharding::maximal))
      return lex_.fail(begin, "a maximal sharding, and no other, names its device: {maximal device=0}");
    return true;
  }

  bool detail(std::string_view word, Sharding& out) {
    if (word == "shard_as" || word == "shard_like") {
      lex_.word();
      return lex_.integer(word == "shard_as" ? out.shard_as : out.shard_like, "the number of a sharding group");
    }
    if (word == "last_tile_dim_replicate") {
      lex_.word();
      out.replicate_last = true;
      return true;
    }
    if (word == "last_tile_dims") {
      lex_.word();
      return lex_.expect('=', "'='") && last_tile_dims(out);
    }
    if (word == "metadata") {
      lex_.word();
      std::string_view text;
      if (!lex_.expect('=', "'='") || !lex_.braced(text, "'{' and metadata")) return false;
      out.metadata = text;
      return true;
    }
    if (word.empty()) return lex_.expected("a kind of sharding or '}'");
    std::string_view near = nearest(word, sharding_words);
    return lex_.fail_at(word, fmt::format("'{}' is not a part of a sharding{}", word, suggestion(near)));
  }

  bool tiled(Sharding& out) {
    if (!lex_.expect('=', "'=' and a grid of devices")) return false;
    Loc begin = lex_.next_loc();
    if (!read_numbers(lex_, '[', ']', out.tile, "the size of a grid dimension")) return false;
    int64_t devices = grid_size(out.tile);
    if (devices < 0) return lex_.fail({begin.begin, lex_.raw_offset()}, "this grid has more devices than can be counted");
    if (lex_.accept("<=")) {
      out.is_iota = true;
      out.iota.dims = out.tile;
      return iota_source(lex_, begin, out.iota);
    }
    do {
      int64_t device;
      if (!lex_.integer(device, "a device number, or '<=' and a list that generates them")) return false;
      out.devices.push_back(device);
    } while (lex_.accept(','));
    if (static_cast<int64_t>(out.devices.size()) != devices)
      return lex_.fail({begin.begin, lex_.raw_offset()},
                       fmt::format("the grid has {} devices, but {} are listed", devices, out.devices.size()));
    return true;
  }

  bool last_tile_dims(Sharding& out) {
    if (!lex_.expect('{', "'{' and kinds of sharding")) return false;
    if (lex_.accept('}')) return true;
    do {
      std::string_view word = lex_.peek_word();
      Sharding::Kind kind;
      if (!find_kind(word, kind) || kind == Sharding::maximal) return lex_.expected("replicated, manual, unknown or unreduced");
      lex_.word();
      out.last_tile_dims.push_back(kind);
    } while (lex_.accept(','));
    return lex_.expect('}', "',' or '}'");
  }

  // `mesh['x'=2,'y'=2], [{'x'}, {}]`: kept as written.
  bool named(Sharding& out) {
    out.kind = Sharding::named;
    uint32_t begin = lex_.offset();
    std::string closers;  // of the brackets that are open
    for (const char* p = lex_.cursor(); p < lex_.end(); ++p) {
      if (*p == '{' || *p == '[' || *p == '(') closers += *p == '{' ? '}' : *p == '[' ? ']' : ')';
      if (*p != '}' && *p != ']' && *p != ')') continue;
      char wanted = closers.empty() ? '}' : closers.back();
      if (*p != wanted) {
        lex_.seek(p);
        return lex_.expected(fmt::format("'{}'", wanted));
      }
      if (closers.empty()) {
        lex_.seek(p);
        out.named_text = lex_.text(begin, lex_.raw_offset());
        while (!out.named_text.empty() && HloLexer::is_blank(out.named_text.back())) out.named_text.pop_back();
        return lex_.expect('}', "'}' after a sharding");
      }
      closers.pop_back();
    }
    return lex_.fail_here("expected '}' before the end of the file to close this sharding");
  }

  HloLexer& lex_;
};

}  // namespace

bool read_numbers(HloLexer& lex, char open, char close, Ints& out, std::string_view what) {
  if (lex.peek() != open) return lex.expected(fmt::format("'{}'", open));
  lex.accept(open);
  if (lex.accept(close)) return true;
  do {
    int64_t number;
    if (!lex.integer(number, what)) return false;
    out.push_back(number);
  } while (lex.accept(','));
  return lex.accept(close) || lex.expected(fmt::format("',' or '{}'", close));
}

bool read_iota_tile(HloLexer& lex, IotaTile& out) {
  Loc begin = lex.next_loc();
  if (!read_numbers(lex, '[', ']', out.dims, "a size")) return false;
  if (!lex.accept("<=")) return lex.expected("'<=' and the list that generates the devices");
  return iota_source(lex, begin, out);
}

bool read_sharding(HloLexer& lex, Sharding& out) { return ShardingReader(lex).read(out); }

}  // namespace hloc::ir
