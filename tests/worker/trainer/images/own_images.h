// Small folders of pictures that a user might have, as tests make them.
#pragma once

#include <string>
#include <vector>

#include "tests/worker/trainer/data/data_files.h"
#include "tests/worker/trainer/images/image_files.h"
#include "worker/trainer/images/image_set.h"

namespace noisefloor::trainer {

inline constexpr const char* kFaces =
    "file,split,smiling,old,city,age\n"
    "a.png,train,1,0,Bern,30\n"
    "b.png,train,0,1,\"Bern, old town\",4\n"
    "c.jpg,train,0,0,Oslo,30\n"
    "d.png,test,1,1,Oslo,4\n"
    "e.png,test,0,1,Bern,100\n"
    "f.png,unused,,,,\n"
    "g.png,train,0,1,Oslo,100\n";

inline ImageSettings FacesSettings() {
  return {.name = "faces",
          .image_size = 8,
          .labels = "smiling,old",
          .groups = "city,age",
          .attributes = true};
}

inline std::string Shot(uint64_t seed) { return test::Png(test::Rgb(10, 9, seed), 10, 9); }

inline void PutFaces(const DataRoot& root) {
  root.Put("faces/labels.csv", kFaces);
  uint64_t seed = 1;
  for (const char* name : {"a.png", "b.png", "d.png", "e.png", "f.png", "g.png"}) {
    root.Put(std::string("faces/") + name, Shot(seed++));
  }
  root.Put("faces/c.jpg", test::Jpeg(test::Rgb(20, 12, 9), 20, 12));
  root.Put("faces/README.txt", "no picture");
}

// train/ and val/ with classes cat and dog.
inline ImageSettings PetsSettings() { return {.name = "pets", .image_size = 8}; }

inline std::vector<std::string> PetPaths() {
  return {"train/cat/1.png", "train/cat/2.png", "train/dog/1.png",
          "train/dog/2.png", "val/cat/1.png",   "val/dog/1.png"};
}

inline void PutPets(const DataRoot& root) {
  uint64_t seed = 1;
  for (const std::string& path : PetPaths()) root.Put("pets/" + path, Shot(seed++));
}

inline std::vector<test::TarEntry> PetsEntries() {
  std::vector<test::TarEntry> entries = {{"train", "", '5'}};
  uint64_t seed = 1;
  for (const std::string& path : PetPaths()) entries.push_back({path, Shot(seed++)});
  return entries;
}

inline std::string PetsTar() { return test::Tar(PetsEntries()); }

// As bytes, in order.
inline std::string ImagesOf(const Split& split) {
  std::string all;
  for (uint32_t i = 0; i < split.size(); ++i) {
    all.append(reinterpret_cast<const char*>(split.Image(i)),
               static_cast<size_t>(split.shape.pixels()));
  }
  return all;
}

inline absl::StatusOr<Dataset> Load(const DataRoot& root, const ImageSettings& settings,
                                    ExampleLimits limits = {}, int64_t threads = 1) {
  return LoadImages(settings, {.data_root = root.path(), .threads = threads}, limits,
                    absl::InfiniteFuture());
}

}  // namespace noisefloor::trainer
