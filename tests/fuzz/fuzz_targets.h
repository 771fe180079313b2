// What the program reads that it did not write: one function per format, to be called with any bytes. A function ends
// the process when a promise of the reader does not hold; a refusal of the input is none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::fuzz {

/// A tokenizer.json.
int tokenizer_json(const uint8_t* data, size_t size);
/// A line with the number of data bytes, then the header of a safetensors file.
int safetensors_header(const uint8_t* data, size_t size);
/// Lines of the input of generate and score; chats are encoded as well.
int request_line(const uint8_t* data, size_t size);
/// A digit (1: thinking, 2: ended by EOS, 4: only tools f and g), then a completion.
int chat_parser(const uint8_t* data, size_t size);

/// Ends the process with a message when a promise does not hold.
void expect(bool holds, const char* promise);

}  // namespace octet::fuzz
