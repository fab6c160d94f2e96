#include "common/rpc/status.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "gtest/gtest.h"

#include "common/base/reason.h"

namespace noisefloor {
namespace {

TEST(RpcStatusTest, EveryCodeComesBackWithItsMessage) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status =
        MakeError(static_cast<absl::StatusCode>(code), "lease 7: not known");

    const grpc::Status sent = ToGrpc(status);

    EXPECT_EQ(static_cast<int>(sent.error_code()), code);
    EXPECT_EQ(FromGrpc(sent), status);
  }
}

TEST(RpcStatusTest, OkStaysOk) {
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
}

TEST(RpcStatusTest, MistakesOfASweepTravelWithTheStatus) {
  v1::BadSweep bad;
  auto* first = bad.add_violations();
  first->set_field("noise[2].init");
  first->set_description("expected fixed, free or off, got 'fre'");
  bad.add_violations()->set_field("replicates");

  const absl::Status received = FromGrpc(ToGrpc(BadSweepError(bad)));

  EXPECT_EQ(received.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(received),
            "noise[2].init: expected fixed, free or off, got 'fre' (and 1 more)");
  const auto found = BadSweepOf(received);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->SerializeAsString(), bad.SerializeAsString());
}

// What a client in another language reads of it; nothing: the details are none of google.rpc.
template <typename Detail>
std::optional<Detail> DetailOf(const grpc::Status& sent) {
  google::rpc::Status status;
  Detail detail;
  if (!status.ParseFromString(sent.error_details())) return std::nullopt;
  EXPECT_EQ(status.code(), static_cast<int>(sent.error_code()));
  EXPECT_EQ(status.message(), sent.error_message()) << "Python refuses one that differs";
  for (const google::protobuf::Any& any : status.details()) {
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

TEST(RpcStatusTest, ARefusalSaysForProgramsWhyItIsOne) {
  const absl::Status refused = Because(MakeError(absl::StatusCode::kNotFound, "s9: no such sweep"),
                                       Reason::kSweepNotFound, {{"sweep", "s9"}, {"empty", ""}});
  const auto info = DetailOf<google::rpc::ErrorInfo>(ToGrpc(refused));
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->reason(), "SWEEP_NOT_FOUND");
  EXPECT_EQ(info->domain(), "noisefloor");
  EXPECT_EQ(info->metadata().size(), 2u);
  EXPECT_EQ(info->metadata().at("sweep"), "s9");
  EXPECT_EQ(info->metadata().at("empty"), "");
  EXPECT_EQ(Message(FromGrpc(ToGrpc(refused))), "s9: no such sweep");
}

TEST(RpcStatusTest, AReasonIsSetOnceAndOnlyForItsCode) {
  const absl::Status missing = MakeError(absl::StatusCode::kNotFound, "x");
  EXPECT_EQ(WhyOf(BecauseIf(absl::StatusCode::kNotFound, missing, Reason::kWorkerNotFound)).reason,
            Reason::kWorkerNotFound);
  EXPECT_EQ(WhyOf(BecauseIf(absl::StatusCode::kAborted, missing, Reason::kWorkerNotFound)).reason,
            Reason::kNotFound);
  const absl::Status busy = Because(missing, Reason::kTooBusy);
  EXPECT_EQ(WhyOf(BecauseIf(absl::StatusCode::kNotFound, busy, Reason::kWorkerNotFound)).reason,
            Reason::kTooBusy);
  EXPECT_EQ(BecauseIf(absl::StatusCode::kNotFound, absl::OkStatus(), Reason::kTooBusy),
            absl::OkStatus());
}

// What a program does next hangs on it: another reason for a code breaks it.
TEST(RpcStatusTest, ACodeByItselfHasItsReason) {
  using Code = absl::StatusCode;
  const std::map<Code, std::string> reasons = {{Code::kInvalidArgument, "INVALID_REQUEST"},
                                               {Code::kOutOfRange, "INVALID_REQUEST"},
                                               {Code::kNotFound, "NOT_FOUND"},
                                               {Code::kAlreadyExists, "ALREADY_THERE"},
                                               {Code::kFailedPrecondition, "WRONG_STATE"},
                                               {Code::kResourceExhausted, "LIMIT_REACHED"},
                                               {Code::kUnavailable, "UNAVAILABLE"},
                                               {Code::kPermissionDenied, "ROLE_TOO_LOW"},
                                               {Code::kUnauthenticated, "TOKEN_REFUSED"},
                                               {Code::kDataLoss, "DATA_DAMAGED"},
                                               {Code::kAborted, "REPLACED"},
                                               {Code::kCancelled, "CANCELLED"},
                                               {Code::kDeadlineExceeded, "DEADLINE_PASSED"},
                                               {Code::kInternal, "INTERNAL"},
                                               {Code::kUnknown, "INTERNAL"},
                                               {Code::kUnimplemented, "INTERNAL"}};
  for (const auto& [code, reason] : reasons) {
    EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(ToGrpc(MakeError(code, "x")))->reason(), reason);
  }
}

