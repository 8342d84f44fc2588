// StableHLO as a plain tree, before it becomes HLO: operations in their generic form, whatever spelling the text used.
//
//   Piece        one module: its attributes, functions, other top-level ops, resources
//   Function     arguments, results, a body region
//   Region       one block: arguments and operations, and which outer values it uses
//   Operation    name, operands (numbers of values), attributes by name, regions, result types
//   Attribute    a value: integer, string, list, dictionary, dense elements, enumeration, structure, …
//
// Values are numbered over the whole piece; `Piece::values` holds what is known of each. The text parser makes this tree
// (stablehlo_parser.h), the graph builder consumes it (stablehlo_build.h); other frontends may make it, too.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/literal.h"
#include "ir/support/source.h"
#include "ir/type.h"

namespace hloc::ir::mlir {

struct NamedAttribute;

struct Attribute {
  enum Kind : uint8_t {
    unit,         // a key without a value
    boolean,      // integer: 0 or 1
    integer,      // integer
    real,         // real
    string,       // text: unescaped
    symbol,       // text: the name, `a::b` for nested ones
    ints,         // integers: [1, 2], array<i64: 1, 2>
    list,         // elements
    dictionary,   // entries
    type_value,   // type: null when it is no value type
    dense,        // type, content: what stands between < and >, or `literal`
    resource,     // type, content: the key of a dense_resource
    enumeration,  // text: the word of #stablehlo<precision HIGH>
    structure,    // text: the name ("gather"), entries
    opaque,       // an attribute of another dialect
    location,     // text: what stands in the parentheses
  };
  Kind kind = unit;
  Loc loc;
  int64_t integer_value = 0;
  double real_value = 0;
  std::string text;
  std::string_view written;  // as in the source (aliases not expanded); may be empty for trees not made from text
  std::string_view content;
  Ints integers;
  std::vector<Attribute> elements;
  std::vector<NamedAttribute> entries;
  Type type;
  Literal literal;

  const Attribute* find(std::string_view name) const;  // in entries; null: none
};

struct NamedAttribute {
  std::string name;
  Loc loc;
  Attribute value;
};

Attribute integer_attribute(int64_t value);
Attribute string_attribute(std::string_view value);
Attribute word_attribute(std::string_view value);
Attribute type_attribute(Type value);
Attribute ints_attribute(Ints value);
Attribute structure_attribute(std::string_view name);

const Attribute* find_attribute(const std::vector<NamedAttribute>& list, std::string_view name);
// The attribute as StableHLO text, aliases expanded.
std::string to_text(const Attribute& attribute);
std::string to_text(const std::vector<NamedAttribute>& dictionary);  // {a = 1, b}
// `text` in double quotes with MLIR's escapes.
std::string quoted(std::string_view text);
// A symbol name as written after '@': quoted when it is no plain word.
std::string symbol_text(std::string_view name);

using ValueNumber = uint32_t;

struct ValueFacts {
  Type type;
  std::string_view name;  // without '%'; views the source
  Loc loc;
  bool used = false;
};

struct Operation;

struct Region {
  std::vector<ValueNumber> arguments;
  std::vector<Operation> operations;
  std::vector<ValueNumber> captures;  // outer values used inside, in the order of their first use
  Loc loc;
};

struct Operation {
  std::string_view name;  // "stablehlo.add"
  Loc loc;                // of the name
  std::vector<ValueNumber> operands;
  ValueNumber first_result = 0;
  std::vector<Type> result_types;
  std::vector<NamedAttribute> attributes;
  std::vector<Region> regions;
  Attribute location;     // unit: none written

  const Attribute* find(std::string_view attribute) const { return find_attribute(attributes, attribute); }
  ValueNumber result(size_t i) const { return first_result + static_cast<ValueNumber>(i); }
};

struct Function {
  std::string name;
  Loc loc;
  bool is_public = true;
  bool has_body = false;
  std::vector<Type> argument_types, result_types;
  std::vector<std::vector<NamedAttribute>> argument_attributes, result_attributes;
  std::vector<NamedAttribute> attributes;
  Region body;
};

struct Piece {
  std::string name;  // of the module, or empty
  Loc loc;
  std::vector<NamedAttribute> attributes;
  std::vector<Function> functions;
  std::vector<std::string> others;  // sdy.mesh …, as text
  std::vector<ValueFacts> values;
  std::map<std::string, Attribute, std::less<>> aliases;           // #x = …, without '#'
  std::map<std::string, std::string_view, std::less<>> resources;  // dense_resource blobs: hex digits after 0x
};

}  // namespace hloc::ir::mlir
