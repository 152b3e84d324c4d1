// et_program_describe: what is in a program, as JSON.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "handles.h"
#include "json.h"
#include "plan/backend.h"
#include "program/format.h"

namespace etrt::capi {
namespace {

// Text that may be shown: a compile spec's value, which is any bytes, often is.
bool printable(std::string_view bytes) {
  return valid_utf8(bytes) &&
         std::none_of(bytes.begin(), bytes.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

const char* dynamism_name(Dynamism dynamism) {
  switch (dynamism) {
    case Dynamism::Static:
      return "static";
    case Dynamism::UpperBound:
      return "bounded";
    case Dynamism::Unbound:
      return "unbounded";
  }
  return "?";
}

template <class T>
flatbuffers::uoffset_t table_index(T index) {
  return static_cast<flatbuffers::uoffset_t>(index);
}

// A path is quoted where it stands in messages.
std::string_view unquoted(std::string_view name) {
  const bool quoted = name.size() >= 2 && name.front() == '"' && name.back() == '"';
  return quoted ? name.substr(1, name.size() - 2) : name;
}

class Description {
 public:
  explicit Description(const LoadedProgram& loaded) : loaded_(loaded), program_(*loaded.program()) {}

  std::string json() {
    out_.object([&] {
      out_.field("name", unquoted(program_.name()));
      out_.field("schema_version", program_.root().version());
      out_.key("data_files").array([&] {
        for (const std::string_view name : program_.data_file_names()) {
          out_.value(name);
        }
      });
      out_.key("methods").array([&] {
        for (size_t i = 0; i < program_.method_count(); ++i) {
          method(i);
        }
      });
      segments();
      named_data();
      out_.field("can_run", can_run_);
    });
    return out_.take();
  }

 private:
  void method(size_t index) {
    const fb::ExecutionPlan& m = program_.method(index);
    out_.object([&] {
      out_.field("name", program_.method_name(index));
      if (const auto info = loaded_.info(index); info.ok()) {
        values("inputs", (*info)->inputs);
        values("outputs", (*info)->outputs);
        values("attributes", (*info)->attributes);
      }
      instructions(m);
      delegates(m, index);
      memory(m);
      constants(m);
      state(index);
      problems(index);
    });
  }

  void values(std::string_view what, const std::vector<ValueInfo>& infos) {
    out_.key(what).array([&] {
      for (const ValueInfo& info : infos) {
        value(info);
      }
    });
  }

  void value(const ValueInfo& info) {
    out_.object([&] {
      out_.field("kind", kind_name(info.kind));
      switch (info.kind) {
        case Kind::Int:
          out_.field("value", info.as_int);
          break;
        case Kind::Double:
          out_.field("value", info.as_double);
          break;
        case Kind::Bool:
          out_.field("value", info.as_bool);
          break;
        case Kind::String:
          out_.field("value", std::string_view(info.as_string));
          break;
        case Kind::Tensor:
          tensor(info);
          break;
        default:
          break;
      }
    });
  }

  void tensor(const ValueInfo& info) {
    out_.field("name", info.name);
    out_.field("dtype", dtype_name(info.dtype));
    out_.numbers("sizes", info.sizes);
    out_.numbers("dim_order", info.dim_order);
    out_.field("dynamism", dynamism_name(info.dynamism));
    out_.field("nbytes", info.nbytes);
    out_.field("planned", info.planned);
    out_.field("written", info.written);
    out_.field("state", info.is_state);
    out_.field("device", info.device_type == ET_DEVICE_CUDA ? "cuda" : "cpu");
  }

  // How often each operator is called, and how often anything else happens.
  void instructions(const fb::ExecutionPlan& m) {
    std::map<std::string, int64_t> calls;
    int64_t counts[6] = {};
    for (const fb::Chain* chain : *m.chains()) {
      for (const fb::Instruction* instruction : *chain->instructions()) {
        ++counts[std::min<size_t>(static_cast<size_t>(instruction->instr_args_type()), 5)];
        if (const auto* call = instruction->instr_args_as_KernelCall()) {
          ++calls[operator_name(*m.operators()->Get(table_index(call->op_index())))];
        }
      }
    }
    out_.key("instructions").object([&] {
      constexpr const char* kNames[] = {nullptr, "kernel", "delegate", "move", "jump_false", "free"};
      for (size_t i = 1; i < 6; ++i) {
        out_.field(kNames[i], counts[i]);
      }
    });
    out_.key("operators").array([&] {
      for (const auto& [name, count] : calls) {
        out_.object([&, &op = name, &n = count] {
          out_.field("name", op);
          out_.field("calls", n);
          out_.field("available", find_op(op) != nullptr);
        });
      }
    });
  }

  void delegates(const fb::ExecutionPlan& m, size_t method_index) {
    std::map<int64_t, int64_t> calls;
    for (const fb::Chain* chain : *m.chains()) {
      for (const fb::Instruction* instruction : *chain->instructions()) {
        if (const auto* call = instruction->instr_args_as_DelegateCall()) {
          ++calls[call->delegate_index()];
        }
      }
    }
    out_.key("delegates").array([&] {
      for (size_t i = 0; i < (m.delegates() == nullptr ? 0 : m.delegates()->size()); ++i) {
        delegate(*m.delegates()->Get(table_index(i)), calls[static_cast<int64_t>(i)], method_index, i);
      }
    });
  }

  void delegate(const fb::BackendDelegate& d, int64_t calls, size_t method_index, size_t index) {
    const std::string_view name = text_of(d.id());
    const auto& where = *d.processed();
    uint64_t size = 0;
    if (where.location() == fb::DataLocation::SEGMENT) {
      size = program_.root().segments()->Get(table_index(where.index()))->size();
      uses_[where.index()].insert(format_text("delegate {} of {}", index, program_.method_name(method_index)));
    } else {
      size = count_of(program_.root().backend_delegate_data()->Get(table_index(where.index()))->data());
    }
    const Backend* backend = find_backend(name);
    out_.object([&] {
      out_.field("backend", name);
      out_.field("calls", calls);
      out_.field("payload_bytes", size);
      out_.field("available", backend != nullptr && backend->available());
      out_.key("compile_specs").array([&] {
        for (size_t i = 0; i < (d.compile_specs() == nullptr ? 0 : d.compile_specs()->size()); ++i) {
          compile_spec(*d.compile_specs()->Get(table_index(i)));
        }
      });
    });
  }

  void compile_spec(const fb::CompileSpec& spec) {
    const auto bytes = items_of(spec.value());
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    out_.object([&] {
      out_.field("key", text_of(spec.key()));
      out_.field("size", bytes.size());
      if (printable(text)) {
        out_.field("text", text);
      }
    });
  }

  void memory(const fb::ExecutionPlan& m) {
    const auto sizes = items_of(m.non_const_buffer_sizes());
    const auto arenas = sizes.subspan(std::min<size_t>(1, sizes.size()));
    uint64_t total = 0;
    for (const int64_t size : arenas) {
      total += static_cast<uint64_t>(std::max<int64_t>(size, 0));
    }
    out_.key("memory").object([&] {
      out_.field("planned_bytes", total);
      out_.numbers("arenas", arenas);
    });
  }

  // Tensors may share stored bytes, which count once.
  void constants(const fb::ExecutionPlan& m) {
    std::map<std::pair<uint32_t, std::string_view>, uint64_t> stored;
    size_t external = 0;
    for (const fb::EValue* v : *m.values()) {
      const fb::Tensor* tensor = v->val_as_Tensor();
      if (tensor == nullptr || tensor_storage(*tensor) != TensorStorage::Constant) {
        continue;
      }
      const bool named = is_external(*tensor);
      auto& size = stored[{named ? 0 : tensor->data_buffer_idx(), named ? tensor_name(*tensor) : ""}];
      external += named && size == 0 ? 1 : 0;
      size = std::max(size, static_cast<uint64_t>(tensor_nbytes(*tensor).value_or(0)));
    }
    uint64_t total = 0;
    for (const auto& [place, size] : stored) {
      total += size;
    }
    out_.key("constants").object([&] {
      out_.field("count", stored.size());
      out_.field("bytes", total);
      out_.field("external", external);
    });
  }

  // Known where the method can be planned, else null.
  void state(size_t index) {
    const ErrorScope scope;
    const auto plan = loaded_.plan(index);
    if (!plan.ok()) {
      out_.key("state").null();
      return;
    }
    out_.key("state").array([&] {
      for (const StateBuffer& buffer : (*plan)->state) {
        const ValueInfo info = value_info((*plan)->method(), buffer.value);
        out_.object([&] {
          out_.field("name", buffer.name);
          out_.field("dtype", dtype_name(info.dtype));
          out_.numbers("sizes", info.sizes);
          out_.field("nbytes", buffer.size);
          const auto* tensor = (*plan)->method().values()->Get(table_index(buffer.value))->val_as_Tensor();
          out_.field("stored", tensor != nullptr && has_initial_bytes(*tensor));
        });
      }
    });
  }

  // Can the method run here? If not, why.
  void problems(size_t index) {
    ErrorScope scope;
    bool runs = check_runnable(program_, index) == Status::Ok;
    runs = program_.require_data(index) == Status::Ok && runs;
    can_run_ = can_run_ && runs;
    out_.field("can_run", runs);
    out_.field("problems", scope.lines().text());
  }

  void segments() {
    const fb::Program& root = program_.root();
    if (root.constant_segment() != nullptr && count_of(root.constant_segment()->offsets()) > 0) {
      uses_[root.constant_segment()->segment_index()].insert("constants");
    }
    for (size_t i = 0; i < (root.mutable_data_segments() == nullptr ? 0 : root.mutable_data_segments()->size()); ++i) {
      uses_[root.mutable_data_segments()->Get(table_index(i))->segment_index()].insert("initial state");
    }
    for (size_t i = 0; i < (root.named_data() == nullptr ? 0 : root.named_data()->size()); ++i) {
      uses_[root.named_data()->Get(table_index(i))->segment_index()].insert("named data");
    }
    out_.key("segments").array([&] {
      for (size_t i = 0; i < (root.segments() == nullptr ? 0 : root.segments()->size()); ++i) {
        const fb::DataSegment& segment = *root.segments()->Get(table_index(i));
        out_.object([&] {
          out_.field("offset", segment.offset());
          out_.field("size", segment.size());
          out_.key("holds").array([&] {
            for (const std::string& use : uses_[static_cast<uint32_t>(i)]) {
              out_.value(use);
            }
          });
        });
      }
    });
  }

  void named_data() {
    out_.key("named_data").array([&] {
      for (const std::string_view key : program_.named_data_keys()) {
        out_.value(key);
      }
    });
  }

  const LoadedProgram& loaded_;
  const Program& program_;
  JsonWriter out_;
  std::map<uint32_t, std::set<std::string>> uses_;  // of each segment
  bool can_run_ = true;
};

}  // namespace
}  // namespace etrt::capi

using namespace etrt;
using namespace etrt::capi;

extern "C" et_status et_program_describe(const et_program* program, char** json) {
  return guarded([] { return "Failed to describe a program"; },
                 [&]() -> Status {
                   ET_TRY(require(program, "program"));
                   ET_TRY(require(json, "json"));
                   const std::string text = Description(*program->loaded).json();
                   auto* copy = static_cast<char*>(std::malloc(text.size() + 1));  // et_text_free's counterpart
                   if (copy == nullptr) {
                     return fail(Status::MemoryAllocationFailed, "out of memory");
                   }
                   std::memcpy(copy, text.c_str(), text.size() + 1);
                   *json = copy;
                   return Status::Ok;
                 });
}
