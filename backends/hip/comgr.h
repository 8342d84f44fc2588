// AMD's compiler library (code object manager), loaded when it is asked for.
#pragma once

#include <string>
#include <string_view>

#include "backends/host/code_cache.h"
#include "include/hloc/result.h"

namespace hloc::hip {

// HIP C to a code object, an ELF file that the HIP runtime loads; `processor`: "gfx90a". The source must need no headers
// and no device libraries. Errors of kind `target` when there is no comgr or it does not know the processor; of kind `bug`
// when it refuses the source. Where there is a `cache`, the code is taken from there if possible; its errors are of kind `io`.
Result<std::string> compile_source(const std::string& source, std::string_view processor, host::CodeCache* cache = nullptr);

}  // namespace hloc::hip
