#include "csrc/dispatch/op_info.h"

#include <array>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace neuron::dispatch {
namespace {

c10::TypePtr without_optional(c10::TypePtr type) {
  while (auto optional = type->cast<c10::OptionalType>()) {
    type = optional->getElementType();
  }
  return type;
}

bool is_number(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::SymFloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::SymBoolType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::NumberType:
      return true;
    default:
      return false;
  }
}

ArgKind kind_of(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::TensorType) {
    return ArgKind::Tensor;
  }
  if (auto list = type->cast<c10::ListType>()) {
    auto element = without_optional(list->getElementType());
    if (element->kind() == c10::TypeKind::TensorType) {
      return ArgKind::TensorList;
    }
    bool floating =
        element->kind() == c10::TypeKind::FloatType || element->kind() == c10::TypeKind::NumberType;
    return floating ? ArgKind::NumberList : ArgKind::Plain;
  }
  return is_number(type) ? ArgKind::Number : ArgKind::Plain;
}

bool contains_any(const std::string& name, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    if (name.find(part) != std::string::npos) {
      return true;
    }
  }
  return false;
}

class Registry {
 public:
  OpInfo& get(const c10::OperatorHandle& op) {
    {
      std::shared_lock<std::shared_mutex> lock(mutex_);
      auto found = infos_.find(op);
      if (found != infos_.end()) {
        return *found->second;
      }
    }
    std::unique_lock<std::shared_mutex> lock(mutex_);
    auto& info = infos_[op];
    if (!info) {
      info = std::make_unique<OpInfo>(op);
      info->id = infos_.size();
    }
    return *info;
  }

  std::vector<OpInfo*> all() {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    std::vector<OpInfo*> result;
    for (auto& [op, info] : infos_) {
      result.push_back(info.get());
    }
    return result;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<c10::OperatorHandle, std::unique_ptr<OpInfo>> infos_;
};

Registry& registry() {
  static auto* instance = new Registry();  // leaked: kernels may run during exit
  return *instance;
}

}  // namespace

OpInfo::OpInfo(const c10::OperatorHandle& handle)
    : op(handle), name(toString(handle.operator_name())), id(0) {
  const auto& schema = op.schema();
  for (const auto& argument : schema.arguments()) {
    ArgInfo info;
    info.type = without_optional(argument.real_type());
    info.kind = kind_of(info.type);
    info.written = argument.alias_info() && argument.alias_info()->isWrite();
    if (argument.default_value()) {
      info.default_value = *argument.default_value();
    }
    args.push_back(std::move(info));
  }
  num_returns = schema.returns().size();
  host_indices = contains_any(
      name, {"aten::index.", "aten::index_put", "aten::_index_put_impl", "aten::_unsafe_index"}
  );
  is_range = contains_any(name, {"aten::arange.start"});
  notes_writes = num_returns == 0 && name.starts_with("aten::_foreach_");
  uses_precision = contains_any(
      name, {"mm", "bmm", "matmul", "conv", "dot", "mv", "attention", "linear", "addr", "cdist"}
  );
}

OpInfo& op_info(const c10::OperatorHandle& op) {
  // A small direct-mapped cache per thread in front of the shared map.
  struct Entry {
    size_t hash = 0;
    OpInfo* info = nullptr;
  };
  thread_local std::array<Entry, 256> cache;
  size_t hash = std::hash<c10::OperatorHandle>{}(op);
  Entry& entry = cache[(hash >> 4) % cache.size()];
  if (entry.hash != hash || entry.info == nullptr || entry.info->op != op) {
    entry = {hash, &registry().get(op)};
  }
  return *entry.info;
}

std::vector<OpInfo*> known_ops() {
  return registry().all();
}

}  // namespace neuron::dispatch
