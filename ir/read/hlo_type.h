// Types and layouts of HLO text: `f32[2,<=3]{1,0:T(8,128)}`, `(f32[], token[])`, `b(s32[4])`.
//
// The same few type texts occur over and over, so their interned types are remembered by text in a small table. Nested
// tuples are read with an explicit stack.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/read/lexer.h"

namespace hloc::ir {

class HloTypeReader {
 public:
  HloTypeReader(HloLexer& lexer, Context& context) : lex_(lexer), context_(context) {}

  // Whether a type starts at the next word (an opcode or a name could also stand there).
  bool starts_type();
  // A brace after an array's sizes is its layout when a number or ':' follows, else what comes after the type.
  bool read(Type& out);
  // An array type's element type, "f32" without brackets.
  bool element_type(ElementType& out);

 private:
  struct Open {
    TypeKind kind;
    size_t first;  // of its elements in parts_
  };
  struct Remembered {
    std::string_view text;
    Type type;
  };
  static constexpr size_t slots = 1024;

  std::string_view likely_extent() const;
  bool read_unremembered(Type& out);
  bool leaf(Type& out);
  bool array(ElementType element, std::string_view word, Type& out);
  bool dimensions(std::vector<Dim>& out);
  bool layout_follows();
  bool layout(size_t rank, Layout& out);
  bool layout_extras(LayoutExtras& out);
  bool tiles(LayoutExtras& out);
  bool splits(LayoutExtras& out);
  bool number_in_parentheses(int64_t& out, std::string_view what);
  bool type_in_parentheses(ElementType& out);
  bool level_types(std::string& out);

  HloLexer& lex_;
  Context& context_;
  std::vector<Open> open_;
  std::vector<Type> parts_;
  std::array<Remembered, slots> remembered_{};
};

// The element type of that name, `invalid` when there is none.
ElementType find_element_type(std::string_view name);

}  // namespace hloc::ir
