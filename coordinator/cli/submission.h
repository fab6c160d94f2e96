// Giving a sweep file to the coordinator, with mistakes it finds shown at their place in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/sharing.h"
#include "coordinator/sweep_file/sweep_file.h"

namespace noisefloor::cli {

using sweep_file::SweepFile;

// Reads a sweep file. The settings of a stack that we do not ship are asked of the coordinator:
// then, and only then, `connection` is opened.
absl::StatusOr<SweepFile> ReadSweepFile(const Context& context, const std::string& path,
                                        const Connection::Wish& wish,
                                        std::optional<Connection>& connection);
// The same by a connection that is open.
absl::StatusOr<SweepFile> ReadSweepFile(Connection& connection, const std::string& path);
// What was opened, or a new one.
absl::StatusOr<Connection> OpenUnless(const Context& context, const Connection::Wish& wish,
                                      std::optional<Connection> opened);
// For the workers that are connected and `assumed`.
absl::StatusOr<v1::PlanSweepResponse> PlanSweep(Connection& connection, const SweepFile& file,
                                                const std::vector<v1::AssumedWorker>& assumed);
// The worker that `run` would start here: every hardware class of this machine, any stack.
// `slots` 0: as many as it has cores.
absl::StatusOr<v1::AssumedWorker> WorkerHere(uint32_t slots, const v1::Sweep& sweep);
// How many GPUs a slot of that worker has: as many as the sweep trains on, by its train.devices; 1
// where it says nothing, or several numbers.
uint32_t GpusPerSlot(const v1::Sweep& sweep);
// FailedPrecondition when a cell has no worker, since it would wait for ever where only `here`
// works.
absl::Status CheckEveryCellHasAWorker(const v1::PlanSweepResponse& plan,
                                      const v1::AssumedWorker& here);
// Of a request that is sent again where no answer came: with it the repeat makes no second sweep.
std::string MakeRequestId(const Context& context);
// Safe against "timed out, did it go in?": carries a request id of its own.
absl::StatusOr<v1::SubmitSweepResponse> SubmitSweep(const Context& context, Connection& connection,
                                                    const SweepFile& file, bool resume,
                                                    const SharingOptions& sharing = {});

// What the file says in vain, or leaves to a default, on standard error.
void SayNotes(const Context& context, const SweepFile& file);
// "cpu-intel-sse, cpu-intel-avx2": the classes that the sweep got.
std::string HardwareText(const v1::SubmitSweepResponse& submitted);

}  // namespace noisefloor::cli
