#include "common/base/inventory.h"

#include <algorithm>

namespace noisefloor {

std::string UnitOf(const Inventory& inventory, const Inventory::Slot& slot) {
  std::string unit;
  for (const uint32_t device : slot.devices) {
    unit += (unit.empty() ? "" : "+") + inventory.devices.at(device).unit;
  }
  return unit;
}

uint32_t PlaceOf(const Inventory::Offer& offer, Inventory& inventory) {
  std::vector<Inventory::Offer>& offers = inventory.offers;
  const auto known = std::ranges::find(offers, offer);
  const auto place = static_cast<uint32_t>(known - offers.begin());
  if (known == offers.end()) offers.push_back(offer);
  return place;
}

std::vector<std::string> ClassesOf(const Inventory& inventory) {
  std::vector<std::string> classes;
  for (const Inventory::Offer& offer : inventory.offers) {
    if (std::ranges::find(classes, offer.hardware_class) != classes.end()) continue;
    classes.push_back(offer.hardware_class);
  }
  return classes;
}

std::vector<std::string> StacksOf(const Inventory& inventory) {
  std::vector<std::string> stacks;
  for (const Inventory::Offer& offer : inventory.offers) stacks.push_back(offer.stack);
  std::ranges::sort(stacks);
  const auto repeated = std::ranges::unique(stacks);
  stacks.erase(repeated.begin(), repeated.end());
  return stacks;
}

}  // namespace noisefloor
