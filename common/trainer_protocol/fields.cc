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

std::vector<Field> MakeFields() {
  return {
      NF_CHOICE("model.name", model.name, "network", "small_cnn", "medium_cnn", "resnet18", "mlp"),
      NF_BOOL("model.batch_norm", model.batch_norm, "SmallCNN with batch normalisation"),
      NF_NUMBER("model.batch_norm_momentum", model.batch_norm_momentum, 0, 1,
                "share of a new batch in the running statistics"),
      NF_NUMBER("model.batch_norm_epsilon", model.batch_norm_epsilon, 1e-12, 1,
                "added to the variance"),
      NF_NUMBER("model.dropout", model.dropout, 0, 0.95, "probability of a zero"),
      NF_INT("model.hidden", model.hidden, 1, 8192, "width of the MLP's hidden layers"),
      NF_CHOICE("model.init", model.init, "initial weights", "glorot_uniform", "he_normal"),
      NF_CHOICE("data.name", data.name, "data set", "cifar10", "cifar100", "mnist", "fashion-mnist",
                "fashion-mnist-sample"),
      NF_TEXT("data.identity", data.identity, 64, "expected identity hash; empty: pin the first"),
      NF_INT("data.train_examples", data.train_examples, 0, 1e8, "first n; 0 = all"),
      NF_INT("data.test_examples", data.test_examples, 0, 1e8, "first n; 0 = all"),
      NF_INT("augment.crop_padding", augment.crop_padding, 0, 64, "pixels; 0 = no crop"),
      NF_BOOL("augment.flip", augment.flip, "random horizontal flip"),
      NF_INT("augment.cutout", augment.cutout, 0, 64, "side in pixels; 0 = none"),
      NF_BOOL("augment.standardise", augment.standardise, "per image, also at test time"),
      NF_INT("train.epochs", train.epochs, 0, 100000, "epochs"),
      NF_INT("train.batch_size", train.batch_size, 1, 65536, "examples a step"),
      NF_INT("train.shards", train.shards, 1, 64, "gradient shards, a thread each"),
      NF_INT("train.threads", train.threads, 1, 256, "intra-op threads"),
      NF_BOOL("train.drop_last", train.drop_last, "drop the last partial batch"),
      NF_NUMBER("train.label_smoothing", train.label_smoothing, 0, 0.99, "label smoothing"),
      NF_CHOICE("train.precision", train.precision, "arithmetic", "fp32"),
      NF_CHOICE("train.optimizer.name", train.optimizer.name, "optimiser", "sgd", "adam"),
      NF_NUMBER("train.optimizer.learning_rate", train.optimizer.learning_rate, 0, 1e30,
                "learning rate"),
      NF_NUMBER("train.optimizer.momentum", train.optimizer.momentum, 0, 0.9999, "of SGD"),
      NF_BOOL("train.optimizer.nesterov", train.optimizer.nesterov, "Nesterov momentum"),
      NF_NUMBER("train.optimizer.weight_decay", train.optimizer.weight_decay, 0, 10, "coupled"),
      NF_NUMBER("train.optimizer.beta1", train.optimizer.beta1, 0, 0.999999, "of Adam"),
      NF_NUMBER("train.optimizer.beta2", train.optimizer.beta2, 0, 0.999999, "of Adam"),
      NF_NUMBER("train.optimizer.epsilon", train.optimizer.epsilon, 1e-30, 1, "of Adam"),
      NF_CHOICE("train.schedule.name", train.schedule.name, "learning rate over time", "constant",
                "step", "cosine"),
      NF_INTS("train.schedule.milestones", train.schedule.milestones, 1, 100000,
              "epochs after which the rate is multiplied by factor"),
      NF_NUMBER("train.schedule.factor", train.schedule.factor, 0, 1, "of schedule step"),
      NF_NUMBER("train.schedule.warmup_epochs", train.schedule.warmup_epochs, 0, 100000,
                "linear warm-up from 0"),
      NF_INT("sources.data_order.window", sources.shuffle_window, 0, 1e8,
             "windowed shuffle; 0 = full permutation"),
      NF_CHOICE("sources.augment.key", sources.augment_key, "what indexes a draw", "example",
                "position"),
      NF_INT("sources.poke.step", sources.poke_step, 0, 1e9, "steps done before the poke"),
      NF_TEXT("sources.poke.parameter", sources.poke_parameter, 200, "empty = the first"),
      NF_INT("sources.poke.element", sources.poke_element, 0, 1e9, "which weight"),
      NF_INTS("sources.threads.choices", sources.thread_choices, 1, 256,
              "intra-op thread counts to draw from"),
      NF_INT("evaluate.every_epochs", evaluate.every_epochs, 0, 100000, "0 = only at the end"),
      NF_CHOICE("evaluate.predictions", evaluate.predictions, "which logits are kept", "final",
                "all", "none"),
      NF_INT("evaluate.batch_size", evaluate.batch_size, 1, 65536, "examples a batch"),
  };
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
  std::vector<std::string_view> paths;
  for (const Field& field : AllFields()) paths.push_back(field.path);
  return Nearest(path, paths);
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
