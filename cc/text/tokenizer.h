// Tokenizer: text to ids and back, exactly as the Python library `tokenizers` does it.
//
// It reads a checkpoint's tokenizer.json; nothing else decides the ids, on any input. Padding and
// truncation that the file may ask for are off. It does not know chats: see chat.h.
//
//   TRTMC_ASSIGN_OR_RETURN(auto tokenizer, Tokenizer::from_json(json, config_json));
//   TRTMC_ASSIGN_OR_RETURN(auto ids, tokenizer->encode("Hello", {}));
//   auto stream = tokenizer->stream(true);
//   for (auto id : ids) { TRTMC_ASSIGN_OR_RETURN(auto piece, stream->push(id)); ... }
//
// Threads: a Tokenizer is immutable and can be shared; a DecodeStream belongs to one thread at a
// time. Errors: "text.invalid_utf8" (names the byte), "tokenizer.bad_file", "tokenizer.bad_config",
// "tokenizer.encode_failed", "tokenizer.special_in_text", "tokenizer.bad_id".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trtmc/status.h"
#include "trtmc/text.h"

struct TrtmcTextStream;
struct TrtmcTextTokenizer;

namespace trtmc {

// Text from ids that come one at a time. Pieces are final and join to Tokenizer::decode of all
// ids. A piece waits while bytes of its last character are missing, and not an id longer; U+FFFD
// appears only where the decoded whole has it. Outlives its Tokenizer safely.
class DecodeStream final : public TextStream {
 public:
  ~DecodeStream() override;
  DecodeStream(const DecodeStream&) = delete;
  DecodeStream& operator=(const DecodeStream&) = delete;

  Result<std::string> push(std::int32_t id) override;
  // What is held back at the end. The stream can be used for the next text afterwards.
  Result<std::string> flush() override;

 private:
  friend class Tokenizer;
  explicit DecodeStream(TrtmcTextStream* stream) : stream_(stream) {}

  TrtmcTextStream* stream_;
};

struct Token {
  std::string text;  // as it stands in the vocabulary
  bool special;
};

class Tokenizer {
 public:
  // `config_json` is tokenizer_config.json or empty. Its clean_up_tokenization_spaces counts for
  // decoding, except with a BPE model, whose text it would spoil.
  static Result<std::unique_ptr<Tokenizer>> from_json(std::string_view json,
                                                      std::string_view config_json = {});
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // With parse_special off, the text of a special token is read as the characters that it is
  // written with; ordinary added tokens stay tokens.
  Result<std::vector<std::int32_t>> encode(std::string_view text,
                                           const EncodeOptions& options) const;

  // Ids beyond the vocabulary stand for nothing, as in the Python library; negative ones are an
  // error.
  Result<std::string> decode(std::span<const std::int32_t> ids, bool skip_special) const;

  std::unique_ptr<DecodeStream> stream(bool skip_special) const;

  // Ids, added tokens included.
  std::size_t vocab_size() const;
  std::optional<std::int32_t> id(std::string_view token) const;
  std::optional<Token> token(std::int32_t id) const;

 private:
  friend class ChatEncoder;
  explicit Tokenizer(TrtmcTextTokenizer* tokenizer) : tokenizer_(tokenizer) {}

  TrtmcTextTokenizer* tokenizer_;
};

}  // namespace trtmc
