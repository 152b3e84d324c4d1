#include "method/method.h"

#include <algorithm>
#include <cstring>

#include "core/allocation.h"
#include "core/checked.h"
#include "core/error.h"
#include "core/log.h"
#include "ops/strided_copy.h"

namespace etrt {
namespace {

constexpr uint64_t kDefaultStepLimit = 10'000'000;
constexpr size_t kSpareMemories = 2;

// "float32[2, 3]", "4", "None": an argument in a message.
std::string value_text(const Value& v) {
  switch (v.kind) {
    case Kind::Int:
      return std::to_string(v.as_int);
    case Kind::Double:
      return format_text("{}", v.as_double);
    case Kind::Bool:
      return v.as_bool ? "True" : "False";
    case Kind::String:
      return format_text("\"{}\"", v.as_string);
    case Kind::Tensor:
      return tensor_text(*v.as_tensor);
    default:
      return kind_name(v.kind);
  }
}

// Keeps a number or string that was passed.
void set_value(Input& input, const Argument& argument) {
  switch (argument.kind) {
    case Kind::Int:
      input.value = Value::of_int(argument.as_int);
      break;
    case Kind::Double:
      input.value = Value::of_double(argument.as_double);
      break;
    case Kind::Bool:
      input.value = Value::of_bool(argument.as_bool);
      break;
    case Kind::String:
      input.text = argument.as_string;
      input.value = Value::of_string(input.text);
      break;
    default:
      input.value = Value();
      break;
  }
}

// A copy of `tensor`, laid out as the program wants it; `bound` becomes a view of it.
std::shared_ptr<GrowingBuffer> copy_of(const BoundTensor& tensor, const ValueInfo& info, BoundTensor& bound) {
  auto copy = std::make_shared<GrowingBuffer>();
  const Tensor shape = Tensor::view(nullptr, info.dtype, tensor.sizes_span(), info.dim_order);
  bound.data = static_cast<std::byte*>(copy->reserve(shape.nbytes()));
  std::copy(shape.strides().begin(), shape.strides().end(), bound.strides.begin());
  bound.direct = true;
  ops::strided_copy(dtype_size(info.dtype), tensor.sizes_span(), tensor.data, tensor.strides_span(), bound.data,
                    bound.strides_span());
  return copy;
}

}  // namespace

// One thread's turn.
class Method::Use {
 public:
  explicit Use(const Method& method)
      : method_(method), mine_(!method.busy_.exchange(true, std::memory_order_acquire)) {}
  ~Use() {
    if (mine_) {
      method_.busy_.store(false, std::memory_order_release);
    }
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  Status status() const {
    if (mine_) {
      return Status::Ok;
    }
    note_error({.method = method_.info_.name});
    return fail(Status::InvalidState,
                "method '{}' is in use by another thread; load one method a thread, they share their weights",
                method_.info_.name);
  }

 private:
  const Method& method_;
  bool mine_;
};

Result<MemoryNeeds> memory_needs(const Plan& plan) {
  MemoryNeeds needs;
  const auto sizes = items_of(plan.method().non_const_buffer_sizes());
  for (size_t i = 1; i < sizes.size(); ++i) {
    ++needs.arena_count;
    if (!checked_add(needs.planned_bytes, static_cast<uint64_t>(sizes[i]), needs.planned_bytes)) {
      return fail(Status::InvalidProgram, "the planned memory of method '{}' is too large", plan.method_name);
    }
  }
  for (const StateBuffer& buffer : plan.state) {
    if (!checked_add(needs.state_bytes, buffer.size, needs.state_bytes)) {
      return fail(Status::InvalidProgram, "the state of method '{}' is too large", plan.method_name);
    }
  }
  return needs;
}

Method::Method(std::shared_ptr<const Plan> plan, const MethodOptions& options)
    : plan_(std::move(plan)),
      info_(method_info(*plan_->program, plan_->method_index)),
      state_(options.state != nullptr ? options.state : std::make_shared<State>()),
      allocator_(options.allocator),
      memory_limit_(options.memory_limit),
      step_limit_(options.step_limit != 0 ? options.step_limit : kDefaultStepLimit),
      inputs_(info_.inputs.size()),
      outputs_(info_.outputs.size()) {
  add_plan_facts(*plan_, info_);
}

Result<std::shared_ptr<Method>> Method::load(std::shared_ptr<const Plan> plan, const MethodOptions& options) {
  std::shared_ptr<Method> method(new Method(std::move(plan), options));
  const Status status = method->init(options);
  if (status != Status::Ok) {
    note_error({.method = method->info_.name});
    return status;
  }
  method->log_loaded();
  return method;
}

void Method::log_loaded() const {
  const size_t threads = thread_count();  // whose environment variable is checked here, before any run
  if (!logs(LogLevel::Debug)) {
    return;
  }
  const auto needs = memory_needs(*plan_);
  log_line(LogLevel::Debug,
           "loaded method '{}': {} instructions, {} operators, {} delegates, {} bytes planned, {} of state, up to {} "
           "threads",
           info_.name, steps_.size(), count_of(plan_->method().operators()), delegates_.size(), needs->planned_bytes,
           needs->state_bytes, threads);
}

Status Method::init(const MethodOptions& options) {
  ET_TRY(plan_->program->require_data(plan_->method_index));
  ET_ASSIGN(const MemoryNeeds needs, memory_needs(*plan_));
  if (options.memory_limit != 0 && needs.planned_bytes + needs.state_bytes > options.memory_limit) {
    return fail(Status::MemoryAllocationFailed, "method '{}' needs {} bytes, the limit is {}", info_.name,
                needs.planned_bytes + needs.state_bytes, options.memory_limit);
  }
  if (!state_->try_acquire()) {
    return fail(Status::InvalidState, "the state given for method '{}' is in use by a run on another thread",
                info_.name);
  }
  auto values = ValueTable::make(plan_, *state_);
  state_->release();
  if (!values.ok()) {
    return values.status();
  }
  values_ = values.take();
  ET_TRY(renew_memory());
  ET_TRY(load_delegates());
  return bind_steps();
}

Status Method::load_delegates() {
  const auto* delegates = plan_->method().delegates();
  for (size_t i = 0; i < count_of(delegates); ++i) {
    const fb::BackendDelegate& d = *delegates->Get(static_cast<flatbuffers::uoffset_t>(i));
    const std::string id(text_of(d.id()));
    Backend* backend = find_backend(id);
    if (backend == nullptr || !backend->available()) {
      // Only a delegate that no instruction calls gets here; check_runnable saw to the others.
      delegates_.push_back(nullptr);
      continue;
    }
    DelegateSource source{plan_->program, info_.name, {}, {}};
    ET_ASSIGN(source.payload, plan_->program->delegate_payload(d));
    if (d.compile_specs() != nullptr) {
      for (const auto* spec : *d.compile_specs()) {
        source.specs.push_back({text_of(spec->key()), std::as_bytes(items_of(spec->value()))});
      }
    }
    auto delegate = backend->load(source);
    if (!delegate.ok()) {
      return fail(delegate.status(), "backend {} could not load delegate {} of method '{}'", id, i, info_.name);
    }
    delegates_.push_back(delegate.take());
  }
  return Status::Ok;
}

Status Method::bind_steps() {
  args_.reserve(plan_->args.size());
  for (const int32_t index : plan_->args) {
    args_.push_back(&(*values_)[index]);
  }
  steps_.reserve(plan_->steps.size());
  for (const Step& step : plan_->steps) {
    Delegate* delegate = step.kind == Step::Kind::Delegate ? delegates_[step.delegate].get() : nullptr;
    const auto first_guarded = static_cast<uint32_t>(guarded_.size());
    guard_reads(step);
    steps_.push_back({step.kind, step.arg_count, step.target, args_.data() + step.first_arg, step.op, delegate,
                      first_guarded, static_cast<uint32_t>(guarded_.size()) - first_guarded,
                      step.op != nullptr
                          ? overlaps_to_watch(*step.op, *values_, {args_.data() + step.first_arg, step.arg_count})
                          : WrittenArguments()});
  }
  return Status::Ok;
}

// A tensor without planned memory has none until something writes it. Kernels may rely on their inputs having it.
void Method::guard_reads(const Step& step) {
  if (step.kind != Step::Kind::Kernel && step.kind != Step::Kind::Delegate) {
    return;
  }
  const Schema none;
  const Schema& schema = step.op != nullptr ? schema_of(*step.op) : none;
  for (uint32_t k = 0; k < step.arg_count; ++k) {
    const bool output = k < schema.arguments.size() ? schema.arguments[k].written && schema.arguments[k].keyword_only
                                                    : !schema.arguments.empty() || step.kind == Step::Kind::Delegate;
    const Value& v = *args_[step.first_arg + k];
    const auto guard = [&](const Value* tensor) {
      if (tensor != nullptr && values_->may_lack_memory(*tensor)) {
        guarded_.push_back(tensor);
      }
    };
    if (output) {
      continue;
    }
    if (v.kind == Kind::TensorList || v.kind == Kind::OptionalTensorList) {
      std::for_each(v.as_list->items.begin(), v.as_list->items.end(), guard);
    } else {
      guard(&v);
    }
  }
}

Status Method::check_guarded(const BoundStep& step) const {
  for (uint32_t i = 0; i < step.guarded_count; ++i) {
    const Value& v = *guarded_[step.first_guarded + i];
    if (v.kind == Kind::Tensor && v.as_tensor->data == nullptr && v.as_tensor->numel() > 0) {
      return fail(Status::InvalidProgram, "value {} ({}) is read before anything has written it",
                  v.as_tensor->value_index, tensor_text(*v.as_tensor));
    }
  }
  return Status::Ok;
}

// --- inputs -----------------------------------------------------------------------------------------------

Status Method::set_input(size_t index, const Argument& argument) {
  const Use use(*this);
  ET_TRY(use.status());
  if (index >= inputs_.size()) {
    note_error({.method = info_.name, .argument = static_cast<int64_t>(index)});
    return fail(Status::InvalidArgument, "input {} doesn't exist; method '{}' has {}", index, info_.name,
                inputs_.size());
  }
  BoundTensor tensor;
  ET_TRY(check_input(info_.inputs[index], index, argument, tensor));
  return bind_input(index, argument, tensor);
}

Status Method::set_inputs(size_t count, FunctionRef<Status(size_t, Argument&)> argument) {
  const Use use(*this);
  ET_TRY(use.status());
  if (count != inputs_.size()) {
    note_error({.method = info_.name, .expected = std::to_string(inputs_.size()), .found = std::to_string(count)});
    return fail(Status::InvalidArgument, "{} inputs were given, method '{}' has {}", count, info_.name, inputs_.size());
  }
  // Checked first, so that none changes when one is refused.
  constexpr size_t kOnStack = 8;
  std::array<BoundTensor, kOnStack> few;
  std::vector<BoundTensor> many(count > kOnStack ? count : 0);
  const std::span<BoundTensor> tensors = count > kOnStack ? std::span(many) : std::span(few);
  Argument given;
  for (size_t i = 0; i < count; ++i) {
    ET_TRY(argument(i, given));
    ET_TRY(check_input(info_.inputs[i], i, given, tensors[i]));
  }
  for (size_t i = 0; i < count; ++i) {
    if (info_.inputs[i].kind == Kind::None) {
      ET_TRY(argument(i, given));
    }
    ET_TRY(bind_input(i, given, tensors[i]));
  }
  return Status::Ok;
}

Status Method::bind_input(size_t index, const Argument& argument, const BoundTensor& tensor) {
  Input& input = inputs_[index];
  const ValueInfo& info = info_.inputs[index];
  std::shared_ptr<RunMemory> hold;
  std::shared_ptr<GrowingBuffer> copy;
  BoundTensor bound = tensor;
  // Results of an earlier run come back: held ones are used where they are, others would be overwritten.
  if (info.kind == Kind::Tensor && tensor.data != nullptr) {
    for (const auto& spare : spare_) {
      if (spare->contains(tensor.data)) {
        hold = RunMemory::hold(spare);
      }
    }
    if (memory_->contains(tensor.data)) {
      if (memory_->is_held()) {
        hold = RunMemory::hold(memory_);
      } else {
        copy = copy_of(tensor, info, bound);
      }
    }
  }
  const bool theirs = hold == nullptr && copy == nullptr && input.hold == nullptr && input.copy == nullptr;
  if (theirs && info.kind == Kind::Tensor && input.set && input.tensor.same_as(bound)) {
    return Status::Ok;  // bound already
  }
  input.set = true;
  input.tensor = bound;
  input.hold = std::move(hold);
  input.copy = std::move(copy);
  input.settled = false;
  if (info.kind == Kind::None) {
    set_value(input, argument);
  }
  return Status::Ok;
}

Status Method::settle_inputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].set) {
      note_error({.method = info_.name, .argument = static_cast<int64_t>(i)});
      return fail(Status::InvalidState, "input {} of method '{}' was never set, expected {}", i, info_.name,
                  expected_text(info_.inputs[i]));
    }
    if (info_.inputs[i].kind == Kind::Tensor) {
      ET_TRY(settle_input(i));
    } else if (info_.inputs[i].kind == Kind::None) {
      (*values_)[plan_->inputs[i].value] = inputs_[i].value;
    }
  }
  return Status::Ok;
}

