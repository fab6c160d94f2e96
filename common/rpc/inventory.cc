#include "common/rpc/inventory.h"

namespace noisefloor {

v1::Inventory ToProto(const Inventory& inventory) {
  v1::Inventory message;
  for (const Inventory::Device& device : inventory.devices) {
    v1::Device& added = *message.add_devices();
    added.set_unit(device.unit);
    added.set_model(device.model);
    added.set_memory_bytes(device.memory_bytes);
    added.set_driver(device.driver);
    added.set_note(device.note);
    added.mutable_hardware_classes()->Assign(device.hardware_classes.begin(),
                                             device.hardware_classes.end());
    added.mutable_architectures()->Assign(device.architectures.begin(), device.architectures.end());
  }
  for (const Inventory::Offer& offer : inventory.offers) {
    v1::Offer& added = *message.add_offers();
    added.set_hardware_class(offer.hardware_class);
    added.set_stack(offer.stack);
    added.set_fingerprint(offer.fingerprint);
    added.set_build(offer.build);
    added.set_schema(offer.schema);
    added.mutable_versions()->insert(offer.versions.begin(), offer.versions.end());
    added.set_infers(offer.infers);
  }
  for (const Inventory::Slot& slot : inventory.slots) {
    v1::Slot& added = *message.add_slots();
    added.mutable_devices()->Assign(slot.devices.begin(), slot.devices.end());
    added.set_cores(slot.cores);
    added.mutable_offers()->Assign(slot.offers.begin(), slot.offers.end());
  }
  for (const Inventory::Withheld& withheld : inventory.withheld) {
    v1::Withheld& added = *message.add_withheld();
    added.set_what(withheld.what);
    added.set_hardware_class(withheld.hardware_class);
    added.set_stack(withheld.stack);
    added.set_reason(withheld.reason);
  }
  return message;
}

}  // namespace noisefloor
