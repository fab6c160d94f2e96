#include "coordinator/cli/offers.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace noisefloor::cli {

namespace {

void AddOnce(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

// Texts with how often each comes, in the order in which they first come.
class Tally {
 public:
  void Add(const std::string& text) {
    for (auto& [known, count] : counts_) {
      if (known != text) continue;
      ++count;
      return;
    }
    counts_.emplace_back(text, 1);
  }
  // A count of 1 is left out when `singles` are not told.
  std::string Text(bool singles) const {
    std::vector<std::string> parts;
    for (const auto& [text, count] : counts_) {
      parts.push_back(count > 1 || singles ? fmt::format("{} {}", count, text) : text);
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

 private:
  std::vector<std::pair<std::string, int>> counts_;
};

}  // namespace

std::vector<std::string> ClassesOf(const v1::Inventory& inventory) {
  std::vector<std::string> classes;
  for (const v1::Offer& offer : inventory.offers()) AddOnce(classes, offer.hardware_class());
  return classes;
}

std::vector<std::string> StacksOf(const v1::Inventory& inventory) {
  std::vector<std::string> stacks;
  for (const v1::Offer& offer : inventory.offers()) AddOnce(stacks, offer.stack());
  return stacks;
}

std::string ClassesText(const v1::Inventory& inventory) {
  return fmt::format("{}", fmt::join(ClassesOf(inventory), ", "));
}

std::string DevicesText(const v1::Inventory& inventory) {
  std::set<uint32_t> used;
  for (const v1::Slot& slot : inventory.slots()) {
    used.insert(slot.devices().begin(), slot.devices().end());
  }
  Tally tally;
  for (const uint32_t place : used) {
    if (place >= static_cast<uint32_t>(inventory.devices_size())) continue;
    const v1::Device& device = inventory.devices(static_cast<int>(place));
    tally.Add(device.model().empty() ? device.unit() : device.model());
  }
  return tally.Text(/*singles=*/false);
}

std::string SlotsText(const v1::Inventory& inventory) {
  Tally tally;
  for (const v1::Slot& slot : inventory.slots()) {
    std::vector<std::string> classes;
    for (const uint32_t place : slot.offers()) {
      if (place >= static_cast<uint32_t>(inventory.offers_size())) continue;
      AddOnce(classes, inventory.offers(static_cast<int>(place)).hardware_class());
    }
    tally.Add(fmt::format("{}", fmt::join(classes, " or ")));
  }
  return tally.Text(/*singles=*/true);
}

std::string WithheldText(const v1::Withheld& withheld) {
  return fmt::format("{}{}{}: {}", withheld.what(),
                     withheld.stack().empty() ? "" : " from " + withheld.stack(),
                     withheld.hardware_class().empty() ? "" : " as " + withheld.hardware_class(),
                     withheld.reason());
}

}  // namespace noisefloor::cli