Status Method::settle_input(size_t index) {
  Input& input = inputs_[index];
  const InputPlan& plan = plan_->inputs[index];
  Tensor& t = values_->tensor(plan.value);
  const BoundTensor& bound = input.tensor;
  const bool in_place = bound.direct && !plan.copied && !lies_in_bound_output(bound, t.element_size());
  if (in_place && input.settled && t.data == bound.data) {
    return Status::Ok;
  }
  if (!in_place) {
    values_->settle_one(plan.value, *memory_);
    for (const auto& view : plan.views) {
      values_->settle_one(view.value, *memory_);
    }
  }
  // The same value may be an input twice; the last one counts, as it does where values are copied in.
  if (!t.same_sizes(bound.sizes_span())) {
    t.set_sizes(bound.sizes_span());
  }
  if (in_place) {
    t.data = bound.data;
    t.capacity = t.nbytes();
    for (const auto& view : plan.views) {
      Tensor& v = values_->tensor(view.value);
      v.data = bound.data == nullptr ? nullptr : bound.data + view.offset;
    }
    input.settled = true;
    return Status::Ok;
  }
  input.settled = false;
  if (t.nbytes() > t.capacity || t.data == nullptr) {
    if (t.growing == nullptr && t.nbytes() > t.capacity) {
      return fail(Status::Internal, "input {} needs {} bytes, {} are planned", index, t.nbytes(), t.capacity);
    }
    if (t.growing != nullptr) {
      t.data = t.growing->reserve(t.nbytes());
      t.capacity = t.growing->capacity();
    }
  }
  if (t.numel() > 0) {
    ops::strided_copy(t.element_size(), t.sizes(), bound.data, bound.strides_span(), t.data, t.strides());
  }
  return Status::Ok;
}

