#include "csrc/pjrt/client.h"

#include "csrc/pjrt/api.h"
#include "csrc/pjrt/error.h"

namespace neuron::pjrt {
namespace {

struct ToNamedValue {
  PJRT_NamedValue& value;
  void operator()(const std::string& text) const {
    value.type = PJRT_NamedValue_kString;
    value.string_value = text.data();
    value.value_size = text.size();
  }
  void operator()(int64_t number) const {
    value.type = PJRT_NamedValue_kInt64;
    value.int64_value = number;
  }
  void operator()(bool flag) const {
    value.type = PJRT_NamedValue_kBool;
    value.bool_value = flag;
  }
  void operator()(double number) const {
    value.type = PJRT_NamedValue_kFloat;
    value.float_value = static_cast<float>(number);
  }
};

// The values point into `options`.
std::vector<PJRT_NamedValue> named_values(const std::map<std::string, Option>& options) {
  std::vector<PJRT_NamedValue> values;
  for (const auto& [name, option] : options) {
    NEURON_PJRT_ARGS(PJRT_NamedValue, value);
    value.name = name.data();
    value.name_size = name.size();
    value.value_size = 1;
    std::visit(ToNamedValue{value}, option);
    values.push_back(value);
  }
  return values;
}

}  // namespace

std::unique_ptr<Client> Client::open(
    const std::string& plugin_path, const std::map<std::string, Option>& options
) {
  const PJRT_Api* api = load_plugin(plugin_path);
  const std::vector<PJRT_NamedValue> values = named_values(options);
  NEURON_PJRT_ARGS(PJRT_Client_Create_Args, args);
  args.create_options = values.data();
  args.num_options = values.size();
  check_error(api, api->PJRT_Client_Create(&args), "open its devices");
  std::unique_ptr<Client> client(new Client(plugin_path, api, args.client));
  client->list_devices();
  client->host_memory_ = client->probe_host_memory();
  client->init_memory();
  if (client->host_memory_) {
    keep_freed_memory();
  }
  return client;
}

Client::Client(std::string plugin_path, const PJRT_Api* api, PJRT_Client* handle)
    : plugin_path_(std::move(plugin_path)), api_(api), handle_(handle) {}

Client::~Client() {
  NEURON_PJRT_ARGS(PJRT_Client_Destroy_Args, args);
  args.client = handle_;
  discard_error(api_, api_->PJRT_Client_Destroy(&args));
}

void Client::list_devices() {
  NEURON_PJRT_ARGS(PJRT_Client_AddressableDevices_Args, args);
  args.client = handle_;
  check(api_->PJRT_Client_AddressableDevices(&args), "list its devices");
  TORCH_CHECK(
      args.num_addressable_devices > 0, "The PJRT plugin '", plugin_path_, "' has no device"
  );
  devices_.assign(
      args.addressable_devices, args.addressable_devices + args.num_addressable_devices
  );
  memory_ = std::make_unique<MemoryAccounting[]>(devices_.size());
}

std::string Client::platform_name() const {
  NEURON_PJRT_ARGS(PJRT_Client_PlatformName_Args, args);
  args.client = handle_;
  check(api_->PJRT_Client_PlatformName(&args), "tell its platform's name");
  return std::string(args.platform_name, args.platform_name_size);
}

std::string Client::platform_version() const {
  NEURON_PJRT_ARGS(PJRT_Client_PlatformVersion_Args, args);
  args.client = handle_;
  check(api_->PJRT_Client_PlatformVersion(&args), "tell its platform's version");
  return std::string(args.platform_version, args.platform_version_size);
}

std::pair<int, int> Client::api_version() const {
  return plugin_version(api_);
}

std::map<std::string, Option> Client::attributes() const {
  return plugin_attributes(api_);
}

std::vector<std::string> Client::extensions() const {
  return plugin_extensions(api_);
}

std::unique_ptr<Executable> Client::compile(std::string_view program, std::string_view options) {
  constexpr std::string_view kFormat = "mlir";
  NEURON_PJRT_ARGS(PJRT_Program, code);
  code.code = const_cast<char*>(program.data());
  code.code_size = program.size();
  code.format = kFormat.data();
  code.format_size = kFormat.size();
  NEURON_PJRT_ARGS(PJRT_Client_Compile_Args, args);
  args.client = handle_;
  args.program = &code;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  check(api_->PJRT_Client_Compile(&args), "compile a program");
  return std::make_unique<Executable>(*this, args.executable);
}

std::unique_ptr<Executable> Client::deserialize(
    std::string_view serialized, std::string_view options
) {
  NEURON_PJRT_ARGS(PJRT_Executable_DeserializeAndLoad_Args, args);
  args.client = handle_;
  args.serialized_executable = serialized.data();
  args.serialized_executable_size = serialized.size();
  if (!options.empty()) {
    args.overridden_serialized_compile_options = options.data();
    args.overridden_serialized_compile_options_size = options.size();
  }
  check(api_->PJRT_Executable_DeserializeAndLoad(&args), "load a serialized executable");
  return std::make_unique<Executable>(*this, args.loaded_executable);
}

void Client::fail(PJRT_Error* error, const char* what) const {
  throw_error(api_, error, what);
}

void Client::fail_on(PJRT_Error* error, const char* what, int device) {
  try {
    throw_error(api_, error, std::string(what) + " on neuron:" + std::to_string(device));
  } catch (const c10::OutOfMemoryError&) {
    memory(device).count_oom();
    throw;
  }
}

}  // namespace neuron::pjrt
