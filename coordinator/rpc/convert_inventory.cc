#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "common/base/names.h"
#include "common/trainer_protocol/fields.h"
#include "coordinator/rpc/convert.h"

namespace noisefloor {

namespace {

constexpr size_t kMaxUnit = 2000;      // Bytes: version 0.1 names all GPUs of a node in one.
constexpr size_t kMaxReason = 2000;    // Bytes.
constexpr size_t kMaxBytes = 1 << 20;  // Of all of it.
constexpr int kMaxEntries = 256;       // Devices, offers, what is withheld.
constexpr int kMaxSlots = 1024;
constexpr int kMostSchemas = 16;
constexpr int kMaxDevicesOfSlot = 64;
constexpr int kMostOfDevice = 16;    // Classes, architectures.
constexpr int kMostVersions = 32;    // Of a fingerprint.
constexpr size_t kMaxVersion = 200;  // Bytes of one's name, and of what it is.

// Remembers the first thing that is not as expected.
class Checker {
 public:
  explicit Checker(std::string_view field) : field_(field) {}

  void Count(std::string_view part, int count, int least, int most) {
    if (count >= least && count <= most) return;
    Fail(part, fmt::format("{} to {} entries", least, most), fmt::format("{}", count));
  }
  void Text(std::string_view part, const std::string& text, size_t least,
            size_t most = kMaxDescription) {
    if (text.size() >= least && text.size() <= most) return;
    Fail(part, fmt::format("{} to {} bytes", least, most), fmt::format("{}", text.size()));
  }
  void Name(std::string_view part, const std::string& text) {
    if (IsName(text)) return;
    Fail(part, kNameRule, fmt::format("'{}'", text.substr(0, kMaxQuoted)));
  }
  // Each is a place in a list of `size`, and comes once.
  void Places(std::string_view part, const std::vector<uint32_t>& places, int size) {
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] >= static_cast<uint32_t>(size)) {
        return Fail(part, fmt::format("places below {}", size), fmt::format("{}", places[i]));
      }
      if (std::find(places.begin(), places.begin() + static_cast<int64_t>(i), places[i]) !=
          places.begin() + static_cast<int64_t>(i)) {
        return Fail(part, "each place once", fmt::format("{} twice", places[i]));
      }
    }
  }
  void Fail(std::string_view part, std::string_view expected, std::string_view got) {
    if (!status_.ok()) return;
    status_ = InvalidInput(fmt::format("{}{}{}: expected {}, got {}", field_,
                                       part.empty() ? "" : ".", part, expected, got));
  }
  const absl::Status& status() const { return status_; }

 private:
  const std::string_view field_;
  absl::Status status_;
};

std::vector<Inventory::Device> DevicesFrom(const v1::Inventory& message, Checker& check) {
  check.Count("devices", message.devices_size(), 0, kMaxEntries);
  std::vector<Inventory::Device> devices;
  for (const v1::Device& device : message.devices()) {
    check.Text("devices.unit", device.unit(), 1, kMaxUnit);
    check.Text("devices.model", device.model(), 0);
    check.Text("devices.driver", device.driver(), 0);
    check.Text("devices.note", device.note(), 0, kMaxReason);
    check.Count("devices.hardware_classes", device.hardware_classes_size(), 0, kMostOfDevice);
    check.Count("devices.architectures", device.architectures_size(), 0, kMostOfDevice);
    for (const std::string& name : device.hardware_classes()) {
      check.Name("devices.hardware_classes", name);
    }
    for (const std::string& name : device.architectures()) {
      check.Name("devices.architectures", name);
    }
    devices.push_back({device.unit(),
                       device.model(),
                       device.memory_bytes(),
                       device.driver(),
                       device.note(),
                       {device.hardware_classes().begin(), device.hardware_classes().end()},
                       {device.architectures().begin(), device.architectures().end()}});
  }
  return devices;
}

