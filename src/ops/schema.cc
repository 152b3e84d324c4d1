// Schemas as PyTorch writes them: "(Tensor self, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)".
#include <algorithm>
#include <array>
#include <cctype>

#include "ops/op.h"

namespace etrt {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') {
    s.remove_prefix(1);
  }
  while (!s.empty() && s.back() == ' ') {
    s.remove_suffix(1);
  }
  return s;
}

// "Tensor(a!) out" or "Scalar alpha=1".
SchemaArgument parse_argument(std::string_view text) {
  SchemaArgument arg;
  text = trim(text.substr(0, text.find('=')));
  const size_t space = text.rfind(' ');
  arg.name = trim(text.substr(space == std::string_view::npos ? 0 : space + 1));
  arg.type = trim(text.substr(0, space == std::string_view::npos ? 0 : space));
  arg.written = arg.type.find('!') != std::string_view::npos;
  arg.type = arg.type.substr(0, arg.type.find('('));
  return arg;
}

// The closing parenthesis of the argument list that opens at 0, npos without one. Calls piece(text) for each argument:
// alias marks are parenthesised too, and lists of defaults have commas.
template <class Piece>
size_t split_arguments(std::string_view text, Piece&& piece) {
  int depth = 0;
  size_t begin = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') {
      ++depth;
    } else if (text[i] == ')' || text[i] == ']') {
      if (--depth == 0) {
        piece(trim(text.substr(begin, i - begin)));
        return i;
      }
    } else if (text[i] == ',' && depth == 1) {
      piece(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  return std::string_view::npos;
}

bool is_identifier(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; });
}

bool is_type(std::string_view type) {
  constexpr std::array<std::string_view, 13> kTypes = {"Tensor", "int",    "SymInt",   "float",      "bool",
                                                       "Scalar", "str",    "complex",  "ScalarType", "MemoryFormat",
                                                       "Layout", "Device", "Generator"};
  const size_t end = std::min(type.find_first_of("?["), type.size());
  const std::string_view form = type.substr(end);
  return std::find(kTypes.begin(), kTypes.end(), type.substr(0, end)) != kTypes.end() &&
         form.find_first_not_of("?[]0123456789") == std::string_view::npos;
}

}  // namespace

Schema parse_schema(std::string_view text) {
  Schema schema;
  if (text.empty()) {
    return schema;
  }
  bool keyword_only = false;
  const size_t end = split_arguments(text, [&](std::string_view piece) {
    if (piece == "*") {
      keyword_only = true;
    } else if (!piece.empty()) {
      schema.arguments.push_back(parse_argument(piece));
      schema.arguments.back().keyword_only = keyword_only;
    }
  });
  const std::string_view returns = text.substr(std::min(end, text.size()));
  const bool writes =
      std::any_of(schema.arguments.begin(), schema.arguments.end(), [](const SchemaArgument& a) { return a.written; });
  schema.out_variant = writes && returns.find('!') != std::string_view::npos;
  schema.returns_nothing = returns.find("()") != std::string_view::npos;
  return schema;
}

Status check_schema(std::string_view text) {
  std::vector<std::string_view> pieces;
  const size_t end = text.starts_with('(')
                         ? split_arguments(text, [&](std::string_view piece) { pieces.push_back(piece); })
                         : std::string_view::npos;
  const std::string_view returns = end < text.size() ? trim(text.substr(end + 1)) : std::string_view();
  if (!returns.starts_with("->") || trim(returns.substr(2)).empty() ||
      std::count(returns.begin(), returns.end(), '(') != std::count(returns.begin(), returns.end(), ')')) {
    return fail(Status::InvalidArgument,
                "the schema \"{}\" isn't an argument list in parentheses, ->, and what is returned", text);
  }
  std::vector<std::string_view> names;
  for (const std::string_view piece : pieces) {
    if (piece == "*" || (piece.empty() && pieces.size() == 1)) {
      continue;
    }
    const SchemaArgument argument = parse_argument(piece);
    if (!is_type(argument.type) || !is_identifier(argument.name)) {
      return fail(Status::InvalidArgument,
                  "the schema's \"{}\" is no argument; expected a type and a name, such as Tensor x, int[] dims or "
                  "Tensor(a!) out",
                  piece);
    }
    if (std::find(names.begin(), names.end(), argument.name) != names.end()) {
      return fail(Status::InvalidArgument, "the schema has two arguments called {}", argument.name);
    }
    names.push_back(argument.name);
  }
  return Status::Ok;
}

}  // namespace etrt
