#include "common/options/wrong_argument.h"

#include <string_view>
#include <vector>

#include "fmt/format.h"

#include "common/base/nearest.h"

namespace noisefloor {

namespace {

// Empty when nothing was left over.
std::string WrongArgument(const CLI::App& root) {
  const std::vector<std::string> left = root.remaining(true);
  if (left.empty()) return "";
  if (!left[0].starts_with("-")) return "unexpected argument " + left[0];
  const std::string word = left[0].substr(0, left[0].find('='));
  std::vector<std::string> known;
  for (const CLI::App* app = &root; app != nullptr;) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    const auto chosen = app->get_subcommands();
    app = chosen.empty() ? nullptr : chosen.back();
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string_view nearest = Nearest(word, names);
  const std::string hint = nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
  return fmt::format("unknown option {}{}", word, hint);
}

}  // namespace

std::string UsageMessage(const CLI::App& root, const CLI::ParseError& error) {
  const bool has_extras = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  std::string wrong = WrongArgument(root);
  if (has_extras ? !wrong.empty() : wrong.starts_with("unknown option")) return wrong;
  return error.what();
}

}  // namespace noisefloor
