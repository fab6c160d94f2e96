#include "coordinator/live/gateway.h"

#include <optional>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"

#include "common/rpc/status.h"
#include "coordinator/http/target.h"
#include "coordinator/live/event_place.h"
#include "coordinator/live/query_fields.h"
#include "coordinator/live/read_call.h"
#include "noisefloor/v1/access.pb.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor::live {

namespace {

using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;
using Proto = google::protobuf::Message;
using Then = std::function<void(http::Answer)>;

constexpr absl::Duration kLongestAnswer = absl::Minutes(1);  // Of what is no stream.
constexpr char kJson[] = "application/json; charset=utf-8";

int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange: return 400;
    case absl::StatusCode::kUnauthenticated: return 401;
    case absl::StatusCode::kPermissionDenied: return 403;
    case absl::StatusCode::kNotFound: return 404;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kAlreadyExists: return 409;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled: return 503;
    case absl::StatusCode::kDeadlineExceeded: return 504;
    default: return 500;
  }
}

std::string ErrorJson(const absl::Status& status) {
  const nlohmann::json error = {{"code", absl::StatusCodeToString(status.code())},
                                {"message", Message(status)}};
  return nlohmann::json({{"error", error}})
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

absl::StatusOr<std::string> JsonOf(const Proto& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto written = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (written.ok()) return json;
  return MakeError(absl::StatusCode::kInternal, std::string(written.message()));
}

// The bytes of a message that is a piece of a file; null: it is none.
const std::string* PieceOf(const Proto& message) {
  if (const auto* study = dynamic_cast<const v1::GetStudyResponse*>(&message)) {
    return &study->piece();
  }
  const auto* artifact = dynamic_cast<const v1::GetArtifactResponse*>(&message);
  return artifact == nullptr ? nullptr : &artifact->piece();
}

// One message of the stream as an event. An event named "end" tells that there will be no more,
// one named "failed" why: whoever reads them must not connect again by itself after the first.
class EventPieces final : public http::Pieces {
 public:
  EventPieces(std::shared_ptr<ReadCall> call, std::string place)
      : call_(std::move(call)), place_(std::move(place)) {}
  void Next(Then then) override {
    if (ended_) return then("");
    call_->Next([this, then = std::move(then)](absl::StatusOr<const Proto*> message) {
      then(TextOf(message));
    });
  }
  void Cancel() override { call_->Cancel(); }

 private:
  std::string TextOf(const absl::StatusOr<const Proto*>& message) {
    ended_ = !message.ok() || *message == nullptr;
    if (!message.ok()) {
      return fmt::format("event: failed\ndata: {}\n\n", ErrorJson(message.status()));
    }
    if (ended_) return "event: end\ndata: {}\n\n";
    const absl::StatusOr<std::string> json = JsonOf(**message);
    if (!json.ok()) return fmt::format("event: failed\ndata: {}\n\n", ErrorJson(json.status()));
    place_ = PlaceAfter(**message, place_);
    return fmt::format("id: {}\ndata: {}\n\n", place_, *json);
  }

  const std::shared_ptr<ReadCall> call_;  // shared: see ReadCall.
  std::string place_;
  bool ended_ = false;
};

// A file in pieces, of which the first has come.
class FilePieces final : public http::Pieces {
 public:
  FilePieces(std::shared_ptr<ReadCall> call, std::string first)
      : call_(std::move(call)), first_(std::move(first)) {}
  void Next(Then then) override {
    if (first_) return then(*std::exchange(first_, std::nullopt));
    call_->Next([then = std::move(then)](absl::StatusOr<const Proto*> message) {
      if (!message.ok()) return then(message.status());
      then(*message == nullptr ? "" : *PieceOf(**message));
    });
  }
  void Cancel() override { call_->Cancel(); }

 private:
  const std::shared_ptr<ReadCall> call_;  // shared: see ReadCall.
  std::optional<std::string> first_;
};

struct FileForm {
  const char* type = "application/octet-stream";
  std::string name;  // Empty: shown, not saved.
};

FileForm FormOf(const Proto& request) {
  using Study = v1::GetStudyRequest;
  if (const auto* study = dynamic_cast<const Study*>(&request)) {
    switch (study->form()) {
      case Study::FORM_JSON: return {kJson};
      case Study::FORM_CSV:
        return {"text/csv; charset=utf-8", fmt::format("study-s{}.csv", study->sweep_id())};
      case Study::FORM_PAGE: return {"text/html; charset=utf-8"};
      case Study::FORM_INPUT: return {kJson, "input.json"};
      default: return {"text/plain; charset=utf-8"};
    }
  }
  const auto& artifact = dynamic_cast<const v1::GetArtifactRequest&>(request);
  if (artifact.kind() == "log") return {"text/plain; charset=utf-8"};
  const std::string of = artifact.kind().substr(0, artifact.kind().find('-'));  // "weights-3"
  const char* const ending = of == "predictions" ? ".npy" : of == "weights" ? ".safetensors" : "";
  return {"application/octet-stream", artifact.member() + "-" + artifact.kind() + ending};
}

// Of a page that somebody's texts are in: it has scripts of its own, and none of what this origin
// may do.
constexpr char kSandboxed[] = "sandbox allow-scripts allow-downloads allow-popups";

void AskForFile(const std::shared_ptr<ReadCall>& call, FileForm form, const Then& then) {
  call->Next([call, form = std::move(form), then](absl::StatusOr<const Proto*> message) {
    if (!message.ok()) return then(ErrorAnswer(message.status()));
    http::Answer answer{.type = form.type};
    answer.headers = {{"Content-Security-Policy", kSandboxed}};
    if (!form.name.empty()) {
      answer.headers.emplace_back("Content-Disposition",
                                  "attachment; filename=" + http::PercentEncoded(form.name));
    }
    if (*message != nullptr)
      answer.pieces = std::make_shared<FilePieces>(call, *PieceOf(**message));
    then(std::move(answer));
  });
}

// The second message of what has one answer is its end, which says whether it was one.
void AskForAnswer(const std::shared_ptr<ReadCall>& call, const Then& then) {
  call->Next([call, then](absl::StatusOr<const Proto*> message) {
    if (!message.ok()) return then(ErrorAnswer(message.status()));
    absl::StatusOr<std::string> json =
        *message == nullptr ? MakeError(absl::StatusCode::kInternal, "there was no answer")
                            : JsonOf(**message);
    if (!json.ok() || *message == nullptr) return then(ErrorAnswer(json.status()));
    call->Next([then, json = *std::move(json)](const absl::StatusOr<const Proto*>& end) {
      if (!end.ok()) return then(ErrorAnswer(end.status()));
      then({.type = kJson, .body = json});
    });
  });
}

absl::Status Fill(Proto& message, const http::Request& request) {
  for (const auto& [path, value] : request.query) {
    NF_RETURN_IF_ERROR(SetField(message, path, value));
  }
  const std::string_view id = request.Header("last-event-id");
  return id.empty() ? absl::OkStatus() : BeginAfter(id, message);
}

}  // namespace

