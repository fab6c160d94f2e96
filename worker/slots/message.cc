#include "worker/slots/message.h"

namespace noisefloor::slots {

namespace {

std::string Of(LeaseId lease) { return "lease " + std::to_string(lease.value); }
std::string In(uint32_t slot) { return "slot " + std::to_string(slot); }

struct Writer {
  std::string operator()(const StartTrainer& a) const {
    return "start trainer of " + Of(a.lease) + " in " + In(a.slot) +
           (a.use_standby ? " from its standby" : "");
  }
  std::string operator()(const StartStandby& a) const {
    return "start standby for " + a.key.stack + " on " + a.key.hardware_class + " in " + In(a.slot);
  }
  std::string operator()(const EndStandby& a) const { return "end standby in " + In(a.slot); }
  std::string operator()(const KeepForkServer& a) const {
    return "keep fork server for " + a.key.stack + " on " + a.key.hardware_class;
  }
  std::string operator()(const EndForkServers&) const { return "end fork servers"; }
  std::string operator()(const TerminateTrainer& a) const {
    return "terminate trainer of " + Of(a.lease) + ": " + a.reason;
  }
  std::string operator()(const KillTrainer& a) const { return "kill trainer of " + Of(a.lease); }
  std::string operator()(const GiveUpTrainer& a) const {
    return "give up trainer of " + Of(a.lease);
  }
  std::string operator()(const Deliver& a) const { return "deliver " + Of(a.lease); }
  std::string operator()(const DropFiles& a) const { return "drop files of " + Of(a.lease); }
  std::string operator()(const Forget& a) const { return "forget " + Of(a.lease); }
  std::string operator()(const SendStarted& a) const { return "send started of " + Of(a.lease); }
  std::string operator()(const SendRecords& a) const {
    return "send records " + std::to_string(a.first) + " to " + std::to_string(a.last) + " of " +
           Of(a.lease);
  }
  std::string operator()(const SendFinished& a) const { return "send finished of " + Of(a.lease); }
  std::string operator()(const SendHeartbeat& a) const {
    std::string text = "send heartbeat";
    for (const Held& held : a.held) {
      text += " " + std::to_string(held.lease.value) + "@" + std::to_string(held.sequence);
    }
    return text;
  }
  std::string operator()(const SendDraining&) const { return "send draining"; }
  std::string operator()(const Leave&) const { return "leave"; }
};

}  // namespace

std::string Describe(const Action& action) { return std::visit(Writer{}, action); }

}  // namespace noisefloor::slots
