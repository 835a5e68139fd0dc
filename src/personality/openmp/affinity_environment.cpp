#include "personality/openmp/affinity_environment.hpp"

#include "personality/openmp/binding.hpp"
#include "personality/openmp/environment.hpp"
#include "personality/openmp/places.hpp"
#include "sys/message.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <strings.h>
#include <utility>

namespace comity::openmp {
namespace {

using sys::cpu_set;
using sys::part;

constexpr long beyond = cpu_set::most;

// Reads from the front; each function says whether that was there, and blanks do not count.
class cursor {
public:
    explicit cursor(const char *text) noexcept : at_(text) {}

    char peek() noexcept {
        while (*at_ == ' ' || (*at_ >= '\t' && *at_ <= '\r')) ++at_;
        return *at_;
    }
    bool at_end() noexcept { return peek() == '\0'; }
    bool sign(char c) noexcept {
        if (peek() != c) return false;
        ++at_;
        return true;
    }
    // At most `beyond`, else none.
    bool number(long &value) noexcept {
        if (peek() < '0' || *at_ > '9') return false;
        value = 0;
        while (*at_ >= '0' && *at_ <= '9') value = std::min(value * 10 + (*at_++ - '0'), beyond + 1);
        return value <= beyond;
    }
    std::string_view word() noexcept {
        peek();
        const char *begin = at_;
        while ((*at_ >= 'a' && *at_ <= 'z') || (*at_ >= 'A' && *at_ <= 'Z') || *at_ == '_' ||
               (at_ > begin && *at_ >= '0' && *at_ <= '9'))
            ++at_;
        return {begin, static_cast<std::size_t>(at_ - begin)};
    }

private:
    const char *at_;
};

bool is(std::string_view word, const char *name) noexcept {
    return word.size() == std::strlen(name) && ::strncasecmp(word.data(), name, word.size()) == 0;
}
template <class... Names> bool is_one_of(std::string_view word, Names... names) noexcept {
    return (is(word, names) || ...);
}

// ---- KMP_HW_SUBSET

// The layers of a subset, the outer ones first, and in which layer the units of each are counted anew.
enum layer : unsigned { socket, node, cache, l2, core, thread_layer, layers };
constexpr layer around[layers] = {layers, socket, socket, socket, socket, core};

bool to_layer(std::string_view word, layer &found) noexcept {
    if (is_one_of(word, "s", "socket", "sockets"))
        found = socket;
    else if (is_one_of(word, "n", "numa", "numas", "numa_domain", "numa_domains", "numa_node", "numa_nodes"))
        found = node;
    else if (is_one_of(word, "ll", "ll_cache", "ll_caches", "l3", "l3_cache", "l3_caches"))
        found = cache;
    else if (is_one_of(word, "l2", "l2_cache", "l2_caches", "tile", "tiles"))
        found = l2;
    else if (is_one_of(word, "c", "core", "cores"))
        found = core;
    else if (is_one_of(word, "t", "thread", "threads"))
        found = thread_layer;
    else
        return false;
    return true;
}

int unit_of(const sys::processor &p, layer l) noexcept {
    constexpr part of[] = {part::socket, part::numa_node, part::last_cache, part::l2_cache, part::core};
    return l == layers ? 0 : l == thread_layer ? p.cpu : p.where(of[l]);
}

// The processor's unit of a layer, counted from 0 within the unit of the layer around it, as the machine has them.
long ordinal(const sys::processor &p, layer l) noexcept {
    long n = 0;
    int last = -1;
    for (const sys::processor &other : sys::machine()) {
        if (unit_of(other, around[l]) != unit_of(p, around[l]) || unit_of(other, l) == last) continue;
        last = unit_of(other, l);
        if (last == unit_of(p, l)) return n;
        ++n;
    }
    return n;
}

struct selection {
    bool said = false;
    long count = beyond, from = 0; // beyond: all
};

// 4c@2: a number, or * for all; a layer; from which one on.
bool read_selection(cursor &text, selection (&selected)[layers]) noexcept {
    selection s{true};
    if (!text.sign('*') && !(text.number(s.count) && s.count > 0)) return false;
    layer l{};
    if (!to_layer(text.word(), l) || selected[l].said) return false;
    if (text.sign('@') && !text.number(s.from)) return false;
    selected[l] = s;
    return true;
}

// The processors that KMP_HW_SUBSET leaves: "2s,4c@2,1t". False: it cannot be written so, or there are not as many.
bool read_hardware_subset(const char *text, cpu_set &left) {
    selection selected[layers];
    cursor at(text);
    do {
        if (!read_selection(at, selected)) return false;
    } while (at.sign(',') || at.sign('x') || at.sign('X'));
    if (!at.at_end()) return false;
    long most[layers] = {};
    cpu_set found;
    for (const sys::processor &p : sys::machine()) {
        bool in = true;
        for (unsigned l = 0; l < layers; ++l) {
            const long n = ordinal(p, static_cast<layer>(l)), from = selected[l].from;
            most[l] = std::max(most[l], n + 1);
            in = in && n >= from && (selected[l].count == beyond || n < from + selected[l].count);
        }
        if (in) found.add(p.cpu);
    }
    for (unsigned l = 0; l < layers; ++l)
        if (selected[l].said && selected[l].count != beyond && selected[l].from + selected[l].count > most[l])
            return false;
    left = found;
    return !found.empty();
}

// ---- KMP_AFFINITY

// What KMP_AFFINITY says.
struct kmp_affinity {
    enum class kind : std::uint8_t { not_said, none, disabled, compact, scatter, balanced, explicit_list };
    kind type = kind::not_said;
    place_list places;
    unusable left_out; // of the proclist
};

struct affinity_words {
    kmp_affinity::kind type = kmp_affinity::kind::not_said;
    layer granularity = core;
    long permute = 0, offset = 0;
    place_list listed;
};

bool to_kind(std::string_view word, kmp_affinity::kind &kind) noexcept {
    using k = kmp_affinity::kind;
    static constexpr std::pair<const char *, k> kinds[] = {
        {"none", k::none},       {"disabled", k::disabled}, {"compact", k::compact},   {"logical", k::compact},
        {"scatter", k::scatter}, {"physical", k::scatter},  {"balanced", k::balanced}, {"explicit", k::explicit_list}};
    for (const auto &[name, value] : kinds)
        if (is(word, name)) {
            kind = value;
            return true;
        }
    return false;
}

// 3, 3-5, 3-9:2
bool read_range(cursor &text, std::vector<int> &cpus) {
    long first = 0, last = 0, step = 1;
    if (!text.number(first)) return false;
    last = first;
    if (text.sign('-') && !text.number(last)) return false;
    if (text.sign(':') && !text.number(step)) return false;
    if (last < first || step == 0) return false;
    for (long cpu = first; cpu <= last; cpu += step) cpus.push_back(static_cast<int>(cpu));
    return true;
}

// [0,3-5,{1,2}]
bool read_proclist(cursor &text, place_list &list) {
    if (!text.sign('=') || !text.sign('[')) return false;
    do {
        std::vector<int> cpus;
        if (text.sign('{')) {
            do {
                if (!read_range(text, cpus)) return false;
            } while (text.sign(','));
            if (!text.sign('}')) return false;
            cpu_set place;
            for (const int cpu : cpus) place.add(cpu);
            list.push_back(place);
        } else {
            if (!read_range(text, cpus)) return false;
            for (const int cpu : cpus) list.emplace_back().add(cpu);
        }
    } while (text.sign(','));
    return text.sign(']');
}

bool read_granularity(cursor &text, layer &found) noexcept {
    if (!text.sign('=')) return false;
    const std::string_view word = text.word();
    if (is(word, "fine"))
        found = thread_layer;
    else if (is_one_of(word, "package", "group", "die"))
        found = socket;
    else
        return to_layer(word, found);
    return true;
}

// Modifiers, a type, and after it up to two numbers.
bool read_words(cursor text, affinity_words &into) {
    using k = kmp_affinity::kind;
    unsigned numbers = 0;
    do {
        long value = 0;
        if (text.peek() >= '0' && text.peek() <= '9') {
            if (into.type == k::not_said || numbers == 2 || !text.number(value)) return false;
            (numbers++ == 0 ? into.permute : into.offset) = value;
            continue;
        }
        const std::string_view word = text.word();
        k type{};
        if (is_one_of(word, "verbose", "noverbose", "warnings", "nowarnings", "respect", "norespect", "reset",
                      "noreset"))
            continue;
        if (is(word, "granularity") || is(word, "proclist")) {
            if (!(is(word, "proclist") ? read_proclist(text, into.listed) : read_granularity(text, into.granularity)))
                return false;
        } else if (into.type == k::not_said && to_kind(word, type)) {
            into.type = type;
        } else {
            return false;
        }
    } while (text.sign(','));
    return text.at_end() && (into.type == k::explicit_list) == !into.listed.empty();
}

// The processors in the order in which ranks get them. compact: neighbours get neighbours; a permutation makes that
// many of the inner layers the outermost ones; scatter: all.
std::vector<const sys::processor *> in_order(long permute) {
    constexpr unsigned levels = 3;
    constexpr layer level[levels] = {thread_layer, core, socket};
    struct keyed {
        std::array<long, levels> key;
        const sys::processor *p;
    };
    std::vector<keyed> all;
    const auto moved = static_cast<unsigned>(std::clamp(permute, 0L, long{levels}));
    for (const sys::processor &p : sys::machine()) {
        keyed one{{}, &p};
        for (unsigned i = 0; i < levels; ++i)
            one.key[i] = ordinal(p, i < moved ? level[i] : level[levels - 1 - (i - moved)]);
        all.push_back(one);
    }
    std::stable_sort(all.begin(), all.end(), [](const keyed &a, const keyed &b) { return a.key < b.key; });
    std::vector<const sys::processor *> order;
    for (const keyed &one : all) order.push_back(one.p);
    return order;
}

place_list places_in_order(const affinity_words &words) {
    place_list list;
    const bool scatter = words.type == kmp_affinity::kind::scatter;
    const auto order = in_order(scatter ? 3 : words.permute);
    for (std::size_t i = 0; i < order.size(); ++i) {
        const sys::processor *p = order[(i + static_cast<std::size_t>(words.offset)) % order.size()];
        cpu_set place;
        for (const sys::processor &other : sys::machine())
            if (unit_of(other, words.granularity) == unit_of(*p, words.granularity)) place.add(other.cpu);
        if (std::find(list.begin(), list.end(), place) == list.end()) list.push_back(place);
    }
    return list;
}

cpu_set all_of() noexcept {
    cpu_set all;
    for (const sys::processor &p : sys::machine()) all.add(p.cpu);
    return all;
}

void keep_only(place_list &list, const cpu_set &usable) {
    for (cpu_set &place : list) place.keep_only(usable);
    std::erase_if(list, [](const cpu_set &place) { return place.empty(); });
}

unusable leave_out_what_is_not(place_list &list, const cpu_set &usable) {
    unusable left_out;
    for (const cpu_set &place : list)
        for (int cpu = place.next(); cpu >= 0; cpu = place.next(cpu + 1))
            if (!usable.has(cpu) && left_out.processors++ == 0) left_out.first = cpu;
    const std::size_t before = list.size();
    keep_only(list, usable);
    left_out.places = static_cast<unsigned>(before - list.size());
    return left_out;
}

bool read_kmp_affinity(const char *text, kmp_affinity &found) {
    using k = kmp_affinity::kind;
    affinity_words words;
    if (!read_words(cursor(text), words)) return false;
    found.type = words.type;
    if (words.type == k::explicit_list) {
        found.places = std::move(words.listed);
        found.left_out = leave_out_what_is_not(found.places, all_of());
    } else if (words.type == k::compact || words.type == k::scatter || words.type == k::balanced) {
        found.places = places_in_order(words);
    }
    return true;
}

// ---- GOMP_CPU_AFFINITY

// "0 3 1-2 4-15:2": a place for each processor, but for those that the machine does not have, or the process may not
// use.
bool read_cpu_list(const char *text, place_list &places, unusable &left_out) {
    cursor at(text);
    std::vector<int> cpus;
    do {
        if (!read_range(at, cpus)) return false;
    } while (at.sign(',') || !at.at_end());
    for (const int cpu : cpus) places.emplace_back().add(cpu);
    left_out = leave_out_what_is_not(places, all_of());
    return true;
}

// ---- All together

class affinity_reader {
public:
    explicit affinity_reader(process_icvs &into) : p_(into) {}

