#include "coordinator/inputs/merge.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "coordinator/cli/commands.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/study_output.h"
#include "coordinator/inputs/read_export.h"

namespace noisefloor::cli {

namespace {

class Merge final : public Command {
 public:
  std::string_view Name() const override { return "merge"; }
  std::string_view Help() const override {
    return "Make one study of exported sweeps, of coordinators that need not have met";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor export s1 --to=lab1                 # at each site
  noisefloor merge lab1 lab2 lab3
  noisefloor merge lab1 lab2 lab3 --to=report.html
  noisefloor merge lab1 --output=json            # its study again, without a coordinator

Every site runs the same sweep file, seed and all, on its own hardware; equal seeds pair their
replicates, as within one sweep.)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("folders", folders_, "folders that export wrote")->required()->type_name("DIR");
    app.add_flag("--keep-first", options_.keep_first,
                 "where two have other results for the same draws on the same class, keep those "
                 "of the folder that comes first");
    output_.Describe(app);
  }

  absl::StatusOr<int> Run(Context& context) override {
    NF_RETURN_IF_ERROR(output_.Form(context).status());  // Before anything takes long.
    if (!output_.to().empty()) {
      NF_RETURN_IF_ERROR(CheckIsNoneOfAnExport(LinkTarget(output_.to())));
    }
    std::vector<inputs::Site> sites;
    std::set<std::string> seen;
    for (std::string folder : folders_) {
      while (folder.size() > 1 && folder.ends_with("/")) folder.pop_back();
      if (!seen.insert(LinkTarget(folder)).second) {
        return InvalidInput(fmt::format("{}: expected each folder once", folder));
      }
      NF_ASSIGN_OR_RETURN(inputs::StudySource source, inputs::ReadSource(folder));
      // Those that another site's stand for, too: damage proves nothing.
      NF_RETURN_IF_ERROR(inputs::CheckFiles(source));
      context.err << fmt::format("{}: {} of {} ({})\n", folder,
                                 Counted(source.members.size(), "member"), source.input.sweep.id,
                                 source.input.sweep.name);
      sites.push_back({std::move(folder), std::move(source)});
    }
    NF_ASSIGN_OR_RETURN(inputs::StudySource merged, inputs::Merge(std::move(sites), options_));
    merged.input.sweep.noisefloor_version = NOISEFLOOR_VERSION;
    NF_ASSIGN_OR_RETURN(const inputs::LoadedStudy loaded,
                        inputs::LoadWhole(std::move(merged), inputs::FindChecked));
    NF_RETURN_IF_ERROR(output_.Tell(context, inputs::BuildStudy(loaded)));
    return kDone;
  }

 private:
  std::vector<std::string> folders_;
  inputs::MergeOptions options_;
  StudyOutput output_;
};

}  // namespace

std::unique_ptr<Command> MakeMerge() { return std::make_unique<Merge>(); }

}  // namespace noisefloor::cli
