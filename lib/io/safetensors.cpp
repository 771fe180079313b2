// Header checks and the writer of safetensors.h. The reader is a fuzz target: every number in a header is hostile.
#include "io/safetensors.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/json.h"

namespace octet {
namespace {

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation of the format
constexpr int64_t kAlignment = 8;

[[noreturn]] void fail(std::string_view file, std::string_view problem) {
  throw Error(Code::kCheckpoint, fmt::format("{}: {}", file, problem));
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DType dtype : kDTypes) {
    if (dtype_name(dtype) == name) return dtype;
  }
  return std::nullopt;
}

/// The values of an array of non-negative integers; nothing when `json` is not one.
std::optional<std::vector<int64_t>> sizes(const Json* json) {
  if (json == nullptr || !json->is(Json::Kind::kArray)) return std::nullopt;
  std::vector<int64_t> values;
  for (const Json& item : json->items) {
    const std::optional<int64_t> value = item.as_int();
    if (!value || *value < 0) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

SafetensorsEntry parse_entry(const std::string& name, const Json& json, int64_t data_bytes, std::string_view file) {
  const auto bad = [&](std::string_view problem) { fail(file, fmt::format("tensor {}: {}", name, problem)); };
  if (!json.is(Json::Kind::kObject)) bad("its entry is not an object");
  const Json* dtype_json = json.find("dtype");
  if (dtype_json == nullptr || !dtype_json->is(Json::Kind::kString)) bad("dtype is missing");
  const std::optional<DType> dtype = dtype_from_name(dtype_json->text);
  if (!dtype) bad(fmt::format("unknown dtype {}", dtype_json->text));
  std::optional<std::vector<int64_t>> shape = sizes(json.find("shape"));
  if (!shape) bad("shape is not an array of sizes");
  const std::optional<std::vector<int64_t>> range = sizes(json.find("data_offsets"));
  if (!range || range->size() != 2) bad("data_offsets is not a pair of offsets");

  SafetensorsEntry entry{{name, *dtype, std::move(*shape)}, (*range)[0], (*range)[1] - (*range)[0]};
  if (entry.bytes < 0 || (*range)[1] > data_bytes) {
    bad(fmt::format("bytes {} to {} lie outside the file's {} bytes of data", (*range)[0], (*range)[1], data_bytes));
  }
  const int64_t expected = tensor_bytes(entry.tensor);
  if (entry.bytes != expected) {
    bad(fmt::format("{} takes {} bytes, found a range of {}", describe_tensor(*dtype, entry.tensor.shape), expected,
                    entry.bytes));
  }
  return entry;
}

/// Every byte of the data belongs to exactly one tensor.
void check_coverage(const std::vector<SafetensorsEntry>& sorted, int64_t data_bytes, std::string_view file) {
  int64_t end = 0;
  for (const SafetensorsEntry& entry : sorted) {
    if (entry.offset != end) {
      fail(file,
           fmt::format("tensor {}: begins at data byte {}, expected {} ({})", entry.tensor.name, entry.offset, end,
                       entry.offset < end ? "it overlaps the tensor before it" : "the bytes between are unused"));
    }
    end += entry.bytes;
  }
  if (end != data_bytes) {
    fail(file, fmt::format("the tensors take {} bytes, but {} bytes of data are there", end, data_bytes));
  }
}

}  // namespace

int64_t tensor_bytes(const TensorDeclaration& tensor) {
  int64_t bytes = dtype_bytes(tensor.dtype);
  for (const int64_t size : tensor.shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) {
      throw Error(Code::kCheckpoint, fmt::format("tensor {}: impossible shape {}", tensor.name,
                                                 describe_tensor(tensor.dtype, tensor.shape)));
    }
  }
  return bytes;
}

std::string describe_tensor(DType dtype, std::span<const int64_t> shape) {
  return fmt::format("{} [{}]", dtype_name(dtype), fmt::join(shape, ", "));
}

SafetensorsHeader parse_safetensors_header(std::string_view json, int64_t data_bytes, std::string_view file) {
  Json root;
  try {
    root = parse_json(json, file);
  } catch (const Error& error) {
    throw Error(Code::kCheckpoint, error.what(), error.where());
  }
  if (!root.is(Json::Kind::kObject)) fail(file, "the header is not an object");
  SafetensorsHeader header;
  header.entries.reserve(root.members.size());
  for (const auto& [name, value] : root.members) {
    if (name != "__metadata__") {
      header.entries.push_back(parse_entry(name, value, data_bytes, file));
      continue;
    }
    if (!value.is(Json::Kind::kObject)) fail(file, "__metadata__ is not an object");
    for (const auto& [key, text] : value.members) {
      if (!text.is(Json::Kind::kString)) fail(file, fmt::format("__metadata__ {} is not a string", key));
      header.metadata.emplace_back(key, text.text);
    }
  }
  // Stable, so that empty tensors at the same offset keep their order; an empty one sorts before a full one.
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  check_coverage(header.entries, data_bytes, file);
  const int64_t data_begin = kLengthBytes + static_cast<int64_t>(json.size());
  for (SafetensorsEntry& entry : header.entries) entry.offset += data_begin;
  header.file_bytes = data_begin + data_bytes;
  return header;
}

SafetensorsHeader read_safetensors_header(const std::string& path) {
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  std::error_code status;
  const auto file_size = file ? std::filesystem::file_size(path, status) : 0;
  if (!file || status) fail(path, fmt::format("cannot open the file: {}", std::strerror(errno)));
  const auto file_bytes = static_cast<int64_t>(file_size);

  uint64_t stated = 0;
  if (file_bytes < kLengthBytes || std::fread(&stated, kLengthBytes, 1, file.get()) != 1) {
    fail(path, fmt::format("truncated: {} bytes, too short for a safetensors header", file_bytes));
  }
  if (stated > static_cast<uint64_t>(kMaxHeaderBytes)) {
    fail(path, fmt::format("header of {} bytes, at most {} are accepted (is this a safetensors file?)", stated,
                           kMaxHeaderBytes));
  }
  const auto header_bytes = static_cast<int64_t>(stated);
  if (header_bytes > file_bytes - kLengthBytes) {
    fail(path,
         fmt::format("truncated: {} bytes, but its header alone takes {}", file_bytes, header_bytes + kLengthBytes));
  }
  std::string json(static_cast<size_t>(header_bytes), '\0');
  if (std::fread(json.data(), 1, json.size(), file.get()) != json.size()) fail(path, "cannot read the header");
  return parse_safetensors_header(json, file_bytes - kLengthBytes - header_bytes, path);
}

std::string safetensors_prefix(std::span<const TensorDeclaration> tensors,
                               std::span<const std::pair<std::string, std::string>> metadata) {
  Json root = Json::object();
  if (!metadata.empty()) {
    Json& object = root.set("__metadata__", Json::object());
    for (const auto& [key, text] : metadata) object.set(key, text);
  }
  int64_t end = 0;
  for (const TensorDeclaration& tensor : tensors) {
    const int64_t begin = end;
    end += tensor_bytes(tensor);
    Json shape = Json::array();
    for (const int64_t size : tensor.shape) shape.push(size);
    Json& entry = root.set(tensor.name, Json::object());
    entry.set("dtype", dtype_name(tensor.dtype));
    entry.set("shape", std::move(shape));
    entry.set("data_offsets", Json::array({begin, end}));
  }
  std::string json = root.dump();
  json.append((kAlignment - json.size() % kAlignment) % kAlignment, ' ');
  const uint64_t length = json.size();
  std::string prefix(kLengthBytes, '\0');
  std::memcpy(prefix.data(), &length, kLengthBytes);
  return prefix + json;
}

SafetensorsWriter::SafetensorsWriter(std::string path, std::span<const TensorDeclaration> tensors,
                                     std::span<const std::pair<std::string, std::string>> metadata)
    : path_(std::move(path)), unfinished_path_(path_ + ".partial") {
  file_.reset(std::fopen(unfinished_path_.c_str(), "wb"));
  if (!file_) {
    throw Error(Code::kUsage, fmt::format("{}: cannot create the file: {}", unfinished_path_, std::strerror(errno)));
  }
  const std::string prefix = safetensors_prefix(tensors, metadata);
  missing_bytes_ = static_cast<int64_t>(prefix.size());
  for (const TensorDeclaration& tensor : tensors) missing_bytes_ += tensor_bytes(tensor);
  write(std::as_bytes(std::span(prefix)));
}

SafetensorsWriter::~SafetensorsWriter() {
  if (!file_) return;
  file_.reset();
  std::remove(unfinished_path_.c_str());
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  require(static_cast<int64_t>(bytes.size()) <= missing_bytes_, "more tensor bytes are written than were declared");
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    throw Error(Code::kEnvironment, fmt::format("{}: cannot write: {}", unfinished_path_, std::strerror(errno)));
  }
  missing_bytes_ -= static_cast<int64_t>(bytes.size());
}

void SafetensorsWriter::close() {
  require(missing_bytes_ == 0, "a safetensors file is closed before all declared bytes were written");
  const bool flushed = std::fflush(file_.get()) == 0 && ::fsync(::fileno(file_.get())) == 0;
  if (!flushed || std::rename(unfinished_path_.c_str(), path_.c_str()) != 0) {
    throw Error(Code::kEnvironment, fmt::format("{}: cannot finish the file: {}", path_, std::strerror(errno)));
  }
  file_.reset();
}

}  // namespace octet
