#include "csrc/python/convert.h"

#include <pybind11/complex.h>
#include <pybind11/stl.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/tensor_memoryformats.h>

#include <cstring>

namespace neuron::python {
namespace {

namespace py = pybind11;
using dispatch::Frame;
using dispatch::NumberArg;

py::object dtype_object(c10::ScalarType dtype) {
  return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(torch::getTHPDtype(dtype)));
}

py::tuple tuple_of(c10::IntArrayRef values) {
  py::tuple result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    result[i] = values[i];
  }
  return result;
}

template <typename T>
T read(const uint8_t* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

py::object number_value(c10::ScalarType dtype, const uint8_t* data) {
  switch (dtype) {
    case at::kBool:
      return py::bool_(*data != 0);
    case at::kByte:
      return py::int_(*data);
    case at::kChar:
      return py::int_(read<int8_t>(data));
    case at::kShort:
      return py::int_(read<int16_t>(data));
    case at::kInt:
      return py::int_(read<int32_t>(data));
    case at::kLong:
      return py::int_(read<int64_t>(data));
    case at::kUInt16:
      return py::int_(read<uint16_t>(data));
    case at::kUInt32:
      return py::int_(read<uint32_t>(data));
    case at::kUInt64:
      return py::int_(read<uint64_t>(data));
    case at::kDouble:
      return py::float_(read<double>(data));
    case at::kFloat:
      return py::float_(read<float>(data));
    case at::kHalf:
      return py::float_(static_cast<float>(read<c10::Half>(data)));
    case at::kBFloat16:
      return py::float_(static_cast<float>(read<c10::BFloat16>(data)));
    case at::kComplexDouble:
      return py::cast(std::complex<double>(read<c10::complex<double>>(data)));
    case at::kComplexFloat:
      return py::cast(std::complex<float>(read<c10::complex<float>>(data)));
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(
          false, "a number of dtype ", dtype, " cannot be passed to the neuron device"
      );
  }
}

// Builds the specs of one call; tensors and numbers are met in the frame's order.
class CallBuilder {
 public:
  explicit CallBuilder(const Frame& frame)
      : frame_(frame), types_(py::module_::import("torch_neuronx.eager.call")) {}

  py::object build() {
    auto values = frame_.arguments();
    py::tuple args(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      args[i] = argument(frame_.info.args[i], values[i]);
    }
    py::tuple bases(frame_.bases.size());
    for (size_t i = 0; i < frame_.bases.size(); ++i) {
      bases[i] = base(static_cast<int>(i));
    }
    return types_.attr("Call")(
        operator_object(frame_.info.op), args, bases, py::bytes(portable_key(frame_)), frame_.device
    );
  }

 private:
  py::object argument(const dispatch::ArgInfo& arg, const c10::IValue& value) {
    if (value.isNone()) {
      return py::none();
    }
    if (arg.kind == dispatch::ArgKind::Tensor) {
      return tensor_or_number(value.toTensor(), arg.written);
    }
    if (arg.kind == dispatch::ArgKind::TensorList) {
      return tensor_list(value, arg.written);
    }
    if (frame_.is_runtime(arg, value) && !is_default(arg, value)) {
      return number(frame_.numbers[next_number_++]);
    }
    return plain(value, arg.type);
  }

  py::object tensor_list(const c10::IValue& value, bool written) {
    py::list result;
    if (value.isTensorList()) {
      for (const auto& tensor : value.toTensorVector()) {
        result.append(tensor_or_number(tensor, written));
      }
    } else {
      for (const auto& element : value.toListRef()) {
        result.append(
            element.isNone() ? py::none() : tensor_or_number(element.toTensor(), written)
        );
      }
    }
    return result;
  }

  py::object tensor_or_number(const at::Tensor& tensor, bool written) {
    if (!tensor.defined()) {
      return py::none();
    }
    if (tensor.is_privateuseone() || frame_.is_moved(tensor, written)) {
      return tensor_spec(next_tensor_++);
    }
    return number(frame_.numbers[next_number_++]);
  }

  py::object tensor_spec(size_t index) {
    const auto& arg = frame_.tensors[index];
    const auto& tensor = *arg.tensor;
    return types_.attr("TensorSpec")(
        dtype_object(tensor.scalar_type()),
        tuple_of(tensor.sizes()),
        tuple_of(tensor.strides()),
        tensor.storage_offset(),
        arg.base,
        index,
        tensor.is_conj(),
        tensor.is_neg(),
        arg.requires_offset
    );
  }

  py::object number(const NumberArg& arg) {
    size_t index = number_index_++;
    if (arg.is_list) {
      py::list values;
      size_t size = c10::elementSize(arg.dtype);
      for (int64_t i = 0; i < arg.count; ++i) {
        values.append(number_value(arg.dtype, arg.bytes.data() + i * size));
      }
      return types_.attr("NumberListSpec")(
          dtype_object(arg.dtype), index, arg.count, py::tuple(values)
      );
    }
    return types_.attr("NumberSpec")(
        dtype_object(arg.dtype), index, arg.wrapped, number_value(arg.dtype, arg.bytes.data())
    );
  }

  // A stored dtype of an uninitialized storage is that of its first tensor.
  py::object base(int index) {
    const auto& entry = frame_.bases[index];
    size_t nbytes = entry.storage->nbytes();
    if (entry.buffer) {
      return types_.attr("BaseSpec")(
          dtype_object(entry.buffer->dtype()), tuple_of(entry.buffer->dims()), nbytes, true
      );
    }
    for (const auto& arg : frame_.tensors) {
      if (arg.base == index) {
        int64_t count = static_cast<int64_t>(nbytes / arg.tensor->element_size());
        return types_.attr("BaseSpec")(
            dtype_object(arg.tensor->scalar_type()), py::make_tuple(count), nbytes, false
        );
      }
    }
    TORCH_INTERNAL_ASSERT(false, "a storage without a tensor");
  }

  static py::object plain(const c10::IValue& value, const c10::TypePtr& type) {
    if (value.isNone() || value.isGenerator()) {
      return py::none();
    }
    if (value.isInt()) {
      return integer(value.toInt(), type);
    }
    if (value.isSymInt()) {
      return integer(value.toSymInt().guard_int(__FILE__, __LINE__), type);
    }
    if (value.isBool()) {
      return py::bool_(value.toBool());
    }
    if (value.isDouble()) {
      return py::float_(value.toDouble());
    }
    if (value.isComplexDouble()) {
      return py::cast(std::complex<double>(value.toComplexDouble()));
    }
    if (value.isString()) {
      return py::str(value.toStringRef());
    }
    if (value.isDevice()) {
      return py::str(value.toDevice().str());
    }
    if (value.isIntList()) {
      return py::list(tuple_of(value.toIntVector()));
    }
    return plain_list(value, type);
  }

  static py::object plain_list(const c10::IValue& value, const c10::TypePtr& type) {
    auto list_type = type->cast<c10::ListType>();
    auto element_type = list_type ? list_type->getElementType() : type;
    py::list result;
    if (value.isDoubleList()) {
      return py::cast(value.toDoubleVector());
    }
    if (value.isBoolList()) {
      for (bool element : value.toBoolList()) {
        result.append(py::bool_(element));
      }
      return result;
    }
    for (const auto& element : value.toListRef()) {
      result.append(plain(element, element_type));
    }
    return result;
  }

  static py::object integer(int64_t value, const c10::TypePtr& type) {
    switch (type->kind()) {
      case c10::TypeKind::ScalarTypeType:
        return dtype_object(static_cast<c10::ScalarType>(value));
      case c10::TypeKind::LayoutType:
        return py::cast(static_cast<at::Layout>(value));
      case c10::TypeKind::MemoryFormatType:
        return py::cast(static_cast<at::MemoryFormat>(value));
      default:
        return py::int_(value);
    }
  }

  const Frame& frame_;
  py::module_ types_;
  size_t next_tensor_ = 0;
  size_t next_number_ = 0;
  size_t number_index_ = 0;
};

c10::ScalarType dtype_of(py::handle object) {
  TORCH_CHECK(THPDtype_Check(object.ptr()), "expected a torch.dtype in a program");
  return reinterpret_cast<THPDtype*>(object.ptr())->scalar_type;
}

pjrt::Dims dims_of(py::handle object) {
  pjrt::Dims dims;
  for (auto item : object) {
    dims.push_back(item.cast<int64_t>());
  }
  return dims;
}

dispatch::Input to_input(py::handle object) {
  auto item = object.cast<py::tuple>();
  auto kind = item[0].cast<std::string>();
  if (kind == "rng") {
    return {dispatch::Input::Rng, 0};
  }
  int index = item[1].cast<int>();
  if (kind == "base") {
    return {dispatch::Input::Base, index};
  }
  return {kind == "number" ? dispatch::Input::Number : dispatch::Input::Offset, index};
}

dispatch::Result to_result(py::handle object) {
  auto item = object.cast<py::tuple>();
  auto kind = item[0].cast<std::string>();
  dispatch::Result result{};
  if (kind == "new") {
    result.kind = dispatch::Result::New;
    result.dtype = dtype_of(item[1]);
    result.sizes = dims_of(item[2]);
    result.strides = dims_of(item[3]);
    result.physical = dims_of(item[4]);
    if (item.size() > 5) {
      auto counted = item[5].cast<py::tuple>();
      result.counted = {counted[0].cast<int64_t>(), counted[1].cast<int>(), dims_of(counted[2])};
    }
  } else if (kind == "write") {
    result.kind = dispatch::Result::Write;
    result.base = item[1].cast<int>();
    result.dtype = dtype_of(item[2]);
    result.physical = dims_of(item[3]);
  } else if (kind == "counts") {
    result.kind = dispatch::Result::Counts;
    result.dtype = at::kLong;
    result.physical = {item[1].cast<int64_t>()};
  } else {
    result.kind = dispatch::Result::Check;
    result.dtype = at::kLong;
  }
  return result;
}

c10::IValue to_value(py::handle object) {
  if (py::isinstance<py::bool_>(object)) {
    return object.cast<bool>();
  }
  if (py::isinstance<py::int_>(object)) {
    return object.cast<int64_t>();
  }
  return object.cast<double>();
}

dispatch::View to_view(py::handle object) {
  auto item = object.cast<py::tuple>();
  auto sizes = dims_of(item[1]);
  auto strides = dims_of(item[2]);
  return {
      dtype_of(item[0]),
      {sizes.begin(), sizes.end()},
      {strides.begin(), strides.end()},
      item[3].cast<int64_t>(),
      item[4].cast<bool>(),
      item[5].cast<bool>()
  };
}

dispatch::Return to_return(py::handle object) {
  auto item = object.cast<py::tuple>();
  auto kind = item[0].cast<std::string>();
  dispatch::Return ret{};
  if (kind == "result" || kind == "arg") {
    ret.kind = kind == "arg" ? dispatch::Return::FromArgument : dispatch::Return::FromResult;
    ret.index = item[1].cast<int>();
    if (item.size() > 2) {
      ret.view = to_view(item[2]);
    }
  } else if (kind == "list") {
    ret.kind = dispatch::Return::List;
    for (auto element : item[1]) {
      ret.elements.push_back(to_return(element));
    }
  } else if (kind == "value") {
    ret.kind = dispatch::Return::Value;
    ret.value = to_value(item[1]);
  } else {
    ret.kind = dispatch::Return::None;
  }
  return ret;
}

void fill_launch(dispatch::Program& program, const py::object& launch) {
  program.kind = dispatch::Program::Launch;
  program.name = launch.attr("name").cast<std::string>();
  program.executable = launch.attr("executable").cast<std::shared_ptr<pjrt::Executable>>();
  program.rng_increment = launch.attr("rng_increment").cast<uint64_t>();
  for (auto input : launch.attr("inputs")) {
    program.inputs.push_back(to_input(input));
  }
  for (auto result : launch.attr("results")) {
    program.results.push_back(to_result(result));
  }
  for (auto ret : launch.attr("returns")) {
    program.returns.push_back(to_return(ret));
  }
  for (auto check : launch.attr("checks")) {
    auto item = check.cast<py::tuple>();
    program.checks.push_back({item[0].cast<std::string>(), item[1].cast<std::string>()});
  }
  for (auto& result : program.results) {
    if (result.kind == dispatch::Result::Check) {
      result.physical = {static_cast<int64_t>(2 * program.checks.size())};
    }
  }
  dispatch::finish(program, launch.attr("donated").cast<std::vector<int>>());
}

void fill_resize(dispatch::Program& program, const py::object& resize) {
  program.kind = dispatch::Program::Resize;
  for (auto target : resize.attr("targets")) {
    auto item = target.cast<py::tuple>();
    auto sizes = dims_of(item[1]);
    auto strides = dims_of(item[2]);
    program.targets.push_back(
        {item[0].cast<int>(), {sizes.begin(), sizes.end()}, {strides.begin(), strides.end()}}
    );
  }
}

}  // namespace

py::object operator_object(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name();
  auto split = name.name.find("::");
  py::object ops = py::module_::import("torch").attr("ops");
  py::object space = ops.attr(name.name.substr(0, split).c_str());
  py::object packet = space.attr(name.name.substr(split + 2).c_str());
  return packet.attr(name.overload_name.empty() ? "default" : name.overload_name.c_str());
}

py::object call_object(const Frame& frame) {
  return CallBuilder(frame).build();
}

std::shared_ptr<dispatch::Program> to_program(const py::object& object) {
  auto program = std::make_shared<dispatch::Program>();
  auto kind = py::type::of(object).attr("__name__").cast<std::string>();
  if (kind == "Launch") {
    fill_launch(*program, object);
  } else if (kind == "Resize") {
    fill_resize(*program, object);
  } else if (kind == "Host") {
    program->kind = dispatch::Program::Host;
    program->reason = object.attr("reason").cast<std::string>();
  } else {
    TORCH_CHECK(kind == "Composite", "torch_neuronx.eager.miss returned a ", kind);
    program->kind = dispatch::Program::Composite;
  }
  return program;
}

}  // namespace neuron::python
