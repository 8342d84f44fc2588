// The code of a contraction: pieces, blocks and panels; micro-kernel and packing.
#include "backends/cpu/contract/contract.h"

#include <algorithm>

namespace hloc::cpu {
namespace {

using loops::Contract;
using loops::ContractDim;
using machine::Address;
using machine::Cond;

class ContractEmitter {
 public:
  ContractEmitter(BlockEmitter& e, const Contract& c, const ContractPlan& p, Reg scratch)
      : e_(e), b_(e.builder()), c_(c), p_(p), scratch_(scratch), size_(byte_width(c.accumulate)),
        tile_columns_(int64_t{p.tile.vectors} * p.lanes), full_{c.accumulate, static_cast<uint8_t>(p.lanes)} {
    lhs_ = {p.swapped ? &c.rhs : &c.lhs, p.swapped ? c.rhs_value : c.lhs_value};
    rhs_ = {p.swapped ? &c.lhs : &c.rhs, p.swapped ? c.lhs_value : c.rhs_value};
    loops::IndexId n = p.n[0].index;
    epilogue_varying_ = loops::varying_by(e.kernel(), {&n, 1}, c.epilogue);
    rhs_varying_ = loops::varying_by(e.kernel(), {&n, 1}, *rhs_.block);
  }

  void run(Reg begin, Reg end) {
    int64_t lhs_bytes = p_.pack_lhs ? (p_.tile.rows * p_.lhs_row_stride * size_ + 63) / 64 * 64 : 0;
    packed_lhs_ = scratch_;
    spare_ = b_.add(scratch_, lhs_bytes);
    packed_rhs_ = b_.add(spare_, p_.spare_bytes);
    Reg piece = b_.mov(begin);
    machine::BlockId head = b_.block("pieces"), done = b_.block("pieces_done");
    b_.branch(Cond::lt, piece, end, head, done);
    b_.start(head);
    emit_pieces(piece, end);
    b_.branch(Cond::lt, piece, end, head, done);
    b_.start(done);
  }

 private:
  static constexpr int64_t prefetch_distance = 12;  // rows of rhs; about the latency of the outer cache at one row a tile step

  struct Side {
    const loops::Block* block = nullptr;
    loops::ValueId value = 0;
  };

  // As many pieces from `piece` on as make a rectangle: whole rows of the grid, or a part of one row. So a call that does
  // several packs what they share once. `piece` moves behind them.
  void emit_pieces(Reg piece, Reg end) {
    e_.open_scope();
    auto split = [&](Reg x, int64_t by, Reg& rest) {  // quotient; rest = x mod by
      if (by == 1) return rest = b_.mov(0), x;
      Reg q = b_.div(ElementType::s64, x, b_.mov(by));
      rest = b_.sub(x, b_.mul(q, by));
      return q;
    };
    Reg column, row;
    Reg batch = split(split(piece, p_.grid_columns, column), p_.grid_rows, row);
    Reg left = b_.sub(end, piece), one = b_.mov(1);
    Reg columns = b_.min(left, b_.sub(b_.mov(p_.grid_columns), column)), rows = one;
    if (p_.grid_rows > 1) {
      Reg whole = b_.min(b_.div(ElementType::s64, left, b_.mov(p_.grid_columns)), b_.sub(b_.mov(p_.grid_rows), row));
      rows = b_.select(Cond::eq, column, b_.mov(0), b_.select(Cond::gt, whole, one, whole, one), one);
    }
    auto range = [&](Reg part, Reg count, int64_t each, int64_t all) {
      return std::pair{b_.mul(part, each), b_.min(b_.mul(b_.add(part, count), each), b_.mov(all))};
    };
    auto [b_lo, b_hi] = range(batch, one, p_.piece_batches, p_.batches);
    auto [m_lo, m_hi] = range(row, rows, p_.piece_rows, p_.rows);
    auto [n_lo, n_hi] = range(column, columns, p_.piece_columns, p_.columns);
    b_.add(piece, b_.mul(rows, columns), piece);
    m_lo_ = m_lo, m_hi_ = m_hi;
    b_.counted_loop(b_lo, b_hi, 1, [&, n_lo = n_lo, n_hi = n_hi, b = b_lo] {
      e_.open_scope();
      bind_dims(p_.batch, b, 0);
      Reg n0 = p_.symmetric ? b_.max(n_lo, first_column(m_lo_)) : b_.mov(n_lo);
      b_.counted_loop(n0, n_hi, p_.block_columns, [&] { emit_block(n0, b_.min(b_.add(n0, p_.block_columns), n_hi)); });
      e_.close_scope();
    });
    e_.close_scope();
  }

