// `fleet manifest`: what brings workers to machines on which noisefloor itself starts nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"

#include "coordinator/cli/command.h"
#include "coordinator/manifest/kubernetes.h"
#include "coordinator/manifest/systemd.h"

namespace noisefloor::cli {

// The access file that workers take, absolute: `given`, or where they look for one. Empty: there is
// none.
std::string WorkerAccessFile(const Context& context, const std::string& given);

// A subcommand of `fleet`. It prints, asks nobody and changes nothing.
class FleetManifest {
 public:
  void Describe(CLI::App& fleet);
  bool IsChosen() const { return app_->parsed(); }
  absl::StatusOr<int> Print(Context& context) const;

 private:
  void DescribeWorkers();
  void DescribeKubernetes();
  void DescribeClaims();
  absl::StatusOr<KubernetesWish> Wish(const Context& context) const;
  absl::Status ReadTimes(KubernetesWish& wish) const;
  absl::Status ReadPairs(KubernetesWish& wish) const;
  absl::StatusOr<SystemdWish> UnitWish(const Context& context) const;
  absl::StatusOr<int> PrintKubernetes(Context& context) const;
  absl::StatusOr<int> PrintSystemd(Context& context) const;

  CLI::App* app_ = nullptr;
  CLI::Option* kubernetes_option_ = nullptr;
  bool kubernetes_ = false;
  bool systemd_ = false;
  KubernetesWish wish_;
  int gpus_ = -1;  // -1: as many as --gpu means.
  std::string time_;
  std::string drain_before_ = "2m";
  std::string idle_;   // Empty: of Kubernetes 5m, of systemd never.
  std::string grace_;  // Empty: of Kubernetes 30s, of systemd the worker's own.
  std::string access_;
  std::vector<std::string> nodes_;      // KEY=VALUE
  std::vector<std::string> variables_;  // NAME=VALUE
  std::vector<std::string> volumes_;    // CLAIM:/PATH[:ro]
};

}  // namespace noisefloor::cli
