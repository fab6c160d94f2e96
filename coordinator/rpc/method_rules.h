// Which role a method needs, as its descriptor says: the option `needs` beside it in the .proto.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "coordinator/access/role.h"

namespace noisefloor {

// By path: "/noisefloor.v1.CoordinatorService/CancelSweep".
using MethodRules = std::map<std::string, access::Role, std::less<>>;

// Of every method of these services ("noisefloor.v1.CoordinatorService"), which this program knows.
// A method without the option has no rule here, and so nobody may call it.
MethodRules RulesOf(const std::vector<std::string>& services);

// The services of a coordinator.
std::vector<std::string> AllServices();

}  // namespace noisefloor
