// GPUs that a script plays, for the libraries of this folder. The file that NOISEFLOOR_FAKE_GPUS
// names is read anew at every call, so that a test can let one be lost while it trains:
//
//   driver 575.57.08
//   nvml 18                    result of nvmlInit: 18 = driver and library have other versions
//   cuda 803                   result of cuInit
//   gpu GPU-1 name=Tesla_V100-SXM2-32GB gib=32 capability=7.0
//
// and of a GPU, as it is wanted: cuda_name=N (what CUDA calls it), errors=N (uncorrected), rows=
// pending or failed, lost=1 (both drivers: it has fallen off the bus), processes=N (of others),
// process=N (number of the first of them),
// free_gib=N (what they leave), mig=1 (it is divided), part_of=UUID (one of its parts). '_' in a
// name is a space.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace fake_gpus {

struct Gpu {
  std::string uuid;
  std::map<std::string, std::string> said;

  std::string Text(const std::string& key, const std::string& otherwise = "") const {
    const auto it = said.find(key);
    std::string text = it == said.end() ? otherwise : it->second;
    for (char& c : text) c = c == '_' ? ' ' : c;
    return text;
  }
  uint64_t Number(const std::string& key, uint64_t otherwise = 0) const {
    const auto it = said.find(key);
    return it == said.end() ? otherwise : std::strtoull(it->second.c_str(), nullptr, 10);
  }
  uint64_t Bytes() const { return Number("gib") << 30; }
};

struct Script {
  std::string driver = "575.57.08";
  int nvml = 0;
  int cuda = 0;
  std::vector<Gpu> gpus;

  const Gpu* Find(const std::string& uuid) const {
    for (const Gpu& gpu : gpus) {
      if (gpu.uuid == uuid) return &gpu;
    }
    return nullptr;
  }
  std::vector<std::string> PartsOf(const std::string& whole) const {
    std::vector<std::string> parts;
    for (const Gpu& gpu : gpus) {
      if (gpu.Text("part_of") == whole) parts.push_back(gpu.uuid);
    }
    return parts;
  }
  std::vector<std::string> Wholes() const { return PartsOf(""); }
};

inline Script Read() {
  Script script;
  const char* path = std::getenv("NOISEFLOOR_FAKE_GPUS");
  std::ifstream file(path == nullptr ? "" : path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "driver") words >> script.driver;
    if (verb == "nvml") words >> script.nvml;
    if (verb == "cuda") words >> script.cuda;
    if (verb != "gpu") continue;
    Gpu gpu;
    words >> gpu.uuid;
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      gpu.said[word.substr(0, equals)] = word.substr(equals + 1);
    }
    script.gpus.push_back(std::move(gpu));
  }
  return script;
}

}  // namespace fake_gpus
