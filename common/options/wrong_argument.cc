#include "common/options/wrong_argument.h"

#include <algorithm>
#include <string_view>

#include "fmt/format.h"

#include "common/base/nearest.h"

namespace noisefloor {

namespace {

// Empty when nothing was left over.
std::string WrongArgument(const CLI::App& root) {
  const std::vector<std::string> left = root.remaining(true);
  if (left.empty() || left[0] == "--") return "";
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

// "missing sweep: the sweep, such as s3" for the first argument that is missing; else empty.
std::string MissingArgument(const CLI::App& root) {
  const CLI::App* app = &root;
  for (auto chosen = app->get_subcommands(); !chosen.empty(); chosen = app->get_subcommands()) {
    app = chosen.back();
  }
  for (const CLI::Option* option : app->get_options()) {
    if (!option->get_required() || option->count() > 0 || !option->get_positional()) continue;
    return fmt::format("missing {}: {}", option->get_name(true), option->get_description());
  }
  return "";
}

}  // namespace

std::string UsageMessage(const CLI::App& root, const CLI::ParseError& error) {
  const bool has_extras = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  std::string wrong = WrongArgument(root);
  if (has_extras ? !wrong.empty() : wrong.starts_with("unknown option")) return wrong;
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError)) {
    if (const std::string missing = MissingArgument(root); !missing.empty()) return missing;
  }
  return error.what();
}

std::vector<std::string> WithEmptyValues(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  words.reserve(arguments.size());
  bool options_end = false;
  for (const std::string& argument : arguments) {
    options_end = options_end || argument == "--";
    const bool is_empty = !options_end && argument.starts_with("--") && argument.size() > 3 &&
                          argument.find('=') == argument.size() - 1;
    if (!is_empty) {
      words.push_back(argument);
      continue;
    }
    words.push_back(argument.substr(0, argument.size() - 1));
    words.emplace_back();
  }
  return words;
}

std::string EmptyValue(const CLI::App& root) {
  for (const CLI::Option* option : root.get_options()) {
    const std::string type = option->get_type_name();
    // Flags have values that nobody typed.
    if (option->get_positional() || option->get_expected_max() == 0 || type == "TEXT") continue;
    if (std::ranges::none_of(option->results(), &std::string::empty)) continue;
    return fmt::format("{}: expected {}, got nothing", option->get_name(), type);
  }
  for (const CLI::App* command : root.get_subcommands()) {
    if (std::string empty = EmptyValue(*command); !empty.empty()) return empty;
  }
  return "";
}

}  // namespace noisefloor
