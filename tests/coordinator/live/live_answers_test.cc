// What the page reads over HTTP, beside the same over gRPC.
#include <set>

#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"

#include "coordinator/live/gateway.h"
#include "coordinator/store/blob_store.h"
#include "coordinator/web/page_bundle.h"
#include "noisefloor/v1/access.pb.h"
#include "tests/coordinator/live/live_fixture.h"

namespace noisefloor::test {
namespace {

using google::protobuf::MethodDescriptor;
using google::protobuf::util::MessageDifferencer;
using testing::HasSubstr;
using testing::Not;

constexpr char kNoSuchMethod[] = "no method of that name only reads";

class LiveAnswersTest : public LiveTest {
 protected:
  // The answer of the page as the message that it is.
  template <typename Proto>
  Proto GetProto(const std::string& target) {
    const Got got = Get(target);
    EXPECT_EQ(got.status, 200) << target << ": " << got.body;
    EXPECT_EQ(got.Header("Content-Type"), "application/json; charset=utf-8");
    Proto message;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(got.body, &message).ok()) << got.body;
    return message;
  }
  // Those of the pieces of a file.
  template <typename Request, typename Response>
  absl::StatusOr<std::string> File(std::unique_ptr<grpc::ClientReader<Response>> (People::*method)(
                                       grpc::ClientContext*, const Request&),
                                   const std::type_identity_t<Request>& request) {
    grpc::ClientContext context;
    SetDeadline(context, kPatience);
    const auto reader = (people_.get()->*method)(&context, request);
    std::string got;
    for (Response piece; reader->Read(&piece);) got += piece.piece();
    const absl::Status status = FromGrpc(reader->Finish());
    if (!status.ok()) return status;
    return got;
  }
  // A sweep of one member, done with these weights, which pass for its log as well.
  void Train(const std::string& name, const std::string& weights) {
    ScriptedWorker worker(*workers_, "box", 7);
    ASSERT_TRUE(Submit(SmallSweep(name, 1)).ok());
    const uint64_t lease = worker.Started().lease_id();
    std::vector<v1::UploadRequest> parts = {
        UploadHeader(lease, Sha256Hex(weights), weights.size())};
    for (size_t i = 0; i < weights.size(); i += kPieceBytes) {
      parts.push_back(Piece(weights.substr(i, kPieceBytes)));
    }
    ASSERT_TRUE(Upload(*workers_, parts).ok());
    v1::SessionRequest finish = ScriptedWorker::Finish(lease, 0, {weights, weights, weights});
    finish.mutable_finished()->mutable_outcome()->mutable_artifacts(1)->set_kind("weights-3");
    finish.mutable_finished()->mutable_outcome()->mutable_artifacts(2)->set_kind("log");
    ASSERT_TRUE(worker.Send(finish));
    ASSERT_TRUE(worker.Settled().accepted());
  }
};

TEST_F(LiveAnswersTest, EveryMethodThatReadsIsThereAndNoOther) {
  const auto* const service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      v1::CoordinatorService::service_full_name());
  std::set<std::string> reading;
  for (int i = 0; i < service->method_count(); ++i) {
    const MethodDescriptor& method = *service->method(i);
    const v1::Role needs = method.options().GetExtension(v1::needs);
    const bool reads = needs == v1::ROLE_READER || needs == v1::ROLE_ANY;
    if (reads) reading.insert(method.name());
    EXPECT_EQ(live::ReadingMethod(method.name()), reads ? &method : nullptr) << method.name();
    const Got got = Get("/api/" + method.name());
    EXPECT_NE(got.status, 0) << method.name();
    EXPECT_EQ(got.status == 404 && ErrorMessage(got.body).find(kNoSuchMethod) != std::string::npos,
              !reads)
        << method.name() << ": " << got.status << " " << got.body;
  }
  EXPECT_THAT(reading, testing::IsSupersetOf({"GetSweep", "ListSweeps", "ListMembers", "GetMember",
                                              "WatchSweep", "WatchMember", "GetStudy",
                                              "GetArtifact", "GetVersion"}));
  for (const char* const name : {"SubmitSweep", "CancelSweep", "UpdateSweep", "DeleteSweep",
                                 "PutWeights", "UpdateWorker", "CollectGarbage"}) {
    EXPECT_FALSE(reading.contains(name)) << name;
  }
}

