// The two backends, by name only. An op is one overload per context type.
#pragma once

namespace octet::cpu {
struct Context;
}
namespace octet::cuda {
struct Context;
}
