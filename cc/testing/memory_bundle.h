// MemoryBundle: a BundleView over plain memory, for tests that need no file.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cc/testing/table_backend.h"
#include "trtmc/bundle.h"

namespace trtmc::testing {

class MemoryBundle final : public BundleView {
 public:
  std::string_view path() const override { return "memory.bundle"; }
  std::string_view id() const override { return "0123"; }
  const BundleHeader& header() const override { return header_; }
  Result<std::span<const std::byte>> section(std::string_view name) const override {
    const auto it = sections_.find(name);
    if (it == sections_.end()) {
      return bad_input("bundle.no_section", "no section " + std::string(name));
    }
    return std::span<const std::byte>(it->second);
  }

  BundleHeader& edit() { return header_; }
  void put(const std::string& name, std::vector<std::byte> bytes) {
    sections_[name] = std::move(bytes);
  }

  // A bundle of `strategy` whose component "llm" is the table model.
  static std::shared_ptr<MemoryBundle> of(const TableModel& model, const TableLimits& limits,
                                          const std::string& strategy) {
    auto bundle = std::make_shared<MemoryBundle>();
    BundleHeader& h = bundle->edit();
    h.kind = "native";
    h.family = "toy";
    h.task = "text_generation_causal";
    h.runtime_strategy = strategy;
    h.targets.resize(1);
    h.targets[0].name = h.targets[0].compiler = "table";
    h.components = {
        {"llm", {{"table", "engines/llm", table_contract(model.vocab, limits), {}, "{}"}}}};
    h.text_generation = TextGenerationInfo{.vocab_size = model.vocab,
                                           .max_sequence = limits.max_sequence,
                                           .bos_token_id = {},
                                           .eos_token_ids = {},
                                           .pad_token_id = {},
                                           .sampling = {}};
    bundle->put("engines/llm", model.serialize());
    return bundle;
  }

 private:
  BundleHeader header_;
  std::map<std::string, std::vector<std::byte>, std::less<>> sections_;
};

}  // namespace trtmc::testing