    void read() {
        teams();
        cpu_set usable;
        const bool subset = hardware_subset(usable);
        const bool said = p_.bind_listed != 0;
        place_list list;
        bool placed = omp_places(list);
        if (said || placed)
            tell_who_wins();
        else
            placed = kmp(list) || gomp(list);
        if (p_.initial.bind == 0 && said) placed = false; // OMP_PROC_BIND=false
        if (placed && !said) p_.initial.bind = bind_of_list_;
        p_.binds = !disabled_ && p_.initial.bind != 0;
        if (p_.binds && list.empty()) list = places_in_order({.granularity = thread_layer, .listed = {}});
        if (subset) {
            keep_only(list, usable);
            if (p_.initial.num_threads == 0) p_.initial.num_threads = usable.count();
        }
        if (list.empty()) p_.binds = false;
        if (!list.empty() || look_up("OMP_PLACES")) set_places(std::move(list));
    }

private:
    void complain(const char *variable, const char *allowed, const char *instead) noexcept {
        sys::warn("%s=\"%s\": not %s; using %s", variable, look_up(variable), allowed, instead);
    }

    // Of a list of which a part cannot be used.
    static void tell_of_rest(const char *variable, const char *text, const place_list &list,
                             const unusable &left_out) noexcept {
        char more[40] = "";
        if (left_out.processors > 1) sys::format_text(more, sizeof more, " and %u more", left_out.processors - 1);
        sys::warn("%s=\"%s\": the process may not use processor %ld%s; using the rest (%zu of %zu places)", variable,
                  text, left_out.first, more, list.size(), list.size() + left_out.places);
    }

