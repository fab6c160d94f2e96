#include "coordinator/cli/handover.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "common/access/redirect.h"
#include "common/files/sha256.h"
#include "common/log/log.h"
#include "common/rpc/address.h"
#include "coordinator/certificates/access_folder.h"
#include "coordinator/certificates/certificate.h"

namespace noisefloor::cli {

namespace {

constexpr absl::Duration kLookForOrders = absl::Milliseconds(200);
constexpr size_t kChanceDigits = 16;

std::string HostName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string Absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

}  // namespace

Handover::Handover(Context& context, HandoverWish wish, const StopSignal& stop, TakenOver taken)
    : context_(&context), wish_(std::move(wish)), stop_(&stop), taken_(std::move(taken)) {
  holder_ = std::make_unique<TermHolder>(
      TermHolder::Settings{.home = context.options.home,
                           .folder = HandoverFolder(wish_.folder),
                           .mark = taken_.mark,
                           .version = NOISEFLOOR_VERSION,
                           .clock = context.clock,
                           .stopped = [&stop] { return stop.Requested(); }});
}

absl::StatusOr<Handover> Handover::Take(Context& context, const HandoverWish& wish,
                                        const StopSignal& stop) {
  HandoverWish absolute = wish;
  absolute.folder = Absolute(wish.folder);
  const TakeOverOptions options = {
      .home = context.options.home,
      .folder = absolute.folder,
      .who = {.id = "",
              .host = HostName(),
              .process = getpid(),
              .home = Absolute(context.options.home),
              .at = {}},
      .chance = Sha256Hex(RandomBytes32()).substr(0, kChanceDigits),
      .patience = wish.patience,
      .stopped = [&stop] { return stop.Requested(); },
      .pause = [&stop](absl::Duration time) { (void)stop.WaitFor(time); },
      .says =
          [](std::string_view what) {
            LogInfo("handover", {{"now", std::string(what)}});
          }};
  NF_ASSIGN_OR_RETURN(TakenOver taken, TakeOver(options, context.clock));
  LogInfo("has_the_data", {{"folder", absolute.folder},
                           {"term", taken.mark.term},
                           {"came_here", taken.came_here},
                           {"step", taken.step}});
  if (taken.missing > 0) LogWarning("files_were_missing", {{"files", taken.missing}});
  return Handover(context, std::move(absolute), stop, std::move(taken));
}

absl::StatusOr<std::string> Handover::HostAt(const std::string& listen) const {
  const std::string& home = context_->options.home;
  if (!AccessIsSetUp(home)) return "";
  NF_ASSIGN_OR_RETURN(const Address address, ParseAddress(listen));
  std::string host = wish_.host;
  if (host.empty()) host = IsLoopback(address) ? address.host : HostName();
  NF_RETURN_IF_ERROR(LetCertificateHold(home, host, context_->clock.Now()));
  return host;
}

absl::StatusOr<size_t> Handover::Point(const std::string& place) const {
  NF_ASSIGN_OR_RETURN(const KeptAccess kept, ReadAccess(context_->options.home));
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> pointed,
                      PointAccessFiles(place, kept.certificate, kept.coordinator));
  if (pointed.empty()) {
    return MakeError(absl::StatusCode::kNotFound,
                     place +
                         ": no access file there is one of this coordinator; workers look for "
                         "it where their own say. $NOISEFLOOR_ACCESS names another place");
  }
  return pointed.size();
}

void Handover::PointToIt(const Coordinator& coordinator) const {
  if (term() > 1) (void)HandoverFolder(wish_.folder).Forget(term() - 1);  // Of no use and no harm.
  if (!AccessIsSetUp(context_->options.home) || coordinator.address().empty()) return;
  const AccessPlaces& places = context_->access_places;
  const std::string& place = places.named.empty() ? places.usual : places.named;
  const absl::StatusOr<size_t> pointed = Point(place);
  if (pointed.ok()) {
    LogInfo("access_files_name_it", {{"place", place}, {"files", *pointed}});
  } else {
    LogWarning("no_access_file_names_it", {{"error", pointed.status()}});
  }
}

void Handover::WaitForTheEnd() {
  while (!stop_->WaitFor(kLookForOrders)) {
    const absl::StatusOr<bool> ready = holder_->SuccessorIsReady();
    if (!ready.ok()) LogWarning("cannot_hand_over", {{"error", ready.status()}});
    if (ready.ok() && *ready) return;
  }
}

void Handover::GiveBack() {
  const absl::Status handed = holder_->FinishUnserved();
  if (handed.ok()) LogInfo("handed_over", {{"folder", wish_.folder}, {"term", term()}});
  if (!handed.ok()) LogWarning("cannot_hand_over", {{"error", handed}});
}

absl::Status Handover::Finish() {
  LogInfo("hands_over", {{"folder", wish_.folder}, {"term", term()}});
  const absl::Status handed = holder_->Finish();
  if (handed.ok()) {
    LogInfo("handed_over", {{"folder", wish_.folder}, {"term", term()}});
    return handed;
  }
  return Annotate(handed, "the handover did not end; " +
                              context_->Hint("serve --handover=" + wish_.folder) +
                              " goes on here, or says who has the data");
}

}  // namespace noisefloor::cli