bool Method::lies_in_bound_output(const BoundTensor& tensor, size_t element_size) const {
  return outputs_.any() &&
         outputs_.touch(*extent_of({tensor.data, tensor.sizes_span(), tensor.strides_span(), element_size}));
}

// An input that isn't planned keeps what the program writes, also where it had to be converted.
Status Method::write_back_inputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const InputPlan& plan = plan_->inputs[i];
    if (!plan.written || plan.planned || info_.inputs[i].kind != Kind::Tensor) {
      continue;
    }
    const Tensor& t = values_->tensor(plan.value);
    const BoundTensor& bound = inputs_[i].tensor;
    if (t.data != bound.data && t.numel() > 0 && t.same_sizes(bound.sizes_span())) {
      ops::strided_copy(t.element_size(), t.sizes(), t.data, t.strides(), bound.data, bound.strides_span());
    }
  }
  return Status::Ok;
}

// --- outputs ----------------------------------------------------------------------------------------------

Status Method::check_output_index(size_t index) const {
  if (index < outputs_.count()) {
    return Status::Ok;
  }
  note_error({.method = info_.name, .argument = static_cast<int64_t>(index)});
  return fail(Status::InvalidArgument, "output {} doesn't exist; method '{}' has {}", index, info_.name,
              outputs_.count());
}

