// The wire's messages to the core's values and back; what query is asked and tells is in
// convert_answers.h. Nothing else knows both.
//
// What is refused here is what no lease answers for: a registration beyond its limits (they are
// here and nowhere else), no lease named, no known message. What is wrong with one lease's payload
// travels on as that lease's fault, and the core ends its attempt: closing the session for it would
// make the worker say the same again. Every message says the field, what was expected and what
// came. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

#include "common/base/ids.h"
#include "common/base/inventory.h"
#include "common/base/status.h"
#include "coordinator/query/query.h"
#include "coordinator/scheduler/effect.h"
#include "coordinator/scheduler/event.h"
#include "coordinator/sweep/extend.h"
#include "coordinator/sweep/sweep.h"
#include "coordinator/sweep_file/sweep_file.h"
#include "noisefloor/v1/coordinator_api.pb.h"
#include "noisefloor/v1/worker_api.pb.h"

namespace noisefloor {

inline constexpr size_t kMaxName = 200;         // Bytes, of names and paths.
inline constexpr size_t kMaxDescription = 400;  // Bytes, of descriptions and fingerprints.
inline constexpr size_t kMaxKind = 100;         // Bytes, of the kind of an artifact.
inline constexpr size_t kMaxQuoted = 100;       // Bytes, of what came, in a message.

// --- Workers.

// What Welcome says of time.
struct WelcomeTimes {
  absl::Duration heartbeat_interval;
  absl::Duration lease_ttl;
};

// `field` is its name in refusals. `assumed`: of a plan, where a stack may be open.
absl::StatusOr<Inventory> InventoryFrom(std::string_view field, const v1::Inventory& message,
                                        bool assumed);
// The settings that the offers of `inventory`, which is of `message`, name; each once.
absl::StatusOr<std::vector<SettingsSchemaRef>> SchemasFrom(std::string_view field,
                                                           const v1::Inventory& message,
                                                           const Inventory& inventory);
absl::StatusOr<scheduler::WorkerConnected> WorkerFrom(SessionId session,
                                                      const v1::Register& message);
// Every message but Register.
absl::StatusOr<scheduler::Event> EventFrom(SessionId session, const v1::SessionRequest& message);

// The session a send is for; 0 for the answer to a call.
SessionId SessionOf(const scheduler::Send& send);
// Of sends that are messages: not CloseSession, not answers.
v1::SessionResponse ToProto(const scheduler::Send& send, const WelcomeTimes& times);

// --- People.

// As submitted; what the core checks is left to it. Mistakes of the message itself go to
// `problems`.
sweep::SweepRequest SweepRequestFrom(const v1::Sweep& message,
                                     std::vector<sweep::Problem>& problems);
// InvalidArgument with BadSweep as its payload. `problems` has at least one.
// `places`: of the file that the sweep was read from, or null.
absl::Status BadSweepFrom(const std::vector<sweep::Problem>& problems,
                          const sweep_file::Places* places);
absl::Status BadSweepFrom(const std::vector<sweep_file::Mistake>& mistakes);

// The sweep that a request names: not 0.
absl::StatusOr<SweepId> SweepFrom(uint64_t number);
// `field` is its name in refusals.
absl::StatusOr<MemberState> StateFrom(std::string_view field, int state);
// What it names is of this sweep; whether the sweep has it is for the core to say.
absl::StatusOr<scheduler::Selection> SelectionFrom(SweepId sweep,
                                                   const v1::MemberSelection& message);
absl::Status CheckPriority(int32_t priority);
absl::Status CheckWeight(uint32_t weight);  // Of a sweep or an owner.
absl::Status CheckRequestId(const std::string& id);
absl::Status CheckStack(const std::string& stack);  // Empty: it names none.
absl::Status CheckGpuHours(double hours);
// How many members may run on each class; `field` is its name in refusals. 0: as many as there are.
absl::StatusOr<std::map<std::string, uint32_t>> LimitsFrom(
    std::string_view field, const google::protobuf::Map<std::string, uint32_t>& limits);
// What the request asks for; whether it can be is for sweep::Extend to say.
absl::StatusOr<sweep::Extension> ExtensionFrom(const v1::ExtendSweepRequest& message);
absl::StatusOr<scheduler::SweepUpdated> UpdateFrom(const v1::UpdateSweepRequest& message);
absl::StatusOr<scheduler::ShareUpdated> ShareFrom(const v1::UpdateShareRequest& message);
absl::StatusOr<scheduler::WorkerUpdated> UseFrom(const v1::UpdateWorkerRequest& message);

// But for the identity of what was planned, and what storage says.
v1::PlanSweepResponse ToProto(const query::Plan& plan);

// "s3c12r4" as a request names it.
absl::StatusOr<MemberId> MemberFrom(std::string_view text);

}  // namespace noisefloor
