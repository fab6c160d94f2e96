#include <algorithm>

#include "fmt/format.h"

#include "common/files/data_roots.h"
#include "common/files/directory.h"
#include "common/trainer_protocol/datasets.h"
#include "coordinator/cli/choices.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/data_search.h"
#include "coordinator/cli/data_sets.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/progress.h"
#include "coordinator/cli/stop_signal.h"
#include "coordinator/cli/table.h"
#include "coordinator/cli/terminal_text.h"
#include "worker/trainer/data/dataset.h"

namespace noisefloor::cli {

namespace {

std::vector<std::string> DownloadableNames() {
  std::vector<std::string> names;
  for (const DownloadableSet& set : DownloadableSets()) names.push_back(set.name);
  return names;
}

std::vector<std::string> KnownNames() {
  std::vector<std::string> names;
  for (const KnownDataset& known : KnownDatasets()) names.emplace_back(known.name);
  return names;
}

// One line that redraws itself on a terminal, else one line per file.
class DownloadLine {
 public:
  explicit DownloadLine(const Context& context) : context_(context) {}
  ~DownloadLine() {
    if (drawn_) context_.err << "\n";
  }

  void Show(const std::string& file, uint64_t received, uint64_t total) {
    if (!context_.ErrRedraws()) {
      if (file != file_) context_.err << "downloading " << file << "\n";
      file_ = file;
      return;
    }
    if (drawn_ && file != file_) context_.err << "\n";
    file_ = file;
    const double share = total > 0 ? static_cast<double>(received) / total : 0;
    context_.err << Style::kLineStart
                 << fmt::format("{} {:5.1f} of {:.1f} MB  {}", Bar(share), received / 1e6,
                                total / 1e6, file)
                 << Style::kClearToRight << std::flush;
    drawn_ = true;
  }

 private:
  const Context& context_;
  std::string file_;
  bool drawn_ = false;
};

class Data final : public Command {
 public:
  std::string_view Name() const override { return "data"; }
  std::string_view Help() const override { return "Download, list and check data sets"; }
  std::string_view Examples() const override {
    return R"(  noisefloor data list
  noisefloor data get fashion-mnist
  noisefloor data get cifar10 --data-root=/data     # stopped: the same command goes on
  noisefloor data verify cifar10 --data-root=/data)";
  }
  void Describe(CLI::App& app) override {
    app.require_subcommand(1);
    get_ = app.add_subcommand("get", "Download a data set, or what is missing of it");
    list_ = app.add_subcommand("list", "The data sets, where from, and which are here");
    verify_ = app.add_subcommand("verify", "Read a data set and check its identity");
    AddName(*get_, DownloadableNames());
    AddName(*verify_, KnownNames());
    for (CLI::App* sub : {get_, list_, verify_}) {
      sub->add_option("--data-root,--to", to_, kDataRootHelp)->type_name("DIRS");
    }
    get_->add_option("--from", from_, "address of a mirror; what comes must have the same hashes")
        ->type_name("URL");
  }

  absl::StatusOr<int> Run(Context& context) override {
    roots_ = DataRoots(context, to_);
    if (get_->parsed()) return Get(context);
    if (verify_->parsed()) return Verify(context);
    return List(context);
  }

 private:
  void AddName(CLI::App& app, const std::vector<std::string>& names) {
    app.add_option("name", name_, JoinChoices(names))
        ->required()
        ->type_name("NAME")
        ->check(OneOf(names));
  }

  absl::StatusOr<int> Get(Context& context) const {
    const DownloadableSet* set = FindDownloadable(name_);  // One of those names.
    const std::string& root = roots_[0];
    const StopSignal stop;
    {
      DownloadLine line(context);
      NF_RETURN_IF_ERROR(
          GetSet(*set, {.data_root = root,
                        .base_url = from_,
                        .progress = [&](const std::string& file, uint64_t received,
                                        uint64_t total) { line.Show(file, received, total); },
                        .stop = [&] { return stop.Requested(); }}));
    }
    context.err << fmt::format("{} is in {}/{}\n", set->name, root, set->folder);
    return kDone;
  }

  // By content, so that another order of the examples in the files is as good.
  absl::StatusOr<int> Verify(Context& context) const {
    const KnownDataset* known = FindDataset(name_);  // One of those names.
    const std::string roots = JoinDataRoots(roots_);
    NF_ASSIGN_OR_RETURN(const trainer::Dataset data, trainer::LoadDataset(*known, roots, {}));
    const absl::Status right = trainer::CheckIdentity(data, known->identity);
    if (context.Json()) {
      PrintJson(context.out, {{"name", name_},
                              {"good", right.ok()},
                              {"identity", data.identity},
                              {"expected", std::string(known->identity)},
                              {"train_examples", data.train.size()},
                              {"test_examples", data.test.size()}});
      return right.ok() ? kDone : kDidNotHold;
    }
    if (!right.ok()) {
      context.err << "noisefloor data: " << Message(right) << "\n";
      return kDidNotHold;
    }
    context.out << fmt::format(
        "{} in {}: {} + {} examples, identity {}{}\n", name_,
        RootOf(*known, FindDownloadable(name_)), data.train.size(), data.test.size(), data.identity,
        known->identity.empty() ? "; whole, but no identity of this set is known to compare with"
                                : ", as expected");
    return kDone;
  }

  absl::StatusOr<int> List(Context& context) const {
    Json sets = Json::array();
    Table table({"name", "here", "folder", "from"});
    for (const KnownDataset& known : KnownDatasets()) {
      const DownloadableSet* set = FindDownloadable(known.name);
      const std::string name(known.name);
      const std::string root = RootOf(known, set);
      const bool here = !root.empty();
      const std::string folder = fmt::format("{}/{}", here ? root : roots_[0], known.folder);
      const std::string from = set != nullptr ? set->base_url : "";
      sets.push_back({{"name", name}, {"here", here}, {"folder", folder}, {"from", from}});
      table.Add({name, here ? "yes" : "no", folder, from.empty() ? "-" : from});
    }
    if (context.Json()) {
      PrintJson(context.out, {{"data_sets", sets}});
    } else {
      table.Print(context);
    }
    return kDone;
  }

  // The first root that holds the set; empty when none does.
  std::string RootOf(const KnownDataset& known, const DownloadableSet* set) const {
    for (const std::string& root : roots_) {
      const bool here = set != nullptr ? MissingFiles(*set, root).empty()
                                       : PathExists(fmt::format("{}/{}", root, known.folder));
      if (here) return root;
    }
    return "";
  }

  CLI::App* get_ = nullptr;
  CLI::App* list_ = nullptr;
  CLI::App* verify_ = nullptr;
  std::string name_;
  std::string to_;
  std::string from_;
  std::vector<std::string> roots_;
};

}  // namespace

std::unique_ptr<Command> MakeData() { return std::make_unique<Data>(); }

}  // namespace noisefloor::cli
