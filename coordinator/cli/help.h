// How `--help` reads.
#pragma once

#include <string>

#include "CLI/App.hpp"
#include "CLI/Formatter.hpp"

namespace noisefloor::cli {

// As CLI11's, but: an option shows what it takes and nothing of its checks, the help of a command
// ends with the options of the whole program, and no two lines are empty in a row. Stateless.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_footer(const CLI::App* app) const override;
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

// The command that helps on what was typed: "noisefloor data get --help".
std::string HelpCommand(const CLI::App& root);

}  // namespace noisefloor::cli
