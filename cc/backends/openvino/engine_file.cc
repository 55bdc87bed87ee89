#include "cc/backends/openvino/engine_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace trtmc::openvino {
namespace {

constexpr std::string_view kMagic = "TRTMCOVE";
constexpr std::size_t kHeader = 4096;
constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kMaxXml = std::size_t{64} << 20;

Status bad_engine(const std::string& what) {
  return bad_input("backend.bad_engine", what + "; build the bundle again");
}

template <class T>
T read(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

bool inside(std::uint64_t offset, std::uint64_t length, std::size_t size) {
  return offset <= size && length <= size - offset;
}

}  // namespace

Result<EngineFile> parse_engine_file(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeader) {
    return bad_engine("engine has " + std::to_string(bytes.size()) +
                      " bytes, a header alone has 4096");
  }
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return bad_engine("engine does not start with \"TRTMCOVE\"");
  }
  const auto version = read<std::uint32_t>(bytes, 8);
  if (version != 1) {
    return bad_engine("engine has version " + std::to_string(version) + ", this program reads 1");
  }
  if (const auto flags = read<std::uint32_t>(bytes, 12); flags != 0) {
    return bad_engine("engine has unknown flags " + std::to_string(flags));
  }
  const auto xml_offset = read<std::uint64_t>(bytes, 16),
             xml_length = read<std::uint64_t>(bytes, 24);
  const auto offset = read<std::uint64_t>(bytes, 32), length = read<std::uint64_t>(bytes, 40);
  const auto zeros = bytes.subspan(48, kHeader - 48);
  if (std::any_of(zeros.begin(), zeros.end(), [](std::byte b) { return b != std::byte{0}; })) {
    return bad_engine("engine header has bytes after offset 48 that are not zero");
  }
  if (xml_offset < kHeader || xml_length == 0 || xml_length > kMaxXml ||
      !inside(xml_offset, xml_length, bytes.size())) {
    return bad_engine("engine XML at " + std::to_string(xml_offset) + " with " +
                      std::to_string(xml_length) + " bytes is not inside the engine");
  }
  if (offset < kHeader || offset % kAlignment != 0 || !inside(offset, length, bytes.size())) {
    return bad_engine("engine weights at " + std::to_string(offset) + " with " +
                      std::to_string(length) + " bytes are not inside the engine or not aligned");
  }
  if (length > 0 && xml_offset < offset + length && offset < xml_offset + xml_length) {
    return bad_engine("engine XML and weights overlap");
  }
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % 64 != 0) {
    return internal_error("backend.misaligned", "engine bytes are not aligned to 64 in memory");
  }
  EngineFile file;
  file.xml = {reinterpret_cast<const char*>(bytes.data()) + xml_offset,
              static_cast<std::size_t>(xml_length)};
  file.weights = bytes.subspan(offset, length);
  return file;
}

}  // namespace trtmc::openvino