  // The indices of a list of dimensions from one number that counts all of them, row-major.
  void bind_dims(const std::vector<ContractDim>& dims, Reg linear, int64_t offset) {
    if (dims.size() == 1) return e_.bind_index(dims[0].index, linear, offset);
    Reg rest = offset == 0 ? linear : b_.add(linear, offset);
    for (size_t i = dims.size(); i-- > 0;) {
      if (i == 0) {
        e_.bind_index(dims[i].index, rest);
        break;
      }
      Reg q = b_.div(ElementType::s64, rest, b_.mov(dims[i].extent));
      e_.bind_index(dims[i].index, b_.sub(rest, b_.mul(q, dims[i].extent)));
      rest = q;
    }
  }

  // One block of columns: pack it, then all panels of rows over it.
  void emit_block(Reg n0, Reg n_end) {
    e_.open_scope();
    if (p_.pack_rhs) pack_rhs(n0, n_end);
    Reg m0 = b_.mov(m_lo_);
    int edge = static_cast<int>(p_.rows % p_.tile.rows);
    auto panel = [&](int rows) {
      e_.open_scope();
      Reg n1 = p_.symmetric ? b_.max(n0, first_column(m0)) : b_.mov(n0);
      auto all = [&] {
        if (p_.pack_lhs) pack_lhs(m0, rows);
        columns_of_block(m0, rows, n0, n1, n_end);
      };
      if (p_.symmetric) b_.if_then(Cond::lt, n1, n_end, all);
      else all();
      e_.close_scope();
    };
    b_.counted_loop(m0, m_hi_, p_.tile.rows, [&] {
      if (edge == 0) return panel(p_.tile.rows);
      if (p_.rows < p_.tile.rows) return panel(edge);
      b_.if_else(Cond::le, b_.add(m0, p_.tile.rows), p_.rows, [&] { panel(p_.tile.rows); }, [&] { panel(edge); });
    });
    e_.close_scope();
  }

  // From column n1 on, of the block that begins at n0.
  void columns_of_block(Reg m0, int rows, Reg n0, Reg n1, Reg n_end) {
    int64_t edge = p_.columns % tile_columns_;
    auto whole = [&] { micro_kernel(m0, rows, n0, n1, tile_columns_); };
    b_.counted_loop(n1, n_end, tile_columns_, [&] {
      if (edge == 0) return whole();
      if (p_.columns < tile_columns_) return micro_kernel(m0, rows, n0, n1, edge);
      b_.if_else(Cond::le, b_.add(n1, tile_columns_), p_.columns, whole, [&] { micro_kernel(m0, rows, n0, n1, edge); });
    });
  }

  // Of a symmetric result: where in the panel of rows that begins at m0 the first tile begins that is not below the diagonal.
  Reg first_column(Reg m0) { return rounded_down(m0, tile_columns_); }
  Reg rounded_down(Reg x, int64_t step) { return b_.mul(b_.div(ElementType::s64, x, b_.mov(step)), step); }

  int vectors_for(int64_t columns) const { return static_cast<int>((columns + p_.lanes - 1) / p_.lanes); }

  // ---- packing -----------------------------------------------------------------------------------------------------

  Reg as_accumulate(const Side& side) {
    Reg v = e_.vector_of(side.value);
    ElementType from = e_.kernel().type(side.value);
    return from == c_.accumulate ? v : b_.vconvert(e_.type_of(c_.accumulate), from, v);
  }

