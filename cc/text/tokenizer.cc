#include "cc/text/tokenizer.h"

#include <utility>

#include "cc/text/border.h"

namespace trtmc {

using text_border::Buffer;
using text_border::span;
using text_border::status;

DecodeStream::~DecodeStream() { trtmc_text_stream_close(stream_); }

Result<std::string> DecodeStream::push(std::int32_t id) {
  if (id < 0) return bad_input("tokenizer.bad_id", "id " + std::to_string(id) + " is negative");
  Buffer piece, error;
  const int result = trtmc_text_stream_step(stream_, static_cast<std::uint32_t>(id), piece.out(),
                                            error.out());
  TRTMC_RETURN_IF_ERROR(status(result, error));
  return piece.text();
}

Result<std::string> DecodeStream::flush() {
  Buffer piece, error;
  const int result = trtmc_text_stream_finish(stream_, piece.out(), error.out());
  TRTMC_RETURN_IF_ERROR(status(result, error));
  return piece.text();
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::from_json(std::string_view json,
                                                        std::string_view config_json) {
  TrtmcTextTokenizer* tokenizer = nullptr;
  Buffer error;
  const int result =
      trtmc_text_tokenizer_open(span(json), span(config_json), &tokenizer, error.out());
  TRTMC_RETURN_IF_ERROR(status(result, error));
  return std::unique_ptr<Tokenizer>(new Tokenizer(tokenizer));
}

Tokenizer::~Tokenizer() { trtmc_text_tokenizer_close(tokenizer_); }

Result<std::vector<std::int32_t>> Tokenizer::encode(std::string_view text,
                                                    const EncodeOptions& options) const {
  Buffer ids, error;
  const int result = trtmc_text_encode(tokenizer_, span(text), options.add_special,
                                       options.parse_special, ids.out(), error.out());
  TRTMC_RETURN_IF_ERROR(status(result, error));
  return ids.ids();
}

Result<std::string> Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  for (const std::int32_t id : ids) {
    if (id < 0) return bad_input("tokenizer.bad_id", "id " + std::to_string(id) + " is negative");
  }
  Buffer text, error;
  // Ids that are not negative have the same bytes in either signedness.
  const auto* data = reinterpret_cast<const std::uint32_t*>(ids.data());
  const int result =
      trtmc_text_decode(tokenizer_, data, ids.size(), skip_special, text.out(), error.out());
  TRTMC_RETURN_IF_ERROR(status(result, error));
  return text.text();
}

std::unique_ptr<DecodeStream> Tokenizer::stream(bool skip_special) const {
  return std::unique_ptr<DecodeStream>(
      new DecodeStream(trtmc_text_stream_open(tokenizer_, skip_special)));
}

std::size_t Tokenizer::vocab_size() const { return trtmc_text_vocab_size(tokenizer_); }

std::optional<std::int32_t> Tokenizer::id(std::string_view token) const {
  const std::int64_t id = trtmc_text_token_id(tokenizer_, span(token));
  if (id < 0) return std::nullopt;
  return static_cast<std::int32_t>(id);
}

std::optional<Token> Tokenizer::token(std::int32_t id) const {
  if (id < 0) return std::nullopt;
  Buffer text;
  const int kind = trtmc_text_token(tokenizer_, static_cast<std::uint32_t>(id), text.out());
  if (kind < 0) return std::nullopt;
  return Token{text.text(), kind == 1};
}

}  // namespace trtmc
