// Which members of a sweep people mean. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/member_state.h"
#include "common/trainer_protocol/setting.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor::scheduler {

// Members of a sweep by what they are. What is empty asks nothing; of what is not, any entry will
// do; all of it must be met.
struct Selection {
  std::set<MemberState> states;
  std::set<std::string> plans;
  std::set<std::string> hardware;
  std::set<std::string> stacks;
  std::set<uint32_t> cells;
  std::set<std::pair<uint32_t, uint32_t>> members;  // Cell and replicate.
  std::set<std::string> workers;                    // Names: who has them, or had them last.
  // Values that axes gave their cells, by path, as ToText(SettingValue) writes them.
  std::map<std::string, std::set<std::string>> axes = {};
  friend bool operator==(const Selection&, const Selection&) = default;
};

// Whether a cell to which axes gave these settings has, of each path that is asked for, one of the
// values.
bool HasAxes(const Selection& selection, const Settings& axes);

// Whether a sweep has what a selection of its members names.
class SelectionCheck {
 public:
  // The selection must outlive it.
  SelectionCheck(SweepId sweep, const Selection& selection)
      : sweep_(sweep), selection_(selection) {}
  // Each cell of the sweep, in order.
  void Add(const sweep::Cell& cell);
  // The first that it has not: "s3 has no plan contrl; it has control, algo". Empty: it has all.
  std::string Fault() const;

 private:
  const SweepId sweep_;
  const Selection& selection_;
  std::vector<uint32_t> replicates_;  // Of each cell.
  // Of what is asked for only.
  std::set<std::string> plans_;
  std::set<std::string> hardware_;
  std::set<std::string> stacks_;
  std::set<std::string> paths_;
  std::map<std::string, std::set<std::string>> values_;  // By path.
};

}  // namespace noisefloor::scheduler