  // Loops over all k dimensions but the last `inner` ones; body gets the number of the first element within k.
  template <class Body>
  void over_k(size_t dim, size_t stop, Reg linear, Body body) {
    if (dim == stop) return body(linear);
    const ContractDim& d = p_.k[dim];
    Reg i = b_.mov(0);
    b_.counted_loop(i, d.extent, 1, [&] {
      e_.open_scope();
      e_.bind_index(d.index, i);
      Reg next = dim == 0 ? i : b_.add(b_.mul(linear, d.extent), i);
      over_k(dim + 1, stop, next, body);
      e_.close_scope();
    });
  }

  // Panels of tile columns one after the other, each k by k.
  void pack_rhs(Reg n0, Reg n_end) {
    Reg n1 = b_.mov(n0);
    int64_t edge = p_.columns % tile_columns_;
    auto panel = [&](int64_t columns) {
      e_.open_scope();
      Reg to = rhs_panel(n0, n1);
      int vectors = vectors_for(columns);
      int64_t step = int64_t{vectors} * p_.lanes * size_;
      over_k(0, p_.k.size(), {}, [&](Reg k) {
        if (p_.prefetch_rhs) prefetch_rows(row_of_rhs(n1), prefetch_distance * step_of(rhs_, p_.k), vectors);
        Reg at = k ? b_.add(to, b_.mul(k, step)) : to;
        for (int v = 0; v < vectors; ++v) {
          b_.vstore(full_, {at, static_cast<int32_t>(int64_t{v} * p_.lanes * size_)}, rhs_vector(n1, v, columns));
        }
      });
      e_.close_scope();
    };
    b_.counted_loop(n1, n_end, tile_columns_, [&] {
      if (edge == 0) return panel(tile_columns_);
      if (p_.columns < tile_columns_) return panel(edge);
      b_.if_else(Cond::le, b_.add(n1, tile_columns_), p_.columns, [&] { panel(tile_columns_); }, [&] { panel(edge); });
    });
  }

  // Columns n1 + v * lanes … of rhs at the k that is bound, 0 beyond the last one.
  Reg rhs_vector(Reg n1, int v, int64_t columns) {
    int64_t left = columns - int64_t{v} * p_.lanes;
    loops::IndexId n = p_.n[0].index;
    if (left < p_.lanes) {
      Reg active = b_.mov(left);
      e_.set_lanes({p_.lanes, n, active}, &rhs_varying_);
      if (!e_.can_mask(*rhs_.block)) return one_by_one(n1, v, left);
    } else {
      e_.set_lanes({p_.lanes, n, {}}, &rhs_varying_);
    }
    e_.open_scope();
    e_.bind_index(n, n1, int64_t{v} * p_.lanes);
    e_.emit(*rhs_.block);
    Reg out = as_accumulate(rhs_);
    e_.close_scope();
    e_.set_lanes({}, nullptr);
    return out;
  }

  Reg one_by_one(Reg n1, int v, int64_t count) {
    e_.set_lanes({}, nullptr);
    Reg out = b_.vzero(full_);
    VType one{c_.accumulate, 1};
    for (int64_t lane = 0; lane < count; ++lane) {
      e_.open_scope();
      e_.bind_index(p_.n[0].index, n1, int64_t{v} * p_.lanes + lane);
      e_.emit(*rhs_.block);
      b_.vinsert(full_, out, b_.vextract(one, as_accumulate(rhs_), 0), static_cast<int>(lane), out);
      e_.close_scope();
    }
    return out;
  }

  Reg rhs_panel(Reg n0, Reg n1) { return b_.add(packed_rhs_, b_.mul(b_.sub(n1, n0), p_.depth * size_)); }

  // `rows` rows of lhs, each contiguous in k.
  void pack_lhs(Reg m0, int rows) {
    for (int r = 0; r < rows; ++r) {
      e_.open_scope();
      bind_dims(p_.m, m0, r);
      Reg to = b_.lea({packed_lhs_, static_cast<int32_t>(r * p_.lhs_row_stride * size_)});
      if (p_.k.empty()) {
        e_.emit(*lhs_.block);
        b_.vstore({c_.accumulate, 1}, {to}, as_accumulate(lhs_));
      } else {
        over_k(0, p_.k.size() - 1, {}, [&](Reg outer) { pack_row(outer ? b_.lea(row_part(to, outer)) : to); });
      }
      e_.close_scope();
    }
  }

