// Results that hang on one dot or convolution: a Contract with an epilogue.
#pragma once

#include "backends/loops/lowering.h"

namespace hloc::loops {

// True when the outputs were lowered to a contraction. False and `failed` set: they cannot be, and the builder is spoilt;
// the caller starts anew without contractions. False alone: nothing was done.
bool lower_contract(Elements& e, const std::vector<Output>& outputs, SplitKey key, bool& failed);

}  // namespace hloc::loops
