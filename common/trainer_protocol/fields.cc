#include "common/trainer_protocol/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace noisefloor {

namespace {

using S = Specification;

// One getter and one setter per member path; the setter gets a value of the field's kind.
#define NF_ACCESS(type, member)                                            \
  [](const S& s) -> SettingValue { return SettingValue(type(s.member)); }, \
      [](S& s, SettingValue v) { s.member = std::get<type>(std::move(v)); }
#define NF_BOOL(path, member, help) \
  Field { path, FieldKind::kBool, help, 0, 0, {}, NF_ACCESS(bool, member) }
#define NF_INT(path, member, least, most, help) \
  Field { path, FieldKind::kInt, help, least, most, {}, NF_ACCESS(int64_t, member) }
#define NF_NUMBER(path, member, least, most, help) \
  Field { path, FieldKind::kNumber, help, least, most, {}, NF_ACCESS(double, member) }
#define NF_CHOICE(path, member, help, ...) \
  Field { path, FieldKind::kChoice, help, 0, 0, {__VA_ARGS__}, NF_ACCESS(std::string, member) }
#define NF_TEXT(path, member, most, help) \
  Field { path, FieldKind::kText, help, 0, most, {}, NF_ACCESS(std::string, member) }
#define NF_INTS(path, member, least, most, help)                                              \
  Field {                                                                                     \
    path, FieldKind::kIntList, help, least, most, {}, NF_ACCESS(std::vector<int64_t>, member) \
  }

std::vector<Field> FieldsOfModelAndData() {
  return {
      NF_CHOICE("model.name", model.name, "the network", "small_cnn", "medium_cnn", "resnet18",
                "mlp"),
      NF_BOOL("model.batch_norm", model.batch_norm,
              "batch normalisation in small_cnn; resnet18 always has it, the others never"),
      NF_NUMBER("model.batch_norm_momentum", model.batch_norm_momentum, 0, 1,
                "share of a new batch in the running statistics"),
      NF_NUMBER("model.batch_norm_epsilon", model.batch_norm_epsilon, 1e-12, 1,
                "added to the variance"),
      NF_NUMBER("model.dropout", model.dropout, 0, 0.95,
                "probability of a zero, in medium_cnn and mlp"),
      NF_INT("model.hidden", model.hidden, 1, 8192, "width of the two hidden layers of mlp"),
      NF_CHOICE("model.init", model.init, "distribution of the initial weights", "glorot_uniform",
                "he_normal"),
      NF_CHOICE("data.name", data.name, "the data set", "cifar10", "cifar100", "mnist",
                "fashion-mnist", "fashion-mnist-sample"),
      NF_TEXT(
          "data.identity", data.identity, 64,
          "identity hash that the data must have; empty: what the first member reads is pinned"),
      NF_INT("data.train_examples", data.train_examples, 0, 1e8,
             "the first n in canonical order; 0: all"),
      NF_INT("data.test_examples", data.test_examples, 0, 1e8,
             "the first n in canonical order; 0: all"),
      NF_INT("augment.crop_padding", augment.crop_padding, 0, 64,
             "pixels of zeros round an image before a random crop; 0: no crop"),
      NF_BOOL("augment.flip", augment.flip, "left and right exchanged at random"),
      NF_INT("augment.cutout", augment.cutout, 0, 64,
             "side in pixels of a square blanked at random; 0: none"),
      NF_BOOL("augment.standardise", augment.standardise,
              "each image to mean 0 and deviation 1, also at test time"),
  };
}

std::vector<Field> FieldsOfTraining() {
  return {
      NF_INT("train.epochs", train.epochs, 0, 100000,
             "passes over the training set; 0: the initial weights are tested"),
      NF_INT("train.batch_size", train.batch_size, 1, 65536, "examples of a step, over all shards"),
      NF_INT("train.shards", train.shards, 1, 64,
             "equal parts of a batch, a thread each, whose gradients are added"),
      NF_INT("train.threads", train.threads, 1, 256,
             "threads of each operation, unless the source threads draws their number"),
      NF_BOOL("train.drop_last", train.drop_last,
              "leaves out the last batch of an epoch when it is not full"),
      NF_NUMBER("train.label_smoothing", train.label_smoothing, 0, 0.99,
                "share of a label that is spread over all classes"),
      NF_CHOICE("train.precision", train.precision, "the arithmetic", "fp32"),
      NF_CHOICE("train.optimizer.name", train.optimizer.name, "the optimiser", "sgd", "adam"),
      NF_NUMBER("train.optimizer.learning_rate", train.optimizer.learning_rate, 0, 1e30,
                "learning rate, before the schedule"),
      NF_NUMBER("train.optimizer.momentum", train.optimizer.momentum, 0, 0.9999, "of sgd"),
      NF_BOOL("train.optimizer.nesterov", train.optimizer.nesterov, "Nesterov's form of momentum"),
      NF_NUMBER("train.optimizer.weight_decay", train.optimizer.weight_decay, 0, 10,
                "times the weights, added to the gradient"),
      NF_NUMBER("train.optimizer.beta1", train.optimizer.beta1, 0, 0.999999,
                "of adam: decay of the mean gradient"),
      NF_NUMBER("train.optimizer.beta2", train.optimizer.beta2, 0, 0.999999,
                "of adam: decay of the mean square"),
      NF_NUMBER("train.optimizer.epsilon", train.optimizer.epsilon, 1e-30, 1,
                "of adam: added to the denominator"),
      NF_CHOICE("train.schedule.name", train.schedule.name, "the learning rate over time",
                "constant", "step", "cosine"),
      NF_INTS("train.schedule.milestones", train.schedule.milestones, 1, 100000,
              "of step: epochs after which the rate is multiplied by factor"),
      NF_NUMBER("train.schedule.factor", train.schedule.factor, 0, 1, "of step"),
      NF_NUMBER("train.schedule.warmup_epochs", train.schedule.warmup_epochs, 0, 100000,
                "epochs of a linear rise from 0, before the schedule"),
  };
}

std::vector<Field> FieldsOfSourcesAndEvaluation() {
  return {
      NF_INT("sources.data_order.window", sources.shuffle_window, 0, 1e8,
             "buffer of a windowed shuffle; 0: a full permutation"),
      NF_CHOICE("sources.augment.key", sources.augment_key,
                "what indexes a draw: the example, or its position in the epoch", "example",
                "position"),
      NF_INT("sources.poke.step", sources.poke_step, 0, 1e9,
             "optimiser steps done before the poke"),
      NF_TEXT("sources.poke.parameter", sources.poke_parameter, 200,
              "the parameter that is poked; empty: the first weight by name"),
      NF_INT("sources.poke.element", sources.poke_element, 0, 1e9,
             "which element, where poke is fixed; free draws it"),
      NF_INTS("sources.threads.choices", sources.thread_choices, 1, 256,
              "thread counts that the source threads draws from"),
      NF_INT("evaluate.every_epochs", evaluate.every_epochs, 0, 100000,
             "epochs between tests; 0: only at the end"),
      NF_CHOICE("evaluate.predictions", evaluate.predictions,
                "the logits that are kept: of the last test, of every test, none", "final", "all",
                "none"),
      NF_INT("evaluate.batch_size", evaluate.batch_size, 1, 65536, "examples of a batch of a test"),
  };
}

std::vector<Field> MakeFields() {
  std::vector<Field> fields;
  for (const auto& part :
       {FieldsOfModelAndData(), FieldsOfTraining(), FieldsOfSourcesAndEvaluation()}) {
    fields.insert(fields.end(), part.begin(), part.end());
  }
  return fields;
}

#undef NF_ACCESS
#undef NF_BOOL
#undef NF_INT
#undef NF_NUMBER
#undef NF_CHOICE
#undef NF_TEXT
#undef NF_INTS

std::string NumberText(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

// Limits as a person writes them: 100000, not 1e+05.
std::string LimitText(double limit) {
  const bool whole = std::trunc(limit) == limit && std::abs(limit) < 1e15;
  return whole ? std::to_string(static_cast<int64_t>(limit)) : NumberText(limit);
}

std::string Range(const Field& field) {
  return " from " + LimitText(field.least) + " to " + LimitText(field.most);
}

std::string Expected(const Field& field) {
  switch (field.kind) {
    case FieldKind::kBool: return "true or false";
    case FieldKind::kInt: return "an integer" + Range(field);
    case FieldKind::kNumber: return "a number" + Range(field);
    case FieldKind::kText: return "a text of at most " + LimitText(field.most) + " characters";
    case FieldKind::kIntList: return "a list of integers" + Range(field);
    case FieldKind::kChoice: {
      std::string text = "one of";
      for (size_t i = 0; i < field.choices.size(); ++i) {
        text.append(i == 0 ? " " : ", ").append(field.choices[i]);
      }
      return text;
    }
  }
  return "corrupt";
}

bool InLimits(const Field& field, double value) {
  return std::isfinite(value) && value >= field.least && value <= field.most;
}

// Turns an int into a number and an empty or single value into a list where the field asks for it.
void Adapt(const Field& field, SettingValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    if (field.kind == FieldKind::kNumber)
      value = static_cast<double>(*whole);
    else if (field.kind == FieldKind::kIntList)
      value = std::vector<int64_t>{*whole};
  }
}

bool Accepts(const Field& field, const SettingValue& value) {
  switch (field.kind) {
    case FieldKind::kBool: return std::holds_alternative<bool>(value);
    case FieldKind::kInt: {
      const auto* whole = std::get_if<int64_t>(&value);
      return whole && InLimits(field, static_cast<double>(*whole));
    }
    case FieldKind::kNumber: {
      const auto* number = std::get_if<double>(&value);
      return number && InLimits(field, *number);
    }
    case FieldKind::kText: {
      const auto* text = std::get_if<std::string>(&value);
      return text && text->size() <= static_cast<size_t>(field.most);
    }
    case FieldKind::kChoice: {
      const auto* text = std::get_if<std::string>(&value);
      return text && std::ranges::find(field.choices, *text) != field.choices.end();
    }
    case FieldKind::kIntList: {
      const auto* list = std::get_if<std::vector<int64_t>>(&value);
      return list && list->size() <= 1000 && std::ranges::all_of(*list, [&](int64_t element) {
               return InLimits(field, static_cast<double>(element));
             });
    }
  }
  return false;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, substituted}));
    }
  }
  return row[b.size()];
}

