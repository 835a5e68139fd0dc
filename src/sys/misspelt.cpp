// Variables that the user meant for Comity, and has mistyped.
#include "sys/options.hpp"

#include <algorithm>
#include <cstring>

#include "sys/message.hpp"

namespace comity::sys {

unsigned count_misspellings(std::string_view typed, std::string_view word) noexcept {
    if (typed.size() > longest_spelt || word.size() > longest_spelt) return too_many_misspellings;
    unsigned rows[3][longest_spelt + 1]; // of the one before the last, the last, this one
    for (unsigned j = 0; j <= word.size(); ++j) rows[1][j] = j;
    for (unsigned i = 1; i <= typed.size(); ++i) {
        rows[2][0] = i;
        for (unsigned j = 1; j <= word.size(); ++j) {
            const unsigned changed = rows[1][j - 1] + (typed[i - 1] != word[j - 1]);
            rows[2][j] = std::min({changed, rows[1][j] + 1, rows[2][j - 1] + 1});
            if (i > 1 && j > 1 && typed[i - 1] == word[j - 2] && typed[i - 2] == word[j - 1])
                rows[2][j] = std::min(rows[2][j], rows[0][j - 2] + 1);
        }
        std::memcpy(rows[0], rows[1], sizeof rows[0]);
        std::memcpy(rows[1], rows[2], sizeof rows[1]);
    }
    const unsigned counted = std::min(rows[1][word.size()], too_many_misspellings);
    return counted * 2 >= word.size() ? too_many_misspellings : counted; // of three letters one may be wrong
}

namespace {

constexpr const char *prefix = "COMITY_";

// The option that a name beyond the prefix was meant for: a letter or two are wrong, or the end is missing.
const option *meant_by(std::string_view name) noexcept {
    const option *nearest = nullptr;
    unsigned least = too_many_misspellings;
    for (const option &row : get_option_table()) {
        const std::string_view own = row.variable + std::strlen(prefix);
        if (row.internal) continue;
        unsigned count = count_misspellings(name, own);
        const bool is_start = name.size() >= 3 && name.size() < own.size() && own.compare(0, name.size(), name) == 0;
        if (is_start && own[name.size()] == '_') count = 1;
        if (count < least) least = count, nearest = &row;
    }
    return nearest;
}

bool is_option(const char *name, std::size_t size) noexcept {
    for (const option &row : get_option_table())
        if (std::strlen(row.variable) == size && std::strncmp(row.variable, name, size) == 0) return true;
    return false;
}

} // namespace

void find_misspelt(const char *const *environment, report_function report, void *data) noexcept {
    const std::size_t prefix_size = std::strlen(prefix);
    for (; *environment; ++environment) {
        const char *name = *environment, *end = std::strchr(name, '=');
        if (!end || std::strncmp(name, prefix, prefix_size) != 0) continue;
        const auto size = static_cast<std::size_t>(end - name);
        if (size - prefix_size > longest_spelt || is_option(name, size)) continue;
        const option *meant = meant_by({name + prefix_size, size - prefix_size});
        if (!meant) continue;
        char shown[64], line[256];
        format_text(shown, std::min(sizeof shown, size + 1), "%s", name);
        format_text(line, sizeof line, "%s: there is no such variable; did you mean %s?", shown, meant->variable);
        report(*meant, line, data);
    }
}

} // namespace comity::sys
