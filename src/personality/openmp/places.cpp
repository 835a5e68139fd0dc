#include "personality/openmp/places.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <strings.h>

namespace comity::openmp {

namespace {

// Reads from the front; each function says whether that was there, and blanks do not count.
class place_reader {
public:
    explicit place_reader(const char *text) noexcept : at_(text) {}

    bool all() noexcept { return (abstract_name() || list(&place_reader::interval)) && skip_blanks() == '\0'; }

private:
    char skip_blanks() noexcept {
        while (*at_ == ' ' || (*at_ >= '\t' && *at_ <= '\r')) ++at_;
        return *at_;
    }

    bool sign(char c) noexcept {
        if (skip_blanks() != c) return false;
        ++at_;
        return true;
    }

    bool number(long least) noexcept {
        const char first = skip_blanks();
        const bool negative = first == '-' && least < 0;
        const char digit = negative ? at_[1] : first;
        if (digit < '0' || digit > '9') return false;
        char *end;
        errno = 0;
        const long value = std::strtol(at_, &end, 10);
        at_ = end;
        return errno == 0 && value >= least;
    }

    // cores(4)
    bool abstract_name() noexcept {
        skip_blanks();
        for (const char *name : {"threads", "cores", "ll_caches", "numa_domains", "sockets"}) {
            const std::size_t length = std::strlen(name);
            if (::strncasecmp(at_, name, length) != 0) continue;
            at_ += length;
            return !sign('(') || (number(1) && sign(')'));
        }
        return false;
    }

    bool list(bool (place_reader::*one)() noexcept) noexcept {
        do {
            if (!(this->*one)()) return false;
        } while (sign(','));
        return true;
    }

    // :length:stride, both optional
    bool repetition() noexcept { return !sign(':') || (number(1) && (!sign(':') || number(LONG_MIN))); }

    bool interval() noexcept { return sign('!') ? place() : place() && repetition(); }
    bool place() noexcept { return sign('{') ? list(&place_reader::resources) && sign('}') : number(0); }
    bool resources() noexcept { return sign('!') ? number(0) : number(0) && repetition(); }

    const char *at_;
};

} // namespace

bool is_place_list(const char *text) noexcept { return place_reader(text).all(); }

} // namespace comity::openmp
