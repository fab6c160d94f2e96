#include "tests/simulation/simulation.h"

#include <utility>

#include "tests/simulation/world.h"

namespace noisefloor::test {

WorldSize SmallWorld() { return {}; }

WorldSize LargeWorld() {
  WorldSize size;
  size.fewest_workers = size.most_workers = 1000;
  size.sweeps = 4;
  size.points = 25;
  size.replicates = 500;  // Of 50 cells in each of four sweeps.
  size.chaos_rounds = 700;
  size.mishaps = 20;
  size.fails = 50;
  size.batch = 100;
  size.dies = 1000;
  size.dies_between = 100;
  size.cancels = size.deletes = 0;
  size.whole_every = 10'000;
  size.disk.refuses = size.disk.in_doubt = size.disk.slow = 500;
  size.disk.full = 2000;
  size.most_at_once = 500;
  return size;
}

WorldSize HugeWorld() {
  WorldSize size = LargeWorld();
  size.fewest_workers = size.most_workers = 10'000;
  size.chaos_rounds = 150;
  size.mishaps = 200;
  size.dies = 300;
  size.dies_between = 30;
  size.whole_every = 50'000;
  return size;
}

SimulationResult Simulate(uint64_t seed, Mutant mutant, Witness witness) {
  return Simulate(SmallWorld(), seed, mutant, std::move(witness));
}

SimulationResult Simulate(const WorldSize& size, uint64_t seed, Mutant mutant, Witness witness) {
  return World(size, seed, mutant, std::move(witness)).Run();
}

}  // namespace noisefloor::test