  Address row_part(Reg to, Reg outer) {
    return Address(to, b_.mul(outer, p_.k.back().extent), static_cast<uint8_t>(size_));
  }

  // The last k dimension of one row, in vectors and then one by one.
  void pack_row(Reg to) {
    const ContractDim& d = p_.k.back();
    loops::Varying varying = loops::varying_by(e_.kernel(), {&d.index, 1}, *lhs_.block);
    auto copy = [&](Reg k, int lanes) {
      e_.set_lanes({lanes, lanes == 1 ? loops::no_id : d.index, {}}, lanes == 1 ? nullptr : &varying);
      e_.open_scope();
      e_.bind_index(d.index, k);
      e_.emit(*lhs_.block);
      b_.vstore(e_.type_of(c_.accumulate), {to, k, static_cast<uint8_t>(size_)}, as_accumulate(lhs_));
      e_.close_scope();
      e_.set_lanes({}, nullptr);
    };
    int lanes = p_.lanes;
    Reg k = b_.mov(0);
    int64_t whole = d.extent / lanes * lanes;
    if (whole > 0) b_.counted_loop(k, whole, lanes, [&] { copy(k, lanes); });
    if (whole < d.extent) b_.counted_loop(k, d.extent, 1, [&] { copy(k, 1); });
  }

  // ---- micro-kernel ------------------------------------------------------------------------------------------------

  // Element (m0, k = 0) of lhs with the step between rows and between ks, in bytes.
  struct Stream {
    Reg at;
    int64_t row_step = 0, k_step = 0;
  };

  int64_t step_of(const Side& side, const std::vector<ContractDim>& dims) {
    const loops::Load* load = loops::plain_load(*side.block, side.value);
    return dims.empty() ? 0 : load->access.offset.coefficient(dims[0].index) * size_;
  }

  // The address of a side's plain load where the given dimensions are what is bound and k is 0.
  Reg origin(const Side& side) {
    Reg zero = b_.mov(0);
    for (const ContractDim& d : p_.k) e_.bind_index(d.index, zero);
    return b_.lea(e_.address_of(loops::plain_load(*side.block, side.value)->access));
  }

  Stream lhs_stream(Reg m0) {
    if (p_.pack_lhs) return {b_.mov(packed_lhs_), p_.lhs_row_stride * size_, size_};
    e_.open_scope();
    for (const ContractDim& d : p_.m) e_.bind_index(d.index, m0);
    Stream s{origin(lhs_), step_of(lhs_, p_.m), step_of(lhs_, p_.k)};
    e_.close_scope();
    return s;
  }

  Stream rhs_stream(Reg n0, Reg n1, int vectors) {
    if (p_.pack_rhs) return {rhs_panel(n0, n1), 0, int64_t{vectors} * p_.lanes * size_};
    e_.open_scope();
    e_.bind_index(p_.n[0].index, n1);
    Stream s{origin(rhs_), 0, step_of(rhs_, p_.k)};
    e_.close_scope();
    return s;
  }

  void micro_kernel(Reg m0, int rows, Reg n0, Reg n1, int64_t columns) {
    e_.open_scope();
    int vectors = vectors_for(columns);
    Stream lhs = lhs_stream(m0), rhs = rhs_stream(n0, n1, vectors);
    std::vector<Reg> acc(static_cast<size_t>(rows * vectors));
    for (Reg& a : acc) a = b_.vzero(full_);
    Reg edge_mask;
    if (!p_.pack_rhs && columns % p_.lanes != 0) edge_mask = b_.mtail(full_, b_.mov(columns % p_.lanes));
    auto turn = [&](int unrolled) {
      for (int u = 0; u < unrolled; ++u) multiply_add(lhs, rhs, u, rows, vectors, edge_mask, acc);
      b_.add(lhs.at, lhs.k_step * unrolled, lhs.at);
      b_.add(rhs.at, rhs.k_step * unrolled, rhs.at);
    };
    constexpr int unroll = 4;
    int64_t turns = p_.depth / unroll, rest = p_.depth % unroll;
    if (turns > 0) b_.counted_loop(b_.mov(0), turns, 1, [&] { turn(unroll); });
    if (rest > 0) turn(static_cast<int>(rest));
    run_epilogue(m0, rows, n1, columns, acc);
    if (p_.symmetric) run_mirrored_epilogue(m0, rows, n1, columns, acc);
    e_.close_scope();
  }

