#include "coordinator/cli/completion_script.h"

#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/cli/choices.h"

namespace noisefloor::cli {

namespace {

// The cases of the script's three tables, by the path of the command: "run", "data get".
struct Tables {
  std::string commands;
  std::string flags;
  std::string values;
};

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// The flags with "=" behind those that take a value. Hidden ones stay so; every command has its own
// --help, so the program's is not one that all share.
std::string Flags(const CLI::App& app, bool shared = false) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty() || (shared && option == app.get_help_ptr())) continue;
    for (const std::string& name : option->get_lnames()) {
      flags.push_back(fmt::format("--{}{}", name, TakesValue(*option) ? "=" : ""));
    }
  }
  return fmt::format("{}", fmt::join(flags, " "));
}

std::string Commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  return fmt::format("{}", fmt::join(names, " "));
}

// What to offer where the value goes; empty: nothing is known of it.
std::string Offer(const CLI::Option& option) {
  if (const auto choices = ChoicesOf(option); !choices.empty()) {
    return fmt::format("words {}", fmt::join(choices, " "));
  }
  const std::string type = TypeName(option);
  if (type == "FILE" || type == "SWEEP") return "files";
  if (type == "ID") return "ids";
  return type.starts_with("DIR") ? "folders" : "";
}

void AddValues(const CLI::App& app, const std::string& path, std::string& values) {
  int position = 0;
  for (const CLI::Option* option : app.get_options()) {
    std::vector<std::string> keys;
    for (const std::string& name : option->get_lnames()) keys.push_back("--" + name);
    if (option->get_positional()) keys.push_back(std::to_string(position++));
    const std::string offer = Offer(*option);
    if (offer.empty()) continue;
    for (const std::string& key : keys) {
      // Global options, whose path is empty, go with every command.
      const std::string pattern =
          path.empty() ? fmt::format("*' {}'", key) : fmt::format("'{} {}'", path, key);
      values += fmt::format("    {}) printf '%s' '{}' ;;\n", pattern, offer);
    }
  }
}

void AddCommand(const CLI::App& app, const std::string& path, const std::string& global,
                Tables& tables) {
  if (const std::string below = Commands(app); !below.empty()) {
    tables.commands += fmt::format("    '{}') printf '%s' '{}' ;;\n", path, below);
  }
  const std::string own = Flags(app);
  tables.flags +=
      fmt::format("    '{}') printf '%s' '{}' ;;\n", path, path.empty() ? own : own + " " + global);
  for (const CLI::App* sub : app.get_subcommands({})) {
    AddCommand(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), global, tables);
  }
  AddValues(app, path, tables.values);  // After those below it: the global ones come last.
}

// The pieces of the script; the tables go between them.
constexpr std::string_view kCommands =
    R"sh(# bash completion for noisefloor; use: source <(noisefloor completion bash)
_noisefloor_commands() {  # PATH: the commands below it.
  case "$1" in
)sh";
constexpr std::string_view kFlags = R"sh(    *) ;;
  esac
}
_noisefloor_flags() {  # PATH: its flags, with "=" where a value follows.
  case "$1" in
)sh";
constexpr std::string_view kValues = R"sh(    *) ;;
  esac
}
_noisefloor_values() {  # PATH FLAG or PATH POSITION: "words A B", "files", "ids"...; or nothing
  case "$1 $2" in
)sh";
constexpr std::string_view kMain = R"sh(    *) ;;
  esac
}
_noisefloor() {
  local IFS=$' \t\n' path='' position=0 option='' prefix='' offer glued='' word current value
  local finished=''
  local -a words=() where=()  # `where`: which coordinator is asked for ids.
  # bash parts words at "=" and ":" too, if COMP_WORDBREAKS says so; here they are whole again.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if ((${#words[@]})) && [[ -n "$glued" || "$word" == [=:]* ]]; then
      words[-1]+="$word"
    else
      words+=("$word")
    fi
    [[ "$word" == [=:]* ]] && glued=1 || glued=''
  done
  current="${words[-1]-}"
  for word in "${words[@]:0:${#words[@]}-1}"; do
    [[ "$word" == --home=* || "$word" == --coordinator=* ]] && where+=("$word")
    if [[ -n "$option" ]]; then
      [[ "$option" == --home || "$option" == --coordinator ]] && where+=("$option=$word")
      option=''  # This is the value of the flag before it.
    elif [[ "$word" == -* ]]; then
      [[ " $(_noisefloor_flags "$path") " == *" $word= "* ]] && option="$word"
    elif [[ " $(_noisefloor_commands "$path") " == *" $word "* ]]; then
      path+="${path:+ }$word"
      position=0
    else
      ((position++))
    fi
  done
  if [[ -n "$option" ]]; then
    offer="$(_noisefloor_values "$path" "$option")"
  elif [[ "$current" == --*=* ]]; then
    prefix="${current%%=*}="
    offer="$(_noisefloor_values "$path" "${prefix%=}")"
  elif [[ "$current" == -* ]]; then
    offer="words $(_noisefloor_flags "$path")"
  elif [[ -n "$(_noisefloor_commands "$path")" ]]; then
    offer="words $(_noisefloor_commands "$path")"
  else
    offer="$(_noisefloor_values "$path" "$position")"
  fi
  value="${current#"$prefix"}"
  if [[ "$offer" == folders && "$value" == *:* ]]; then  # The last of several.
    prefix+="${value%:*}:"
    value="${value##*:}"
  fi
  COMPREPLY=()
  case "$offer" in
    words*) mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "${offer#words}" -- "$value") ;;
    files) mapfile -t COMPREPLY < <(compgen -P "$prefix" -f -- "$value") ;;
    folders) mapfile -t COMPREPLY < <(compgen -P "$prefix" -d -- "$value") ;;
    ids) mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$(timeout 2 "${COMP_WORDS[0]}" \
      completion bash --ids="$value" "${where[@]}" 2> /dev/null < /dev/null)" -- "$value") ;;
  esac
  # What bash took for words of their own stands already and must not come again.
  [[ "$COMP_WORDBREAKS" == *=* && "$current" == *=* ]] && finished="${current%"${current##*=}"}"
  [[ "$COMP_WORDBREAKS" == *:* && "${current#"$finished"}" == *:* ]] && finished="${current%:*}:"
  COMPREPLY=("${COMPREPLY[@]#"$finished"}")
  # Only now are they names of files; elsewhere bash would escape "=" and add slashes.
  [[ "$offer" == fi* || "$offer" == fo* ]] && [[ "$finished" == "$prefix" ]] &&
    compopt -o filenames 2> /dev/null
  [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *= ]] && compopt -o nospace 2> /dev/null
  return 0
}
complete -F _noisefloor noisefloor
)sh";

}  // namespace

std::string BashCompletion(const CLI::App& root) {
  Tables tables;
  AddCommand(root, "", Flags(root, true), tables);
  return fmt::format("{}{}{}{}{}{}{}", kCommands, tables.commands, kFlags, tables.flags, kValues,
                     tables.values, kMain);
}

}  // namespace noisefloor::cli