Status Method::set_output(size_t index, const TensorArgument* memory) {
  const Use use(*this);
  ET_TRY(use.status());
  ET_TRY(check_output_index(index));
  return outputs_.bind(index, info_.outputs[index], memory);
}

Status Method::store_outputs() {
  for (size_t i = 0; outputs_.any() && i < outputs_.count(); ++i) {
    ET_TRY(outputs_.store(i, (*values_)[plan_->outputs[i]]));
  }
  return Status::Ok;
}

Status Method::alone(FunctionRef<Status()> work) const {
  const Use use(*this);
  ET_TRY(use.status());
  return work();
}

Result<const Value*> Method::output(size_t index) const {
  ET_TRY(check_output_index(index));
  if (!ran_) {
    return fail(Status::InvalidState, "method '{}' has not run since it was loaded or since its last failure",
                info_.name);
  }
  const Value& v = (*values_)[plan_->outputs[index]];
  if (v.kind == Kind::Tensor && v.as_tensor->data == nullptr && v.as_tensor->numel() > 0) {
    return fail(Status::InvalidState, "output {} of method '{}' was not written by the run", index, info_.name);
  }
  return &v;
}

Result<OutputHold> Method::hold(const void*& data, size_t nbytes, uint64_t run) const {
  if (run != 0 && run != run_) {
    return fail(Status::InvalidState, "method '{}' has run again since the output was got; get it again", info_.name);
  }
  OutputHold hold;
  if (data == nullptr || nbytes == 0 || memory_->contains(data)) {
    hold.memory = RunMemory::hold(memory_);
    return hold;
  }
  hold.copy = std::make_shared<GrowingBuffer>();
  void* copy = hold.copy->reserve(nbytes);
  std::memcpy(copy, data, nbytes);
  data = copy;
  return hold;
}

