// schedule: an order of instructions that needs little memory.
#pragma once

#include "passes/pass.h"

namespace hloc::passes {

extern const Pass schedule_pass;

}  // namespace hloc::passes
