#include "tests/simulation/term_checker.h"

namespace noisefloor::test {

using namespace scheduler;  // NOLINT: the writes are named so often here.

void TermChecker::Check(const Event& event, const Effects& effects, absl::Time steady, bool known) {
  if (const auto* beat = std::get_if<Heartbeat>(&event); beat != nullptr && known) {
    for (const HeldLease& held : beat->held) {
      const auto lease = heard_.find(held.lease);
      if (lease != heard_.end() && lease->second.session == beat->session) {
        lease->second.at = steady;
      }
    }
  }
  for (const Write& write : effects.writes) {
    const auto* drop = std::get_if<DropLease>(&write);
    if (drop == nullptr) continue;
    // It stays: where the store refuses a call, what the call dropped is held as before.
    const auto lease = heard_.find(drop->lease);
    const bool expired = drop->reason.starts_with("no sign of life") ||
                         drop->reason.find("did not take it up") != std::string::npos;
    if (expired && lease != heard_.end() && steady - lease->second.at < ttl_) {
      problems_.insert("a lease expired before its time");
    }
  }
  for (const Send& send : effects.sends) {
    const auto* start = std::get_if<SendStart>(&send);
    if (start == nullptr) continue;
    // Sent again it is not renewed.
    heard_.try_emplace(start->lease, Heard{start->session, steady}).first->second.session =
        start->session;
  }
}

}  // namespace noisefloor::test
