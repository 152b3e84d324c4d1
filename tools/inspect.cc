// etrt inspect
#include <et/program.h>

#include <cstdio>
#include <string>

#include "commands.h"
#include "json.h"

namespace etrt::tool {

const char* const kInspectUsage =
    "usage: etrt inspect MODEL.pte [options]\n"
    "\n"
    "Shows a program's methods: inputs and outputs, operators with the number of calls, delegates, memory, state, the\n"
    "file's segments, and whether it can run here. If it can't, the exit status is 3.\n"
    "\n"
    "  -d, --data FILE.ptd  a file with external weights; may be repeated\n"
    "  -m, --method NAME    only that method\n"
    "  -a, --attributes     named tensors (weights, buffers) too\n"
    "      --json           all of it as JSON\n";

namespace {

const Option kOptions[] = {
    {"--data", "-d", true}, {"--method", "-m", true}, {"--attributes", "-a", false}, {"--json", "", false}};

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, kUnits[unit]);
  return text;
}

std::string counted(size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// "[2, 3]"; bounds of dynamic sizes as "≤3", none as "?".
std::string sizes_text(const Json& tensor) {
  const bool dynamic = tensor["dynamism"].text() != "static" && !tensor["dynamism"].is_null();
  std::string text;
  for (const Json& size : tensor["sizes"].items()) {
    text += text.empty() ? "" : ", ";
    text += size.integer() < 0 ? "?" : (dynamic ? "≤" : "") + std::to_string(size.integer());
  }
  return "[" + text + "]";
}

// Nothing for a row-major tensor.
std::string dim_order_text(const Json& tensor) {
  std::string text;
  bool row_major = true;
  int64_t expected = 0;
  for (const Json& dim : tensor["dim_order"].items()) {
    row_major = row_major && dim.integer() == expected++;
    text += (text.empty() ? "" : ", ") + std::to_string(dim.integer());
  }
  return row_major ? "" : "  dim order [" + text + "]";
}

std::string value_text(const Json& value) {
  const std::string kind = value["kind"].text();
  if (kind != "Tensor") {
    const Json& fixed = value["value"];
    if (kind == "Int") {
      return "int " + std::to_string(fixed.integer());
    }
    if (kind == "Double") {
      char text[40];
      std::snprintf(text, sizeof(text), "double %.17g", fixed.number());
      return text;
    }
    return kind == "Bool"     ? (fixed.truth() ? "bool true" : "bool false")
           : kind == "String" ? "string \"" + fixed.text() + "\""
                              : kind;
  }
  std::string text = value["dtype"].text() + sizes_text(value) + dim_order_text(value);
  if (value["nbytes"].integer() > 0) {
    text += "  " + bytes_text(value["nbytes"].number());
  }
  text += value["planned"].truth() ? "  planned" : "  not planned";
  text += value["written"].truth() ? ", written in place" : "";
  text += value["state"].truth() ? ", state" : "";
  text += value["device"].text() != "cpu" ? ", on " + value["device"].text() : "";
  text += value["name"].text().empty() ? "" : "  " + value["name"].text();
  return text;
}

void print_values(const char* what, const Json& values) {
  std::printf("  %s\n", what);
  for (size_t i = 0; i < values.items().size(); ++i) {
    std::printf("    %zu  %s\n", i, value_text(values.items()[i]).c_str());
  }
}

void print_operators(const Json& method) {
  int64_t calls = 0;
  for (const Json& op : method["operators"].items()) {
    calls += op["calls"].integer();
  }
  std::printf("  operators: %zu, called %lld times\n", method["operators"].items().size(),
              static_cast<long long>(calls));
  for (const Json& op : method["operators"].items()) {
    std::printf("    %4lld  %s%s\n", static_cast<long long>(op["calls"].integer()), op["name"].text().c_str(),
                op["available"].truth() ? "" : "   MISSING");
  }
  const Json& counts = method["instructions"];
  std::string others;
  for (const char* kind : {"move", "jump_false", "free"}) {
    if (counts[kind].integer() > 0) {
      others += (others.empty() ? "" : ", ") + std::to_string(counts[kind].integer()) + " " + kind;
    }
  }
  if (!others.empty()) {
    std::printf("  other instructions: %s\n", others.c_str());
  }
}

void print_delegates(const Json& method) {
  for (const Json& delegate : method["delegates"].items()) {
    std::printf("  delegate %s: %s, called %lld times%s\n", delegate["backend"].text().c_str(),
                bytes_text(delegate["payload_bytes"].number()).c_str(),
                static_cast<long long>(delegate["calls"].integer()), delegate["available"].truth() ? "" : "   MISSING");
    for (const Json& spec : delegate["compile_specs"].items()) {
      std::printf("    %s = %s\n", spec["key"].text().c_str(),
                  spec["text"].is_null() ? bytes_text(spec["size"].number()).c_str() : spec["text"].text().c_str());
    }
  }
}

void print_memory(const Json& method) {
  const Json& memory = method["memory"];
  std::string arenas;
  for (const Json& size : memory["arenas"].items()) {
    arenas += (arenas.empty() ? "" : ", ") + bytes_text(size.number());
  }
  std::printf("  memory: %s planned in %s%s\n", bytes_text(memory["planned_bytes"].number()).c_str(),
              counted(memory["arenas"].items().size(), "arena").c_str(),
              memory["arenas"].items().size() > 1 ? (": " + arenas).c_str() : "");
  const Json& constants = method["constants"];
  std::printf("  constants: %lld, %s", static_cast<long long>(constants["count"].integer()),
              bytes_text(constants["bytes"].number()).c_str());
  if (constants["external"].integer() > 0) {
    std::printf(", %lld of them in a .ptd file", static_cast<long long>(constants["external"].integer()));
  }
  std::printf("\n");
}

void print_state(const Json& method) {
  const Json& state = method["state"];
  if (state.is_null()) {
    std::printf("  state: unknown while something is missing\n");
    return;
  }
  std::printf("  state: %s\n", state.items().empty() ? "none" : counted(state.items().size(), "buffer").c_str());
  for (const Json& buffer : state.items()) {
    std::printf("    %s  %s%s  %s%s\n", buffer["name"].text().c_str(), buffer["dtype"].text().c_str(),
                sizes_text(buffer).c_str(), bytes_text(buffer["nbytes"].number()).c_str(),
                buffer["stored"].truth() ? "  starts as stored" : "");
  }
}

void print_method(const Json& method, bool attributes) {
  std::printf("\n%s\n", method["name"].text().c_str());
  print_values("inputs", method["inputs"]);
  print_values("outputs", method["outputs"]);
  if (attributes) {
    print_values("attributes", method["attributes"]);
  }
  print_operators(method);
  print_delegates(method);
  print_memory(method);
  print_state(method);
  if (!method["can_run"].truth()) {
    std::printf("  can't run here: %s\n", method["problems"].text().c_str());
  }
}

void print_program(const Json& program, const std::string& only, bool attributes) {
  std::printf("%s: %s, %s\n", program["name"].text().c_str(),
              counted(program["methods"].items().size(), "method").c_str(),
              program["can_run"].truth() ? "can run here" : "CAN'T RUN HERE");
  for (const Json& method : program["methods"].items()) {
    if (only.empty() || method["name"].text() == only) {
      print_method(method, attributes);
    }
  }
  std::printf("\nsegments: %zu\n", program["segments"].items().size());
  size_t index = 0;
  for (const Json& segment : program["segments"].items()) {
    std::string holds;
    for (const Json& use : segment["holds"].items()) {
      holds += (holds.empty() ? "" : ", ") + use.text();
    }
    std::printf("    %zu  %s  %s\n", index++, bytes_text(segment["size"].number()).c_str(), holds.c_str());
  }
  for (const Json& file : program["data_files"].items()) {
    std::printf("data file: %s\n", file.text().c_str());
  }
  if (!program["named_data"].items().empty()) {
    std::printf("named data: %zu\n", program["named_data"].items().size());
    for (const Json& key : program["named_data"].items()) {
      std::printf("    %s\n", key.text().c_str());
    }
  }
}

// The program, or the method that was asked for.
bool can_run(const Json& program, const std::string& only) {
  for (const Json& method : program["methods"].items()) {
    if (method["name"].text() == only) {
      return method["can_run"].truth();
    }
  }
  return program["can_run"].truth();
}

}  // namespace

int inspect(Words words) {
  const et::Result<Arguments> arguments = Arguments::parse(words, kOptions);
  if (!arguments) {
    return wrong_usage(arguments.error().text, kInspectUsage);
  }
  if (arguments->rest().size() != 1) {
    return wrong_usage("expected one program", kInspectUsage);
  }
  const et::Result<et::Program> program = et::Program::load(arguments->rest()[0], {arguments->values("--data")});
  if (!program) {
    return failed(program.error());
  }
  const et::Result<std::string> text = program->describe();
  if (!text) {
    return failed(text.error());
  }
  const std::string only = arguments->value("--method");
  if (!only.empty()) {
    if (const auto known = program->inputs(only); !known) {
      return failed(known.error());
    }
  }
  const et::Result<Json> json = Json::parse(*text);
  if (!json) {
    return failed(json.error());
  }
  if (arguments->has("--json")) {
    std::printf("%s\n", text->c_str());
  } else {
    print_program(*json, only, arguments->has("--attributes"));
  }
  return can_run(*json, only) ? kDone : kCannotRun;
}

}  // namespace etrt::tool