  // Where the row of rhs at the k that is bound begins, from column n1 on; rhs is a plain load.
  Reg row_of_rhs(Reg n1) {
    e_.open_scope();
    e_.bind_index(p_.n[0].index, n1);
    Reg at = b_.lea(e_.address_of(loops::plain_load(*rhs_.block, rhs_.value)->access));
    e_.close_scope();
    return at;
  }

  // The cache lines of one row of a panel, `offset` bytes on. Rows that lie a page apart are beyond hardware prefetchers.
  void prefetch_rows(Reg at, int64_t offset, int vectors) {
    for (int64_t line = 0; line < int64_t{vectors} * p_.lanes * size_; line += 64)
      b_.prefetch({at, static_cast<int32_t>(offset + line)});
  }

  // acc[r][v] += lhs[r] * rhs[v] for the k that is `u` after the streams.
  void multiply_add(const Stream& lhs, const Stream& rhs, int u, int rows, int vectors, Reg edge_mask, std::vector<Reg>& acc) {
    std::vector<Reg> column(static_cast<size_t>(vectors));
    if (p_.prefetch_rhs) prefetch_rows(rhs.at, (u + prefetch_distance) * rhs.k_step, vectors);
    for (int v = 0; v < vectors; ++v) {
      Address at(rhs.at, static_cast<int32_t>(u * rhs.k_step + int64_t{v} * p_.lanes * size_));
      column[static_cast<size_t>(v)] = edge_mask && v + 1 == vectors ? b_.vload_masked(full_, at, edge_mask) : b_.vload(full_, at);
    }
    for (int r = 0; r < rows; ++r) {
      Reg x = b_.vload_broadcast(full_, {lhs.at, static_cast<int32_t>(u * lhs.k_step + r * lhs.row_step)});
      for (int v = 0; v < vectors; ++v) {
        Reg a = acc[static_cast<size_t>(r * vectors + v)];
        if (is_float(c_.accumulate)) b_.fma_into(full_, a, x, column[static_cast<size_t>(v)]);
        else b_.vadd(full_, a, b_.vmul(full_, x, column[static_cast<size_t>(v)]), a);
      }
    }
  }

  void run_epilogue(Reg m0, int rows, Reg n1, int64_t columns, const std::vector<Reg>& acc) {
    int vectors = vectors_for(columns);
    loops::IndexId n = p_.n[0].index;
    for (int r = 0; r < rows; ++r) {
      e_.open_scope();
      bind_dims(p_.m, m0, r);
      for (int v = 0; v < vectors; ++v) {
        int64_t left = columns - int64_t{v} * p_.lanes;
        Reg value = acc[static_cast<size_t>(r * vectors + v)];
        bool partial = left < p_.lanes;
        e_.set_lanes({p_.lanes, n, partial ? b_.mov(left) : Reg{}}, &epilogue_varying_);
        if (partial && !e_.can_mask(c_.epilogue)) {
          epilogue_one_by_one(n1, v, left, value);
        } else {
          epilogue_at(n1, int64_t{v} * p_.lanes, value);
        }
        e_.set_lanes({}, nullptr);
      }
      e_.close_scope();
    }
  }

