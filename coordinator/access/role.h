// What an identity may do, and what a method asks for. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace noisefloor::access {

enum class Role : uint8_t {  // The numbers are in the store and those of the protocol.
  kAny = 1,                  // Only asked for: everybody who is known.
  kReader = 2,
  kSubmitter = 3,
  kWorker = 4,
  kAdmin = 5,
};

std::string_view Name(Role role);  // "submitter"
// "reader", "submitter", "worker" or "admin": what an identity may have.
std::optional<Role> ParseRole(std::string_view name);
std::optional<Role> RoleFrom(uint32_t number);  // Any of the enum.

// Whether one who has `has` may do what needs `needs`. Only a worker trains, and it does nothing
// else.
bool Allows(Role has, Role needs);

}  // namespace noisefloor::access
