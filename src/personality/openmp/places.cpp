#include "personality/openmp/places.hpp"
#include "sys/process.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <strings.h>
#include <utility>

namespace comity::openmp {

namespace {

using sys::cpu_set;

// A place and its length:stride. Processors beyond those that a set can hold do not exist; so neither do repetitions
// that lead there.
struct repetition {
    long length = 1, stride = 1;
};

constexpr long beyond = cpu_set::most;

long clamp(long value) noexcept { return std::clamp(value, -beyond, beyond); }
// A processor's number, for messages too.
long clamp_number(long value) noexcept { return std::min(value, 1'000'000'000L); }

// A place as it is written: the processors that can be used, and the numbers that cannot.
struct written_place {
    cpu_set cpus;
    std::vector<long> others;
    bool operator==(const written_place &) const = default;
};

// Reads from the front; each function says whether that was there, and blanks do not count.
class place_reader {
public:
    explicit place_reader(const char *text) noexcept : at_(text) {
        for (const sys::processor &p : machine_) usable_.add(p.cpu);
    }

    bool read(place_list &places, unusable &left_out) {
        if (!(abstract_name() || list([this] { return interval(); })) || skip_blanks() != '\0') return false;
        places.clear();
        for (const written_place &p : places_) {
            if (!p.others.empty() && left_out.processors == 0) left_out.first = p.others.front();
            left_out.processors += static_cast<unsigned>(p.others.size());
            if (p.cpus.empty())
                ++left_out.places;
            else
                places.push_back(p.cpus);
        }
        return true;
    }

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

    bool number(long least, long &value) noexcept {
        const char first = skip_blanks();
        const bool negative = first == '-' && least < 0;
        const char digit = negative ? at_[1] : first;
        if (digit < '0' || digit > '9') return false;
        char *end;
        errno = 0;
        value = std::strtol(at_, &end, 10);
        at_ = end;
        return errno == 0 && value >= least;
    }

    void add(written_place &place, long cpu) const {
        if (cpu >= 0 && cpu < beyond && usable_.has(static_cast<int>(cpu)))
            place.cpus.add(static_cast<int>(cpu));
        else
            place.others.push_back(cpu);
    }

    written_place shifted(const written_place &place, long by) const {
        written_place result;
        for (int cpu = place.cpus.next(); cpu >= 0; cpu = place.cpus.next(cpu + 1)) add(result, cpu + by);
        for (const long cpu : place.others) add(result, cpu + by);
        return result;
    }

    // cores(4)
    bool abstract_name() {
        struct kind {
            const char *name;
            int part; // of the machine; -1: a processor by itself
        };
        constexpr kind kinds[] = {{"threads", -1},
                                  {"cores", static_cast<int>(sys::part::core)},
                                  {"ll_caches", static_cast<int>(sys::part::last_cache)},
                                  {"numa_domains", static_cast<int>(sys::part::numa_node)},
                                  {"sockets", static_cast<int>(sys::part::socket)}};
        skip_blanks();
        for (const kind &k : kinds) {
            const std::size_t length = std::strlen(k.name);
            if (::strncasecmp(at_, k.name, length) != 0) continue;
            at_ += length;
            long most = LONG_MAX;
            if (sign('(') && !(number(1, most) && sign(')'))) return false;
            add_parts(k.part, most);
            return true;
        }
        return false;
    }

    void add_parts(int part, long most) {
        const unsigned n = part < 0 ? machine_.size() : machine_.count(static_cast<sys::part>(part));
        for (unsigned i = 0; i < n && static_cast<long>(i) < most; ++i) {
            cpu_set set;
            if (part < 0)
                set.add(machine_[i].cpu);
            else
                set = machine_.cpus_of(static_cast<sys::part>(part), static_cast<int>(i));
            places_.push_back({set, {}});
        }
    }

    template <class One> bool list(One one) {
        do {
            if (!one()) return false;
        } while (sign(','));
        return true;
    }

    // :length:stride, both optional
    bool repeats(repetition &r) noexcept {
        if (!sign(':')) return true;
        if (!number(1, r.length) || (sign(':') && !number(LONG_MIN, r.stride))) return false;
        r.length = clamp(r.length);
        r.stride = clamp(r.stride);
        return true;
    }

    // Places, or after a ! those that are taken out again of the ones before.
    bool interval() {
        written_place set;
        repetition r;
        if (sign('!')) {
            if (!place(set)) return false;
            std::erase(places_, set);
            return true;
        }
        if (!place(set) || !repeats(r)) return false;
        for (long i = 0; i < r.length; ++i) {
            if (i > 0 && clamp(i * r.stride) != i * r.stride) break;
            places_.push_back(i == 0 ? set : shifted(set, i * r.stride));
            if (places_.size() > static_cast<std::size_t>(beyond)) return false;
        }
        return true;
    }

    bool place(written_place &set) {
        long single = 0;
        if (sign('{')) return list([this, &set] { return resources(set); }) && sign('}');
        if (!number(0, single)) return false;
        add(set, clamp_number(single));
        return true;
    }

    bool resources(written_place &set) {
        long first = 0;
        repetition r;
        if (sign('!')) {
            if (!number(0, first)) return false;
            set.cpus = without(set.cpus, clamp_number(first));
            std::erase(set.others, clamp_number(first));
            return true;
        }
        if (!number(0, first) || !repeats(r)) return false;
        for (long i = 0; i < r.length; ++i) add(set, clamp_number(first) + i * r.stride);
        return true;
    }

    static cpu_set without(const cpu_set &set, long cpu) noexcept {
        cpu_set rest;
        for (int each = set.next(); each >= 0; each = set.next(each + 1))
            if (each != cpu) rest.add(each);
        return rest;
    }

    const char *at_;
    const sys::topology &machine_ = sys::machine();
    cpu_set usable_;
    std::vector<written_place> places_;
};

// Never destroyed: a program may ask in its last moments.
place_list &the_list() noexcept {
    return sys::made_once([] { return place_list(); });
}

} // namespace

bool read_places(const char *text, place_list &places, unusable &left_out) {
    return place_reader(text).read(places, left_out);
}

const place_list &places() noexcept { return the_list(); }
void set_places(place_list list) noexcept { the_list() = std::move(list); }

const sys::cpu_set *cpus_of_place(int place) noexcept {
    const place_list &list = places();
    return place >= 0 && static_cast<std::size_t>(place) < list.size() ? &list[static_cast<std::size_t>(place)]
                                                                       : nullptr;
}

} // namespace comity::openmp