TEST_F(LiveAnswersTest, WhatChangesSomethingChangesNothingHere) {
  ASSERT_TRUE(Submit(SmallSweep("a", 1)).ok());
  for (const char* const target :
       {"/api/CancelSweep?sweep_id=1", "/api/UpdateSweep?sweep_id=1&paused=true",
        "/api/SubmitSweep?file=name:%20b", "/api/DeleteSweep?sweep_id=1"}) {
    EXPECT_EQ(Get(target).status, 404) << target;
  }
  const auto sweeps = Call(&People::ListSweeps, {});
  ASSERT_EQ(sweeps->sweeps_size(), 1);
  EXPECT_EQ(sweeps->sweeps(0).waiting(), 1u);
  EXPECT_FALSE(sweeps->sweeps(0).paused());
}

TEST_F(LiveAnswersTest, NothingElseIsAMethod) {
  for (const char* const name : {"", "getsweep", "GetSweep/", "GetSweep.x", "x/GetSweep", "Session",
                                 "WhoAmI", "AddToken", "noisefloor.v1.CoordinatorService.GetSweep",
                                 "CoordinatorService/GetSweep", "%47etSweep%00"}) {
    const Got got = Get(std::string("/api/") + name);
    EXPECT_TRUE(got.status == 404 || got.status == 400) << name << " " << got.status;
  }
  EXPECT_THAT(Get("/api/Nothing%22%0a").body, Not(HasSubstr("\n{")));
  const Got got = Get("/api/No%22thing");
  EXPECT_EQ(ErrorCode(got.body), "NOT_FOUND") << got.body;
}

TEST_F(LiveAnswersTest, AnAnswerIsTheMessageOfTheCall) {
  ASSERT_TRUE(Submit(SmallSweep("a \"quoted\" name", 1)).status().code() ==
              absl::StatusCode::kInvalidArgument);
  v1::Sweep sweep = SmallSweep("a", 3);
  sweep.set_notes("quotes \" and \\ and \n lines, \u00e9 </script>");
  (*sweep.mutable_tags())["k"] = "v";
  ASSERT_TRUE(Submit(sweep).ok());

  v1::GetSweepRequest request;
  request.set_sweep_id(1);
  const auto direct = Call(&People::GetSweep, request);
  ASSERT_TRUE(direct.ok()) << direct.status();
  const auto read = GetProto<v1::GetSweepResponse>("/api/GetSweep?sweep_id=1");
  EXPECT_TRUE(MessageDifferencer::Equals(read, *direct)) << read.DebugString();
  EXPECT_EQ(read.sweep().sweep().notes(), sweep.notes());

  v1::ListMembersRequest members;
  members.set_page_size(2);
  members.mutable_selection()->add_states(v1::MEMBER_STATE_WAITING);
  members.mutable_selection()->add_cells(0);
  const auto page = Call(&People::ListMembers, members);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->members_size(), 2);
  EXPECT_TRUE(MessageDifferencer::Equals(
      GetProto<v1::ListMembersResponse>(
          "/api/ListMembers?page_size=2&selection.states=MEMBER_STATE_WAITING&selection.cells=0"),
      *page));
  const auto none = GetProto<v1::ListMembersResponse>(
      "/api/ListMembers?selection.states=MEMBER_STATE_DONE&selection.states=MEMBER_STATE_FAILED");
  EXPECT_EQ(none.members_size(), 0);
}

TEST_F(LiveAnswersTest, AllFieldsAreThereByTheirNamesInTheProto) {
  ASSERT_TRUE(Submit(SmallSweep("a", 3)).ok());
  const Json json = Json::parse(Get("/api/GetSweep").body);
  const Json& sweep = json["sweep"];
  EXPECT_EQ(sweep["id"], "1") << "64 bits are a text";
  EXPECT_EQ(sweep["waiting"], 3);
  EXPECT_EQ(sweep["leased"], 0) << "what is 0 is there, too";
  EXPECT_EQ(sweep["paused"], false);
  EXPECT_TRUE(sweep.contains("submitted_unix_seconds"));
  EXPECT_TRUE(sweep["sweep"].contains("replicates"));
  EXPECT_EQ(json["storage_problem"], "");
}

