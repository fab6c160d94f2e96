#include "coordinator/rpc/stack_book.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fmt/format.h"

#include "common/trainer_protocol/fields.h"

namespace noisefloor {

namespace {

bool IsOurs(std::string_view stack) { return sweep::SchemaOf({}, stack) != nullptr; }

std::string LastHad(const OfferedStack& stack) {
  return fmt::format("worker {} had it last, on {}", stack.worker_name,
                     absl::FormatTime("%Y-%m-%d", stack.seen, absl::UTCTimeZone()));
}

}  // namespace

void AddStacks(const Inventory& inventory, const std::vector<SettingsSchemaRef>& schemas,
               bool connected, sweep::Known& known) {
  for (const Inventory::Offer& offer : inventory.offers) {
    if (offer.stack.empty()) continue;  // Of a plan: any.
    const auto named = std::ranges::find_if(schemas, [&](const SettingsSchemaRef& schema) {
      return schema->identity() == offer.schema;
    });
    const SettingsSchemaRef& schema = named == schemas.end() ? SettingsOf02() : *named;
    if (connected) {
      known.stacks.insert_or_assign(offer.stack, schema);
    } else {
      known.stacks.try_emplace(offer.stack, schema);
    }
  }
}

StackBook::StackBook(std::vector<OfferedStack> offered) {
  for (OfferedStack& one : offered) {
    if (!IsOurs(one.stack)) last_.emplace(one.stack, std::move(one));
  }
}

void StackBook::Note(const scheduler::WorkerStatus& worker, const sweep::Known& known,
                     absl::Time now) {
  for (const std::string& stack : StacksOf(*worker.inventory)) {
    if (stack.empty() || IsOurs(stack)) continue;
    OfferedStack& last = last_[stack];
    if (worker.connected || last.stack.empty()) {
      last = {stack, known.stacks.find(stack)->second, worker.worker, worker.name, now};
    }
  }
}

sweep::Known StackBook::KnownNow(const LiveBoard& live, absl::Time now) {
  sweep::Known known = {live.classes(), {}, {}};
  const std::vector<LiveBoard::Worker> workers = live.Workers();
  std::set<WorkerId> away;  // Since the start.
  MutexLock lock(mutex_);
  for (const LiveBoard::Worker& worker : workers) {
    if (worker->inventory == nullptr) {
      away.insert(worker->worker);
      continue;
    }
    AddStacks(*worker->inventory, worker->schemas, worker->connected, known);
    Note(*worker, known, now);
  }
  for (const auto& [name, stack] : last_) {
    if (known.stacks.contains(name)) continue;
    if (away.contains(stack.worker)) {
      known.stacks.emplace(name, stack.schema);
    } else {
      known.gone.emplace(name, LastHad(stack));
    }
  }
  return known;
}

}  // namespace noisefloor
