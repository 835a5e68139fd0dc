// Variables that the user meant for Comity, and has mistyped.
#include "sys/options.hpp"

#include <algorithm>
#include <cstring>

#include "sys/message.hpp"

namespace comity::sys {
namespace {

constexpr const char *prefix = "COMITY_";
constexpr std::size_t longest = 40; // names beyond are none of ours
constexpr unsigned far = 3;         // so many letters that differ make another word

// How many letters must be changed, added, left out or swapped with the next one; `far` for more than there are.
unsigned distance(const char *a, std::size_t a_size, const char *b, std::size_t b_size) noexcept {
    unsigned rows[3][longest + 1]; // of the one before the last, the last, this one
    for (unsigned j = 0; j <= b_size; ++j) rows[1][j] = j;
    for (unsigned i = 1; i <= a_size; ++i) {
        rows[2][0] = i;
        for (unsigned j = 1; j <= b_size; ++j) {
            const unsigned changed = rows[1][j - 1] + (a[i - 1] != b[j - 1]);
            rows[2][j] = std::min({changed, rows[1][j] + 1, rows[2][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                rows[2][j] = std::min(rows[2][j], rows[0][j - 2] + 1);
        }
        std::memcpy(rows[0], rows[1], sizeof rows[0]);
        std::memcpy(rows[1], rows[2], sizeof rows[1]);
    }
    return std::min(rows[1][b_size], far);
}

// The option that a name beyond the prefix was meant for: a letter or two are wrong, or the end is missing.
const option *meant_by(const char *name, std::size_t size) noexcept {
    const option *nearest = nullptr;
    unsigned least = far;
    for (const option &row : get_option_table()) {
        const char *own = row.variable + std::strlen(prefix);
        const std::size_t own_size = std::strlen(own);
        if (row.internal) continue;
        unsigned d = distance(name, size, own, own_size);
        if (d * 2 >= own_size) d = far; // of three letters one
        if (size >= 3 && size < own_size && std::strncmp(name, own, size) == 0 && own[size] == '_') d = 1;
        if (d < least) least = d, nearest = &row;
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
        if (size - prefix_size > longest || is_option(name, size)) continue;
        const option *meant = meant_by(name + prefix_size, size - prefix_size);
        if (!meant) continue;
        char shown[64], line[256];
        format_text(shown, std::min(sizeof shown, size + 1), "%s", name);
        format_text(line, sizeof line, "%s: there is no such variable; did you mean %s?", shown, meant->variable);
        report(*meant, line, data);
    }
}

} // namespace comity::sys