TEST_F(LiveAnswersTest, WhatIsNotThereIsNotFound) {
  v1::GetSweepRequest request;
  request.set_sweep_id(99);
  const absl::Status direct = Call(&People::GetSweep, request).status();
  const Got got = Get("/api/GetSweep?sweep_id=99");
  EXPECT_EQ(got.status, 404);
  EXPECT_EQ(got.Header("Content-Type"), "application/json; charset=utf-8");
  EXPECT_EQ(ErrorCode(got.body), "NOT_FOUND");
  EXPECT_EQ(ErrorMessage(got.body), Message(direct));
  EXPECT_EQ(Get("/api/GetMember?member=s9c0r0").status, 404);
}

TEST_F(LiveAnswersTest, WhatCannotBeUnderstoodIsABadRequest) {
  for (const char* const target :
       {"/api/GetSweep?x=1", "/api/GetSweep?sweep_id=x", "/api/GetSweep?sweep_id=-1",
        "/api/GetSweep?sweep_id", "/api/GetSweep?=1", "/api/ListMembers?selection=x",
        "/api/ListMembers?selection..states=x", "/api/ListMembers?selection.states=3",
        "/api/GetStudy?form=PDF", "/api/WatchSweep?sweep_id=%22", "/api/GetMember?member=x"}) {
    const Got got = Get(target);
    EXPECT_EQ(got.status, 400) << target << " " << got.body;
    EXPECT_EQ(ErrorCode(got.body), "INVALID_ARGUMENT") << target << " " << got.body;
  }
}

TEST_F(LiveAnswersTest, BytesThatAreNoTextAreABadRequest) {
  for (const char* const target :
       {"/api/GetMember?member=%ff", "/api/GetSweep?%ff=1", "/api/GetSweep?sweep_id=%ff",
        "/api/ListSettings?stack=%c3%28"}) {
    const Got got = Get(target);
    EXPECT_EQ(got.status, 400) << target << " " << got.body;
    EXPECT_EQ(ErrorCode(got.body), "INVALID_ARGUMENT") << target << " " << got.body;
  }
}

TEST_F(LiveAnswersTest, WhatHasNoEventsResumesNone) {
  Headers headers = Bearer(page_.token);
  headers.emplace("Last-Event-ID", "7");
  EXPECT_EQ(GetWith("/api/GetVersion", headers).status, 400);
}

TEST_F(LiveAnswersTest, ManyAskAtOnce) {
  ASSERT_TRUE(Submit(SmallSweep("a", 3)).ok());
  const std::string expected = Get("/api/GetSweep?sweep_id=1").body;
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      for (int k = 0; k < 10; ++k) EXPECT_EQ(Get("/api/GetSweep?sweep_id=1").body, expected);
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST_F(LiveAnswersTest, AStudyComesAsItIs) {
  Train("a", "weights");
  struct Form {
    const char* name;
    v1::GetStudyRequest::Form form;
    const char* type;
    const char* disposition;
  };
  for (const Form& form :
       {Form{"FORM_JSON", v1::GetStudyRequest::FORM_JSON, "application/json; charset=utf-8", ""},
        Form{"FORM_TABLES", v1::GetStudyRequest::FORM_TABLES, "text/plain; charset=utf-8", ""},
        Form{"FORM_CSV", v1::GetStudyRequest::FORM_CSV, "text/csv; charset=utf-8",
             "attachment; filename=study-s1.csv"},
        Form{"FORM_INPUT", v1::GetStudyRequest::FORM_INPUT, "application/json; charset=utf-8",
             "attachment; filename=input.json"}}) {
    v1::GetStudyRequest request;
    request.set_sweep_id(1);
    request.set_form(form.form);
    const auto direct = File(&People::GetStudy, request);
    ASSERT_TRUE(direct.ok()) << direct.status();
    const Got got = Get(std::string("/api/GetStudy?sweep_id=1&form=") + form.name);
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.Header("Content-Type"), form.type);
    EXPECT_EQ(got.Header("Content-Disposition"), form.disposition);
    EXPECT_THAT(got.Header("Content-Security-Policy"), HasSubstr("sandbox"));
    EXPECT_THAT(got.Header("Content-Security-Policy"), Not(HasSubstr("allow-same-origin")));
    EXPECT_TRUE(got.body == *direct) << form.name;
    EXPECT_NE(got.body, "");
  }
}

