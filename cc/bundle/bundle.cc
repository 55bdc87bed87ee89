#include "cc/bundle/bundle.h"

#include <algorithm>
#include <utility>

#include "cc/bundle/header.h"
#include "cc/bundle/json.h"
#include "cc/bundle/rules.h"
#include "cc/bundle/sha256.h"

namespace trtmc {

using namespace trtmc::bundle;  // NOLINT: the format's own names

namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status check_zero(std::span<const std::byte> file, const Padding& padding) {
  const auto run = file.subspan(padding.offset, padding.length);
  const auto bad =
      std::find_if(run.begin(), run.end(), [](std::byte b) { return b != std::byte{}; });
  if (bad == run.end()) return Status::ok();
  const auto at = padding.offset + static_cast<std::uint64_t>(bad - run.begin());
  return fault(kNonzeroPadding, "byte " + std::to_string(at) + ", in the padding " +
                                    padding.where + ", is " +
                                    std::to_string(std::to_integer<int>(*bad)) + ", expected 0");
}

}  // namespace

Result<std::unique_ptr<Bundle>> Bundle::open(const std::string& path, VerifyMode mode,
                                             VerifiedCache cache) {
  TRTMC_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  std::unique_ptr<Bundle> bundle(new Bundle(path, std::move(file), std::move(cache)));
  TRTMC_RETURN_IF_ERROR(bundle->read().with_context(path));
  if (mode == VerifyMode::kFull) TRTMC_RETURN_IF_ERROR(bundle->verify_all());
  return bundle;
}

Status Bundle::read() {
  const std::span<const std::byte> file = file_->bytes();
  TRTMC_ASSIGN_OR_RETURN(preamble_, Preamble::decode(file));
  const auto stored = file.subspan(kPreambleSize, preamble_.header_length);
  const Sha256 found = sha256(stored);
  if (found != preamble_.header_sha256) {
    return fault(kHeaderSha256, "the header is damaged: its SHA-256 is " + to_hex(found) +
                                    ", expected " + to_hex(preamble_.header_sha256) +
                                    "; copy or build the bundle again");
  }
  TRTMC_ASSIGN_OR_RETURN(header_, decode_header(as_text(stored)));
  TRTMC_ASSIGN_OR_RETURN(const auto paddings, check_extents(header_.sections, preamble_));
  for (const Padding& padding : paddings) TRTMC_RETURN_IF_ERROR(check_zero(file, padding));
  id_ = to_hex(found);
  for (const BundleSection& section : header_.sections) {
    by_name_.emplace(section.name, &section);
    checks_.try_emplace(section.name);
  }
  return Status::ok();
}

Result<std::span<const std::byte>> Bundle::section(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    return fault(kNoSuchSection, path_ + ": there is no section " + quote(name));
  }
  const BundleSection& wanted = *found->second;
  Check& check = checks_.at(name);
  std::call_once(check.once, [&] {
    if (!cache_.contains(id_, name, file_->identity())) check.status = hash(wanted);
  });
  TRTMC_RETURN_IF_ERROR(check.status);
  return bytes_of(wanted);
}

Status Bundle::verify_all() const {
  for (const BundleSection& section : header_.sections) {
    TRTMC_RETURN_IF_ERROR(hash(section));
    std::call_once(checks_.at(section.name).once, [] {});  // no need to hash it again
  }
  return Status::ok();
}

std::string_view Bundle::header_json() const {
  return as_text(file_->bytes().subspan(kPreambleSize, preamble_.header_length));
}

std::span<const std::byte> Bundle::bytes_of(const BundleSection& section) const {
  return file_->bytes().subspan(section.offset, section.length);
}

Status Bundle::hash(const BundleSection& section) const {
  const std::string found = to_hex(sha256(bytes_of(section)));
  if (found != section.sha256) {
    return fault(kSectionSha256, path_ + ": section '" + section.name +
                                     "' is damaged: its SHA-256 is " + found + ", expected " +
                                     section.sha256 + "; copy or build the bundle again");
  }
  if (file_->unchanged()) cache_.add(id_, section.name, file_->identity());
  return Status::ok();
}

}  // namespace trtmc
