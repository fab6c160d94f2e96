#include "tests/scenarios/words.h"

#include <algorithm>
#include <set>

#include "common/trainer_protocol/json.h"

namespace noisefloor::test {

using namespace scheduler;  // NOLINT: the effects are named so often here.

namespace {

std::string Text(LeaseId id) { return "lease " + std::to_string(id.value); }

std::string Shape(const KeepSweep& w) {
  std::set<uint32_t> replicates;
  for (const sweep::Cell& cell : w.cells) replicates.insert(cell.replicates);
  const std::string cells = std::to_string(w.cells.size()) + " cells";
  return replicates.size() == 1
             ? cells + " x " + std::to_string(*replicates.begin())
             : cells + ", " + std::to_string(sweep::MemberCount(w.content)) + " members";
}

std::string Pardoned(const Sharing& sharing) {
  return sharing.pardoned == 0 ? "" : ", pardoned " + std::to_string(sharing.pardoned);
}

std::string Limits(const Sharing& sharing) {
  std::string text;
  for (const auto& [hardware, most] : sharing.limits) {
    text += ", at most " + std::to_string(most) + " on " + hardware;
  }
  return text;
}

struct WriteLine {
  std::string operator()(const KeepSweep& w) const {
    return "keep  sweep " + ToText(w.sweep) + ": " + Shape(w);
  }
  std::string operator()(const KeepSharing& w) const {
    return "keep  " + ToText(w.sweep) + " priority " + std::to_string(w.sharing.priority) +
           ", max failures " + std::to_string(w.sharing.max_failures) +
           (w.sharing.paused ? ", paused" : "") + (w.sharing.archived ? ", archived" : "") +
           Pardoned(w.sharing) + Limits(w.sharing);
  }
  std::string operator()(const KeepShare& w) const {
    return "keep  share of " + w.owner + ": weight " + std::to_string(w.weight);
  }
  std::string operator()(const KeepExtension& w) const {
    return "keep  " + ToText(w.sweep) +
           " extended: " + std::to_string(sweep::MemberCount(w.content)) + " members, " +
           std::to_string(w.cells.size()) + " new cells";
  }
  std::string operator()(const DeleteSweep& w) const {
    return "keep  " + ToText(w.sweep) + " deleted";
  }
  std::string operator()(const KeepNotes& w) const {
    std::string text = "keep  " + ToText(w.sweep) + " notes \"" + w.content.notes + "\"";
    for (const auto& [tag, value] : w.content.tags) text += " " + tag + "=" + value;
    return text;
  }
  std::string operator()(const KeepWorkerUse& w) const {
    std::string text = "keep  worker " + std::to_string(w.worker.value);
    text += w.drained ? " drained" : " not drained";
    for (const std::string& unit : w.quarantined)
      text += ", without " + (unit.empty() ? "all" : unit);
    return text;
  }
  std::string operator()(const PinCell& w) const {
    const std::string cell = "keep  cell " + ToText(w.sweep) + "c" + std::to_string(w.cell);
    if (w.fingerprint.empty()) {
      return cell + " no longer pinned: " + (w.hardware.empty() ? "any" : w.hardware) + ", " +
             (w.stack.empty() ? "any" : w.stack);
    }
    return cell + " pinned: " + w.hardware + ", " + w.stack + ", fingerprint " + w.fingerprint;
  }
  std::string operator()(const KeepSpecification& w) const {
    return "keep  specification of " + ToText(w.sweep) + "c" + std::to_string(w.cell);
  }
  std::string operator()(const PinIdentity& w) const {
    return "keep  " + ToText(w.sweep) + " data " + w.data_set + ": " + w.identity;
  }
  std::string operator()(const KeepSchema& w) const {
    return "keep  settings " + w.schema->identity().substr(0, 12);
  }
  std::string operator()(const KeepSoftware& w) const {
    return "keep  software of fingerprint " + w.software.fingerprint;
  }
  std::string operator()(const KeepWorker& w) const {
    return "keep  worker " + std::to_string(w.worker.value) + ": " + w.name;
  }
  std::string operator()(const KeepSeen& w) const {
    return "keep  worker " + std::to_string(w.worker.value) + " is gone";
  }
  std::string operator()(const ForgetWorker& w) const {
    return "keep  worker " + std::to_string(w.worker.value) + " is forgotten";
  }
  std::string operator()(const GrantLease& w) const {
    return "keep  " + Text(w.lease) + ": " + ToText(w.member) + " attempt " +
           std::to_string(w.attempt) + ", worker " + std::to_string(w.worker.value) + " slot " +
           std::to_string(w.slot) + ", " + w.unit;
  }
  std::string operator()(const DropLease& w) const {
    if (w.cause == CauseClass::kNone) return "keep  " + Text(w.lease) + " ended";
    return "keep  " + Text(w.lease) + " dropped, " + std::string(Name(w.cause)) + ": " + w.reason;
  }
  std::string operator()(const KeepRecords& w) const {
    return "keep  " + Text(w.lease) + " records, batch " + std::to_string(w.batch.sequence);
  }
  std::string operator()(const KeepOutcome& w) const {
    return "keep  " + Text(w.lease) + " outcome " + std::string(Name(w.outcome.kind)) +
           (w.accepted ? ", accepted" : ", not accepted: " + w.reason);
  }
  std::string operator()(const SetMemberState& w) const {
    return "keep  " + ToText(w.member) + " " + std::string(Name(w.state)) + ", attempt " +
           std::to_string(w.attempt);
  }
  std::string operator()(const SetUntouched& w) const {
    return "keep  the rest of " + ToText(w.sweep) + "c" + std::to_string(w.cell) + " " +
           std::string(Name(w.state));
  }
  std::string operator()(const AppendEvent& w) const { return "note  " + w.kind + ": " + w.text; }
  std::string operator()(const KeepToken& w) const {
    return "keep  token " + std::to_string(w.token.number) + " of " + w.token.identity;
  }
  std::string operator()(const RevokeToken& w) const {
    return "keep  token " + std::to_string(w.token) + " is revoked";
  }
  std::string operator()(const KeepPool& w) const { return "keep  pool " + w.pool.wish.name; }
  std::string operator()(const KeepLaunch& w) const {
    return "keep  launch " + std::to_string(w.launch.number) + " of pool " +
           std::to_string(w.launch.pool);
  }
  std::string operator()(const DropPool& w) const {
    return "keep  pool " + std::to_string(w.pool) + " is no more";
  }
  std::string operator()(const CollectArtifacts& w) const {
    std::string line = "keep  files removed:";
    for (const CollectedArtifact& one : w.artifacts) line += " " + Text(one.lease) + " " + one.path;
    return line;
  }
};

struct SendLine {
  const SessionNames& names;