Result<const Tensor*> Method::attribute(std::string_view name) const {
  for (const ValueInfo& info : info_.attributes) {
    if (info.name == name) {
      return static_cast<const Tensor*>(&values_->tensor(info.value));
    }
  }
  return fail(Status::NotFound, "method '{}' has no attribute '{}'", info_.name, name);
}

// --- running ----------------------------------------------------------------------------------------------

// Held results keep the memory they lie in; this run gets another.
Status Method::renew_memory() {
  if (memory_ != nullptr) {
    const auto unused = std::find_if(spare_.begin(), spare_.end(), [](const auto& m) { return !m->is_held(); });
    std::shared_ptr<RunMemory> next;
    if (unused != spare_.end()) {
      next = std::move(*unused);
      spare_.erase(unused);
    } else {
      ET_ASSIGN(next, make_run_memory(items_of(plan_->method().non_const_buffer_sizes()), values_->growing_count(),
                                      allocator_));
    }
    if (spare_.size() == kSpareMemories) {
      spare_.erase(spare_.begin());
    }
    spare_.push_back(std::move(memory_));
    memory_ = std::move(next);
  } else {
    ET_ASSIGN(memory_, make_run_memory(items_of(plan_->method().non_const_buffer_sizes()), values_->growing_count(),
                                       allocator_));
  }
  values_->settle(*memory_);
  for (Input& input : inputs_) {
    input.settled = false;
  }
  return Status::Ok;
}

Status Method::execute() {
  const Use use(*this);
  ET_TRY(use.status());
  if (!state_->try_acquire()) {
    return fail(Status::InvalidState, "the state of method '{}' is in use by a run on another thread", info_.name);
  }
  struct Release {
    const State& state;
    ~Release() { state.release(); }
  } release{*state_};
  const AllocationLimit limit(memory_limit_);
  ran_ = false;
  ++run_;
  cancelled_.store(false, std::memory_order_relaxed);
  if (memory_->is_held()) {
    ET_TRY(renew_memory());
  }
  values_->restore_replaced(*memory_);
  ET_TRY(outputs_.check_apart());
  ET_TRY(settle_inputs());
  ET_TRY(run_steps());
  ET_TRY(write_back_inputs());
  ET_TRY(store_outputs());
  ran_ = true;
  return Status::Ok;
}

