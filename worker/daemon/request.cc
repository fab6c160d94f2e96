#include "worker/daemon/request.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/names.h"
#include "common/files/directory.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/datasets.h"

namespace noisefloor {

namespace {

std::string FolderOf(const std::string& data_set) {
  const KnownDataset* known = FindDataset(data_set);
  return known == nullptr ? data_set : std::string(known->folder);
}

// Where a trainer looks for its data, and what must be fetched before.
struct DataPlace {
  std::string roots;
  std::string fetch = {};
  bool can_do_without = false;
};

// The first root that holds the data set's folder; of a data set that only its trainer knows, all
// of them.
absl::StatusOr<DataPlace> FindData(const std::string& name, const Offer& offer) {
  const KnownDataset* known = FindDataset(name);
  DataPlace place = {fmt::format("{}", fmt::join(offer.data_roots, ":"))};
  if (known == nullptr && (!IsName(name) || name[0] == '.')) return place;
  for (const std::string& root : offer.data_roots) {
    if (!PathExists(fmt::format("{}/{}", root, FolderOf(name)))) continue;
    if (known != nullptr) place.roots = root;
    return place;
  }
  if (offer.may_fetch) {
    place.fetch = name;
    place.can_do_without = known == nullptr;
    return place;
  }
  if (known == nullptr) return place;
  return MakeError(absl::StatusCode::kNotFound, NotInRoots(name, offer.data_roots));
}

absl::Status CheckOffer(const TrainerNeeds& needs, const Offer& offer, uint32_t slot) {
  const Inventory& inventory = offer.inventory;
  if (slot >= inventory.slots.size()) {
    return InvalidInput(fmt::format("slot {}: this worker has {}", slot, inventory.slots.size()));
  }
  const bool offered = std::ranges::any_of(inventory.slots[slot].offers, [&](const uint32_t place) {
    const Inventory::Offer& one = inventory.offers[place];
    return one.hardware_class == needs.hardware_class && one.stack == needs.stack;
  });
  if (offered) return absl::OkStatus();
  return InvalidInput(fmt::format("hardware class '{}' with stack '{}': slot {} does not offer it",
                                  needs.hardware_class, needs.stack, slot));
}

// Not found: another worker may be able to.
absl::Status CheckMayInfer(const MemberOrder& order, const Offer& offer, const std::string& stack) {
  if (order.weights_sha256.empty()) return absl::OkStatus();
  const auto known = offer.stacks.find(stack);
  if (known == offer.stacks.end() || !known->second.infers) {
    return MakeError(absl::StatusCode::kNotFound,
                     fmt::format("the trainer of {} evaluates no weights that it is given", stack));
  }
  if (offer.may_fetch) return absl::OkStatus();
  return MakeError(absl::StatusCode::kNotFound,
                   "this worker has no cache that weights could be brought to");
}

absl::Status PrepareRequest(const MemberOrder& order, const Offer& offer, PreparedMember& result) {
  if (Sha256Hex(order.specification) != order.specification_sha256) {
    return InvalidInput("the specification does not have the hash that came with it");
  }
  NF_ASSIGN_OR_RETURN(const TrainerNeeds needs, NeedsOf(order.specification));
  NF_RETURN_IF_ERROR(CheckOffer(needs, offer, order.slot));
  NF_RETURN_IF_ERROR(CheckMayInfer(order, offer, needs.stack));
  result.weights = order.weights_sha256;
  result.key = {needs.stack, needs.hardware_class, ""};
  // A GPU trainer's workspace variable depends on the switch.
  if (IsGpuClass(needs.hardware_class) && needs.kernels_free) result.key.variables = "kernels_free";
  PassedRequest& request = result.request;
  request.member = order.member;
  request.attempt = order.attempt;
  request.write_evaluation_set = order.write_evaluation_set;
  request.specification = order.specification;
  request.specification_sha256 = order.specification_sha256;
  if (needs.stack == kNoopStack) {
    NF_ASSIGN_OR_RETURN(result.built_in, SpecificationFromJson(order.specification));
  } else {
    NF_ASSIGN_OR_RETURN(DataPlace place, FindData(needs.data_set, offer));
    request.data_root = std::move(place.roots);
    result.fetch = std::move(place.fetch);
    result.can_do_without = place.can_do_without;
  }
  return absl::OkStatus();
}

}  // namespace

std::string NotInRoots(const std::string& data_set, const std::vector<std::string>& roots) {
  return fmt::format("data set '{}': this worker has no folder {} in {}", data_set,
                     FolderOf(data_set),
                     roots.empty() ? "any data root (--data-root, $NOISEFLOOR_DATA)"
                                   : fmt::format("{}", fmt::join(roots, ", ")));
}

PreparedMember Prepare(const MemberOrder& order, const Offer& offer) {
  PreparedMember result;
  const absl::Status status = PrepareRequest(order, offer, result);
  result.runs = status.ok();
  if (!status.ok()) {
    const bool no_data = status.code() == absl::StatusCode::kNotFound;
    result.refusal = FailedResult(no_data ? CauseClass::kBadData : CauseClass::kBadSpecification,
                                  Message(status));
  }
  return result;
}

}  // namespace noisefloor
