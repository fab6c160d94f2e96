#include "coordinator/query/load_study.h"

namespace noisefloor::query {

std::vector<std::string> ClassNames(std::string_view data_set) {
  if (data_set == "fashion-mnist" || data_set == "fashion-mnist-sample") {
    return {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
            "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  }
  if (data_set == "mnist") return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  if (data_set == "cifar10") {
    return {"airplane", "automobile", "bird",  "cat",  "deer",
            "dog",      "frog",       "horse", "ship", "truck"};
  }
  return {};
}

}  // namespace noisefloor::query
