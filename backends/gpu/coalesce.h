// How neighbouring threads come to touch neighbouring elements, for launches whose iterations are plain statements and stores:
//
//   lanes    a thread does neighbouring iterations of the grid's innermost loop, with accesses of up to 16 bytes
//   squares  what lies side by side along another loop than the innermost one is read along that one and handed over in
//            shared memory: transposes
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "backends/gpu/launch.h"

namespace hloc::gpu {

// The accesses of a launch that has a grid, or is to have one; both must outlive it.
class Coalescing {
 public:
  Coalescing(const GpuKernel& kernel, const Launch& launch);

  // How many iterations of its grid's innermost loop a thread of the launch (mapping `threads`) does best: so many that the
  // widest element comes to 16 bytes, where each store and one load, if there is any, go by vectors; else 1.
  int choose_lanes() const;

  // Whether iterations from a multiple of `lanes` on touch as many neighbouring elements, aligned as a whole.
  bool is_by_lanes(const loops::Access& access, int lanes) const;

  // The level of the grid whose loop makes squares with the innermost one; none: no load is across.
  std::optional<size_t> choose_square() const;

  // Whether the load's neighbours lie along the loop of that level.
  bool is_across(const loops::Load& load, size_t level) const;

 private:
  const loops::Kernel& kernel_;
  const Launch& launch_;
  // Each statement may be repeated for each lane, with all loads by vectors before them and all stores behind.
  bool is_straight_ = true;
  std::vector<loops::BufferId> memories_;  // by buffer
  std::vector<bool> is_stored_;            // by memory: by the body
  std::vector<bool> is_of_grid_;           // by index: of one of its loops
  std::vector<bool> is_made_;              // by index: by the body
};

}  // namespace hloc::gpu
