// How neighbouring threads come to touch neighbouring elements, for launches whose iterations are plain statements and stores:
//
//   lanes    a thread does neighbouring iterations of the grid's innermost loop, with accesses of up to 16 bytes
//   squares  what lies side by side along another loop than the innermost one is read along that one and handed over in
//            shared memory: transposes
#pragma once

#include <cstddef>
#include <optional>

#include "backends/gpu/launch.h"

namespace hloc::gpu {

// How many iterations of its grid's innermost loop a thread of the launch (mapping `threads`) does best: so many that the widest
// element comes to 16 bytes, where each store and one load, if there is any, go by vectors; else 1.
int choose_lanes(const GpuKernel& kernel, const Launch& launch);

// Whether iterations from a multiple of `lanes` on touch as many neighbouring elements, aligned as a whole.
bool is_by_lanes(const loops::Kernel& kernel, const Launch& launch, int lanes, const loops::Access& access);

// The level of the grid whose loop makes squares with the innermost one; none: no load is across.
std::optional<size_t> choose_square(const GpuKernel& kernel, const Launch& launch);

// Whether the load's neighbours lie along the loop of that level.
bool is_across(const GpuKernel& kernel, const Launch& launch, size_t level, const loops::Load& load);

}  // namespace hloc::gpu
