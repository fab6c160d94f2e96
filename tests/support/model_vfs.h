// Lets SQLite lie on a ModelDisk: while one of these lives, it is what SQLite opens files through
// unless asked for another. It does what SQLite's own for Unix does, with the same syncs of
// folders; of locks it has none, as one connection at a time uses it. The file of shared memory is
// memory, gone with the object, as with the machine.
#pragma once

#include <sqlite3.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/model_disk.h"

namespace noisefloor {

class ModelVfs {
 public:
  explicit ModelVfs(ModelDisk& disk);
  ~ModelVfs();
  ModelVfs(const ModelVfs&) = delete;
  ModelVfs& operator=(const ModelVfs&) = delete;

  ModelDisk& disk() { return disk_; }
  // Page `number` of the shared memory beside the database `path`; null when it is not there yet.
  void* SharedMemory(const std::string& path, int number, int size_bytes, bool extend);
  void ForgetSharedMemory(const std::string& path) { shared_.erase(path); }

 private:
  ModelDisk& disk_;
  sqlite3_vfs vfs_ = {};
  sqlite3_vfs* before_ = nullptr;  // What SQLite opened files through.
  std::map<std::string, std::vector<std::unique_ptr<char[]>>> shared_;
};

}  // namespace noisefloor
