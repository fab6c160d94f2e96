// Containers whose changes can be taken back. What that costs goes by what was changed meanwhile,
// not by how much is in them: nothing is copied that is not touched.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "common/base/check.h"

namespace noisefloor::scheduler {

// What they have in common; not thread-safe. Remember: from here on. TakeBack: everything is as it
// was then, at the same addresses but for what was erased meanwhile. Forget: it stays as it is. The
// last two do nothing where nothing is remembered, and end the remembering. A value that can do
// all this itself is not copied when it is touched, but told to remember, too.
template <typename T>
concept Undoable = requires(T& value) {
  value.Remember();
  value.TakeBack();
  value.Forget();
};

// A std::map. A value counts as touched when it is reached through anything but a const map.
template <typename Key, typename Value>
class UndoMap {
  using Map = std::map<Key, Value>;

 public:
  using value_type = typename Map::value_type;
  using const_iterator = typename Map::const_iterator;

  // Touches what it is asked for.
  class iterator {
   public:
    value_type& operator*() const { return map_->Touched(at_); }
    value_type* operator->() const { return &map_->Touched(at_); }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

   private:
    friend UndoMap;
    iterator(UndoMap* map, typename Map::iterator at) : map_(map), at_(at) {}
    UndoMap* map_;
    typename Map::iterator at_;
  };

  bool empty() const { return map_.empty(); }
  size_t size() const { return map_.size(); }
  bool contains(const Key& key) const { return map_.contains(key); }
  const_iterator begin() const { return map_.begin(); }
  const_iterator end() const { return map_.end(); }
  auto rbegin() const { return map_.rbegin(); }
  auto rend() const { return map_.rend(); }
  const_iterator find(const Key& key) const { return map_.find(key); }
  const Value& at(const Key& key) const { return map_.at(key); }

  iterator begin() { return {this, map_.begin()}; }
  iterator end() { return {this, map_.end()}; }
  iterator find(const Key& key) { return {this, map_.find(key)}; }
  Value& at(const Key& key) {
    const auto it = map_.find(key);
    NF_CHECK(it != map_.end());
    return Touched(it).second;
  }
  Value& operator[](const Key& key) { return try_emplace(key).first->second; }
  template <typename... Arguments>
  std::pair<iterator, bool> try_emplace(const Key& key, Arguments&&... arguments) {
    const auto [it, added] = map_.try_emplace(key, std::forward<Arguments>(arguments)...);
    if (added && remembers_) before_.try_emplace(key);
    return {iterator(this, it), added};
  }
  std::pair<iterator, bool> emplace(const Key& key, Value value) {
    return try_emplace(key, std::move(value));
  }
  iterator erase(iterator where) {
    if (remembers_) NoteErased(where.at_);
    return {this, map_.erase(where.at_)};
  }
  size_t erase(const Key& key) {
    const auto it = map_.find(key);
    if (it == map_.end()) return 0;
    erase(iterator(this, it));
    return 1;
  }

  void Remember() {
    NF_CHECK(!remembers_);
    remembers_ = true;
  }
  void TakeBack() {
    if (!std::exchange(remembers_, false)) return;
    for (auto& [key, before] : std::exchange(before_, {})) {
      if (!before.was_there) {
        map_.erase(key);
        continue;
      }
      if (before.value) {
        const auto [it, added] = map_.try_emplace(key, *std::move(before.value));
        if (!added) it->second = *std::move(before.value);
      }
      if constexpr (Undoable<Value>) map_.at(key).TakeBack();
    }
  }
  void Forget() {
    if (!std::exchange(remembers_, false)) return;
    if constexpr (Undoable<Value>) {
      for (const auto& [key, before] : before_) {
        if (const auto it = map_.find(key); it != map_.end()) it->second.Forget();
      }
    }
    before_.clear();
  }

 private:
  struct Before {
    bool was_there = false;
    std::optional<Value> value = {};  // Nothing, though it was there: it is, and remembers itself.
  };

  value_type& Touched(typename Map::iterator at) {
    if (remembers_ && !before_.contains(at->first)) {
      if constexpr (Undoable<Value>) {
        at->second.Remember();
        before_.emplace(at->first, Before{true});
      } else {
        before_.emplace(at->first, Before{true, at->second});
      }
    }
    return *at;
  }
  void NoteErased(typename Map::iterator at) {
    const auto [before, first] = before_.try_emplace(at->first, Before{true});
    if (before->second.was_there && !before->second.value) {
      before->second.value.emplace(std::move(at->second));
    }
  }

  Map map_;
  bool remembers_ = false;
  std::map<Key, Before> before_;  // Of what was touched, added or erased since.
};

// A std::set.
template <typename Key>
class UndoSet {
 public:
  using value_type = Key;
  using const_iterator = typename std::set<Key>::const_iterator;

  bool empty() const { return set_.empty(); }
  size_t size() const { return set_.size(); }
  bool contains(const Key& key) const { return set_.contains(key); }
  auto rbegin() const { return set_.rbegin(); }
  const_iterator lower_bound(const Key& key) const { return set_.lower_bound(key); }
  const_iterator begin() const { return set_.begin(); }
  const_iterator end() const { return set_.end(); }
  bool insert(const Key& key) {
    const bool added = set_.insert(key).second;
    if (added && remembers_) was_there_.try_emplace(key, false);
    return added;
  }
  size_t erase(const Key& key) {
    const size_t erased = set_.erase(key);
    if (erased > 0 && remembers_) was_there_.try_emplace(key, true);
    return erased;
  }
  void clear() {
    while (!set_.empty()) erase(Key(*set_.begin()));
  }
  template <typename... Arguments>
  bool emplace(Arguments&&... arguments) {
    return insert(Key(std::forward<Arguments>(arguments)...));
  }
  void merge(const UndoSet& other) {
    for (const Key& key : other) insert(key);
  }

  void Remember() {
    NF_CHECK(!remembers_);
    remembers_ = true;
  }
  void TakeBack() {
    remembers_ = false;
    for (const auto& [key, was_there] : std::exchange(was_there_, {})) {
      if (was_there) {
        set_.insert(key);
      } else {
        set_.erase(key);
      }
    }
  }
  void Forget() {
    remembers_ = false;
    was_there_.clear();
  }

 private:
  std::set<Key> set_;
  bool remembers_ = false;
  std::map<Key, bool> was_there_;  // Of what was added or erased since.
};

// A queue. Nothing is taken out of it, nor changed, while it remembers.
template <typename Value>
class UndoQueue {
 public:
  bool empty() const { return values_.empty(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  void push_back(Value value) { values_.push_back(std::move(value)); }
  Value& emplace_back() { return values_.emplace_back(); }
  Value& front() {
    NF_CHECK(!before_);
    return values_.front();
  }
  void pop_front() {
    NF_CHECK(!before_);
    values_.pop_front();
  }

  void Remember() { before_ = values_.size(); }
  void TakeBack() {
    if (before_) values_.resize(*std::exchange(before_, std::nullopt));
  }
  void Forget() { before_.reset(); }

 private:
  std::deque<Value> values_;
  std::optional<size_t> before_;  // How many there were.
};

}  // namespace noisefloor::scheduler