std::vector<Inventory::Offer> OffersFrom(const v1::Inventory& message, bool assumed,
                                         Checker& check) {
  check.Count("offers", message.offers_size(), 0, kMaxEntries);
  std::vector<Inventory::Offer> offers;
  for (const v1::Offer& offer : message.offers()) {
    check.Name("offers.hardware_class", offer.hardware_class());
    if (!assumed || !offer.stack().empty()) check.Name("offers.stack", offer.stack());
    check.Text("offers.fingerprint", offer.fingerprint(), assumed ? 0 : 1);
    check.Text("offers.build", offer.build(), 0);
    check.Text("offers.schema", offer.schema(), 0);
    check.Count("offers.versions", static_cast<int>(offer.versions_size()), 0, kMostVersions);
    for (const auto& [name, version] : offer.versions()) {
      check.Text("offers.versions", name, 1, kMaxVersion);
      check.Text("offers.versions", version, 0, kMaxVersion);
    }
    offers.push_back({offer.hardware_class(),
                      offer.stack(),
                      offer.fingerprint(),
                      offer.build(),
                      offer.schema() == SettingsOf02()->identity() ? "" : offer.schema(),
                      {offer.versions().begin(), offer.versions().end()},
                      offer.infers()});
  }
  return offers;
}

std::vector<Inventory::Slot> SlotsFrom(const v1::Inventory& message, Checker& check) {
  check.Count("slots", message.slots_size(), 0, kMaxSlots);
  std::vector<Inventory::Slot> slots;
  std::vector<bool> used(static_cast<size_t>(message.offers_size()));
  for (const v1::Slot& slot : message.slots()) {
    check.Count("slots.devices", slot.devices_size(), 1, kMaxDevicesOfSlot);
    check.Count("slots.offers", slot.offers_size(), 1, kMaxEntries);
    slots.push_back({{slot.devices().begin(), slot.devices().end()},
                     slot.cores(),
                     {slot.offers().begin(), slot.offers().end()}});
    check.Places("slots.devices", slots.back().devices, message.devices_size());
    check.Places("slots.offers", slots.back().offers, message.offers_size());
    if (!check.status().ok()) return slots;
    for (const uint32_t offer : slots.back().offers) used[offer] = true;
  }
  const auto unused = std::ranges::find(used, false);
  if (unused != used.end()) {
    check.Fail("offers", "each to be some slot's",
               fmt::format("place {} of none", unused - used.begin()));
  }
  return slots;
}

}  // namespace

absl::StatusOr<Inventory> InventoryFrom(std::string_view field, const v1::Inventory& message,
                                        bool assumed) {
  Checker check(field);
  if (message.ByteSizeLong() > kMaxBytes) {
    check.Fail("", "at most 1 MiB", fmt::format("{} bytes", message.ByteSizeLong()));
  }
  Inventory inventory;
  inventory.devices = DevicesFrom(message, check);
  inventory.offers = OffersFrom(message, assumed, check);
  inventory.slots = SlotsFrom(message, check);
  check.Count("withheld", message.withheld_size(), 0, kMaxEntries);
  for (const v1::Withheld& withheld : message.withheld()) {
    check.Text("withheld.what", withheld.what(), 1, kMaxReason);
    check.Text("withheld.hardware_class", withheld.hardware_class(), 0);
    check.Text("withheld.stack", withheld.stack(), 0);
    check.Text("withheld.reason", withheld.reason(), 1, kMaxReason);
    inventory.withheld.push_back(
        {withheld.what(), withheld.hardware_class(), withheld.stack(), withheld.reason()});
  }
  NF_RETURN_IF_ERROR(check.status());
  return inventory;
}

absl::StatusOr<std::vector<SettingsSchemaRef>> SchemasFrom(std::string_view field,
                                                           const v1::Inventory& message,
                                                           const Inventory& inventory) {
  Checker check(field);
  check.Count("schemas", message.schemas_size(), 0, kMostSchemas);
  NF_RETURN_IF_ERROR(check.status());
  std::map<std::string, SettingsSchemaRef> told;
  for (const std::string& text : message.schemas()) {
    absl::StatusOr<SettingsSchema> schema = SettingsSchema::FromJson(text);
    if (!schema.ok()) return Annotate(schema.status(), fmt::format("{}.schemas", field));
    std::string identity = schema->identity();
    told[std::move(identity)] = std::make_shared<const SettingsSchema>(*std::move(schema));
  }
  std::vector<SettingsSchemaRef> of_offers;
  for (const Inventory::Offer& offer : inventory.offers) {
    if (offer.schema.empty()) continue;
    const auto known = told.find(offer.schema);
    if (known == told.end()) {
      check.Fail("offers.schema", "the identity of one of its schemas", offer.schema);
      return check.status();
    }
    if (known->second != nullptr) of_offers.push_back(std::exchange(known->second, nullptr));
  }
  return of_offers;
}

}  // namespace noisefloor