TEST_F(LiveAnswersTest, ThePageOfAStudyIsShown) {
  if (web::PageScript().empty()) GTEST_SKIP() << "built without the report page";
  Train("a", "weights");
  const Got page = Get("/api/GetStudy?sweep_id=1&form=FORM_PAGE");
  EXPECT_EQ(page.Header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.Header("Content-Disposition"), "") << "it is shown";
}

TEST_F(LiveAnswersTest, AStudyThatThereIsNotIsAnError) {
  const Got missing = Get("/api/GetStudy?sweep_id=9&form=FORM_JSON");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(ErrorCode(missing.body), "NOT_FOUND");
  EXPECT_EQ(missing.Header("Content-Disposition"), "");
  EXPECT_EQ(Get("/api/GetStudy?sweep_id=9").status, 400) << "in no form";
}

TEST_F(LiveAnswersTest, AFileComesInPiecesAndWhole) {
  std::string weights;
  for (size_t i = 0; i < 5 * kPieceBytes / 2; ++i) {
    weights += static_cast<char>(i * 31 + i / 256);
  }
  Train("a", weights);
  const Got got = Get("/api/GetArtifact?member=s1c0r0&kind=weights");
  EXPECT_EQ(got.status, 200);
  EXPECT_TRUE(got.body == weights);
  EXPECT_EQ(got.Header("Content-Type"), "application/octet-stream");
  EXPECT_EQ(got.Header("Content-Disposition"), "attachment; filename=s1c0r0-weights.safetensors");
  EXPECT_EQ(Get("/api/GetArtifact?member=s1c0r0&kind=weights-3").Header("Content-Disposition"),
            "attachment; filename=s1c0r0-weights-3.safetensors");
  const Got log = Get("/api/GetArtifact?member=s1c0r0&kind=log");
  EXPECT_EQ(log.Header("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(log.Header("Content-Disposition"), "") << "it is shown";
  EXPECT_THAT(log.Header("Content-Security-Policy"), HasSubstr("sandbox"));
  httplib::Client client(page_.address.host, page_.address.port);
  const auto head = client.Head("/api/GetArtifact?member=s1c0r0&kind=weights", Bearer(page_.token));
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
  const Got other = Get("/api/GetArtifact?member=s1c0r0&kind=nothing%22%0d%0aX:y");
  EXPECT_TRUE(other.status == 404 || other.status == 400) << other.status;
  EXPECT_NE(ErrorCode(other.body), "not an error");
}

TEST_F(LiveAnswersTest, AFileThatIsDamagedIsNotTakenForWhole) {
  const std::string weights(3 * kPieceBytes / 2, 'w');
  Train("a", weights);
  const std::string path = BlobStore::At(home_.path()).PathOf(Sha256Hex(weights));
  std::string damaged = weights;
  damaged.back() = 'x';
  ASSERT_TRUE(WriteFileAtomically(path, damaged).ok());
  EXPECT_EQ(Get("/api/GetArtifact?member=s1c0r0&kind=weights").status, 0) << "no last chunk";
}

TEST(ErrorAnswer, HasTheStatusThatHttpHasForIt) {
  using Code = absl::StatusCode;
  const auto status = [](Code code) { return live::ErrorAnswer(MakeError(code, "why")).status; };
  EXPECT_EQ(status(Code::kInvalidArgument), 400);
  EXPECT_EQ(status(Code::kOutOfRange), 400);
  EXPECT_EQ(status(Code::kUnauthenticated), 401);
  EXPECT_EQ(status(Code::kPermissionDenied), 403);
  EXPECT_EQ(status(Code::kNotFound), 404);
  EXPECT_EQ(status(Code::kAborted), 409);
  EXPECT_EQ(status(Code::kAlreadyExists), 409);
  EXPECT_EQ(status(Code::kFailedPrecondition), 409);
  EXPECT_EQ(status(Code::kInternal), 500);
  for (const Code code : {Code::kResourceExhausted, Code::kUnavailable, Code::kCancelled}) {
    EXPECT_EQ(status(code), 503) << "it may be asked again";
  }
  EXPECT_EQ(status(Code::kDeadlineExceeded), 504);
}

}  // namespace
}  // namespace noisefloor::test
