// PieceCodec: a test double for a tokenizer, where id i is the i-th given piece of text.
//
// Pieces may be single bytes of longer characters; the stream then gives a character out when it
// is complete, as a real one does.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trtmc/text.h"

namespace trtmc::testing {

class PieceCodec final : public TextCodec {
 public:
  explicit PieceCodec(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}

  // Ids 0.. are the letters A..Z.
  static std::shared_ptr<PieceCodec> letters() {
    std::vector<std::string> pieces;
    for (char c = 'A'; c <= 'Z'; ++c) pieces.emplace_back(1, c);
    return std::make_shared<PieceCodec>(std::move(pieces));
  }
  // Id i is the byte i.
  static std::shared_ptr<PieceCodec> bytes() {
    std::vector<std::string> pieces;
    for (int i = 0; i < 256; ++i) pieces.emplace_back(1, static_cast<char>(i));
    return std::make_shared<PieceCodec>(std::move(pieces));
  }

  Result<std::vector<std::int32_t>> encode(std::string_view text,
                                           const EncodeOptions&) const override {
    std::vector<std::int32_t> ids;
    while (!text.empty()) {
      std::size_t i = 0;
      while (i < pieces_.size() && !text.starts_with(pieces_[i])) ++i;
      if (i == pieces_.size()) return bad_input("text.unknown", "no piece for the text");
      ids.push_back(static_cast<std::int32_t>(i));
      text.remove_prefix(pieces_[i].size());
    }
    return ids;
  }

  Result<std::string> decode(std::span<const std::int32_t> ids, bool) const override {
    std::string text;
    for (std::int32_t id : ids) text += pieces_.at(static_cast<std::size_t>(id));
    return text;
  }

  Result<std::unique_ptr<TextStream>> stream(bool) const override {
    return std::make_unique<Stream>(*this);
  }

  Result<std::vector<std::int32_t>> encode_chat(std::string_view messages,
                                                const ChatOptions&) const override {
    return encode(messages, {});
  }
  Result<std::string> render_chat(std::string_view messages, const ChatOptions&) const override {
    return std::string(messages);
  }

 private:
  class Stream final : public TextStream {
   public:
    explicit Stream(const PieceCodec& codec) : codec_(codec) {}
    Result<std::string> push(std::int32_t id) override {
      held_ += codec_.pieces_.at(static_cast<std::size_t>(id));
      return complete() ? std::exchange(held_, {}) : std::string();
    }
    Result<std::string> flush() override {
      return held_.empty() ? std::string() : (held_.clear(), std::string("\xEF\xBF\xBD"));
    }

   private:
    bool complete() const {
      std::size_t at = 0;
      while (at < held_.size()) {
        const auto lead = static_cast<unsigned char>(held_[at]);
        at += lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      }
      return at == held_.size();
    }
    const PieceCodec& codec_;
    std::string held_;
  };

  std::vector<std::string> pieces_;
};

}  // namespace trtmc::testing
