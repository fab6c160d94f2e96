#include "coordinator/cli/completion_script.h"

#include <vector>

#include "fmt/format.h"

namespace noisefloor::cli {

namespace {

// The flags with "=" behind those that take a value.
std::string Flags(const CLI::App& app) {
  std::string flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      const bool takes_value = option->get_items_expected_max() > 0;
      flags += fmt::format("{}--{}{}", flags.empty() ? "" : " ", name, takes_value ? "=" : "");
    }
  }
  return flags;
}

std::string Commands(const CLI::App& app) {
  std::string names;
  for (const CLI::App* sub : app.get_subcommands({})) {
    names += (names.empty() ? "" : " ") + sub->get_name();
  }
  return names;
}

// One branch per command path: "run", "data get".
void AddBranches(const CLI::App& app, const std::string& path, const std::string& global,
                 std::string& commands, std::string& flags) {
  if (const std::string below = Commands(app); !below.empty()) {
    commands += fmt::format("    '{}') printf '%s' '{}' ;;\n", path, below);
  }
  const std::string own = Flags(app);
  flags +=
      fmt::format("    '{}') printf '%s' '{}' ;;\n", path, path.empty() ? own : own + " " + global);
  for (const CLI::App* sub : app.get_subcommands({})) {
    AddBranches(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), global,
                commands, flags);
  }
}

// Three pieces; the tables of commands and of flags by path go between them.
constexpr std::string_view kHead =
    R"sh(# bash completion for noisefloor; use: source <(noisefloor completion bash)
_noisefloor_commands() {
  case "$1" in
)sh";
constexpr std::string_view kMiddle = R"sh(    *) ;;
  esac
}
_noisefloor_flags() {
  case "$1" in
)sh";
constexpr std::string_view kTail = R"sh(    *) ;;
  esac
}
_noisefloor() {
  # Words are split at blanks here, not at "=" and ":" as bash does.
  local line="${COMP_LINE:0:COMP_POINT}" word path='' current=''
  local -a words
  read -r -a words <<< "$line"
  [[ "$line" == *[[:space:]] ]] || { current="${words[-1]}"; unset 'words[-1]'; }
  for word in "${words[@]:1}"; do
    case " $(_noisefloor_commands "$path") " in
      *" $word "*) path="${path:+$path }$word" ;;
    esac
  done
  COMPREPLY=()
  case "$current" in
    --*=*) mapfile -t COMPREPLY < <(compgen -f -- "${current#*=}"); return 0 ;;
    -*) mapfile -t COMPREPLY < <(compgen -W "$(_noisefloor_flags "$path")" -- "$current") ;;
    *)
      mapfile -t COMPREPLY < <(compgen -W "$(_noisefloor_commands "$path")" -- "$current")
      [[ -n "$path" && ${#COMPREPLY[@]} -eq 0 ]] &&
        mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
  esac
  [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *= ]] && compopt -o nospace 2> /dev/null
  return 0
}
complete -o filenames -F _noisefloor noisefloor
)sh";

}  // namespace

std::string BashCompletion(const CLI::App& root) {
  std::string commands;
  std::string flags;
  AddBranches(root, "", Flags(root), commands, flags);
  return fmt::format("{}{}{}{}{}", kHead, commands, kMiddle, flags, kTail);
}

}  // namespace noisefloor::cli