http::Answer ErrorAnswer(const absl::Status& status) {
  return {.status = HttpStatusOf(status.code()), .type = kJson, .body = ErrorJson(status)};
}

const MethodDescriptor* ReadingMethod(std::string_view name) {
  const auto* service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      std::string(v1::CoordinatorService::service_full_name()));
  const MethodDescriptor* const method = service->FindMethodByName(std::string(name));
  if (method == nullptr || method->client_streaming()) return nullptr;
  const v1::Role needs = method->options().GetExtension(v1::needs);
  return needs == v1::ROLE_READER || needs == v1::ROLE_ANY ? method : nullptr;
}

void Gateway::Ask(const MethodDescriptor& method, const http::Request& request,
                  std::string_view token, const Then& then) const {
  const std::unique_ptr<Proto> message(
      MessageFactory::generated_factory()->GetPrototype(method.input_type())->New());
  if (const absl::Status filled = Fill(*message, request); !filled.ok()) {
    return then(ErrorAnswer(filled));
  }
  const auto call = ReadCall::Start(
      channel_, method, *message, token,
      method.server_streaming() ? absl::InfiniteDuration() : kLongestAnswer, calls_.Open());
  if (request.asker) {
    request.asker->OnLeave([weak = std::weak_ptr(call)] {
      if (const auto left = weak.lock()) left->Cancel();
    });
  }
  if (!method.server_streaming()) return AskForAnswer(call, then);
  const Proto& told = *MessageFactory::generated_factory()->GetPrototype(method.output_type());
  if (PieceOf(told) != nullptr) return AskForFile(call, FormOf(*message), then);
  then({.type = "text/event-stream",
        .pieces = std::make_shared<EventPieces>(call, std::string(request.Header("last-event-id"))),
        .idle = ": still here\n\n"});
}

}  // namespace noisefloor::live
