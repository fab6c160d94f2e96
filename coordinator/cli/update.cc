#include <algorithm>
#include <optional>
#include <vector>

#include "fmt/format.h"

#include "common/base/printable.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/sharing.h"

namespace noisefloor::cli {

namespace {

class Update final : public Command {
 public:
  std::string_view Name() const override { return "update"; }
  std::string_view Help() const override {
    return "Change how a sweep shares the fleet, its notes and its tags";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor update s3 --priority=10
  noisefloor update s3 --weight=3
  noisefloor update s3 --max-failures=5 --notes="for the second figure"
  noisefloor update s3 --limit nvidia-h200=4
  noisefloor update s3 --gpu-hours=200
  noisefloor update s3 --tag paper=main --untag draft)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep, such as s3")->required()->type_name("ID");
    app.add_option("--priority", priority_, "sweeps of a higher one go first, -1000 to 1000")
        ->type_name("N")
        ->check(CLI::Range(-1000, 1000));
    app.add_option("--weight", weight_,
                   "its part of what its owner gets, against the owner's other sweeps, 1 to 1000")
        ->type_name("N")
        ->check(CLI::Range(1, 1000));
    app.add_option("--max-failures", max_failures_,
                   "cancel what waits when so many members failed; 0: never")
        ->type_name("N");
    DescribeLimits(app, limits_);
    app.add_option("--gpu-hours", gpu_hours_,
                   "begin nothing more when its attempts have had so many; 0: no bound")
        ->type_name("HOURS")
        ->check(Hours());
    app.add_option("--notes", notes_, "what is said of it from now on")->type_name("TEXT");
    app.add_option("--tag", tags_, "a tag to set, as key=value; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app.add_option("--untag", removed_, "a tag to take away; may be repeated")
        ->type_name("KEY")
        ->allow_extra_args(false);
  }
  absl::StatusOr<int> Run(Context& context) override {
    v1::UpdateSweepRequest change;
    if (priority_) change.set_priority(*priority_);
    if (weight_) change.set_weight(*weight_);
    if (max_failures_) change.set_max_failures(*max_failures_);
    if (gpu_hours_) change.set_gpu_hours(*gpu_hours_);
    if (notes_) change.set_notes(*notes_);
    for (const std::string& tag : tags_) {
      const size_t equals = tag.find('=');
      if (equals == std::string::npos || equals == 0) {
        return InvalidInput(fmt::format("--tag={}: expected KEY=VALUE", tag));
      }
      const std::string key = tag.substr(0, equals);
      if (!change.mutable_set_tags()->insert({key, tag.substr(equals + 1)}).second) {
        return InvalidInput(
            fmt::format("--tag={}: {} is given twice", PrintableLine(tag), PrintableLine(key)));
      }
      if (std::ranges::find(removed_, key) != removed_.end()) {
        return InvalidInput(
            fmt::format("--tag={}: --untag takes {} away", PrintableLine(tag), PrintableLine(key)));
      }
    }
    NF_RETURN_IF_ERROR(TakeLimits(limits_, 0, *change.mutable_set_limits()));
    for (const std::string& tag : removed_) change.add_remove_tags(tag);
    return ChangeSweep(context, sweep_, std::move(change));
  }

 private:
  std::string sweep_;
  std::optional<int32_t> priority_;
  std::optional<uint32_t> weight_;
  std::optional<uint32_t> max_failures_;
  std::vector<std::string> limits_;
  std::optional<double> gpu_hours_;
  std::optional<std::string> notes_;
  std::vector<std::string> tags_;
  std::vector<std::string> removed_;
};

}  // namespace

std::unique_ptr<Command> MakeUpdate() { return std::make_unique<Update>(); }

}  // namespace noisefloor::cli