  // What lies opposite of a tile of a symmetric result, by rows: column j of the tile is a part of row n1 + j. Only what no
  // tile computes, which is the part before that row's first column.
  void run_mirrored_epilogue(Reg m0, int rows, Reg n1, int64_t columns, const std::vector<Reg>& acc) {
    int vectors = vectors_for(columns);
    int64_t row_bytes = int64_t{vectors} * p_.lanes * size_;
    for (size_t i = 0; i < acc.size(); ++i)
      b_.vstore(full_, {spare_, static_cast<int32_t>(static_cast<int64_t>(i) * p_.lanes * size_)}, acc[i]);
    Reg j = b_.mov(0);
    b_.counted_loop(j, columns, 1, [&] {
      e_.open_scope();
      Reg row = b_.add(n1, j);
      bind_dims(p_.m, row, 0);
      Reg before = b_.min(b_.sub(first_column(rounded_down(row, p_.tile.rows)), m0), b_.mov(rows));
      Reg column = b_.lea({spare_, j, static_cast<uint8_t>(size_)});
      for (int r = 0; r < rows; r += p_.lanes)
        b_.if_then(Cond::gt, before, r, [&] { mirrored_at(m0, r, b_.min(b_.sub(before, r), b_.mov(p_.lanes)), column, row_bytes); });
      e_.close_scope();
    });
  }

  // The epilogue for `count` columns from m0 + r on, whose values lie `step` bytes apart in a column of the tile.
  void mirrored_at(Reg m0, int r, Reg count, Reg column, int64_t step) {
    e_.open_scope();
    e_.set_lanes({p_.lanes, p_.n[0].index, count}, &epilogue_varying_);
    VType one{c_.accumulate, 1};
    if (e_.can_mask(c_.epilogue)) {
      epilogue_at(m0, r, strided(column, r, step));
      e_.set_lanes({}, nullptr);
    } else {
      e_.set_lanes({}, nullptr);
      Reg n = b_.add(m0, r), at = b_.lea({column, static_cast<int32_t>(r * step)}), end = b_.add(n, count);
      b_.counted_loop(n, end, 1, [&] {
        epilogue_at(n, 0, b_.vload(one, {at}));
        b_.add(at, step, at);
      });
    }
    e_.close_scope();
  }

  // Lanes from number r on, `step` bytes apart; some of the last ones may be no part of the tile.
  Reg strided(Reg column, int r, int64_t step) {
    if (e_.machine().has_gather) {
      VType index{size_ == 8 ? ElementType::s64 : ElementType::s32, full_.lanes};
      Reg base = b_.lea({column, static_cast<int32_t>(r * step)});
      return b_.vgather(full_, index.element, base, b_.viota(index, 0, step / size_), static_cast<int>(size_), 0, b_.mconst(full_, true));
    }
    Reg out = b_.vzero(full_);
    ElementType bits = size_ == 8 ? ElementType::u64 : ElementType::u32;
    for (int lane = 0; lane < p_.lanes; ++lane)
      b_.vinsert(full_, out, b_.load(bits, {column, static_cast<int32_t>((r + lane) * step)}), lane, out);
    return out;
  }

  void epilogue_at(Reg n1, int64_t offset, Reg value) {
    e_.open_scope();
    e_.bind_index(p_.n[0].index, n1, offset);
    e_.bind_value(c_.result, value);
    e_.emit(c_.epilogue);
    e_.close_scope();
  }

  void epilogue_one_by_one(Reg n1, int v, int64_t count, Reg value) {
    b_.vstore(full_, {spare_}, value);
    e_.set_lanes({}, nullptr);
    for (int64_t lane = 0; lane < count; ++lane)
      epilogue_at(n1, int64_t{v} * p_.lanes + lane, b_.vload({c_.accumulate, 1}, {spare_, static_cast<int32_t>(lane * size_)}));
  }

  BlockEmitter& e_;
  machine::Builder& b_;
  const Contract& c_;
  const ContractPlan& p_;
  Reg scratch_, packed_lhs_, packed_rhs_, spare_, m_lo_, m_hi_;
  int64_t size_, tile_columns_;
  VType full_;
  Side lhs_, rhs_;
  loops::Varying epilogue_varying_, rhs_varying_;
};

}  // namespace

void emit_contract(BlockEmitter& emitter, const Contract& contract, const ContractPlan& plan, Reg scratch, Reg begin, Reg end) {
  ContractEmitter(emitter, contract, plan, scratch).run(begin, end);
}

}  // namespace hloc::cpu
