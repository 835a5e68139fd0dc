#include "elf_file.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

using namespace comity::cli;

namespace {

// A file with the given content; gone at the end.
class temporary_file {
public:
    temporary_file() {
        const int file = ::mkstemp(name_);
        if (file < 0) std::abort();
        ::close(file);
    }
    ~temporary_file() { std::remove(name_); }
    temporary_file(const temporary_file &) = delete;
    temporary_file &operator=(const temporary_file &) = delete;

    const char *holding(const std::string &content) {
        std::ofstream(name_, std::ios::binary | std::ios::trunc) << content;
        return name_;
    }

private:
    char name_[32] = "/tmp/comity-elf-XXXXXX";
};

std::string read_all(const char *path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void read_everything(const char *path) {
    (void)read_elf_head(path);
    (void)read_elf_symbols(path);
}

} // namespace

extern "C" __attribute__((visibility("default"))) int comity_test_marker;
int comity_test_marker = 1;

TEST(elf_file, a_program_is_read_as_its_linker_wrote_it) {
    const auto head = read_elf_head("/proc/self/exe");
    ASSERT_TRUE(head);
    EXPECT_TRUE(head->is_native);
    EXPECT_EQ(head->machine, native_machine());
    EXPECT_NE(head->interpreter.find("ld-linux"), std::string::npos);
    EXPECT_TRUE(head->has_dynamic_section);
    bool needs_c_library = false;
    for (const std::string &name : head->needed) needs_c_library |= name == "libc.so.6";
    EXPECT_TRUE(needs_c_library);
    const elf_symbols symbols = read_elf_symbols("/proc/self/exe");
    EXPECT_TRUE(symbols.imported.count("mkstemp") || symbols.imported.count("mkstemp64"));
    EXPECT_FALSE(symbols.exported.count("mkstemp"));
}

TEST(elf_file, other_files_are_not_elf) {
    temporary_file file;
    for (const char *content : {"", "#!/bin/sh\n", "\x7f",
                                "\x7f"
                                "ELG1234567890123456789012345"})
        EXPECT_FALSE(read_elf_head(file.holding(content))) << content;
    EXPECT_FALSE(read_elf_head("/no/such/file"));
    EXPECT_FALSE(read_elf_head("/"));
}

TEST(elf_file, a_truncated_file_is_no_crash) {
    const std::string whole = read_all("/bin/true");
    temporary_file file;
    for (std::size_t length = 0; length < whole.size(); length += length < 1200 ? 7 : 997)
        read_everything(file.holding(whole.substr(0, length)));
}

TEST(elf_file, a_truncated_file_is_called_damaged) {
    const std::string whole = read_all("/proc/self/exe");
    temporary_file file;
    const auto head = read_elf_head(file.holding(whole));
    ASSERT_TRUE(head);
    EXPECT_EQ(head->damage, "");
    for (const std::size_t length :
         {std::size_t{4}, std::size_t{19}, std::size_t{63}, std::size_t{64}, std::size_t{200}, whole.size() / 4}) {
        const auto cut = read_elf_head(file.holding(whole.substr(0, length)));
        ASSERT_TRUE(cut) << length;
        EXPECT_NE(cut->damage.find("is damaged"), std::string::npos) << length;
        EXPECT_EQ(cut->lacks_header, length <= 200) << length;
    }
}

TEST(elf_file, damaged_fields_are_no_crash) {
    const std::string whole = read_all("/bin/true");
    temporary_file file;
    std::uint32_t random = 12345;
    const auto next = [&random] { return random = random * 1664525 + 1013904223; };
    for (int round = 0; round < 250; ++round) {
        std::string damaged = whole;
        for (int change = 0; change < 8; ++change) {
            // Headers and tables stand at the start; one change in four may be anywhere.
            const std::size_t range = change % 4 ? 1500 : damaged.size();
            damaged[20 + (next() >> 8) % (range - 20)] = static_cast<char>(next() >> 16);
        }
        read_everything(file.holding(damaged));
    }
}

TEST(elf_file, sizes_that_claim_the_whole_address_space_are_refused) {
    std::string whole = read_all("/bin/true");
    temporary_file file;
    for (std::size_t at = 64; at + 8 <= 64 + 13 * 56; at += 8) { // every field of the program headers, one by one
        std::string damaged = whole;
        for (std::size_t i = 0; i < 8; ++i) damaged[at + i] = static_cast<char>(0xff);
        read_everything(file.holding(damaged));
    }
}
