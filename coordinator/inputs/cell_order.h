// In which order the cells of a study stand that no coordinator has numbered. Internal to this
// folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace noisefloor::inputs {

// Point of the axes, plan, hardware, stack, block: sweep::Expand's order.
using CellOrder = std::tuple<std::vector<size_t>, size_t, size_t, size_t, uint32_t>;

// Texts in the order in which they come first.
class Seen {
 public:
  size_t PlaceOf(const std::string& text) {
    return places_.emplace(text, places_.size()).first->second;
  }

 private:
  std::map<std::string, size_t> places_;
};

}  // namespace noisefloor::inputs