  std::string To(SessionId session) const {
    const auto it = names.find(session);
    return "send  " + (it == names.end() ? "nobody" : it->second) + ": ";
  }
  std::string operator()(const SendWelcome& s) const {
    return To(s.session) + "welcome, worker " + std::to_string(s.worker.value);
  }
  std::string operator()(const SendStart& s) const {
    return To(s.session) + "start " + ToText(s.member) + " attempt " + std::to_string(s.attempt) +
           " under " + Text(s.lease) + (s.write_evaluation_set ? ", with evaluation set" : "");
  }
  std::string operator()(const SendStop& s) const {
    return To(s.session) + "stop " + Text(s.lease) + ": " + s.reason;
  }
  std::string operator()(const SendRecordsKept& s) const {
    return To(s.session) + Text(s.lease) + " records kept up to " + std::to_string(s.sequence);
  }
  std::string operator()(const SendSettled& s) const {
    return To(s.session) + Text(s.lease) +
           (s.accepted ? " settled, accepted" : " settled, not accepted: " + s.reason);
  }
  std::string operator()(const CloseSession& s) const {
    return To(s.session) + "goodbye: " + s.reason;
  }
  std::string operator()(const AnswerSubmit& s) const {
    return "answer " + ToText(s.sweep) + ", " + std::to_string(s.members) + " members" +
           (s.resumed ? ", there already" : "");
  }
  std::string operator()(const AnswerCount& s) const {
    return "answer " + std::to_string(s.members) + " members";
  }
  std::string operator()(const AnswerError& s) const { return "answer refused: " + s.message; }
};

}  // namespace

bool Command::Has(std::string_view word) const {
  return std::ranges::find(words, word) != words.end();
}

std::string Command::Value(const std::string& key, const std::string& fallback) const {
  const auto it = values.find(key);
  return it == values.end() ? fallback : it->second;
}

uint64_t Command::Number(const std::string& key, uint64_t fallback) const {
  const auto it = values.find(key);
  return it == values.end() ? fallback : std::stoull(it->second);
}

std::vector<std::string> Command::List(const std::string& key, const std::string& fallback) const {
  return Split(Value(key, fallback), ',');
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : text + separator) {
    if (c != separator) {
      part += c;
    } else if (!part.empty()) {
      parts.push_back(std::exchange(part, ""));
    }
  }
  return parts;
}

Command ParseCommand(const std::string& line) {
  Command command;
  bool quoted = false;
  std::string word;
  const auto finish = [&] {
    const size_t equals = word.find('=');
    if (word.empty()) return;
    if (equals != std::string::npos) {
      command.values[word.substr(0, equals)] = word.substr(equals + 1);
    } else if (command.verb.empty()) {
      command.verb = word;
    } else {
      command.words.push_back(word);
    }
    word.clear();
  };
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ' ' && !quoted)
      finish();
    else
      word += c;
  }
  finish();
  return command;
}

std::string Line(const Write& write) { return std::visit(WriteLine{}, write); }
std::string Line(const Send& send, const SessionNames& names) {
  return std::visit(SendLine{names}, send);
}

}  // namespace noisefloor::test
