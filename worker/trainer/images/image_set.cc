#include "worker/trainer/images/image_set.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "common/files/directory.h"
#include "common/files/sha256.h"
#include "worker/trainer/images/image_file.h"
#include "worker/trainer/images/pixel_store.h"
#include "worker/trainer/images/reading_turn.h"
#include "worker/trainer/images/resize.h"

namespace noisefloor::trainer {

namespace {

constexpr size_t kBatchPictures = 64;
constexpr size_t kBatchBytes = size_t{64} << 20;
constexpr size_t kStartSyncBytes = size_t{8} << 20;
// Of what is refused behind the first, so that a message stays one.
constexpr size_t kMostNamed = 30;
constexpr size_t kMostNamedBytes = 4000;

absl::StatusOr<std::string> FindFolder(const std::string& name, std::string_view roots) {
  for (std::string_view rest = roots; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const std::string folder = fmt::format("{}/{}", rest.substr(0, end), name);
    if (end > 0 && PathExists(folder)) return folder;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return MakeError(
      absl::StatusCode::kNotFound,
      fmt::format("data set {}: no folder {} under the data root '{}'", name, name, roots));
}

// What was read, before it is in order.
struct ReadSet {
  ImageTree tree;
  ImageLabels labels;
  PixelStore pixels;                  // {used pictures, 3, size, size}
  std::vector<uint64_t> slots;        // Of each place in the tree: which of `pixels`.
  std::vector<Sha256Digest> digests;  // By place.
};

absl::Status PixelsOf(const ReadSet& set, size_t place, std::span<uint8_t> pixels) {
  return set.pixels.Get(set.slots[place], pixels);
}

Sha256Digest DigestOf(const ReadSet& set, size_t place, std::span<const uint8_t> pixels) {
  const ImageLabels& labels = set.labels;
  const uint16_t label = labels.label[place];
  const std::array<uint8_t, 3> head = {static_cast<uint8_t>(labels.parts[place]),
                                       static_cast<uint8_t>(label & 0xff),
                                       static_cast<uint8_t>(label >> 8)};
  const size_t attributes = labels.attributes.size(), groups = labels.groups.size();
  Sha256 hash;
  hash.Update(std::as_bytes(std::span(head)));
  hash.Update(std::as_bytes(std::span(labels.attribute).subspan(place * attributes, attributes)));
  hash.Update(std::as_bytes(std::span(labels.group).subspan(place * groups, groups)));
  hash.Update(std::as_bytes(pixels));
  return hash.Digest();
}

// Pictures that are refused, so that one reading names them all.
class Refusals {
 public:
  void Add(absl::Status why, const std::string& name) {
    if (count_++ == 0) {
      first_ = std::move(why);
    } else if (named_ < kMostNamed && names_.size() + name.size() < kMostNamedBytes) {
      names_ += (named_++ == 0 ? "" : ", ") + name;
    }
  }
  bool empty() const { return count_ == 0; }
  absl::Status status() const {
    if (count_ <= 1) return first_;
    const size_t unnamed = count_ - 1 - named_;
    return InvalidInput(fmt::format("{}; refused as well: {}{}", Message(first_), names_,
                                    unnamed == 0 ? "" : fmt::format(" and {} more", unnamed)));
  }

 private:
  absl::Status first_;
  std::string names_;  // Of others.
  size_t count_ = 0, named_ = 0;
};

// Decodes pictures in batches, each batch on all threads.
class Decoding {
 public:
  Decoding(ReadSet& set, int64_t image_size, int64_t threads, const GoOn& go_on)
      : set_(set), go_on_(go_on) {
    for (int64_t i = 0; i < threads; ++i) {
      tools_.push_back({Resizer(image_size), {}, std::vector<uint8_t>(set.pixels.slot_bytes())});
    }
  }

  absl::Status Take(size_t place, std::string bytes) {
    waiting_bytes_ += bytes.size();
    waiting_.emplace_back(place, std::move(bytes));
    const bool full = waiting_.size() >= kBatchPictures || waiting_bytes_ >= kBatchBytes;
    return full ? Flush() : absl::OkStatus();
  }

  // The first failure in order: with the names of others of a picture that is refused.
  absl::Status Finish() {
    NF_RETURN_IF_ERROR(Flush());
    return refusals_.status();
  }

 private:
  struct Tools {
    Resizer resizer;
    Picture picture;
    std::vector<uint8_t> pixels;
  };

  // Notes what is refused; the first failure in order of anything else.
  absl::Status Flush() {
    NF_RETURN_IF_ERROR(Ask(go_on_));
    std::vector<absl::Status> results(waiting_.size());
    const size_t threads = std::min(tools_.size(), waiting_.size());
    const auto work = [&](size_t rank) {
      for (size_t i = rank; i < waiting_.size(); i += threads) {
        results[i] = Decode(waiting_[i].first, waiting_[i].second, tools_[rank]);
      }
    };
    std::vector<std::exception_ptr> thrown(threads);  // A picture's memory may not be there.
    const auto guarded = [&](size_t rank) {
      try {
        work(rank);
      } catch (...) {
        thrown[rank] = std::current_exception();
      }
    };
    std::vector<std::thread> others;
    size_t rank = 1;
    try {
      for (; rank < threads; ++rank) others.emplace_back(guarded, rank);
    } catch (const std::system_error&) {  // The machine gives no more: this thread does the rest.
    }
    for (; rank < threads; ++rank) guarded(rank);
    if (threads > 0) guarded(0);
    for (std::thread& other : others) other.join();
    for (const std::exception_ptr& one : thrown) {
      if (one) std::rethrow_exception(one);
    }
    written_bytes_ += waiting_.size() * set_.pixels.slot_bytes();
    const auto done = std::exchange(waiting_, {});
    waiting_bytes_ = 0;
    for (size_t i = 0; i < done.size(); ++i) NF_RETURN_IF_ERROR(Note(done[i].first, results[i]));
    StartSync();
    return absl::OkStatus();
  }

  absl::Status Note(size_t place, const absl::Status& result) {
    if (!absl::IsInvalidArgument(result)) return result;
    refusals_.Add(result, NameOf(set_.tree, set_.tree.entries[place]));
    return absl::OkStatus();
  }

  absl::Status Decode(size_t place, std::string_view bytes, Tools& tools) {
    const absl::Status decoded = DecodePicture(bytes, tools.picture);
    if (!decoded.ok()) return Annotate(decoded, NameOf(set_.tree, set_.tree.entries[place]));
    if (!refusals_.empty()) return absl::OkStatus();  // Of use is only what else is refused.
    tools.resizer.Resize(tools.picture, tools.pixels);
    set_.digests[place] = DigestOf(set_, place, tools.pixels);
    return set_.pixels.Put(set_.slots[place], tools.pixels);
  }

  // The disk writes while more is decoded.
  void StartSync() {
    if (!set_.pixels.in_file() || written_bytes_ < kStartSyncBytes) return;
    set_.pixels.StartSync();
    written_bytes_ = 0;
  }

  ReadSet& set_;
  const GoOn& go_on_;
  std::vector<Tools> tools_;
  Refusals refusals_;
  std::vector<std::pair<size_t, std::string>> waiting_;
  size_t waiting_bytes_ = 0;
  size_t written_bytes_ = 0;
};

PixelStore MakeStore(uint64_t pictures, size_t picture_bytes, const ImageSource& source,
                     std::vector<std::string>& notes) {
  if (source.cache != nullptr) {
    auto store = PixelStore::Aside(pictures, picture_bytes, source.cache->folder());
    if (store.ok()) return *std::move(store);
    notes.push_back(
        fmt::format("data cache: {}; decoded in memory instead", Message(store.status())));
  }
  return PixelStore::InMemory(pictures, picture_bytes);
}

// Without a file to decode into nobody has anything of a wait for this reader: `turn` ends.
absl::StatusOr<ReadSet> ReadSetOf(const std::string& folder, const ImageSettings& settings,
                                  const ImageSource& source, std::unique_ptr<ReadingTurn>& turn,
                                  std::vector<std::string>& notes) {
  NF_ASSIGN_OR_RETURN(ImageTree tree, ListImages(folder));
  NF_ASSIGN_OR_RETURN(const ImageTable table, TableOf(tree));
  NF_ASSIGN_OR_RETURN(ImageLabels labels, LabelsOf(tree, table, settings));
  std::vector<bool> wanted;
  std::vector<uint64_t> slots;
  uint64_t used = 0;
  for (const Subset part : labels.parts) {
    wanted.push_back(part != Subset::kUnused);
    slots.push_back(wanted.back() ? used++ : 0);
  }
  const auto picture_bytes = static_cast<size_t>(3 * settings.image_size * settings.image_size);
  PixelStore pixels = MakeStore(used, picture_bytes, source, notes);
  if (!pixels.in_file()) turn.reset();
  std::vector<Sha256Digest> digests(tree.entries.size());
  ReadSet set = {std::move(tree), std::move(labels), std::move(pixels), std::move(slots),
                 std::move(digests)};
  Decoding decoding(set, settings.image_size, std::max<int64_t>(1, source.threads), source.go_on);
  const absl::Status read = ReadImages(set.tree, wanted, [&](size_t place, std::string bytes) {
    return decoding.Take(place, std::move(bytes));
  });
  if (absl::IsCancelled(read)) return read;
  // What was read before a file that cannot be read comes first in order.
  NF_RETURN_IF_ERROR(decoding.Finish());
  NF_RETURN_IF_ERROR(read);
  return set;
}

// Places by rank, of train and of test.
using Order = std::array<std::vector<size_t>, 2>;

Order OrderOf(const ReadSet& set) {
  Order order;
  for (size_t place = 0; place < set.labels.parts.size(); ++place) {
    const Subset part = set.labels.parts[place];
    if (part != Subset::kUnused) order[static_cast<size_t>(part)].push_back(place);
  }
  for (std::vector<size_t>& split : order) {
    std::ranges::sort(split, [&](size_t a, size_t b) {
      return std::tie(set.digests[a], a) < std::tie(set.digests[b], b);
    });
  }
  return order;
}

ImageSetFacts FactsOf(const ReadSet& set, const Order& order, const ImageSettings& settings) {
  ImageSetFacts facts = {.decoder = DecoderName(),
                         .image_size = settings.image_size,
                         .classes = set.labels.classes,
                         .attributes = set.labels.attributes,
                         .groups = set.labels.groups};
  for (size_t s = 0; s < 2; ++s) facts.examples[s] = static_cast<int64_t>(order[s].size());
  Sha256 hash;
  hash.Update("noisefloor images 1\n").Update(DescribeSet(facts, true)).Update("\n");
  for (const std::vector<size_t>& split : order) {
    for (const size_t place : split) hash.Update(std::as_bytes(std::span(set.digests[place])));
  }
  facts.identity = hash.Hex();
  return facts;
}

ImageExample ExampleOf(const ReadSet& set, size_t place) {
  const ImageLabels& labels = set.labels;
  const size_t attributes = labels.attributes.size(), groups = labels.groups.size();
  return {static_cast<uint32_t>(set.slots[place]), labels.label[place],
          std::span(labels.attribute).subspan(place * attributes, attributes),
          std::span(labels.group).subspan(place * groups, groups)};
}

absl::StatusOr<Split> InMemory(const ReadSet& set, std::span<const size_t> places,
                               const ImageShape& shape) {
  const size_t bytes = set.pixels.slot_bytes();
  std::vector<uint8_t> images(places.size() * bytes), attributes;
  std::vector<int64_t> labels;
  std::vector<uint16_t> groups;
  for (size_t i = 0; i < places.size(); ++i) {
    const ImageExample one = ExampleOf(set, places[i]);
    labels.push_back(one.label);
    attributes.insert(attributes.end(), one.attributes.begin(), one.attributes.end());
    groups.insert(groups.end(), one.groups.begin(), one.groups.end());
    NF_RETURN_IF_ERROR(PixelsOf(set, places[i], std::span(images).subspan(i * bytes, bytes)));
  }
  return Split{shape, std::move(images), std::move(labels), std::move(attributes),
               std::move(groups)};
}

absl::StatusOr<Dataset> InMemory(const ReadSet& set, const Order& order, const ImageSetFacts& facts,
                                 const std::string& name, ExampleLimits limits) {
  Dataset dataset;
  dataset.name = name;
  dataset.identity = facts.identity;
  dataset.attributes = facts.attributes;
  dataset.groups = facts.groups;
  dataset.classes = static_cast<int64_t>(facts.attributes.empty() ? facts.classes.size()
                                                                  : facts.attributes.size());
  dataset.shape = {3, facts.image_size, facts.image_size};
  const auto first = [&](size_t split, int64_t limit) {
    const std::span all(order[split]);
    return InMemory(set, limit == 0 ? all : all.first(static_cast<size_t>(limit)), dataset.shape);
  };
  NF_ASSIGN_OR_RETURN(dataset.train, first(0, limits.train));
  NF_ASSIGN_OR_RETURN(dataset.test, first(1, limits.test));
  return dataset;
}

// What was asked for is wrong, or no longer wanted, whatever a file of the cache holds.
bool IsNotOfTheFile(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsCancelled(status);
}

absl::StatusOr<Dataset> FromCache(const DataCache& cache, const std::string& name,
                                  const std::string& identity, ExampleLimits limits,
                                  Trust trust = Trust::kNothing, const GoOn& go_on = {}) {
  NF_ASSIGN_OR_RETURN(const DataCache::Mapped mapped, cache.Map(identity));
  auto dataset = FromImageFile(mapped, name, identity, limits, trust, go_on);
  if (dataset.ok() || IsNotOfTheFile(dataset.status())) return dataset;
  return Annotate(dataset.status(), cache.PathOfSet(identity));
}

// Of a set whose pixels lie in a file.
absl::StatusOr<Dataset> ThroughCache(const DataCache& cache, ReadSet& set, const Order& order,
                                     const ImageSetFacts& facts, const std::string& name,
                                     ExampleLimits limits, const GoOn& go_on) {
  auto there = FromCache(cache, name, facts.identity, limits, Trust::kNothing, go_on);
  if (there.ok() || absl::IsCancelled(there.status())) return there;
  const auto example = [&](size_t split, int64_t rank) {
    return ExampleOf(set, order[split][static_cast<size_t>(rank)]);
  };
  const std::string tail = ImageFileTail(facts, example, set.pixels.checksums());
  NF_RETURN_IF_ERROR(set.pixels.KeepAt(cache.PathOfSet(facts.identity), tail));
  cache.TidyAfter(facts.identity);
  // What was written just now has not been to the disk and back.
  return FromCache(cache, name, facts.identity, limits, Trust::kImages);
}

std::string CacheNote(const absl::Status& status, std::string_view then) {
  return fmt::format("data cache: {}; {}", Message(status), then);
}

// What the cache has of a folder in this state. None where that is nothing of use: what is damaged
// is noted.
std::optional<absl::StatusOr<Dataset>> Find(const FolderState& state, const ImageSettings& settings,
                                            const ImageSource& source, ExampleLimits limits,
                                            std::vector<std::string>& notes) {
  const auto identity = source.cache->IdentityOf(state);
  if (!identity) return std::nullopt;
  auto dataset =
      FromCache(*source.cache, settings.name, *identity, limits, Trust::kNothing, source.go_on);
  if (dataset.ok() || IsNotOfTheFile(dataset.status())) return dataset;
  if (!absl::IsNotFound(dataset.status())) {
    notes.push_back(CacheNote(dataset.status(), "made anew from the source files"));
  }
  return std::nullopt;
}

absl::Time NewestOf(const TreeState& state) {
  return absl::UnixEpoch() + absl::Nanoseconds(state.newest_unix_ns);
}

// All that a state of the files and these settings decides.
std::string AskedOf(const ImageSettings& settings) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", settings.image_size, settings.labels, settings.groups,
                     settings.attributes, DecoderName());
}

}  // namespace

