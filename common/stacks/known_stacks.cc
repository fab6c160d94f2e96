#include "common/stacks/known_stacks.h"

#include <algorithm>
#include <sstream>

#include "nlohmann/json.hpp"

#include "common/stacks/embedded.h"

namespace noisefloor {

namespace {

// Throws for a file that is not as it should be: the tests read all of them.
KnownStack ParseStack(const EmbeddedStack& embedded) {
  const nlohmann::json json = nlohmann::json::parse(embedded.json);
  return {.name = json.at("name"),
          .libtorch = json.at("libtorch"),
          .cuda = json.at("cuda"),
          .gpus = json.at("gpus"),
          .megabytes = json.at("megabytes"),
          .architectures = json.at("architectures"),
          .lacks = json.at("lacks"),
          .lock = std::string(embedded.lock)};
}

}  // namespace

const std::vector<KnownStack>& KnownStacks() {
  static const std::vector<KnownStack> stacks = [] {
    std::vector<KnownStack> all;
    for (const EmbeddedStack& embedded : EmbeddedStacks()) all.push_back(ParseStack(embedded));
    return all;
  }();
  return stacks;
}

const KnownStack* FindKnownStack(std::string_view name) {
  const auto found = std::ranges::find(KnownStacks(), name, &KnownStack::name);
  return found == KnownStacks().end() ? nullptr : &*found;
}

std::string_view DefaultStack() { return EmbeddedDefault(); }

std::string PackagesOf(const KnownStack& stack) {
  std::string packages;
  std::istringstream lines(stack.lock);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    packages += line.substr(0, line.find(' ')) + "\n";
  }
  return packages;
}

}  // namespace noisefloor