Status Method::run_steps() {
  uint64_t budget = step_limit_;
  for (size_t i = 0; i < steps_.size();) {
    if (budget-- == 0) {
      note_error({.method = info_.name});
      return fail(Status::InvalidProgram, "method '{}' executed {} instructions without coming to its end", info_.name,
                  step_limit_);
    }
    if (cancelled_.load(std::memory_order_relaxed)) {
      return fail(Status::InvalidState, "the run of method '{}' was cancelled", info_.name);
    }
    const BoundStep& step = steps_[i];
    Status status = Status::Ok;
    size_t next = i + 1;
    switch (step.kind) {
      case Step::Kind::Kernel:
        status = run_kernel(step);
        break;
      case Step::Kind::Delegate: {
        DelegateCall call{info_.name, *plan_->program, scratch_};
        status = step.delegate->execute(call, {step.args, step.arg_count});
        scratch_.reset();
        break;
      }
      case Step::Kind::Move:
        *step.args[1] = *step.args[0];
        break;
      case Step::Kind::JumpFalse: {
        const auto holds = condition(*step.args[0]);
        status = holds.status();
        if (holds.ok() && !*holds) {
          next = step.target;
        }
        break;
      }
      // The exporter's hint that a value is needed no more; its memory serves the next run.
      case Step::Kind::Free:
        break;
    }
    if (status != Status::Ok) {
      return step_failed(status, i);
    }
    i = next;
  }
  return Status::Ok;
}

Status Method::run_kernel(const BoundStep& step) {
  const std::span<Value* const> args(step.args, step.arg_count);
  if (step.guarded_count > 0) {
    ET_TRY(check_guarded(step));
  }
  if (step.written.count > 0 && arguments_overlap(*step.op, step.written, args)) {
    return call_separated(step, args);
  }
  return call_kernel(step, args);
}

Status Method::call_separated(const BoundStep& step, std::span<Value* const> args) {
  SeparateArguments separate(scratch_);
  Status status = separate.make(*step.op, step.written, args);
  if (status == Status::Ok) {
    status = call_kernel(step, separate.args());
  }
  scratch_.reset();
  return status;
}

Status Method::call_kernel(const BoundStep& step, std::span<Value* const> args) {
  Call call(*step.op, args, scratch_, info_.name);
  Status status = step.op->shape != nullptr ? step.op->shape(call) : Status::Ok;
  if (status == Status::Ok) {
    status = step.op->kernel(call);
  }
  scratch_.reset();
  return status;
}

Status Method::step_failed(Status status, size_t index) {
  const BoundStep& step = steps_[index];
  std::string text;
  for (uint32_t k = 0; k < step.arg_count; ++k) {
    text += (k > 0 ? ", " : "") + value_text(*step.args[k]);
  }
  const char* what = step.kind == Step::Kind::Delegate ? "a delegate" : "a jump";
  note_error({.method = info_.name, .op = step.op != nullptr ? std::string(step.op->name) : std::string()});
  return fail(status, "in step {} of method '{}': {}({})", index, info_.name,
              step.op != nullptr ? step.op->name : std::string_view(what), text);
}

Result<bool> Method::condition(const Value& value) const {
  if (value.kind == Kind::Bool) {
    return value.as_bool;
  }
  if (value.kind != Kind::Tensor || value.as_tensor->dtype != DType::Bool) {
    return fail(Status::InvalidProgram, "a jump depends on {}, expected a bool or a bool tensor", value_text(value));
  }
  const Tensor& t = *value.as_tensor;
  if (t.data == nullptr && t.numel() > 0) {
    return fail(Status::InvalidState, "a jump depends on a tensor that nothing has written");
  }
  const auto* flags = t.as<uint8_t>();
  return std::all_of(flags, flags + t.numel(), [](uint8_t flag) { return flag != 0; });
}

}  // namespace etrt
