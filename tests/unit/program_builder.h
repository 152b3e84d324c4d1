// Builds .pte and .ptd files for tests, sound or not. The defaults make a program that loads: method "forward",
// out = constant + input, the constant in a segment.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schema/flat_tensor_generated.h"
#include "schema/program_generated.h"

namespace etrt::test {

using Buffer = std::vector<std::byte>;

inline void append(Buffer& to, const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  to.insert(to.end(), bytes, bytes + size);
}

inline Buffer bytes_of_text(const std::string& text) {
  Buffer bytes;
  append(bytes, text.data(), text.size());
  return bytes;
}

template <class T>
Buffer bytes_of_numbers(const std::vector<T>& numbers) {
  Buffer bytes;
  append(bytes, numbers.data(), numbers.size() * sizeof(T));
  return bytes;
}

struct TensorSpec {
  int dtype = 6;
  std::vector<int32_t> sizes = {2};
  std::vector<uint8_t> dim_order = {0};
  bool without_shape = false;
  int dynamism = 0;
  int32_t storage_offset = 0;
  uint32_t data_buffer_idx = 0;
  std::optional<std::pair<uint32_t, uint64_t>> planned = {};  // memory_id, offset
  std::string name = {};
  int location = 0;
  int device_type = 0;
  uint64_t mutable_segment = 0;
};

struct ValueSpec {
  fb::KernelTypes kind = fb::KernelTypes::Null;
  TensorSpec tensor = {};
  int64_t number = 0;               // Int, Bool
  double real = 0;                  // Double
  std::string text = {};            // String
  std::vector<int64_t> items = {};  // lists
  bool without_content = false;     // no payload, or a list or string without its items

  static ValueSpec of(TensorSpec tensor) { return {.kind = fb::KernelTypes::Tensor, .tensor = std::move(tensor)}; }
  static ValueSpec of(int64_t number) { return {.kind = fb::KernelTypes::Int, .number = number}; }
  static ValueSpec list(fb::KernelTypes kind, std::vector<int64_t> items) {
    return {.kind = kind, .items = std::move(items)};
  }
};

struct InstructionSpec {
  fb::InstructionArguments kind = fb::InstructionArguments::KernelCall;
  int32_t first = 0;   // op, delegate, from, condition, freed value
  int32_t second = 0;  // to, target
  std::vector<int32_t> args = {};
  bool without_content = false;
};

struct DelegateSpec {
  std::string id = "TestBackend";
  int location = 0;
  uint32_t index = 0;
  std::vector<std::pair<std::string, std::string>> compile_specs = {};
};

struct MethodSpec {
  std::string name = "forward";
  std::vector<ValueSpec> values = {ValueSpec::of(TensorSpec{.data_buffer_idx = 1}),
                                   ValueSpec::of(TensorSpec{.planned = {{1, 0}}}),
                                   ValueSpec::of(TensorSpec{.planned = {{1, 16}}}), ValueSpec::of(int64_t{1})};
  std::vector<int32_t> inputs = {1};
  std::vector<int32_t> outputs = {2};
  std::vector<std::pair<std::string, std::string>> operators = {{"aten::add", "out"}};
  std::vector<DelegateSpec> delegates = {};
  std::vector<InstructionSpec> instructions = {{.args = {1, 0, 3, 2, 2}}};
  std::vector<int64_t> buffer_sizes = {0, 32};
  std::vector<std::pair<int32_t, int>> devices = {};  // buffer, type
  bool without_chains = false;
  bool without_values = false;
};

struct FileSpec {
  std::vector<MethodSpec> methods = {MethodSpec{}};
  std::vector<Buffer> segments = {bytes_of_numbers<float>({10, 20})};
  std::optional<std::pair<uint32_t, std::vector<uint64_t>>> constant_segment = {{0, {0, 0}}};  // segment, offsets
  std::vector<std::pair<uint32_t, std::vector<uint64_t>>> mutable_segments = {};
  std::vector<Buffer> constant_buffers = {};  // the older way
  std::vector<Buffer> inline_data = {};       // of delegates
  std::vector<std::pair<std::string, uint32_t>> named_data = {};
  bool without_methods = false;

