// Who has touched each byte of a launch's memory, and whether two of them may have met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace noisefloor::cuda::rehearsal {

// One access. `epoch` counts the barriers that the block has passed.
struct Access {
  int64_t block = -1;  // -1: none
  uint32_t thread = 0;
  uint64_t epoch = 0;
  bool atomic = false;
};

// The bytes of one piece of memory. A byte keeps two writers and two readers of the block that
// runs: with two threads of one epoch known, a third meets at least one of them. Of blocks that ran
// before, one of each suffices: any meets any.
class Shadow {
 public:
  // `shared`: belongs to a block and begins anew with each.
  Shadow(size_t bytes, bool shared) : cells_(bytes), shared_(shared) {}

  // What is wrong with this access, if anything is; notes it.
  std::optional<std::string> Read(size_t offset, const Access& access);
  std::optional<std::string> Write(size_t offset, const Access& access);

 private:
  struct Cell {
    int64_t block = -1;
    Access writers[2], readers[2];
    Access earlier_writer, earlier_reader;
  };
  Cell& CellFor(size_t offset, int64_t block);

  std::vector<Cell> cells_;
  const bool shared_;
};

}  // namespace noisefloor::cuda::rehearsal
