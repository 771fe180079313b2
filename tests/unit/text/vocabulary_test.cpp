// Reading tokenizer.json: what is accepted, and that every member that could change ids is checked. The inputs are the
// tiny model's file with one thing changed.
#include "text/vocabulary.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/unit/text/text_fixtures.h"

namespace octet {
namespace {

/// The tiny model's tokenizer.json with the first `from` replaced by `to`.
std::string changed(std::string_view from, std::string_view to) {
  std::string json = parse_json(test::read_file(test::kTinyDir + "/tokenizer.json"), "tiny").dump();
  const size_t place = json.find(from);
  EXPECT_NE(place, std::string::npos) << "the file does not contain " << from;
  return place == std::string::npos ? json : json.replace(place, from.size(), to);
}

/// The message with which the changed file is refused as a checkpoint's fault; empty if it is accepted.
std::string refusal(std::string_view from, std::string_view to) {
  try {
    read_vocabulary(changed(from, to), "F");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCheckpoint);
    return error.what();
  }
  return "";
}

TEST(Vocabulary, ReadsTheTinyModel) {
  const Vocabulary vocabulary = read_vocabulary(test::read_file(test::kTinyDir + "/tokenizer.json"), "F");
  EXPECT_EQ(vocabulary.token_bytes.size(), 1024U);
  EXPECT_EQ(vocabulary.merges.size(), 755U);
  EXPECT_EQ(vocabulary.added.size(), 13U);
  EXPECT_EQ(vocabulary.byte_ids['!'], 3);
  EXPECT_EQ(vocabulary.byte_ids[' '], 223);
  EXPECT_EQ(vocabulary.token_bytes[1022], "<think>");
  EXPECT_TRUE(vocabulary.special[0]);
  EXPECT_FALSE(vocabulary.special[1022]);
}

TEST(Vocabulary, MapsEveryByteToATokenOfThatByte) {
  const Vocabulary vocabulary = read_vocabulary(test::read_file(test::kTinyDir + "/tokenizer.json"), "F");
  for (size_t byte = 0; byte < 256; ++byte) {
    const auto id = static_cast<size_t>(vocabulary.byte_ids[byte]);
    EXPECT_EQ(vocabulary.token_bytes[id], std::string(1, static_cast<char>(byte)));
  }
}

TEST(Vocabulary, AcceptsMergesWrittenAsArrays) {
  EXPECT_EQ(refusal(R"(["h e",)", R"([["h","e"],)"), "");
  const Vocabulary vocabulary = read_vocabulary(changed(R"(["h e",)", R"([["h","e"],)"), "F");
  EXPECT_EQ(vocabulary.token_bytes[static_cast<size_t>(vocabulary.merges[0].result)], "he");
}

TEST(Vocabulary, AcceptsAnAbsentNormalizerAndPostProcessor) {
  EXPECT_EQ(refusal(R"({"type":"Sequence","normalizers":[]})", "null"), "");
  EXPECT_EQ(refusal(R"("post_processor":)", R"("post_processor":null,"unread":)"), "");
}

TEST(Vocabulary, RefusesAnotherModelOrAnotherMergeRule) {
  EXPECT_EQ(refusal(R"("type":"BPE")", R"("type":"Unigram")"), R"(F: model.type must be "BPE", found "Unigram")");
  EXPECT_NE(refusal(R"("byte_fallback":false)", R"("byte_fallback":true)"), "");
  EXPECT_NE(refusal(R"("fuse_unk":false)", R"("fuse_unk":true)"), "");
  EXPECT_NE(refusal(R"("dropout":null)", R"("dropout":0.1)"), "");
  EXPECT_NE(refusal(R"("dropout":null)", R"("dropout":null,"ignore_merges":true)"), "");
  EXPECT_NE(refusal(R"("continuing_subword_prefix":null)", R"("continuing_subword_prefix":"##")"), "");
}

TEST(Vocabulary, RefusesAnotherNormalizer) {
  EXPECT_EQ(refusal(R"("normalizers":[])", R"("normalizers":[{"type":"NFC"}])"),
            R"(F: normalizer.normalizers must be [], found [{"type":"NFC"}])");
}

TEST(Vocabulary, RefusesAnotherPreTokenizer) {
  EXPECT_EQ(refusal(R"(\\p{N}{1,3})", R"(\\p{N}{1,2})"),
            R"(F: pre_tokenizer.pretokenizers[0].pattern.Regex must be "\\p{N}{1,3}", found "\\p{N}{1,2}")");
  EXPECT_NE(refusal("[一-龥", "[一-龦"), "");
  EXPECT_NE(refusal(R"([A-Za-z]+|)", R"([A-Z]+|)"), "");
  EXPECT_NE(refusal(R"("behavior":"Isolated")", R"("behavior":"Removed")"), "");
  EXPECT_NE(refusal(R"("invert":false)", R"("invert":true)"), "");
  EXPECT_NE(refusal(R"("add_prefix_space":false)", R"("add_prefix_space":true)"), "");
  EXPECT_NE(refusal(R"("use_regex":false)", R"("use_regex":true)"), "");
  EXPECT_NE(refusal(R"("pretokenizers":[)", R"("pretokenizers":[{"type":"Digits"},)"), "");
}

TEST(Vocabulary, RefusesAPostProcessorThatAddsTokensAndTruncation) {
  EXPECT_NE(refusal(R"("post_processor":)", R"("post_processor":{"type":"TemplateProcessing"},"unread":)"), "");
  EXPECT_NE(refusal(R"("truncation":null)", R"("truncation":{"max_length":8})"), "");
}

TEST(Vocabulary, RefusesAddedTokensThatEatSpaceOrClash) {
  EXPECT_NE(refusal(R"("lstrip":false)", R"("lstrip":true)"), "");
  EXPECT_NE(refusal(R"("single_word":false)", R"("single_word":true)"), "");
  EXPECT_NE(refusal(R"("id":1023)", R"("id":1022)"), "");
  EXPECT_NE(refusal(R"("id":1,)", R"("id":7,)"), "");
  EXPECT_NE(refusal(R"("content":"<think>")", R"("content":"</think>")"), "");
}

TEST(Vocabulary, RefusesABrokenVocabulary) {
  EXPECT_EQ(refusal(R"("!":3,)", ""), "F: model.vocab has no token for the byte 33");
  EXPECT_EQ(refusal(R"("!":3,)", R"("!":4,)"), "F: model.vocab has the id 4 twice");
  EXPECT_NE(refusal(R"("!":3,)", R"("!":4000000000,)"), "");
  EXPECT_NE(refusal(R"("!":3,)", R"("!":-1,)"), "");
  EXPECT_NE(refusal(R"("!":3,)", R"("!":"3",)"), "");
  EXPECT_EQ(refusal(R"("id":1020)", R"("id":1024)"), "F: no token has the id 1020, but one has a larger id");
}

TEST(Vocabulary, RefusesBrokenMerges) {
  EXPECT_EQ(refusal(R"(["h e",)", R"(["h  e",)"), R"(F: model.merges[0] must be two tokens, found "h  e")");
  EXPECT_NE(refusal(R"(["h e",)", R"(["he",)"), "");
  EXPECT_NE(refusal(R"(["h e",)", R"(["q q",)"), "");
  EXPECT_NE(refusal(R"(["h e",)", R"(["h e","h e",)"), "");
  EXPECT_NE(refusal(R"(["h e",)", R"([["h","e","x"],)"), "");
}

TEST(Vocabulary, RefusesWhatIsNoTokenizerFile) {
  for (const char* json : {"", "{", "[]", "null", "{}", R"({"model":3,"pre_tokenizer":[],"decoder":""})"}) {
    EXPECT_THROW(read_vocabulary(json, "F"), Error) << json;
  }
}

}  // namespace
}  // namespace octet
