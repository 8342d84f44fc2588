// fuse: instructions into kernels, written as HLO `fusion` instructions.
#pragma once

#include "passes/pass.h"

namespace hloc::passes {

extern const Pass fuse_pass;

}  // namespace hloc::passes
