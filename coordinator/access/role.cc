#include "coordinator/access/role.h"

#include <array>

namespace noisefloor::access {

namespace {
constexpr std::array kHeld = {Role::kReader, Role::kSubmitter, Role::kWorker, Role::kAdmin};
}  // namespace

std::string_view Name(Role role) {
  switch (role) {
    case Role::kAny: return "any";
    case Role::kReader: return "reader";
    case Role::kSubmitter: return "submitter";
    case Role::kWorker: return "worker";
    case Role::kAdmin: return "admin";
  }
  return "corrupt";
}

std::optional<Role> ParseRole(std::string_view name) {
  for (const Role role : kHeld) {
    if (Name(role) == name) return role;
  }
  return std::nullopt;
}

std::optional<Role> RoleFrom(uint32_t number) {
  if (number == static_cast<uint32_t>(Role::kAny)) return Role::kAny;
  for (const Role role : kHeld) {
    if (static_cast<uint32_t>(role) == number) return role;
  }
  return std::nullopt;
}

bool Allows(Role has, Role needs) {
  switch (needs) {
    case Role::kAny: return true;
    case Role::kReader:
      return has == Role::kReader || has == Role::kSubmitter || has == Role::kAdmin;
    case Role::kSubmitter: return has == Role::kSubmitter || has == Role::kAdmin;
    case Role::kWorker: return has == Role::kWorker;
    case Role::kAdmin: return has == Role::kAdmin;
  }
  return false;
}

}  // namespace noisefloor::access
