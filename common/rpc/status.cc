#include "common/rpc/status.h"

#include <string>

#include "absl/strings/cord.h"
#include "fmt/format.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

#include "common/base/printable.h"
#include "common/base/reason.h"

namespace noisefloor {

namespace {

constexpr char kDomain[] = "noisefloor";
// A client takes 8 KiB of trailers: the words, and the details, which are a third longer there and
// have the words in them again.
constexpr size_t kMostWords = 2000;
constexpr size_t kMostDetailBytes = 4500;
constexpr size_t kMostMetadataBytes = 200;  // Of one value.

// Whole characters, at most so many bytes of them: what is no UTF-8 cannot be read in a message.
std::string Readable(std::string_view text, size_t most_bytes) {
  return Printable(text.substr(0, most_bytes));
}

// Debian's Abseil has a string_view of its own.
absl::string_view PayloadName() { return "noisefloor.v1.BadSweep"; }

google::rpc::ErrorInfo InfoOf(const absl::Status& status) {
  const WhyRefused why = WhyOf(status);
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(Name(why.reason)));
  info.set_domain(kDomain);
  for (const auto& [key, value] : why.metadata) {
    (*info.mutable_metadata())[key] = Readable(value, kMostMetadataBytes);
  }
  return info;
}

void AddRefusedFields(const v1::BadSweep& bad, google::rpc::Status& details) {
  google::rpc::BadRequest request;
  for (const v1::FieldViolation& violation : bad.violations()) {
    google::rpc::BadRequest::FieldViolation& field = *request.add_field_violations();
    field.set_field(violation.field());
    field.set_description(violation.description());
  }
  details.add_details()->PackFrom(request);
}

// As many of the mistakes, from the first, as there is room for.
void AddMistakes(v1::BadSweep bad, google::rpc::Status& details) {
  while (bad.ByteSizeLong() > kMostDetailBytes && bad.violations_size() > 1) {
    const int kept = bad.violations_size() / 2;
    bad.mutable_violations()->DeleteSubrange(kept, bad.violations_size() - kept);
  }
  for (; bad.violations_size() > 0; bad.mutable_violations()->RemoveLast()) {
    google::rpc::Status filled = details;
    AddRefusedFields(bad, filled);
    filled.add_details()->PackFrom(bad);
    if (filled.ByteSizeLong() > kMostDetailBytes) continue;
    details = std::move(filled);
    return;
  }
}

// Of a status that another coordinator of ours has made: in google.rpc.Status, or, up to version
// 0.2, the mistakes alone.
std::optional<v1::BadSweep> MistakesIn(const grpc::Status& status) {
  google::rpc::Status details;
  v1::BadSweep bad;
  const bool is_google = details.ParseFromString(status.error_details()) &&
                         details.code() == static_cast<int>(status.error_code());
  if (!is_google) {
    if (!bad.ParseFromString(status.error_details()) || bad.violations_size() == 0) return {};
    return bad;
  }
  for (const google::protobuf::Any& detail : details.details()) {
    if (detail.UnpackTo(&bad)) return bad;
  }
  return std::nullopt;
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string words = Readable(Message(status), kMostWords);
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(words);  // Equal ones: Python's rpc_status refuses any other.
  details.add_details()->PackFrom(InfoOf(status));
  if (const auto bad = BadSweepOf(status)) AddMistakes(*bad, details);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), words,
                      details.SerializeAsString());
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result =
      MakeError(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  const bool may_be_bad_sweep = status.error_code() == grpc::StatusCode::INVALID_ARGUMENT;
  if (may_be_bad_sweep && !status.error_details().empty()) {
    if (const auto bad = MistakesIn(status)) {
      result.SetPayload(PayloadName(), absl::Cord(bad->SerializeAsString()));
    }
  }
  return result;
}

absl::Status BadSweepError(const v1::BadSweep& bad_sweep) {
  std::string message = "the sweep is refused";
  if (bad_sweep.violations_size() > 0) {
    const v1::FieldViolation& first = bad_sweep.violations(0);
    message = fmt::format("{}: {}", first.field(), first.description());
  }
  if (bad_sweep.violations_size() > 1) {
    message += fmt::format(" (and {} more)", bad_sweep.violations_size() - 1);
  }
  absl::Status status = Because(InvalidInput(message), Reason::kBadSweep);
  status.SetPayload(PayloadName(), absl::Cord(bad_sweep.SerializeAsString()));
  return status;
}

std::optional<v1::BadSweep> BadSweepOf(const absl::Status& status) {
  const auto payload = status.GetPayload(PayloadName());
  v1::BadSweep bad_sweep;
  if (!payload || !bad_sweep.ParseFromString(std::string(*payload))) return std::nullopt;
  return bad_sweep;
}

}  // namespace noisefloor
