// Whole files that are there or not: written beside their place, then renamed to it.
#pragma once

#include <string>
#include <string_view>

namespace octet {

/// How long a replaced file must last: through a crash of this process, or through one of the machine too.
enum class Durability { kProcess, kMachine };

/// Puts `text` into the file `path`, whose readers see the old content or the new one and never a part. A crash may
/// leave PATH.new behind. Error{kEnvironment}.
void replace_file(const std::string& path, std::string_view text, Durability durability);

/// Writes all bytes to a descriptor; `path` names it in the Error{kEnvironment}.
void write_all(int fd, std::string_view bytes, const std::string& path);

/// Makes the names in the folder of `path` durable: a rename is only then. A folder that may not be opened is left be.
void sync_folder_of(const std::string& path);

}  // namespace octet
