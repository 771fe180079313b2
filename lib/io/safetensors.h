// The safetensors container: a reader of headers that trusts nothing it reads, and a streaming writer. Tensor bytes are
// read elsewhere (lib/model/loader.h maps the file and uses the offsets found here).
// Layout: 8-byte little-endian length of a JSON object, the object (name -> dtype, shape, data_offsets), the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace octet {

/// Name, element type and shape of one tensor; an empty shape is a scalar.
struct TensorDeclaration {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
};

/// A declared tensor and where its bytes lie, counted from the beginning of the file.
struct SafetensorsEntry {
  TensorDeclaration tensor;
  int64_t offset = 0;
  int64_t bytes = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;                      ///< in the order of their bytes
  std::vector<std::pair<std::string, std::string>> metadata;  ///< the "__metadata__" object
  int64_t file_bytes = 0;
};

/// Number of bytes of a tensor. Errors: Error{kCheckpoint} when a dimension is negative or the product overflows.
int64_t tensor_bytes(const TensorDeclaration& tensor);

/// "BF16 [512, 256]", as messages show a tensor.
std::string describe_tensor(DType dtype, std::span<const int64_t> shape);

/// Reads and checks the header of a file; no tensor byte is read.
/// Errors: Error{kCheckpoint} that names the file and, where there is one, the tensor: no such file, shorter than its
/// header or its tensors say, header over 100 MB or not JSON, unknown dtype, shape and byte range that disagree, ranges
/// that overlap or leave bytes unused.
SafetensorsHeader read_safetensors_header(const std::string& path);

/// The check itself: `json` is the header text, `data_bytes` the size of what follows it; `file` names it in messages.
/// Offsets of the result count from the beginning of a file with exactly this header.
SafetensorsHeader parse_safetensors_header(std::string_view json, int64_t data_bytes, std::string_view file);

/// The bytes before the data of a file that holds `tensors` one after the other in the given order: length and JSON,
/// padded with spaces to a multiple of 8.
std::string safetensors_prefix(std::span<const TensorDeclaration> tensors,
                               std::span<const std::pair<std::string, std::string>> metadata = {});

/// Writes a safetensors file: declare every tensor, then write their bytes in that order, then close. The file appears
/// under its name only when it is complete; until then, and for ever when something fails, it does not exist.
/// Equal calls give equal files.
class SafetensorsWriter {
 public:
  /// Errors: Error{kUsage} when the file cannot be created.
  SafetensorsWriter(std::string path, std::span<const TensorDeclaration> tensors,
                    std::span<const std::pair<std::string, std::string>> metadata = {});
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  /// The next bytes, row-major little-endian; a tensor may come in pieces. Errors: Error{kEnvironment} on a failed
  /// write (disk full), Error{kInternal} when more is written than declared.
  void write(std::span<const std::byte> bytes);
  template <class T>
  void write(std::span<const T> values) {
    write(std::as_bytes(values));
  }

  /// Completes the file. Errors: as write; Error{kInternal} when bytes are missing.
  void close();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::string unfinished_path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  int64_t missing_bytes_ = 0;
};

}  // namespace octet
