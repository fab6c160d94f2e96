#include "coordinator/cli/standstill.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/ids.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/local_worker.h"
#include "coordinator/cli/offers.h"
#include "coordinator/cli/output.h"
#include "noisefloor/v1/fleet_api.grpc.pb.h"

namespace noisefloor::cli {

namespace {

constexpr absl::Duration kStill = absl::Seconds(3);
constexpr uint32_t kMostLookedAt = 1000;  // Waiting members whose wishes are compared.
constexpr uint32_t kMostSweeps = 50;      // The newest are looked at.
constexpr size_t kMostCauses = 5;
constexpr size_t kMostMembersNamed = 3;

absl::StatusOr<std::vector<v1::WorkerSummary>> ConnectedWorkers(Connection& connection) {
  NF_ASSIGN_OR_RETURN(const v1::ListWorkersResponse answer,
                      connection.Call(&Stub::ListWorkers, v1::ListWorkersRequest()));
  std::vector<v1::WorkerSummary> connected;
  std::ranges::copy_if(answer.workers(), std::back_inserter(connected),
                       [](const v1::WorkerSummary& worker) { return worker.connected(); });
  return connected;
}

bool IsWanted(const std::string& wanted, const std::string& name) {
  return wanted.empty() || wanted == name;
}

bool Offers(const v1::WorkerSummary& worker, const std::string& hardware,
            const std::string& stack) {
  return std::ranges::any_of(worker.inventory().offers(), [&](const v1::Offer& offer) {
    return IsWanted(hardware, offer.hardware_class()) && IsWanted(stack, offer.stack());
  });
}

// What keeps connected workers from offering it, as far as they know; "" = nothing.
std::string WhyNotOffered(const std::vector<v1::WorkerSummary>& workers,
                          const std::string& hardware, const std::string& stack) {
  std::string text;
  for (const v1::WorkerSummary& worker : workers) {
    for (const v1::Withheld& withheld : worker.inventory().withheld()) {
      const bool other_class =
          !withheld.hardware_class().empty() && !IsWanted(hardware, withheld.hardware_class());
      if (other_class || (!withheld.stack().empty() && !IsWanted(stack, withheld.stack())))
        continue;
      text += fmt::format("; {} withholds {}", worker.name(), WithheldText(withheld));
    }
  }
  return text;
}

std::vector<std::string> ClassesOfAll(const std::vector<v1::WorkerSummary>& workers) {
  std::set<std::string> classes;
  for (const v1::WorkerSummary& worker : workers) {
    for (const v1::Offer& offer : worker.inventory().offers()) {
      classes.insert(offer.hardware_class());
    }
  }
  return {classes.begin(), classes.end()};
}

// All that decides what the fleet can train.
std::string Fleet(const std::vector<v1::WorkerSummary>& workers) {
  std::string text;
  for (const v1::WorkerSummary& worker : workers) {
    text +=
        fmt::format("{}: {} on {}\n", worker.name(), fmt::join(ClassesOf(worker.inventory()), " "),
                    fmt::join(StacksOf(worker.inventory()), " "));
  }
  return text;
}

std::string NoWorker(const Context& context, Connection& connection) {
  if (connection.coordinator() != nullptr) {
    return connection.coordinator()->address().empty()
               ? fmt::format("nothing runs on {}; {} goes on with it", context.options.home,
                             context.Hint("run SWEEP.yaml"))
               : "the worker of this run is not connected; see " + LocalWorkerLog(context);
  }
  const auto pools = connection.Ask<v1::FleetService>(&v1::FleetService::StubInterface::ListPools,
                                                      v1::ListPoolsRequest());
  if (pools.ok() && !pools->pools().empty()) {
    std::string text = "no worker is connected yet";
    for (const v1::Pool& pool : pools->pools()) {
      text += fmt::format("; pool {}: {}", pool.wish().name(), pool.standing());
    }
    return text;
  }
  return fmt::format("no worker is connected; {} starts one",
                     context.WorkerHint(connection.secure() ? "" : connection.address()));
}

std::string WithoutNumbers(std::string_view text) {
  std::string kind;
  std::ranges::copy_if(text, std::back_inserter(kind),
                       [](unsigned char c) { return !absl::ascii_isdigit(c); });
  return kind;
}

absl::StatusOr<std::string> Explain(Connection& connection, const std::string& member) {
  v1::ExplainMemberRequest request;
  request.set_member(member);
  NF_ASSIGN_OR_RETURN(const v1::ExplainMemberResponse answer,
                      connection.Call(&Stub::ExplainMember, request));
  return answer.text();
}

std::string Wish(const std::string& hardware, const std::string& stack) {
  std::string text = hardware.empty() ? "any hardware class" : hardware;
  return stack.empty() ? text : text + " with stack " + stack;
}

std::string ShortSweep(const v1::SweepSummary& sweep) {
  return fmt::format("s{} {} ({})", sweep.id(), sweep.name(), CountsText(sweep));
}

}  // namespace

absl::StatusOr<std::string> NobodyTrains(const Context& context, Connection& connection) {
  NF_ASSIGN_OR_RETURN(const std::vector<v1::WorkerSummary> connected, ConnectedWorkers(connection));
  return connected.empty() ? NoWorker(context, connection) : "";
}

absl::StatusOr<std::vector<std::string>> ConnectedClasses(Connection& connection) {
  NF_ASSIGN_OR_RETURN(const std::vector<v1::WorkerSummary> connected, ConnectedWorkers(connection));
  return ClassesOfAll(connected);
}

std::vector<std::string> Standstill::News(const v1::SweepSummary& sweep, absl::Duration now) {
  const bool first = moved_ == -absl::InfiniteDuration();
  if (first || sweep.leased() > 0 || sweep.progress() != progress_) moved_ = now;
  progress_ = sweep.progress();
  if (sweep.waiting() == 0) return {};
  const auto connected = ConnectedWorkers(connection_);
  if (!connected.ok()) return {};
  std::vector<std::string> found;
  const bool stands = now - moved_ >= kStill;
  if (!connected->empty()) {
    LookAtPools(*connected, stands, found);
  } else if (stands || connection_.remote()) {
    found.push_back(NoWorker(context_, connection_));
  }
  std::erase_if(found, [this](const std::string& text) {
    return !said_.insert(WithoutNumbers(text)).second;
  });
  return found;
}

absl::StatusOr<std::vector<Standstill::Pool>> Standstill::WaitingPools() {
  v1::ListMembersRequest request;
  request.set_sweep_id(sweep_);
  request.set_state(v1::MEMBER_STATE_WAITING);
  request.set_page_size(kMostLookedAt);
  NF_ASSIGN_OR_RETURN(const v1::ListMembersResponse page,
                      connection_.Call(&Stub::ListMembers, request));
  std::vector<Pool> pools;
  for (const v1::Member& member : page.members()) {
    const bool known = std::ranges::any_of(pools, [&](const Pool& pool) {
      return pool.hardware == member.hardware() && pool.stack == member.stack();
    });
    if (!known) pools.push_back({member.hardware(), member.stack(), member.id()});
  }
  return pools;
}

void Standstill::LookAtPools(const std::vector<v1::WorkerSummary>& connected, bool stands,
                             std::vector<std::string>& news) {
  const std::string fleet = Fleet(connected);
  if (!stands && fleet == looked_at_) return;
  const auto pools = WaitingPools();
  if (!pools.ok()) return;
  looked_at_ = fleet;
  for (const Pool& pool : *pools) {
    const bool offered = std::ranges::any_of(connected, [&](const v1::WorkerSummary& worker) {
      return Offers(worker, pool.hardware, pool.stack);
    });
    if (!offered) {
      news.push_back(
          fmt::format("members wait for {}, which no connected worker offers; they offer {}{}",
                      Wish(pool.hardware, pool.stack), fmt::join(ClassesOfAll(connected), ", "),
                      WhyNotOffered(connected, pool.hardware, pool.stack)));
    } else if (stands) {
      const auto why = Explain(connection_, pool.member);
      if (why.ok()) news.push_back(*why);
    }
  }
}

std::vector<std::string> OtherSweeps::News(Connection& connection, uint64_t own) {
  v1::ListSweepsRequest newest;
  newest.set_page_size(kMostSweeps);
  const auto page = connection.Call(&Stub::ListSweeps, newest);
  if (!page.ok()) return {};
  const auto ours = std::ranges::find(page->sweeps(), own, &v1::SweepSummary::id);
  const int priority = ours == page->sweeps().end() ? 0 : ours->priority();
  std::vector<std::string> news;
  for (const v1::SweepSummary& sweep : page->sweeps()) {
    if (sweep.id() == own || HasEnded(sweep) || !said_.insert(sweep.id()).second) continue;
    news.push_back(fmt::format("{} {}: as long as this lasts, what can be trained here of {}",
                               ShortSweep(sweep),
                               sweep.id() < own ? "waits here, too" : "was queued here",
                               sweep.priority() > priority   ? "it goes first"
                               : sweep.priority() < priority ? "it comes last"
                                                             : "both takes turns"));
  }
  return news;
}

std::vector<std::string> LeftHalfWay(const Context& context, Connection& connection, uint64_t own) {
  const auto sweeps = ListSweeps(connection);
  if (!sweeps.ok()) return {};
  std::vector<std::string> left;
  for (const v1::SweepSummary& sweep : *sweeps) {
    if (sweep.id() == own || HasEnded(sweep)) continue;
    left.push_back(fmt::format("{} is left as it is; {} with its sweep file goes on with it",
                               ShortSweep(sweep), context.Hint("run SWEEP.yaml")));
  }
  return left;
}

absl::StatusOr<std::vector<std::string>> WhyMembersFailed(Connection& connection, uint64_t sweep) {
  NF_ASSIGN_OR_RETURN(const std::vector<v1::Member> failed,
                      ListMembers(connection, sweep, v1::MEMBER_STATE_FAILED));
  std::map<std::string, std::vector<std::string>> members_by_cause;
  for (const v1::Member& member : failed) {
    const v1::Outcome& outcome = member.outcome();
    const std::string cause =
        outcome.message().empty() ? outcome.cause() : outcome.cause() + ": " + outcome.message();
    members_by_cause[cause].push_back(member.id());
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> causes(members_by_cause.begin(),
                                                                       members_by_cause.end());
  std::ranges::stable_sort(causes, std::greater<>(),
                           [](const auto& entry) { return entry.second.size(); });
  std::vector<std::string> texts;
  for (const auto& [cause, members] : causes) {
    if (texts.size() == kMostCauses) {
      texts.push_back(fmt::format("and {} more causes", causes.size() - kMostCauses));
      break;
    }
    if (cause.empty()) {  // Without an outcome of its own, only the scheduler knows.
      NF_ASSIGN_OR_RETURN(std::string why, Explain(connection, members[0]));
      if (members.size() > 1) why += fmt::format(" So did {} more.", members.size() - 1);
      texts.push_back(std::move(why));
      continue;
    }
    const size_t named = std::min(members.size(), kMostMembersNamed);
    texts.push_back(fmt::format(
        "{} failed, {} ({}{})", Counted(members.size(), "member"), cause,
        fmt::join(members.begin(), members.begin() + static_cast<ptrdiff_t>(named), ", "),
        members.size() > named ? fmt::format(" and {} more", members.size() - named) : ""));
  }
  return texts;
}

}  // namespace noisefloor::cli
