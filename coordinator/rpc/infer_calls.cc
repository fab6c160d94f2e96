// The calls that have weights evaluated: train-on x infer-on.
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/reason.h"
#include "common/base/sweep_limits.h"
#include "common/files/sha256.h"
#include "common/rpc/status.h"
#include "common/trainer_protocol/hardware_class.h"
#include "coordinator/rpc/awaited.h"
#include "coordinator/rpc/caller.h"
#include "coordinator/rpc/convert.h"
#include "coordinator/rpc/coordinator_service.h"
#include "coordinator/rpc/for_now.h"
#include "coordinator/rpc/weights_stream.h"

namespace noisefloor {

namespace {

constexpr int kMostClasses = 100;
constexpr size_t kMostFileName = 200;  // Bytes.
absl::StatusOr<std::vector<std::string>> ClassesFrom(const v1::InferMembersRequest& request,
                                                     const sweep::Known& known) {
  std::vector<std::string> classes(request.hardware_classes().begin(),
                                   request.hardware_classes().end());
  if (classes.size() > kMostClasses) {
    return InvalidInput(
        fmt::format("hardware_classes: expected at most {}, got {}", kMostClasses, classes.size()));
  }
  std::set<std::string> seen;
  for (const std::string& name : classes) {
    NF_RETURN_IF_ERROR(
        Annotate(ParseHardwareClass(name, /*kernels_fixed=*/true).status(), "hardware_classes"));
    if (!seen.insert(name).second) {
      return InvalidInput("hardware_classes: expected each once, got " + name + " twice");
    }
  }
  if (!classes.empty()) return classes;
  if (!known.classes.empty()) return known.classes;
  return RefuseForNow(MakeError(
      absl::StatusCode::kFailedPrecondition,
      "hardware_classes: no worker is connected, so that all of them are none; name some"));
}

// An evaluation needs one device: of all classes those that have one are kept, named ones must.
absl::Status KeepThoseOfOneDevice(const sweep::Sweep& original,
                                  const v1::InferMembersRequest& request,
                                  std::vector<std::string>& classes) {
  if (FindSetting(original.base, sweep::kDevices) == nullptr) return absl::OkStatus();
  if (FindColumn(original, sweep::kDevices) != nullptr) {
    return MakeError(
        absl::StatusCode::kFailedPrecondition,
        "train.devices is on an axis of the sweep, and an evaluation is of one device: "
        "its cells would be the same");
  }
  for (const std::string& name : request.hardware_classes()) {
    if (HasDevices(name, 1)) continue;
    return InvalidInput("hardware_classes: an evaluation is of one device, and the slots of " +
                        name + " have several");
  }
  std::erase_if(classes, [](const std::string& name) { return !HasDevices(name, 1); });
  if (!classes.empty()) return absl::OkStatus();
  return RefuseForNow(
      MakeError(absl::StatusCode::kFailedPrecondition,
                "hardware_classes: no connected worker has slots of one device; name some"));
}

absl::Status CheckWeights(const v1::WeightsFile& weights, const BlobStore& blobs) {
  NF_RETURN_IF_ERROR(Annotate(CheckSha256(weights.sha256()), "weights.sha256"));
  if (weights.name().empty() || weights.name().size() > kMostFileName) {
    return InvalidInput(fmt::format("weights.name: expected 1 to {} bytes, got {}", kMostFileName,
                                    weights.name().size()));
  }
  if (blobs.Has({weights.sha256(), weights.size()})) return absl::OkStatus();
  return RefuseForNow(
      MakeError(absl::StatusCode::kFailedPrecondition,
                fmt::format("weights: no file of hash {} and {} bytes is here; PutWeights first",
                            weights.sha256(), weights.size())));
}

// What can be said of the request without reading the store.
absl::StatusOr<query::InferQuestion> QuestionOf(const v1::InferMembersRequest& request) {
  query::InferQuestion question;
  NF_ASSIGN_OR_RETURN(question.sweep, SweepFrom(request.sweep_id()));
  NF_ASSIGN_OR_RETURN(question.selection, SelectionFrom(question.sweep, request.selection()));
  question.own_weights = !request.has_weights();
  NF_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  NF_RETURN_IF_ERROR(CheckStack(request.stack()));
  return question;
}

absl::Status CheckSize(const sweep::Sweep& infer) {
  const uint64_t cells = sweep::CellCount(infer);
  const uint64_t members = sweep::MemberCount(infer);
  if (cells <= sweep::kMaxCells && members <= sweep::kMaxMembers) return absl::OkStatus();
  return InvalidInput(fmt::format("expected at most {} cells and {} members, got {} and {}",
                                  sweep::kMaxCells, sweep::kMaxMembers, cells, members));
}

// Of a sweep that trains, members that are done and their weights come and go.
absl::StatusOr<query::InferSources> SourcesOf(const query::InferQuestion& question,
                                              query::Query& query) {
  absl::StatusOr<query::InferSources> sources = query.FindInferSources(question);
  if (!absl::IsFailedPrecondition(sources.status())) return sources;
  NF_ASSIGN_OR_RETURN(const query::Definition asked, query.FindDefinition(question.sweep));
  if (asked.sweep.kind != sweep::Kind::kTrain) return sources;
  return RefuseForNow(sources.status());
}

// Which sweep the inferences are, and how many members have none.
absl::StatusOr<scheduler::SweepSubmitted> InferenceFrom(const v1::InferMembersRequest& request,
                                                        const sweep::Known& known,
                                                        query::Query& query, const BlobStore& blobs,
                                                        uint32_t& left_out) {
  NF_ASSIGN_OR_RETURN(const query::InferQuestion question, QuestionOf(request));
  NF_ASSIGN_OR_RETURN(std::vector<std::string> classes, ClassesFrom(request, known));
  if (request.has_weights()) NF_RETURN_IF_ERROR(CheckWeights(request.weights(), blobs));
  NF_ASSIGN_OR_RETURN(query::InferSources sources, SourcesOf(question, query));
  left_out = sources.left_out;
  NF_RETURN_IF_ERROR(KeepThoseOfOneDevice(sources.sweep, request, classes));
  for (sweep::InferSource& source : sources.cells) {
    if (!request.has_weights()) continue;
    source.weights.front().sha256 = request.weights().sha256();
    source.weights.front().size_bytes = request.weights().size();
    source.weights.front().file = request.weights().name();
  }
  scheduler::SweepSubmitted event;
  event.sweep = sweep::InferenceOf(sources.sweep, sources.cells,
                                   {question.sweep, std::move(classes), request.stack()});
  NF_RETURN_IF_ERROR(CheckSize(event.sweep));
  event.specification_sha256 = Sha256Hex(sweep::CanonicalText(event.sweep));
  event.request_id = request.request_id();
  return event;
}

}  // namespace

Unary* CoordinatorServiceImpl::InferMembers(Context* context,
                                            const v1::InferMembersRequest* request,
                                            v1::InferMembersResponse* response) {
  Unary* reactor = context->DefaultReactor();
  const auto work = [=, this] {
    if (const absl::Status awaited = StillAwaited(*context); !awaited.ok()) {
      return reactor->Finish(ToGrpc(awaited));
    }
    uint32_t left_out = 0;
    // Weights that are found now are there when the sweep that names them is committed.
    const std::shared_ptr<const void> hold = parts_.pins.HoldAll();
    absl::StatusOr<scheduler::SweepSubmitted> event =
        InferenceFrom(*request, KnownNow(), parts_.query, parts_.blobs, left_out);
    const auto answer = [reactor, response, hold](const CallResult& result) {
      response->set_sweep_id(result.sweep.value);
      response->set_members(result.members);
      reactor->Finish(ToGrpc(
          BecauseIf(absl::StatusCode::kAlreadyExists, result.status, Reason::kRequestIdTaken)));
    };
    if (IsRefusedForNow(event.status())) {
      return AnswerRepeat(request->request_id(), event.status(), answer);
    }
    if (!event.ok()) return reactor->Finish(ToGrpc(event.status()));
    event->caller = CallerOf(*context);
    response->set_without_weights(left_out);
    parts_.loop.Call(*std::move(event), answer, WhileAwaited(*context));
  };
  if (!parts_.query.Post(query::Work::kRead, work)) {
    reactor->Finish(ToGrpc(TooManyWait("reads")));
  }
  return reactor;
}

grpc::ServerReadReactor<v1::PutWeightsRequest>* CoordinatorServiceImpl::PutWeights(
    Context* context, v1::PutWeightsResponse* response) {
  // gRPC's from here on.
  return new WeightsStream({.query = parts_.query, .blobs = parts_.blobs, .places = weights_},
                           *context, *response);
}

}  // namespace noisefloor
