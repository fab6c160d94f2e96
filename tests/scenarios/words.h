// One command of a story, and effects as lines of text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/scheduler/effect.h"

namespace noisefloor::test {

// "finish box lease=1 done batches=2": verb, plain words, and values by key. A value in double
// quotes may hold spaces.
struct Command {
  std::string verb;
  std::vector<std::string> words;
  std::map<std::string, std::string> values;

  std::string Word(size_t place) const { return place < words.size() ? words[place] : ""; }
  bool Has(std::string_view word) const;
  std::string Value(const std::string& key, const std::string& fallback = "") const;
  uint64_t Number(const std::string& key, uint64_t fallback) const;
  std::vector<std::string> List(const std::string& key, const std::string& fallback = "") const;
};
Command ParseCommand(const std::string& line);
std::vector<std::string> Split(const std::string& text, char separator);

// Names of workers by session, for the lines of sends.
using SessionNames = std::map<SessionId, std::string>;

std::string Line(const scheduler::Write& write);
std::string Line(const scheduler::Send& send, const SessionNames& names);

}  // namespace noisefloor::test
