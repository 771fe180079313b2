// Requests as bytes, for the ranks that did not read the input.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/sequence.h"

namespace octet {

/// Every member of every request. Both ends are the same program on machines of one kind, so numbers are copied as they
/// are in memory.
std::string pack_requests(const std::vector<Request>& requests);

/// The inverse. Error{kInternal} if `bytes` is not what pack_requests made.
std::vector<Request> unpack_requests(std::string_view bytes);

}  // namespace octet
