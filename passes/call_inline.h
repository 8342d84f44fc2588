// The pass `inline`: calls become the instructions of what they call.
#pragma once

#include "passes/pass.h"

namespace hloc::passes {

extern const Pass inline_pass;

}  // namespace hloc::passes
