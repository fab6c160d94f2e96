#include "tests/worker/trainer/cuda/shadow.h"

namespace noisefloor::cuda::rehearsal {

namespace {

bool Meet(const Access& old, const Access& now) {
  if (old.block < 0 || (old.atomic && now.atomic)) return false;
  return old.block != now.block || (old.thread != now.thread && old.epoch == now.epoch);
}

void Note(Access (&known)[2], const Access& now) {
  for (Access& slot : known) {
    if (slot.block >= 0 && slot.thread == now.thread) {
      const bool atomic = now.atomic && (slot.epoch != now.epoch || slot.atomic);
      slot = now;
      slot.atomic = atomic;
      return;
    }
  }
  known[known[0].block < 0 || known[0].epoch != now.epoch ? 0 : 1] = now;
}

// Of all that came before, one that is not atomic if there is one.
void Keep(Access& earlier, const Access (&known)[2]) {
  for (const Access& access : known) {
    if (access.block >= 0 && (earlier.block < 0 || earlier.atomic)) earlier = access;
  }
}

std::string Told(const Access& access, const char* does) {
  return "thread " + std::to_string(access.thread) + " of block " + std::to_string(access.block) +
         " " + does + (access.atomic ? " atomically" : "");
}

}  // namespace

Shadow::Cell& Shadow::CellFor(size_t offset, int64_t block) {
  Cell& cell = cells_[offset];
  if (cell.block == block) return cell;
  if (shared_) {
    cell = Cell{};
  } else {
    Keep(cell.earlier_writer, cell.writers);
    Keep(cell.earlier_reader, cell.readers);
    for (Access& access : cell.writers) access = Access{};
    for (Access& access : cell.readers) access = Access{};
  }
  cell.block = block;
  return cell;
}

std::optional<std::string> Shadow::Read(size_t offset, const Access& access) {
  Cell& cell = CellFor(offset, access.block);
  if (shared_ && cell.writers[0].block < 0) {
    return Told(access, "reads") + " what the block has not written";
  }
  std::optional<std::string> wrong;
  for (const Access* old : {&cell.writers[0], &cell.writers[1], &cell.earlier_writer}) {
    if (Meet(*old, access)) wrong = "race: " + Told(access, "reads") + ", " + Told(*old, "wrote");
  }
  Note(cell.readers, access);
  return wrong;
}

std::optional<std::string> Shadow::Write(size_t offset, const Access& access) {
  Cell& cell = CellFor(offset, access.block);
  std::optional<std::string> wrong;
  for (const Access* old : {&cell.readers[0], &cell.readers[1], &cell.earlier_reader}) {
    if (Meet(*old, access)) wrong = "race: " + Told(access, "writes") + ", " + Told(*old, "read");
  }
  for (const Access* old : {&cell.writers[0], &cell.writers[1], &cell.earlier_writer}) {
    if (Meet(*old, access)) wrong = "race: " + Told(access, "writes") + ", " + Told(*old, "wrote");
  }
  Note(cell.writers, access);
  return wrong;
}

}  // namespace noisefloor::cuda::rehearsal
