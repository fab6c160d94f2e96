#include "coordinator/cli/help.h"

#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"

#include "coordinator/cli/choices.h"

namespace noisefloor::cli {

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";
  const std::string type = TypeName(*option);
  return (type.empty() ? "" : " " + type) + (option->get_required() ? " REQUIRED" : "");
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  std::string footer = Formatter::make_footer(app);
  const CLI::App* root = app;
  while (root->get_parent() != nullptr) root = root->get_parent();
  if (root == app) return footer;
  std::vector<const CLI::Option*> global = root->get_options([root](const CLI::Option* option) {
    return option != root->get_help_ptr() && option != root->get_version_ptr();
  });
  return footer + make_group("Global options", false, std::move(global));
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  return absl::StrReplaceAll(Formatter::make_help(app, std::move(name), mode),
                             {{"\n\n\n", "\n\n"}});
}

std::string HelpCommand(const CLI::App& root) {
  std::string text = root.get_name();
  for (const CLI::App* app = &root; !app->get_subcommands().empty();) {
    app = app->get_subcommands().back();
    text += " " + app->get_name();
  }
  return text + " --help";
}

}  // namespace noisefloor::cli
