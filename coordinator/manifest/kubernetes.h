// Workers on Kubernetes: a Job for each, as text that people apply. Nothing here talks to a
// cluster.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "common/base/status.h"

namespace noisefloor {

// A PersistentVolumeClaim, mounted.
struct ClaimMount {
  std::string claim;
  std::string path;  // Absolute.
  bool read_only = false;
};

struct KubernetesWish {
  std::string name;                  // Of the workers together; lower-case letters, digits, '-'.
  uint32_t workers = 1;              // At one time.
  std::string image;                 // With noisefloor-worker in it.
  std::string program;               // Of the image: a path, or a name on its PATH.
  std::string space = "default";     // Kubernetes' namespace.
  std::string gpu_product;           // What nvidia.com/gpu.product says of a node; empty: any.
  uint32_t gpus = 0;                 // Of each worker.
  std::string cpus;                  // Kubernetes' quantities, for each worker: "4", "500m".
  std::string memory;                // "16Gi".
  std::string scratch;               // Of the node's disk, for the state and for /tmp each.
  int64_t time_seconds = 0;          // Of a worker's life from when a node has it; 0: no limit.
  int64_t drain_before_seconds = 0;  // Before that it begins nothing new.
  int64_t idle_seconds = 0;          // Without a member it leaves; 0: it stays.
  int64_t grace_seconds = 30;     // A trainer has, to keep its checkpoint once it is asked to end.
  int64_t user = 10001;           // Number that all of it runs as, not root.
  std::string hardware;           // Class that its workers must have; empty: what they find.
  uint32_t gpus_per_slot = 1;     // Of that class.
  std::string secret;             // Name of the Secret with the key `worker.access`.
  std::string access;             // Path here of that access file, for the command; may be empty.
  std::string pull_secret;        // Of the image's registry; may be empty.
  std::string data_claim;         // Data sets, read only; may be empty.
  std::string checkpoints_claim;  // That workers share; may be empty.
  std::vector<ClaimMount> mounts;
  std::vector<std::string> worker_options;                     // Of noisefloor-worker.
  std::vector<std::pair<std::string, std::string>> nodes;      // Labels that a node must have.
  std::vector<std::pair<std::string, std::string>> variables;  // Of its environment.
};

// What Kubernetes would refuse, and what our worker would of what we say to it. InvalidArgument
// names the option of `fleet manifest` that is wrong, and what was expected.
absl::Status Check(const KubernetesWish& wish);

// Of a wish that was checked: {"apiVersion": "v1", "kind": "List", "items": [a Job, ...]}.
nlohmann::ordered_json KubernetesJobs(const KubernetesWish& wish);
// The same as YAML, a document for each Job, with what has to be done beside it as comments on top.
std::string KubernetesManifest(const KubernetesWish& wish);

}  // namespace noisefloor
