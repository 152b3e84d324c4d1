// Programs: loading, and what they say of their methods.
#include <cstdlib>
#include <cstring>

#include "handles.h"

namespace etrt::capi {
namespace {

// Calls `release` when the last user has gone; null functions do nothing.
std::shared_ptr<const void> owner(void (*release)(void*), void* user_data) {
  return {user_data, [release](void* data) {
            if (release != nullptr) {
              release(data);
            }
          }};
}

Result<Source> source_of(const et_buffer* given, const char* fallback) {
  ET_ASSIGN(const et_buffer buffer, copy_options(given, "et_buffer"));
  std::shared_ptr<const void> keep = owner(buffer.release, buffer.user_data);
  if (buffer.data == nullptr && buffer.size > 0) {
    return fail(Status::InvalidArgument, "et_buffer.data is NULL, its size {}", buffer.size);
  }
  const std::span bytes(static_cast<const std::byte*>(buffer.data), buffer.size);
  std::string name = name_or(buffer.name, fallback);
  return buffer.copy != 0 ? Source::copy(bytes, std::move(name))
                          : Source::borrow(bytes, std::move(keep), std::move(name));
}

Result<Source> source_of(const et_source* given) {
  ET_ASSIGN(const et_source source, copy_options(given, "et_source"));
  std::shared_ptr<const void> keep = owner(source.release, source.user_data);
  if (source.read == nullptr) {
    return fail(Status::InvalidArgument, "et_source.read is NULL");
  }
  auto read = [keep, fn = source.read, data = source.user_data](uint64_t offset, std::span<std::byte> to) {
    return fn(data, offset, to.data(), to.size()) == ET_OK;
  };
  return Source::callback(source.size, std::move(read), name_or(source.name, "a source of the caller's"));
}

Result<Verification> verification_of(int32_t number) {
  switch (number) {
    case ET_VERIFY_MINIMAL:
      return Verification::Minimal;
    case ET_VERIFY_INTERNAL_CONSISTENCY:
      return Verification::InternalConsistency;
    default:
      return fail(Status::InvalidArgument, "verification is {}, expected 0 (minimal) or 1 (internal consistency)",
                  number);
  }
}

Status load(const Source& source, const et_program_options* given, et_program** program) {
  ET_TRY(require(program, "program"));
  ET_ASSIGN(const et_program_options options, copy_options(given, "et_program_options"));
  std::vector<Source> data_files;
  for (size_t i = 0; i < options.data_path_count; ++i) {
    ET_TRY(require(options.data_paths, "data_paths"));
    ET_TRY(require(options.data_paths[i], "a path of data_paths"));
    ET_ASSIGN(Source file, Source::file(options.data_paths[i]));
    data_files.push_back(std::move(file));
  }
  for (size_t i = 0; i < options.data_buffer_count; ++i) {
    ET_TRY(require(options.data_buffers, "data_buffers"));
    ET_ASSIGN(Source file, source_of(&options.data_buffers[i], "a data buffer"));
    data_files.push_back(std::move(file));
  }
  ET_ASSIGN(const Verification level, verification_of(options.verification));
  ET_ASSIGN(std::shared_ptr<const Program> loaded, Program::load(source, data_files, level));
  *program = new et_program{std::make_shared<LoadedProgram>(std::move(loaded))};
  return Status::Ok;
}

Result<const MethodInfo*> info_of(const et_program* program, const char* method) {
  ET_TRY(require(program, "program"));
  ET_TRY(require(method, "method"));
  ET_ASSIGN(const size_t index, program->loaded->program()->require_method(method));
  return program->loaded->info(index);
}

template <class Pick>
et_status count_in(const et_program* program, const char* method, size_t* count, Pick&& pick) {
  return guarded([&] { return format_text("Failed to describe method {}", name_or(method, "NULL")); },
                 [&]() -> Status {
                   ET_TRY(require(count, "count"));
                   ET_ASSIGN(const MethodInfo* info, info_of(program, method));
                   *count = pick(*info).size();
                   return Status::Ok;
                 });
}

template <class Pick>
et_status info_in(const et_program* program, const char* method, size_t index, et_tensor_info* out, const char* what,
                  Pick&& pick) {
  return guarded(
      [&] { return format_text("Failed to describe {} {} of method {}", what, index, name_or(method, "NULL")); },
      [&]() -> Status {
        ET_ASSIGN(const MethodInfo* info, info_of(program, method));
        return info_at(pick(*info), index, what, out);
      });
}

const auto kInputs = [](const MethodInfo& info) -> const auto& { return info.inputs; };
const auto kOutputs = [](const MethodInfo& info) -> const auto& { return info.outputs; };
const auto kAttributes = [](const MethodInfo& info) -> const auto& { return info.attributes; };

}  // namespace

int32_t kind_number(Kind kind) {
  switch (kind) {
    case Kind::None:
      return ET_KIND_NONE;
    case Kind::Int:
      return ET_KIND_INT;
    case Kind::Double:
      return ET_KIND_DOUBLE;
    case Kind::Bool:
      return ET_KIND_BOOL;
    case Kind::String:
      return ET_KIND_STRING;
    case Kind::Tensor:
      return ET_KIND_TENSOR;
    default:
      return ET_KIND_LIST;
  }
}

et_tensor_info to_info(const ValueInfo& info) {
  et_tensor_info out{};
  out.name = info.name.c_str();
  out.kind = kind_number(info.kind);
  switch (info.kind) {
    case Kind::Int:
      out.fixed.as_int = info.as_int;
      break;
    case Kind::Double:
      out.fixed.as_double = info.as_double;
      break;
    case Kind::Bool:
      out.fixed.as_bool = info.as_bool ? 1 : 0;
      break;
    case Kind::String:
      out.fixed.as_string = info.as_string.c_str();
      break;
    default:
      break;
  }
  if (info.kind != Kind::Tensor) {
    return out;
  }
  out.sizes = info.sizes.data();
  out.dim_order = info.dim_order.data();
  out.nbytes = info.nbytes;
  out.dtype = static_cast<int32_t>(info.dtype);
  out.rank = static_cast<int32_t>(info.sizes.size());
  out.dynamism = static_cast<int32_t>(info.dynamism);
  out.planned = info.planned ? 1 : 0;
  out.written = info.written ? 1 : 0;
  out.is_state = info.is_state ? 1 : 0;
  out.device_type = info.device_type;
  out.device_index = info.device_index;
  return out;
}

Status info_at(const std::vector<ValueInfo>& infos, size_t index, const char* what, et_tensor_info* out) {
  ET_TRY(require(out, "info"));
  if (index >= infos.size()) {
    note_error({.argument = static_cast<int64_t>(index)});
    return fail(Status::InvalidArgument, "{} {} doesn't exist; there are {}", what, index, infos.size());
  }
  *out = to_info(infos[index]);
  return Status::Ok;
}

}  // namespace etrt::capi

