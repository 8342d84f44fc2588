// Whether two modules say the same: name, header, computations and instructions in order, with their names, types and
// layouts, attributes, literals' bits, callees, extras and metadata. Each may have a context of its own. Places in the
// text are not compared, nor are the names of computations that are only implied (those of OP-start).
#pragma once

#include <string>

#include "ir/graph.h"

namespace hloc::ir {

// `why`, when given, gets one sentence about the first difference.
bool equal(const Module& a, const Module& b, std::string* why = nullptr);

}  // namespace hloc::ir
