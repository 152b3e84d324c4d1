// Files of arrays: NumPy's .npy, and raw elements.
#pragma once

#include <et/error.h>
#include <et/tensor.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace etrt::tool {

using Bytes = std::shared_ptr<std::vector<std::byte>>;

et::Result<Bytes> read_file(const std::string& path);
et::Result<void> write_file(const std::string& path, std::string_view head, const void* data, size_t size);

// An array saved by numpy.save, any layout, little-endian.
et::Result<et::Tensor> read_npy(const std::string& path);
// Row-major. A dtype that NumPy lacks is saved as unsigned words of its width.
et::Result<void> write_npy(const std::string& path, const et::TensorView& tensor);

// The dtype of unsigned words that wide.
et::DType word_dtype(size_t size);
// Does NumPy have it?
bool numpy_has(et::DType dtype);

}  // namespace etrt::tool
