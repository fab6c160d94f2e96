#include "worker/trainer/torch/options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <optional>
#include <utility>

#include "common/options/wrong_argument.h"

namespace noisefloor::trainer {

namespace {

constexpr const char* kDescription =
    "Trains one member and exits. Reads one request (JSON) on standard input and writes events\n"
    "(JSON lines) on the descriptor named in NOISEFLOOR_EVENTS, or on standard output.\n"
    "worker/trainer/README.md describes both.";
constexpr const char* kExamples =
    "Example, without a worker:\n"
    "  noisefloor-trainer --example-spec > spec.json\n"
    "  noisefloor-trainer --spec=spec.json --data-root=data --work=out\n"
    "Exit codes: 0 done or diverged, 1 not printed whole, 2 usage, 10 bad specification,\n"
    "  11 bad data, 12 out of memory, 13 lost device, 14 interrupted, 15 bug.";

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

constexpr uint64_t kMostCacheMib = uint64_t{1} << 30;

// What is not a number of MiB counts as not said.
uint64_t LimitFromEnvironment() {
  constexpr uint64_t kDefaultMib = 4096;
  const std::string text = FromEnvironment("NOISEFLOOR_CACHE_LIMIT");
  char* end = nullptr;
  const uint64_t mib = std::strtoull(text.c_str(), &end, 10);
  return *end == 0 && mib > 0 && mib <= kMostCacheMib ? mib : kDefaultMib;
}

constexpr double kCheckpointSeconds = 60;

// A number from 0; "inf": only when asked to stop.
std::optional<double> SecondsIn(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !(seconds >= 0)) return std::nullopt;
  return seconds;
}

// What is no number of seconds counts as not said.
double CheckpointSecondsFromEnvironment() {
  return SecondsIn(FromEnvironment("NOISEFLOOR_CHECKPOINT_SECONDS")).value_or(kCheckpointSeconds);
}

// For CLI11: what is wrong with the text; empty: nothing.
std::string WhyNoSeconds(const std::string& text) {
  return SecondsIn(text) ? "" : text + ": expected seconds, from 0 on, or inf";
}

void AddCache(CLI::App& app, Options& options, uint64_t& limit_mib) {
  app.add_option("--cache", options.cache,
                 "Folder of data sets that are read only once (default: $NOISEFLOOR_CACHE, else "
                 "none)");
  app.add_option("--cache-limit", limit_mib,
                 "MiB that may lie there unused (default: $NOISEFLOOR_CACHE_LIMIT, else 4096)")
      ->check(CLI::Range(uint64_t{1}, kMostCacheMib));
}

void AddCheckpoints(CLI::App& app, Options& options, double& seconds) {
  app.add_option("--checkpoints", options.checkpoints,
                 "Folder in which an interrupted member goes on (default: "
                 "$NOISEFLOOR_CHECKPOINTS; none: nothing is kept)")
      ->type_name("DIR");
  app.add_option("--checkpoint-every", seconds,
                 "Seconds from one checkpoint to the next; inf: only when asked to stop (default: "
                 "$NOISEFLOOR_CHECKPOINT_SECONDS, else 60)")
      ->type_name("SECONDS")
      ->check(WhyNoSeconds);
}

Options Printing(Options::Mode mode, std::string text) {
  Options options;
  options.mode = mode;
  options.text = std::move(text);
  return options;
}

}  // namespace

Options ParseOptions(int argc, char** argv, std::string_view stack) {
  Options options;
  options.data_root = FromEnvironment("NOISEFLOOR_DATA");
  options.gpu = !FromEnvironment("CUDA_VISIBLE_DEVICES").empty();
  options.cache = FromEnvironment("NOISEFLOOR_CACHE");
  options.checkpoints = FromEnvironment("NOISEFLOOR_CHECKPOINTS");
  uint64_t cache_limit_mib = LimitFromEnvironment();
  double checkpoint_seconds = CheckpointSecondsFromEnvironment();
  bool describe = false, example = false, serve_forks = false;
  std::string probe;
  CLI::App app(kDescription, "noisefloor-trainer");
  app.footer(kExamples);
  const std::string version =
      "noisefloor-trainer " NOISEFLOOR_VERSION " (" + std::string(stack) + ")";
  app.set_version_flag("--version", version, "Print the version and exit");
  app.add_flag("--describe", describe, "Print what this trainer is as one JSON object");
  app.add_option("--probe", probe,
                 "Try a convolution and a matrix product as this hardware class, and print what "
                 "came of it as one JSON object")
      ->type_name("CLASS");
  app.add_flag("--example-spec", example, "Print a specification to start from");
  app.add_flag("--gpu", options.gpu, "Open CUDA at the start (default: CUDA_VISIBLE_DEVICES set)");
  auto* spec = app.add_option("--spec", options.specification_file,
                              "Train this specification instead of a request");
  app.add_option("--data-root", options.data_root,
                 "Where data sets are (default: $NOISEFLOOR_DATA)")
      ->needs(spec);
  auto* work = app.add_option("--work", options.work_directory, "Folder for the files; made if new")
                   ->needs(spec);
  spec->needs(work);
  app.add_option("--weights", options.weights,
                 "Train nothing: evaluate the weights of this .safetensors file")
      ->type_name("FILE")
      ->needs(spec);
  app.add_flag("--evaluation-set", options.write_evaluation_set,
               "Also write the test images and labels")
      ->needs(spec);
  app.add_flag("--serve-forks", serve_forks,
               "Stay, and fork a trainer for each request on the socket that is standard input");
  AddCache(app, options, cache_limit_mib);
  AddCheckpoints(app, options, checkpoint_seconds);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Printing(Options::Mode::kPrint, app.help() + "\n");
  } catch (const CLI::CallForVersion&) {
    return Printing(Options::Mode::kPrint, version + "\n");
  } catch (const CLI::ParseError& error) {
    return Printing(Options::Mode::kMistake, "noisefloor-trainer: " + UsageMessage(app, error) +
                                                 "\nSee `noisefloor-trainer --help`.\n");
  }
  options.cache_limit_bytes = cache_limit_mib << 20;
  options.checkpoint_every = absl::Seconds(checkpoint_seconds);
  options.probed_class = probe;
  if (describe)
    options.mode = Options::Mode::kDescribe;
  else if (!probe.empty())
    options.mode = Options::Mode::kProbe;
  else if (serve_forks)
    options.mode = Options::Mode::kServeForks;
  else if (example)
    options.mode = Options::Mode::kExampleSpec;
  else if (!options.specification_file.empty())
    options.mode = Options::Mode::kDirect;
  return options;
}

}  // namespace noisefloor::trainer
