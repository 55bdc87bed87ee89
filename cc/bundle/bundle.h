// Bundle: an open, checked bundle file. Start here.
//
// Opening maps the file and checks the preamble, the header with its hash and schema, that header
// and sections cover the file exactly, and that all padding is zero. The hash of a section is
// checked before its first use, unless this user has already checked it in this very file (see
// verified_cache.h); kFull checks all hashes at once and trusts no earlier check.
//
// Errors carry a slug of rules.h and name the file. Nothing is executed or unpacked. Const calls
// are safe from several threads; a section is hashed once, and others wait for it.
//
//   TRTMC_ASSIGN_OR_RETURN(auto bundle, Bundle::open("x.bundle", VerifyMode::kLazy));
//   TRTMC_ASSIGN_OR_RETURN(auto engine, bundle->section("engines/llm.engine"));
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cc/bundle/layout.h"
#include "cc/bundle/mapped_file.h"
#include "cc/bundle/verified_cache.h"
#include "trtmc/bundle.h"
#include "trtmc/status.h"

namespace trtmc {

enum class VerifyMode {
  kLazy,  // each section before its first use, earlier checks of the same file count
  kFull,  // every section now, nothing is taken on trust
};

class Bundle final : public BundleView {
 public:
  static Result<std::unique_ptr<Bundle>> open(
      const std::string& path, VerifyMode mode,
      bundle::VerifiedCache cache = bundle::VerifiedCache::for_user());

  std::string_view path() const override { return path_; }
  std::string_view id() const override { return id_; }
  const BundleHeader& header() const override { return header_; }
  Result<std::span<const std::byte>> section(std::string_view name) const override;

  // Hashes every section now, whatever was checked before.
  Status verify_all() const;

  // The header as stored: canonical JSON.
  std::string_view header_json() const;
  std::uint64_t file_length() const { return preamble_.file_length; }

 private:
  struct Check {
    std::once_flag once;
    Status status;
  };

  Bundle(std::string path, std::unique_ptr<bundle::MappedFile> file, bundle::VerifiedCache cache)
      : path_(std::move(path)), file_(std::move(file)), cache_(std::move(cache)) {}

  Status read();
  std::span<const std::byte> bytes_of(const BundleSection& section) const;
  Status hash(const BundleSection& section) const;

  std::string path_;
  std::unique_ptr<bundle::MappedFile> file_;
  bundle::VerifiedCache cache_;
  bundle::Preamble preamble_;
  std::string id_;
  BundleHeader header_;
  std::map<std::string_view, const BundleSection*> by_name_;
  mutable std::map<std::string_view, Check> checks_;  // made by read(), never resized after
};

}  // namespace trtmc
