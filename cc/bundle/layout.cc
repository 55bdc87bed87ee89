#include "cc/bundle/layout.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cc/bundle/json.h"
#include "cc/bundle/rules.h"

namespace trtmc::bundle {
namespace {

static_assert(std::endian::native == std::endian::little, "the preamble is read in place");

template <class T>
T read_at(std::span<const std::byte> file, std::size_t offset) {
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

std::uint64_t align(std::uint64_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

std::string str(std::uint64_t value) { return std::to_string(value); }

}  // namespace

Result<Preamble> Preamble::decode(std::span<const std::byte> file) {
  const std::string_view start(reinterpret_cast<const char*>(file.data()),
                               std::min(file.size(), kMagic.size()));
  if (start != kMagic.substr(0, start.size())) {
    return fault(kBadMagic, "no bundle: it does not start with " + std::string(kMagic));
  }
  if (file.size() < kPreambleSize) {
    return fault(kTruncated, "cut off: " + str(file.size()) + " bytes, the preamble alone has " +
                                 str(kPreambleSize));
  }
  const auto version = read_at<std::uint32_t>(file, 8);
  if (version != kVersion) {
    return fault(kUnsupportedVersion, "bundle version " + str(version) + ", this reader knows " +
                                          str(kVersion) +
                                          "; build the bundle again or update trtmc");
  }
  const auto flags = read_at<std::uint32_t>(file, 12);
  if (flags != 0) {
    return fault(kUnknownFlags,
                 "unknown flags " + str(flags) + "; this reader knows none, update trtmc");
  }
  Preamble preamble;
  preamble.header_length = read_at<std::uint64_t>(file, 16);
  preamble.header_sha256 = read_at<Sha256>(file, 24);
  preamble.file_length = read_at<std::uint64_t>(file, 56);
  if (preamble.header_length > kMaxHeaderLength) {
    return fault(kHeaderTooLong, "header_length is " + str(preamble.header_length) +
                                     ", more than the limit " + str(kMaxHeaderLength));
  }
  if (file.size() < preamble.file_length) {
    return fault(kTruncated, "cut off: " + str(file.size()) + " bytes of " +
                                 str(preamble.file_length) + "; copy it again");
  }
  if (file.size() > preamble.file_length) {
    return fault(kTrailingBytes, str(file.size()) + " bytes, but file_length is " +
                                     str(preamble.file_length));
  }
  if (preamble.header_end() > preamble.file_length) {
    return fault(kHeaderOutOfBounds, "the header ends at " + str(preamble.header_end()) +
                                         ", file_length is " + str(preamble.file_length));
  }
  return preamble;
}

Result<std::vector<Padding>> check_extents(std::span<const BundleSection> sections,
                                           const Preamble& preamble) {
  std::vector<Padding> paddings;
  std::uint64_t previous = preamble.header_end();
  std::string what = "the header";
  for (const BundleSection& section : sections) {
    const std::string where = "section " + quote(section.name);
    if (section.offset % kAlignment != 0) {
      return fault(kSectionMisaligned, where + " starts at " + str(section.offset) +
                                           ", which is no multiple of " + str(kAlignment));
    }
    if (section.offset < previous) {
      return fault(kSectionOverlap, where + " starts at " + str(section.offset) + ", but " + what +
                                        " ends at " + str(previous));
    }
    if (section.offset != align(previous)) {
      return fault(kSectionGap, where + " starts at " + str(section.offset) + ", expected " +
                                    str(align(previous)) + ", right after " + what);
    }
    const std::uint64_t end = section.offset + section.length;
    if (end > preamble.file_length) {
      return fault(kSectionOutOfBounds, where + " ends at " + str(end) + ", file_length is " +
                                            str(preamble.file_length));
    }
    paddings.push_back({"after " + what, previous, section.offset - previous});
    previous = end;
    what = where;
  }
  if (align(previous) != preamble.file_length) {
    return fault(kSectionGap, what + " ends at " + str(previous) + ", so the file should have " +
                                  str(align(previous)) + " bytes; file_length is " +
                                  str(preamble.file_length));
  }
  paddings.push_back({"after " + what, previous, preamble.file_length - previous});
  return paddings;
}

}  // namespace trtmc::bundle