    void teams() noexcept {
        const char *text = look_up("KMP_TEAMS_PROC_BIND");
        if (!text) return;
        cursor at(text);
        const std::string_view word = at.word();
        std::uint8_t policy = 0;
        if (is_one_of(word, "primary", "master")) policy = 2;
        if (is(word, "close")) policy = 3;
        if (is(word, "spread")) policy = 4;
        if (policy == 0 || !at.at_end())
            complain("KMP_TEAMS_PROC_BIND", "primary, close or spread", "spread");
        else
            p_.teams_bind = policy;
    }

    bool hardware_subset(cpu_set &usable) {
        const char *text = look_up("KMP_HW_SUBSET");
        if (!text) return false;
        if (read_hardware_subset(text, usable)) return true;
        complain("KMP_HW_SUBSET", "a list such as 1s,4c,1t of what the machine has", "all of it");
        return false;
    }

    bool omp_places(place_list &list) {
        const char *text = look_up("OMP_PLACES");
        if (!text) return false;
        unusable left_out;
        if (!read_places(text, list, left_out))
            complain("OMP_PLACES", "threads, cores, ll_caches, numa_domains or sockets, nor a list of places",
                     "no places");
        else if (list.empty())
            complain("OMP_PLACES", "with a processor that the process may use", "no places");
        else if (left_out.processors)
            tell_of_rest("OMP_PLACES", text, list, left_out);
        return !list.empty();
    }