int64_t UsableProcessors() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return 1;
  return std::clamp<int64_t>(CPU_COUNT(&usable), 1, 64);
}

absl::StatusOr<Dataset> LoadImages(const ImageSettings& settings, const ImageSource& source,
                                   ExampleLimits limits, absl::Time now) {
  NF_ASSIGN_OR_RETURN(const std::string folder, FindFolder(settings.name, source.data_root));
  NF_ASSIGN_OR_RETURN(TreeState state, StateOfTree(folder, AskedOf(settings)));
  const absl::Duration young = now - NewestOf(state);
  if (source.cache != nullptr && absl::AbsDuration(young) < DataCache::kTooYoung) {
    // Too young to be remembered, it would be read anew by everybody who waits for it.
    NF_RETURN_IF_ERROR(WaitOut(DataCache::kTooYoung - young, source.go_on));
    now += DataCache::kTooYoung - young;
    NF_ASSIGN_OR_RETURN(state, StateOfTree(folder, AskedOf(settings)));
  }
  const FolderState before = {state.key, NewestOf(state)};
  std::vector<std::string> notes;
  const DataCache* cache = source.cache;
  std::unique_ptr<ReadingTurn> turn;
  if (cache != nullptr) {
    if (auto there = Find(before, settings, source, limits, notes)) return *std::move(there);
    NF_ASSIGN_OR_RETURN(turn, ReadingTurn::Take(cache->folder(), state.key, source.go_on));
    // Made by who had the turn before, unless what lies there was looked at and is damaged.
    if (turn->waited() || notes.empty()) {
      if (auto there = Find(before, settings, source, limits, notes)) return *std::move(there);
    }
  }
  NF_ASSIGN_OR_RETURN(ReadSet set, ReadSetOf(folder, settings, source, turn, notes));
  NF_ASSIGN_OR_RETURN(const TreeState after, StateOfTree(folder, AskedOf(settings)));
  if (after.key != state.key) {
    return MakeError(absl::StatusCode::kDataLoss, folder + ": changed while it was read");
  }
  const Order order = OrderOf(set);
  const ImageSetFacts facts = FactsOf(set, order, settings);
  NF_RETURN_IF_ERROR(CheckLimits(settings.name, facts.examples, limits));
  NF_RETURN_IF_ERROR(Ask(source.go_on));  // What follows may wait for the disk.
  std::optional<Dataset> dataset;
  if (set.pixels.in_file()) {
    auto kept = ThroughCache(*cache, set, order, facts, settings.name, limits, source.go_on);
    if (absl::IsCancelled(kept.status())) return kept.status();
    if (kept.ok()) {
      dataset = *std::move(kept);
      const absl::Status remembered = cache->Remember(before, facts.identity, now);
      if (!remembered.ok()) {
        notes.push_back(CacheNote(remembered, "the source files will be read again"));
      }
    } else {
      notes.push_back(CacheNote(kept.status(), "done without"));
    }
  }
  if (!dataset) {
    NF_ASSIGN_OR_RETURN(dataset, InMemory(set, order, facts, settings.name, limits));
  }
  dataset->notes = std::move(notes);
  return *std::move(dataset);
}

}  // namespace noisefloor::trainer