constexpr size_t kMostCompared = 200;  // Longer texts are no slip of a name.

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('.') + 1); }

bool IsBelow(std::string_view path, std::string_view group) {
  return path.size() > group.size() && path.starts_with(group) && path[group.size()] == '.';
}

// "lr" of "learning_rate".
bool IsInitials(std::string_view wrong, std::string_view name) {
  std::string initials;
  for (size_t i = 0; i < name.size(); ++i) {
    if (i == 0 || name[i - 1] == '_') initials += name[i];
  }
  return initials.size() > 1 && wrong == initials;
}

// How far `wrong` is from `name`; more than `most` when that is plain from their lengths.
size_t SlipOf(std::string_view wrong, std::string_view name, size_t most) {
  if (IsInitials(wrong, name)) return 1;
  const auto [less, more] = std::minmax({wrong.size(), name.size()});
  return more - less > most ? most + 1 : EditDistance(wrong, name);
}

}  // namespace

std::string ToText(const SettingValue& value) {
  struct Visitor {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return NumberText(v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const std::vector<int64_t>& v) const {
      std::string text = "[";
      for (size_t i = 0; i < v.size(); ++i) text += (i ? ", " : "") + std::to_string(v[i]);
      return text + "]";
    }
  };
  return std::visit(Visitor{}, value);
}

