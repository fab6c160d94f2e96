#include "coordinator/cli/choices.h"

#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace noisefloor::cli {

namespace {

// As CLI11 joins a type's name and a check of it.
constexpr std::string_view kOpen = ":{";
constexpr std::string_view kRange = ":INT in [";

// "--output=xml", or "shell fish" of a positional.
std::string Given(const CLI::Option& option, const std::string& value) {
  const char* between = option.get_positional() ? " " : "=";
  return option.get_name() + between + value;
}

}  // namespace

CLI::Validator OneOf(const std::vector<std::string>& names) {
  return CLI::Validator(fmt::format("{{{}}}", fmt::join(names, ",")));
}

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find(kOpen);
  if (open == std::string::npos || !type.ends_with("}")) return {};
  const size_t begin = open + kOpen.size();
  return CLI::detail::split(type.substr(begin, type.size() - 1 - begin), ',');
}

std::string TypeName(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, std::min(type.find(kOpen), type.find(kRange)));
}

std::string WrongChoice(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string> choices = ChoicesOf(*option);
    if (choices.empty()) continue;
    for (const std::string& value : option->results()) {
      if (std::ranges::find(choices, value) != choices.end()) continue;
      return fmt::format("{}: expected {}", Given(*option, value), JoinChoices(choices));
    }
  }
  for (const CLI::App* sub : app.get_subcommands()) {
    if (std::string wrong = WrongChoice(*sub); !wrong.empty()) return wrong;
  }
  return "";
}

std::string JoinChoices(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    const char* between = i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    text += between + names[i];
  }
  return text;
}

}  // namespace noisefloor::cli
