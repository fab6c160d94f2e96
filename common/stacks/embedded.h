// The files of deploy/stacks as texts.
#pragma once

#include <string_view>
#include <vector>

namespace noisefloor {

struct EmbeddedStack {
  std::string_view json;
  std::string_view lock;
};

const std::vector<EmbeddedStack>& EmbeddedStacks();  // By name.
std::string_view EmbeddedDefault();

}  // namespace noisefloor