using namespace etrt;
using namespace etrt::capi;

extern "C" {

et_status et_program_load_file(const char* path, const et_program_options* options, et_program** program) {
  return guarded([&] { return format_text("Failed to load program {}", name_or(path, "NULL")); },
                 [&]() -> Status {
                   ET_TRY(require(path, "path"));
                   ET_ASSIGN(const Source source, Source::file(path));
                   return load(source, options, program);
                 });
}

et_status et_program_load_buffer(const et_buffer* buffer, const et_program_options* options, et_program** program) {
  return guarded([] { return "Failed to load program from a buffer"; },
                 [&]() -> Status {
                   ET_TRY(require(buffer, "buffer"));
                   ET_ASSIGN(const Source source, source_of(buffer, "the buffer"));
                   return load(source, options, program);
                 });
}

et_status et_program_load_source(const et_source* source, const et_program_options* options, et_program** program) {
  return guarded([] { return "Failed to load program from a source"; },
                 [&]() -> Status {
                   ET_TRY(require(source, "source"));
                   ET_ASSIGN(const Source made, source_of(source));
                   return load(made, options, program);
                 });
}

void et_program_free(et_program* program) { delete program; }

size_t et_program_method_count(const et_program* program) {
  return program == nullptr ? 0 : program->loaded->program()->method_count();
}

const char* et_program_method_name(const et_program* program, size_t index) {
  if (program == nullptr || index >= program->loaded->program()->method_count()) {
    return nullptr;
  }
  return program->loaded->program()->method_name(index).data();  // flatbuffer strings end in NUL
}

et_status et_program_can_run(const et_program* program, const char* method) {
  return guarded(
      [&] {
        return method == nullptr ? std::string("This program can't run here")
                                 : format_text("Method {} can't run here", method);
      },
      [&]() -> Status {
        ET_TRY(require(program, "program"));
        const Program& p = *program->loaded->program();
        Status first = Status::Ok;
        const auto check = [&](size_t index) {
          for (const Status status : {check_runnable(p, index), p.require_data(index)}) {
            first = first == Status::Ok ? status : first;
          }
        };
        if (method != nullptr) {
          ET_ASSIGN(const size_t index, p.require_method(method));
          check(index);
        } else {
          for (size_t i = 0; i < p.method_count(); ++i) {
            check(i);
          }
        }
        return first;
      });
}

et_status et_program_input_count(const et_program* program, const char* method, size_t* count) {
  return count_in(program, method, count, kInputs);
}
et_status et_program_output_count(const et_program* program, const char* method, size_t* count) {
  return count_in(program, method, count, kOutputs);
}
et_status et_program_attribute_count(const et_program* program, const char* method, size_t* count) {
  return count_in(program, method, count, kAttributes);
}
et_status et_program_input_info(const et_program* program, const char* method, size_t index, et_tensor_info* info) {
  return info_in(program, method, index, info, "input", kInputs);
}
et_status et_program_output_info(const et_program* program, const char* method, size_t index, et_tensor_info* info) {
  return info_in(program, method, index, info, "output", kOutputs);
}
et_status et_program_attribute_info(const et_program* program, const char* method, size_t index, et_tensor_info* info) {
  return info_in(program, method, index, info, "attribute", kAttributes);
}

void et_text_free(char* text) { std::free(text); }

}  // extern "C"