TEST(RpcStatusTest, ARefusedSweepNamesItsFieldsForEveryClient) {
  v1::BadSweep bad;
  bad.add_violations()->set_field("noise[2].init");
  bad.mutable_violations(0)->set_description("expected fixed, free or off");
  bad.mutable_violations(0)->set_line(7);
  bad.add_violations()->set_field("replicates");
  const grpc::Status sent = ToGrpc(BadSweepError(bad));
  const auto request = DetailOf<google::rpc::BadRequest>(sent);
  ASSERT_TRUE(request.has_value());
  ASSERT_EQ(request->field_violations_size(), 2);
  EXPECT_EQ(request->field_violations(0).field(), "noise[2].init");
  EXPECT_EQ(request->field_violations(0).description(), "expected fixed, free or off");
  EXPECT_EQ(request->field_violations(1).field(), "replicates");
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(sent)->reason(), "BAD_SWEEP");
  EXPECT_EQ(DetailOf<v1::BadSweep>(sent)->violations(0).line(), 7u);
}

TEST(RpcStatusTest, ManyMistakesStayWithinWhatAClientTakes) {
  v1::BadSweep bad;
  for (int i = 0; i < 5000; ++i) {
    bad.add_violations()->set_field("axes[" + std::to_string(i) + "]");
    bad.mutable_violations(i)->set_description("expected a list, got nothing");
  }
  const grpc::Status sent = ToGrpc(BadSweepError(bad));
  EXPECT_LE(sent.error_details().size(), 4500u);
  const auto request = DetailOf<google::rpc::BadRequest>(sent);
  ASSERT_TRUE(request.has_value());
  EXPECT_GE(request->field_violations_size(), 20);
  EXPECT_EQ(request->field_violations(0).field(), "axes[0]");
  EXPECT_EQ(BadSweepOf(FromGrpc(sent))->violations_size(), request->field_violations_size());
}

TEST(RpcStatusTest, WordsThatAreNoTextCanBeReadAllTheSame) {
  const absl::Status refused =
      Because(InvalidInput("stack: got '\xff\xc3'"), Reason::kStackNotOffered, {{"stack", "\xff"}});
  const auto info = DetailOf<google::rpc::ErrorInfo>(ToGrpc(refused));
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->metadata().at("stack"), "\uFFFD");
  EXPECT_EQ(
      DetailOf<google::rpc::ErrorInfo>(ToGrpc(InvalidInput(std::string(90000, 'x'))))->reason(),
      "INVALID_REQUEST");
}

TEST(RpcStatusTest, MistakesOfACoordinatorOf02AreRead) {
  v1::BadSweep bad;
  bad.add_violations()->set_field("replicates");
  const grpc::Status sent(grpc::StatusCode::INVALID_ARGUMENT, "x", bad.SerializeAsString());
  ASSERT_TRUE(BadSweepOf(FromGrpc(sent)).has_value());
  EXPECT_EQ(BadSweepOf(FromGrpc(sent))->violations(0).field(), "replicates");
}

std::string FileOf(const std::string& name) {
  std::ifstream file(std::string(getenv("NOISEFLOOR_SOURCE")) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

TEST(ReasonTest, TheTableNamesExactlyThoseThatThereAre) {
  std::set<std::string> named;
  std::istringstream table(FileOf("proto/README.md"));
  for (std::string line; std::getline(table, line);) {
    const std::string name =
        line.substr(0, line.find(" |")).substr(std::min<size_t>(3, line.size()));
    if (!line.starts_with("| `") || name.empty() || name.back() != '`') continue;
    named.insert(name.substr(0, name.size() - 1));
  }
  std::set<std::string> known;
  for (int i = 0; i < kReasonCount; ++i) {
    const Reason reason = static_cast<Reason>(i);
    known.insert(std::string(Name(reason)));
    EXPECT_EQ(ParseReason(Name(reason)), reason);
  }
  EXPECT_EQ(named, known);
  EXPECT_EQ(known.size(), static_cast<size_t>(kReasonCount)) << "two have the same name";
}

// Of a code by itself, or said at the place that refuses.
TEST(ReasonTest, EachIsUsed) {
  std::set<std::string> used;
  for (int code = 1; code <= 16; ++code) {
    used.insert(
        std::string(Name(WhyOf(MakeError(static_cast<absl::StatusCode>(code), "")).reason)));
  }
  const std::string spelled = FileOf("common/base/reason.cc");
  std::string places;
  for (const char* const file :
       {"common/rpc/status.cc", "coordinator/loop/event_loop.cc",
        "coordinator/query/member_rows.cc", "coordinator/query/sweep_rows.cc",
        "coordinator/rpc/coordinator_service.cc", "coordinator/rpc/sharing_calls.cc",
        "coordinator/rpc/upload.cc"}) {
    places += FileOf(file);
  }
  for (int i = 0; i < kReasonCount; ++i) {
    const std::string name(Name(static_cast<Reason>(i)));
    const size_t end = spelled.find(": return \"" + name + "\"");
    ASSERT_NE(end, std::string::npos) << name;
    const size_t begin = spelled.rfind("Reason::", end);
    const bool said = places.find(spelled.substr(begin, end - begin)) != std::string::npos;
    EXPECT_TRUE(said || used.contains(name)) << name;
  }
}

TEST(RpcStatusTest, OtherStatusesCarryNoMistakes) {
  EXPECT_FALSE(BadSweepOf(InvalidInput("x")).has_value());
  EXPECT_FALSE(BadSweepOf(absl::OkStatus()).has_value());
  const grpc::Status garbage(grpc::StatusCode::INVALID_ARGUMENT, "x", "\xff\xff\xff");
  EXPECT_FALSE(BadSweepOf(FromGrpc(garbage)).has_value());
}

}  // namespace
}  // namespace noisefloor