  const char* identifier = "ET12";
  bool header = true;
  uint32_t header_size = 32;
  // What to add to the true numbers in the header.
  int64_t flatbuffer_size_off = 0;
  int64_t data_size_off = 0;
  // What to add to the true offset and size of segments.
  int64_t segment_offset_off = 0;
  int64_t segment_size_off = 0;
};

namespace builder {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

inline Offset<fb::Tensor> tensor(FlatBufferBuilder& to, const TensorSpec& spec) {
  Offset<fb::AllocationDetails> allocation;
  if (spec.planned) {
    allocation = fb::CreateAllocationDetails(to, spec.planned->first, static_cast<uint32_t>(spec.planned->second),
                                             static_cast<uint32_t>(spec.planned->second >> 32));
  }
  const auto name = spec.name.empty() ? 0 : to.CreateString(spec.name);
  const auto extra =
      fb::CreateExtraTensorInfo(to, spec.mutable_segment, name, static_cast<fb::TensorDataLocation>(spec.location),
                                static_cast<fb::DeviceType>(spec.device_type));
  const auto sizes = spec.without_shape ? 0 : to.CreateVector(spec.sizes);
  const auto dim_order = spec.without_shape ? 0 : to.CreateVector(spec.dim_order);
  return fb::CreateTensor(to, static_cast<int8_t>(spec.dtype), spec.storage_offset, sizes, dim_order, false,
                          spec.data_buffer_idx, allocation, 0, static_cast<fb::TensorShapeDynamism>(spec.dynamism),
                          extra);
}

template <class T>
Offset<flatbuffers::Vector<T>> items(FlatBufferBuilder& to, const ValueSpec& spec) {
  return spec.without_content ? 0 : to.CreateVector(std::vector<T>(spec.items.begin(), spec.items.end()));
}

inline Offset<void> payload(FlatBufferBuilder& to, const ValueSpec& spec) {
  switch (spec.kind) {
    case fb::KernelTypes::Null:
      return fb::CreateNull(to).Union();
    case fb::KernelTypes::Int:
      return fb::CreateInt(to, spec.number).Union();
    case fb::KernelTypes::Bool:
      return fb::CreateBool(to, spec.number != 0).Union();
    case fb::KernelTypes::Double:
      return fb::CreateDouble(to, spec.real).Union();
    case fb::KernelTypes::Tensor:
      return tensor(to, spec.tensor).Union();
    case fb::KernelTypes::String:
      return fb::CreateString(to, spec.without_content ? 0 : to.CreateString(spec.text)).Union();
    case fb::KernelTypes::IntList:
      return fb::CreateIntList(to, items<int64_t>(to, spec)).Union();
    case fb::KernelTypes::DoubleList:
      return fb::CreateDoubleList(to, items<double>(to, spec)).Union();
    case fb::KernelTypes::BoolList:
      return fb::CreateBoolList(to, items<uint8_t>(to, spec)).Union();
    case fb::KernelTypes::TensorList:
      return fb::CreateTensorList(to, items<int32_t>(to, spec)).Union();
    case fb::KernelTypes::OptionalTensorList:
      return fb::CreateOptionalTensorList(to, items<int32_t>(to, spec)).Union();
    default:
      return fb::CreateNull(to).Union();
  }
}

inline bool is_list_or_string(fb::KernelTypes kind) { return kind >= fb::KernelTypes::String; }

inline Offset<fb::EValue> value(FlatBufferBuilder& to, const ValueSpec& spec) {
  const bool none = spec.without_content && !is_list_or_string(spec.kind);
  return fb::CreateEValue(to, spec.kind, none ? 0 : payload(to, spec));
}

inline Offset<fb::Instruction> instruction(FlatBufferBuilder& to, const InstructionSpec& spec) {
  Offset<void> content;
  switch (spec.kind) {
    case fb::InstructionArguments::KernelCall:
      content = fb::CreateKernelCall(to, spec.first, to.CreateVector(spec.args)).Union();
      break;
    case fb::InstructionArguments::DelegateCall:
      content = fb::CreateDelegateCall(to, spec.first, to.CreateVector(spec.args)).Union();
      break;
    case fb::InstructionArguments::MoveCall:
      content = fb::CreateMoveCall(to, spec.first, spec.second).Union();
      break;
    case fb::InstructionArguments::JumpFalseCall:
      content = fb::CreateJumpFalseCall(to, spec.first, spec.second).Union();
      break;
    default:
      content = fb::CreateFreeCall(to, spec.first).Union();
  }
  return fb::CreateInstruction(to, spec.kind, spec.without_content ? 0 : content);
}

inline Offset<flatbuffers::Vector<uint8_t>> blob(FlatBufferBuilder& to, const Buffer& bytes) {
  to.ForceVectorAlignment(bytes.size(), 1, 16);
  return to.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

inline Offset<fb::BackendDelegate> delegate(FlatBufferBuilder& to, const DelegateSpec& spec) {
  std::vector<Offset<fb::CompileSpec>> compile_specs;
  for (const auto& [key, text] : spec.compile_specs) {
    compile_specs.push_back(fb::CreateCompileSpec(to, to.CreateString(key), blob(to, bytes_of_text(text))));
  }
  const auto processed =
      fb::CreateBackendDelegateDataReference(to, static_cast<fb::DataLocation>(spec.location), spec.index);
  return fb::CreateBackendDelegate(to, to.CreateString(spec.id), processed, to.CreateVector(compile_specs));
}

inline Offset<fb::ExecutionPlan> method(FlatBufferBuilder& to, const MethodSpec& spec) {
  std::vector<Offset<fb::EValue>> values;
  for (const ValueSpec& v : spec.values) {
    values.push_back(value(to, v));
  }
  std::vector<Offset<fb::Operator>> operators;
  for (const auto& [name, overload] : spec.operators) {
    operators.push_back(fb::CreateOperator(to, to.CreateString(name), to.CreateString(overload)));
  }
  std::vector<Offset<fb::BackendDelegate>> delegates;
  for (const DelegateSpec& d : spec.delegates) {
    delegates.push_back(delegate(to, d));
  }
  std::vector<Offset<fb::Instruction>> instructions;
  for (const InstructionSpec& i : spec.instructions) {
    instructions.push_back(instruction(to, i));
  }
  std::vector<Offset<fb::NonConstBufferDevice>> devices;
  for (const auto& [buffer, type] : spec.devices) {
    devices.push_back(fb::CreateNonConstBufferDevice(to, buffer, static_cast<fb::DeviceType>(type)));
  }
  std::vector<Offset<fb::Chain>> chains;
  if (!spec.without_chains) {
    chains.push_back(fb::CreateChain(to, 0, 0, to.CreateVector(instructions)));
  }
  return fb::CreateExecutionPlan(
      to, spec.name.empty() ? 0 : to.CreateString(spec.name), 0, spec.without_values ? 0 : to.CreateVector(values),
      to.CreateVector(spec.inputs), to.CreateVector(spec.outputs), to.CreateVector(chains), to.CreateVector(operators),
      to.CreateVector(delegates), to.CreateVector(spec.buffer_sizes), devices.empty() ? 0 : to.CreateVector(devices));
}

inline Offset<fb::SubsegmentOffsets> subsegments(FlatBufferBuilder& to,
                                                 const std::pair<uint32_t, std::vector<uint64_t>>& spec) {
  return fb::CreateSubsegmentOffsets(to, spec.first, to.CreateVector(spec.second));
}

template <class T>
void append_number(Buffer& to, T number) {
  append(to, &number, sizeof(number));
}

inline uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

constexpr uint64_t kSegmentAlignment = 128;

// Each segment's offset from the base, and the end of the last one.
inline std::vector<uint64_t> segment_offsets(const std::vector<Buffer>& segments, uint64_t& end) {
  std::vector<uint64_t> offsets;
  end = 0;
  for (const Buffer& segment : segments) {
    offsets.push_back(round_up(end, kSegmentAlignment));
    end = offsets.back() + segment.size();
  }
  return offsets;
}

inline void append_segments(Buffer& file, uint64_t base, const std::vector<Buffer>& segments) {
  uint64_t end = 0;
  const std::vector<uint64_t> offsets = segment_offsets(segments, end);
  for (size_t i = 0; i < segments.size(); ++i) {
    file.resize(base + offsets[i]);
    append(file, segments[i].data(), segments[i].size());
  }
}

// The root offset, moved by the header that is put behind it, and the identifier.
inline void append_start(Buffer& file, const uint8_t* flatbuffer, uint64_t header_size, const char* identifier) {
  uint32_t root = 0;
  std::memcpy(&root, flatbuffer, sizeof(root));
  append_number(file, static_cast<uint32_t>(root + header_size));
  append(file, identifier, 4);
}

}  // namespace builder

inline Buffer build_program(const FileSpec& spec = {}) {
  using namespace builder;
  FlatBufferBuilder to;
  std::vector<Offset<fb::ExecutionPlan>> methods;
  for (const MethodSpec& m : spec.methods) {
    methods.push_back(method(to, m));
  }
  std::vector<Offset<fb::Buffer>> constants;
  for (const Buffer& constant : spec.constant_buffers) {
    constants.push_back(fb::CreateBuffer(to, blob(to, constant)));
  }
  std::vector<Offset<fb::BackendDelegateInlineData>> inline_data;
  for (const Buffer& data : spec.inline_data) {
    inline_data.push_back(fb::CreateBackendDelegateInlineData(to, blob(to, data)));
  }
  uint64_t data_size = 0;
  const std::vector<uint64_t> offsets = segment_offsets(spec.segments, data_size);
  std::vector<Offset<fb::DataSegment>> segments;
  for (size_t i = 0; i < offsets.size(); ++i) {
    segments.push_back(fb::CreateDataSegment(to, offsets[i] + static_cast<uint64_t>(spec.segment_offset_off),
                                             spec.segments[i].size() + static_cast<uint64_t>(spec.segment_size_off)));
  }
  const auto constant_segment = spec.constant_segment ? subsegments(to, *spec.constant_segment) : 0;
  std::vector<Offset<fb::SubsegmentOffsets>> mutable_segments;
  for (const auto& table : spec.mutable_segments) {
    mutable_segments.push_back(subsegments(to, table));
  }
  std::vector<Offset<fb::NamedData>> named_data;
  for (const auto& [key, segment] : spec.named_data) {
    named_data.push_back(fb::CreateNamedData(to, to.CreateString(key), segment));
  }
  to.Finish(fb::CreateProgram(to, 0, spec.without_methods ? 0 : to.CreateVector(methods), to.CreateVector(constants),
                              to.CreateVector(inline_data), to.CreateVector(segments), constant_segment,
                              to.CreateVector(mutable_segments), to.CreateVector(named_data)),
            spec.identifier);

  const uint64_t header_size = spec.header ? 32 : 0;
  const uint64_t flatbuffer_size = to.GetSize() + header_size;
  const uint64_t base = spec.segments.empty() ? 0 : round_up(flatbuffer_size, kSegmentAlignment);
  Buffer file;
  append_start(file, to.GetBufferPointer(), header_size, spec.identifier);
  if (spec.header) {
    append(file, "eh00", 4);
    append_number(file, spec.header_size);
    append_number(file, flatbuffer_size + static_cast<uint64_t>(spec.flatbuffer_size_off));
    append_number(file, base);
    append_number(file, data_size + static_cast<uint64_t>(spec.data_size_off));
  }
  append(file, to.GetBufferPointer() + 8, to.GetSize() - 8);
  append_segments(file, base, spec.segments);
  return file;
}

struct DataEntrySpec {
  std::string key;
  uint32_t segment = 0;
  bool opaque = false;
  int dtype = 6;
  std::vector<int32_t> sizes = {2};
  std::vector<uint8_t> dim_order = {0};
};

inline Buffer build_data_file(const std::vector<DataEntrySpec>& entries, const std::vector<Buffer>& segments) {
  using namespace builder;
  FlatBufferBuilder to;
  std::vector<Offset<fb::ptd::NamedData>> named_data;
  for (const DataEntrySpec& entry : entries) {
    Offset<fb::ptd::TensorLayout> layout;
    if (!entry.opaque) {
      layout = fb::ptd::CreateTensorLayout(to, static_cast<int8_t>(entry.dtype), to.CreateVector(entry.sizes),
                                           to.CreateVector(entry.dim_order));
    }
    named_data.push_back(fb::ptd::CreateNamedData(to, to.CreateString(entry.key), entry.segment, layout));
  }
  uint64_t data_size = 0;
  const std::vector<uint64_t> offsets = segment_offsets(segments, data_size);
  std::vector<Offset<fb::ptd::DataSegment>> table;
  for (size_t i = 0; i < offsets.size(); ++i) {
    table.push_back(fb::ptd::CreateDataSegment(to, offsets[i], segments[i].size()));
  }
  to.Finish(fb::ptd::CreateFlatTensor(to, 0, to.CreateVector(table), to.CreateVector(named_data)), "FT01");

  constexpr uint64_t kHeaderSize = 48;  // 40 and padding
  const uint64_t flatbuffer_size = to.GetSize() + kHeaderSize;
  const uint64_t base = round_up(flatbuffer_size, kSegmentAlignment);
  Buffer file;
  append_start(file, to.GetBufferPointer(), kHeaderSize, "FT01");
  append(file, "FH01", 4);
  append_number<uint32_t>(file, 40);
  append_number<uint64_t>(file, kHeaderSize);
  append_number<uint64_t>(file, flatbuffer_size - kHeaderSize);
  append_number<uint64_t>(file, base);
  append_number<uint64_t>(file, data_size);
  file.resize(8 + kHeaderSize);
  append(file, to.GetBufferPointer() + 8, to.GetSize() - 8);
  append_segments(file, base, segments);
  return file;
}

}  // namespace etrt::test
