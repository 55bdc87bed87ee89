// Small tokenizer.json texts that the tests of //cc/text share.
#pragma once

#include <string>
#include <string_view>

namespace trtmc::text_test {

// Byte-level letters in the GPT-2 alphabet, one id a byte: 0x21..0x7e stand for themselves, a space
// is Ġ. Only the bytes that the tests use are there.
std::string byte_vocab(std::string_view more_tokens);

// A byte-level BPE without merges. `added`: the inside of added_tokens; `extra`: keys of the model,
// each followed by a comma; `more_tokens`: entries of the vocabulary, each with a comma in front.
std::string byte_level(std::string_view added, std::string_view extra = "",
                       std::string_view more_tokens = "", std::string_view merges = "",
                       std::string_view post_processor = "null");

// Llama-2 style: Prepend and Replace, BPE with byte fallback, the four decoders.
std::string byte_fallback();

// WordPiece over a few words and punctuation marks.
std::string word_piece();

// One added token.
std::string added_token(int id, std::string_view content, bool special = true, bool lstrip = false);

}  // namespace trtmc::text_test
