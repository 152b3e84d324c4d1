// What a person writes for an input, made into a value.
#pragma once

#include <et/error.h>
#include <et/info.h>
#include <et/value.h>

#include <random>
#include <string>

namespace etrt::tool {

// `spec` is one of the forms that `etrt run --help` lists; empty means what the input was exported with, or random.
// `random` gives the same numbers for the same seed.
et::Result<et::Value> make_input(const std::string& spec, const et::TensorInfo& info, std::mt19937_64& random);

}  // namespace etrt::tool
