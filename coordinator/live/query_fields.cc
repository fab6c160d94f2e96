#include "coordinator/live/query_fields.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "google/protobuf/descriptor.h"

#include "common/base/utf8.h"

namespace noisefloor::live {

namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Set, or one more of it.
template <typename T, typename Set, typename Add>
void Put(Message& message, const FieldDescriptor& field, const T& value, Set set, Add add) {
  const Reflection& reflection = *message.GetReflection();
  field.is_repeated() ? (reflection.*add)(&message, &field, value)
                      : (reflection.*set)(&message, &field, value);
}

bool PutValue(Message& message, const FieldDescriptor& field, std::string_view value) {
  const auto number = [&](auto parsed, auto set, auto add) {
    if (!absl::SimpleAtoi(std::string(value), &parsed)) return false;
    Put(message, field, parsed, set, add);
    return true;
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return number(int32_t(), &Reflection::SetInt32, &Reflection::AddInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return number(int64_t(), &Reflection::SetInt64, &Reflection::AddInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return number(uint32_t(), &Reflection::SetUInt32, &Reflection::AddUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return number(uint64_t(), &Reflection::SetUInt64, &Reflection::AddUInt64);
    case FieldDescriptor::CPPTYPE_BOOL: {
      if (value != "true" && value != "false") return false;
      Put(message, field, value == "true", &Reflection::SetBool, &Reflection::AddBool);
      return true;
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const EnumValueDescriptor* const named =
          field.enum_type()->FindValueByName(std::string(value));
      if (named == nullptr) return false;
      Put(message, field, named, &Reflection::SetEnum, &Reflection::AddEnum);
      return true;
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      if (field.type() == FieldDescriptor::TYPE_STRING && !IsUtf8(value)) return false;
      Put(message, field, std::string(value), &Reflection::SetString, &Reflection::AddString);
      return true;
    }
    default: return false;
  }
}

}  // namespace

absl::Status SetField(Message& message, std::string_view path, std::string_view value) {
  Message* at = &message;
  const std::vector<std::string> names = absl::StrSplit(std::string(path), '.');
  for (size_t i = 0; i < names.size(); ++i) {
    const FieldDescriptor* const field = at->GetDescriptor()->FindFieldByName(names[i]);
    const bool last = i + 1 == names.size();
    const bool is_message =
        field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field == nullptr || is_message == last || (is_message && field->is_repeated())) {
      return InvalidInput(fmt::format("{}: is no field that a query can set", path));
    }
    if (!last) {
      at = at->GetReflection()->MutableMessage(at, field);
    } else if (!PutValue(*at, *field, value)) {
      return InvalidInput(fmt::format(
          "{}={}: is no {} of this field", path, value,
          field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM ? "name" : field->cpp_type_name()));
    }
  }
  return absl::OkStatus();
}

}  // namespace noisefloor::live