std::span<const Field> AllFields() {
  static const std::vector<Field> fields = MakeFields();
  return fields;
}

const Field* FindField(std::string_view path) {
  const auto fields = AllFields();
  const auto it = std::ranges::find(fields, path, &Field::path);
  return it == fields.end() ? nullptr : &*it;
}

std::string_view Nearest(std::string_view wrong, std::span<const std::string_view> known) {
  if (wrong.size() > kMostCompared) return {};
  std::string_view best;
  size_t least = std::max<size_t>(2, wrong.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const size_t distance = EditDistance(wrong, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string_view NearestField(std::string_view path) {
  if (path.size() > kMostCompared) return {};
  const std::string_view wrong = LastPart(path);
  const size_t most = std::clamp<size_t>(wrong.size() / 2, 2, 6);
  std::string_view best;
  std::pair<size_t, size_t> least(most + 1, 0);
  for (const Field& field : AllFields()) {
    for (size_t end = 0; end != std::string_view::npos;) {
      end = field.path.find('.', end + 1);
      const std::string_view known = field.path.substr(0, end);
      if (IsBelow(path, known)) continue;
      const size_t slip = std::min(SlipOf(wrong, LastPart(known), most), SlipOf(path, known, most));
      if (slip > least.first) continue;
      const std::pair distance(slip, EditDistance(path, known));
      if (distance >= least) continue;
      least = distance;
      best = known;
    }
  }
  return best;
}

absl::Status SetField(Specification& specification, std::string_view path, SettingValue value) {
  const Field* field = FindField(path);
  if (field == nullptr) {
    std::string message = "unknown key " + std::string(path);
    if (const auto nearest = NearestField(path); !nearest.empty()) {
      message.append("; did you mean ").append(nearest).append("?");
    }
    return InvalidInput(message);
  }
  const std::string got = ToText(value);
  Adapt(*field, value);
  if (!Accepts(*field, value)) {
    return InvalidInput(std::string(path) + ": expected " + Expected(*field) + ", got " +
                        (got.empty() ? "an empty text" : got));
  }
  field->set(specification, std::move(value));
  return absl::OkStatus();
}

}  // namespace noisefloor
