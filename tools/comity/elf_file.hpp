// Reads of an ELF file what the loader would: which interpreter, which libraries, which symbols. Nothing of the file is
// executed or mapped, and a damaged file is an error, never a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace comity::cli {

// The first look, which every ELF file of any machine allows.
struct elf_head {
    unsigned bits = 0; // 32 or 64
    bool little_endian = true;
    std::uint16_t machine = 0; // EM_...
    bool is_native = false;    // 64 bits and this program's own machine; the rest below is only read then
    std::string damage; // "ends within ...": it is not whole, or its header is none; empty: nothing was found wrong
    bool lacks_header = false; // the damage is such that no kernel runs the file
    std::string interpreter;   // PT_INTERP; empty for static programs and most libraries
    bool has_dynamic_section = false;
    std::string soname;
    std::vector<std::string> needed; // DT_NEEDED, in the file's order
    std::string rpath, runpath;      // as they stand in the file, $ORIGIN and all
};

struct elf_symbols {
    std::unordered_set<std::string> exported, imported;
};

// Is it ELF at all? Nothing when not, or when it cannot be read.
std::optional<elf_head> read_elf_head(const std::string &path);

// The dynamic symbols of a native file. Empty when there are none or the file is damaged.
elf_symbols read_elf_symbols(const std::string &path);
// The same, read once however often it is asked for: of a file that does not change meanwhile.
const elf_symbols &elf_symbols_of(const std::string &path);

// "x86-64", "aarch64", ...: a machine's name for messages.
std::string machine_name(std::uint16_t machine);
std::uint16_t native_machine();

} // namespace comity::cli
