// Words that no name may be in generated C.
#pragma once

#include <string_view>

namespace hloc::ir {

// Keywords of C23 and C++20, those for operators too; `main`, and macros that GNU C has from the start (`linux`).
bool is_c_word(std::string_view name);

}  // namespace hloc::ir
