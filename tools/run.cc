// etrt run
#include <et/method.h>
#include <et/program.h>
#include <et/runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "commands.h"
#include "element.h"
#include "files.h"
#include "inputs.h"

namespace etrt::tool {

const char* const kRunUsage =
    "usage: etrt run MODEL.pte [options]\n"
    "\n"
    "Runs a method once and prints a summary of its outputs and the time.\n"
    "\n"
    "  -m, --method NAME    the method (default: forward, or the only one)\n"
    "  -d, --data FILE.ptd  a file with external weights; may be repeated\n"
    "  -i, --input FORM     an input, in order; may be repeated. Those without are random; numbers, bools and\n"
    "                       strings are what the program was exported with\n"
    "  -o, --output FILE    saves an output as .npy (or its raw elements, by any other ending), in order; may be\n"
    "                       repeated\n"
    "  -r, --repeat N       runs N times more after the first and shows the fastest and the mean\n"
    "  -p, --print N        numbers shown of each output (default 10); 0: none, -1: all\n"
    "      --plan PLAN      as_exported, the only one today\n"
    "      --threads N      threads to use\n"
    "      --seed N         of random inputs and random operators (default 0)\n"
    "\n"
    "Forms of inputs:\n"
    "  FILE.npy            an array of NumPy's; words of its width for a dtype that NumPy lacks\n"
    "  @FILE               raw elements of the input's dtype, row-major\n"
    "  1,2,3  or  0.5      numbers, row-major; a single one fills the whole input\n"
    "  zeros  ones\n"
    "  random              floats from 0 to 1, integers from 0 to 9; random:LOW:HIGH for others\n"
    "  none                None\n"
    "  2x3=FORM            any of these but .npy, with sizes; the default are the largest ones\n";

namespace {

const Option kOptions[] = {
    {"--method", "-m", true}, {"--data", "-d", true},   {"--input", "-i", true},
    {"--output", "-o", true}, {"--repeat", "-r", true}, {"--print", "-p", true},
    {"--plan", "", true},     {"--threads", "", true},  {"--seed", "", true},
};

std::string shape_text(const et::TensorView& tensor) {
  std::string text = std::string(et::dtype_name(tensor.dtype())) + '[';
  for (int d = 0; d < tensor.rank(); ++d) {
    text += (d > 0 ? ", " : "") + std::to_string(tensor.size(d));
  }
  return text + ']';
}

// The extremes and the mean, of numbers that are finite.
void print_statistics(const et::Tensor& tensor) {
  const size_t step = et::dtype_size(tensor.dtype());
  const auto* bytes = static_cast<const char*>(tensor.data());
  double low = INFINITY;
  double high = -INFINITY;
  double sum = 0;
  int64_t finite = 0;
  int64_t nan = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const double number = read_number(tensor.dtype(), bytes + static_cast<size_t>(i) * step);
    nan += std::isnan(number) ? 1 : 0;
    if (std::isfinite(number)) {
      ++finite;
      low = std::min(low, number);
      high = std::max(high, number);
      sum += number;
    }
  }
  if (finite > 0) {
    std::printf("  min %.6g, max %.6g, mean %.6g", low, high, sum / static_cast<double>(finite));
  }
  if (finite < tensor.numel()) {
    std::printf("%s%lld nan, %lld infinite", finite > 0 ? "; " : "  ", static_cast<long long>(nan),
                static_cast<long long>(tensor.numel() - finite - nan));
  }
  std::printf("\n");
}

et::Result<void> print_tensor(const et::TensorView& view, int64_t shown) {
  et::Result<et::Tensor> tensor = et::Tensor::copy_of(view);  // row-major
  if (!tensor) {
    return tensor.error();
  }
  std::printf("%s\n", shape_text(view).c_str());
  const int64_t count = shown < 0 ? tensor->numel() : std::min(shown, tensor->numel());
  const size_t step = et::dtype_size(tensor->dtype());
  const auto* bytes = static_cast<const char*>(tensor->data());
  for (int64_t i = 0; i < count; ++i) {
    std::printf("%s%s", i == 0 ? "  " : " ",
                element_text(tensor->dtype(), bytes + static_cast<size_t>(i) * step).c_str());
  }
  if (count > 0) {
    std::printf("%s\n", count < tensor->numel() ? " …" : "");
  }
  if (is_number(tensor->dtype()) && tensor->numel() > 1) {
    print_statistics(*tensor);
  }
  return {};
}

et::Result<void> print_value(const et::Value& value, int64_t shown) {
  switch (value.kind()) {
    case et::Kind::None:
      std::printf("None\n");
      return {};
    case et::Kind::Int:
      std::printf("int %lld\n", static_cast<long long>(*value.as_int()));
      return {};
    case et::Kind::Double:
      std::printf("double %.17g\n", *value.as_double());
      return {};
    case et::Kind::Bool:
      std::printf("bool %s\n", *value.as_bool() ? "true" : "false");
      return {};
    case et::Kind::String:
      std::printf("string \"%s\"\n", value.as_string()->c_str());
      return {};
    case et::Kind::Tensor:
      return print_tensor(*value.as_tensor(), shown);
    case et::Kind::List:
      break;
  }
  const std::vector<et::Value> items = *value.as_list();
  std::printf("list of %zu\n", items.size());
  for (const et::Value& item : items) {
    if (et::Result<void> done = print_value(item, shown); !done) {
      return done;
    }
  }
  return {};
}

et::Result<void> save(const et::Value& value, const std::string& path) {
  const et::Result<et::Tensor> tensor = value.as_tensor();
  if (!tensor) {
    return et::Error(et::Status::InvalidType, path + ": the output is a " + kind_name(value.kind()) + ", not a tensor");
  }
  if (path.ends_with(".npy")) {
    return write_npy(path, *tensor);
  }
  const et::Result<et::Tensor> copy = et::Tensor::copy_of(*tensor);
  return copy ? write_file(path, "", copy->data(), copy->nbytes()) : et::Result<void>(copy.error());
}

et::Result<et::Plan> plan_from(const std::string& name) {
  if (name.empty() || name == "as_exported") {
    return name.empty() ? et::Plan::Default : et::Plan::AsExported;
  }
  if (name == "optimized") {
    return et::Plan::Optimized;
  }
  return et::Error(et::Status::InvalidArgument, "--plan is \"" + name + "\", expected as_exported or optimized");
}

// What --method says, else the method that needs no choice.
std::string method_name(const et::Program& program, const std::string& asked) {
  const std::vector<std::string> names = program.method_names();
  return !asked.empty() ? asked : names.size() == 1 ? names[0] : "forward";
}

et::Result<std::vector<et::Value>> make_inputs(const et::Method& method, const std::vector<std::string>& specs,
                                               uint64_t seed) {
  if (specs.size() > method.input_count()) {
    return et::Error(et::Status::InvalidArgument, std::to_string(specs.size()) + " inputs were given, " +
                                                      method.name() + " takes " + std::to_string(method.input_count()));
  }
  std::mt19937_64 random(seed);
  std::vector<et::Value> inputs;
  for (size_t i = 0; i < method.input_count(); ++i) {
    const et::Result<et::TensorInfo> info = method.input_info(i);
    if (!info) {
      return info.error();
    }
    const std::string spec = i < specs.size() ? specs[i] : "";
    et::Result<et::Value> value = make_input(spec, *info, random);
    if (!value) {
      return et::Error(value.status(),
                       "input " + std::to_string(i) + ", " + describe(*info) + ": " + value.error().text);
    }
    std::printf("input %zu: %s%s\n", i,
                value->is_tensor() ? shape_text(*value->as_tensor()).c_str() : kind_name(value->kind()),
                spec.empty() && value->is_tensor() ? " random" : "");
    inputs.push_back(*std::move(value));
  }
  return inputs;
}

// Runs once, then `repeat` times more; prints the times.
et::Result<void> timed_runs(et::Method& method, int64_t repeat) {
  using Clock = std::chrono::steady_clock;
  double first = 0;
  double fastest = INFINITY;
  double sum = 0;
  for (int64_t i = 0; i <= repeat; ++i) {
    const auto begin = Clock::now();
    if (et::Result<void> done = method.execute(); !done) {
      return done;
    }
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    if (i == 0) {
      first = ms;
    } else {
      fastest = std::min(fastest, ms);
      sum += ms;
    }
  }
  std::printf("%s: %.3f ms", method.name().c_str(), first);
  if (repeat > 0) {
    std::printf("; %lld times more: fastest %.3f ms, mean %.3f ms", static_cast<long long>(repeat), fastest,
                sum / static_cast<double>(repeat));
  }
  std::printf("\n");
  return {};
}

struct Numbers {
  int64_t repeat;
  int64_t shown;
  int64_t threads;
  int64_t seed;
};

et::Result<Numbers> numbers_from(const Arguments& arguments) {
  Numbers out{};
  const struct {
    std::string_view name;
    int64_t fallback;
    int64_t least;
    int64_t* to;
  } all[] = {{"--repeat", 0, 0, &out.repeat},
             {"--print", 10, -1, &out.shown},
             {"--threads", 0, 1, &out.threads},
             {"--seed", 0, 0, &out.seed}};
  for (const auto& number : all) {
    if (!arguments.has(number.name)) {
      *number.to = number.fallback;
      continue;
    }
    const et::Result<int64_t> value = arguments.number(number.name, number.fallback, number.least);
    if (!value) {
      return value.error();
    }
    *number.to = *value;
  }
  return out;
}

int run_program(const Arguments& arguments, const Numbers& numbers, et::Plan plan) {
  if (numbers.threads > 0) {
    et::set_thread_count(static_cast<size_t>(numbers.threads));
  }
  et::set_seed(static_cast<uint64_t>(numbers.seed));
  const et::Result<et::Program> program = et::Program::load(arguments.rest()[0], {arguments.values("--data")});
  if (!program) {
    return failed(program.error());
  }
  const std::string name = method_name(*program, arguments.value("--method"));
  et::Result<et::Method> method = et::Method::load(*program, name, {.plan = plan});
  if (!method) {
    return failed(method.error());
  }
  const std::vector<std::string> files = arguments.values("--output");
  if (files.size() > method->output_count()) {
    return failed(et::Error(et::Status::InvalidArgument, std::to_string(files.size()) + " output files were given, " +
                                                             name + " has " + std::to_string(method->output_count())));
  }
  et::Result<std::vector<et::Value>> inputs =
      make_inputs(*method, arguments.values("--input"), static_cast<uint64_t>(numbers.seed));
  if (!inputs) {
    return failed(inputs.error());
  }
  et::Result<void> done = method->set_inputs(*std::move(inputs));
  done = done ? timed_runs(*method, numbers.repeat) : done;
  if (!done) {
    return failed(done.error());
  }
  for (size_t i = 0; i < method->output_count(); ++i) {
    const et::Result<et::Value> value = method->output(i);
    if (!value) {
      return failed(value.error());
    }
    std::printf("output %zu: ", i);
    done = print_value(*value, numbers.shown);
    if (done && i < files.size()) {
      done = save(*value, files[i]);
    }
    if (!done) {
      return failed(done.error());
    }
  }
  return kDone;
}

}  // namespace

int run(Words words) {
  const et::Result<Arguments> arguments = Arguments::parse(words, kOptions);
  if (!arguments) {
    return wrong_usage(arguments.error().text, kRunUsage);
  }
  if (arguments->rest().size() != 1) {
    return wrong_usage("expected one program", kRunUsage);
  }
  const et::Result<Numbers> numbers = numbers_from(*arguments);
  const et::Result<et::Plan> plan = plan_from(arguments->value("--plan"));
  if (!numbers || !plan) {
    return wrong_usage(!numbers ? numbers.error().text : plan.error().text, kRunUsage);
  }
  return run_program(*arguments, *numbers, *plan);
}

}  // namespace etrt::tool
