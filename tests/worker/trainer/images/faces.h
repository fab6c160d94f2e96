// A study like those of faces, made of a data set that is here: real JPEGs with attributes and
// groups, where one attribute is tied to another in training and free of it in tests.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace noisefloor::test {

struct FacesOptions {
  std::string data_root;
  std::string from = "fashion-mnist-sample";  // Any known set.
  std::string to;                             // The folder that is filled; it must be empty or new.
  int64_t train = 2000;
  int64_t test = 500;
  int64_t side = 56;  // Of the pictures in pixels.
  uint64_t seed = 1;
};

// Pictures img/NNNNNN.jpg and labels.csv with the columns
//   upper    1 where the class is of the upper half of the classes
//   even     1 where its number is even
//   warm     how the picture is tinted, red or blue; in 95 % of the training pictures it is what
//            `upper` is, in tests it is free of it. What a network takes for `upper` that it is not
//   label    the class
//   camera   one of a, b and c, by lot: a group that nothing shows
// All draws come from the seed.
absl::Status MakeFaces(const FacesOptions& options);

}  // namespace noisefloor::test