    bool kmp(place_list &list) {
        const char *text = look_up("KMP_AFFINITY");
        if (!text) return false;
        kmp_affinity found;
        if (!read_kmp_affinity(text, found)) {
            complain("KMP_AFFINITY",
                     "modifiers and compact, scatter, balanced, explicit with a proclist, none or disabled", "none");
            return false;
        }
        if (found.type == kmp_affinity::kind::explicit_list && found.places.empty())
            complain("KMP_AFFINITY", "with a processor that the process may use", "none");
        else if (found.left_out.processors)
            tell_of_rest("KMP_AFFINITY", text, found.places, found.left_out);
        disabled_ = found.type == kmp_affinity::kind::disabled;
        if (found.type == kmp_affinity::kind::balanced) bind_of_list_ = 4;
        list = std::move(found.places);
        return !list.empty();
    }

    // The standard's variables.
    void tell_who_wins() {
        const char *text = look_up("KMP_AFFINITY");
        kmp_affinity found;
        if (text && (!read_kmp_affinity(text, found) || !found.places.empty()))
            sys::warn("KMP_AFFINITY=\"%s\": OMP_PLACES or OMP_PROC_BIND says where threads run; using that", text);
    }

    bool gomp(place_list &list) {
        const char *text = look_up("GOMP_CPU_AFFINITY");
        if (!text || disabled_) return false;
        unusable left_out;
        if (!read_cpu_list(text, list, left_out)) {
            complain("GOMP_CPU_AFFINITY", "a list of processors such as 0 3 4-15:2", "no places");
            return false;
        }
        if (list.empty())
            complain("GOMP_CPU_AFFINITY", "with a processor that the process may use", "no places");
        else if (left_out.processors)
            tell_of_rest("GOMP_CPU_AFFINITY", text, list, left_out);
        return !list.empty();
    }

    process_icvs &p_;
    bool disabled_ = false;
    std::uint8_t bind_of_list_ = 1;
};

} // namespace

void read_affinity(process_icvs &into) noexcept { affinity_reader(into).read(); }

} // namespace comity::openmp
