// Making a kept sweep larger: more replicates, blocks and hardware classes. Pure values. What was
// there stays as it was: a member's lanes follow from plan, block and replicate alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "coordinator/sweep/sweep.h"

namespace noisefloor::sweep {

// What to add; 0 and empty: nothing of that kind.
struct Extension {
  uint32_t replicates = 0;            // Members of each cell, all together.
  uint32_t blocks = 0;                // All together.
  std::vector<std::string> hardware;  // Classes; those that it has already add nothing.
  std::set<std::string> plans;        // Of which replicates and blocks tell; empty: all.
  friend bool operator==(const Extension&, const Extension&) = default;
};

// How large the sweep is now.
Extent ExtentOf(const Sweep& sweep);

// The sweep made larger; the same as it was where the wish adds nothing. Or what is wrong with the
// wish, its field named as in ExtendSweepRequest.
std::variant<Sweep, Problem> Extend(const Sweep& sweep, const Extension& wish);

// The sweep as it was submitted; as it is, where it was not extended.
Sweep AsSubmitted(const Sweep& sweep);

// Whether the replicates of the plan are for the sweep's `until` to decide: each has draws of its
// own, in one block.
bool IsForUntil(const Sweep& sweep, const NoisePlan& plan);

// Whether it has yet to be decided how many replicates it takes. Until then it has not ended.
bool IsUndecided(const Sweep& sweep);

// That is decided: the plans of those names have so many, if they had fewer. Only `until` and the
// extent differ. The sweep must be undecided.
Sweep Settled(const Sweep& sweep, const std::map<std::string, uint32_t>& replicates);

// Both train the same but for replicates, blocks and classes; of one name and kind. Notes and tags
// may differ.
bool DifferOnlyInExtent(const Sweep& a, const Sweep& b);

// What `kept`, which differs from `wanted` only in extent, lacks of it: extensions after which it
// has all of it. Empty: it has all of it, and perhaps more. Nothing: no extension brings it there,
// as one takes any class and the other names them.
std::optional<std::vector<Extension>> Lacking(const Sweep& kept, const Sweep& wanted);

}  // namespace noisefloor::sweep
