#include "personality/openmp/blas_caller.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/runtime.hpp"
#include "model/spmd/team.hpp"
#include "personality/openmp/region.hpp"
#include "sys/clock.hpp"
#include "sys/loaded_objects.hpp"

namespace comity::openmp::blas {
namespace {

// The first is none of them; the next two are OpenBLAS.
enum class kind : std::uintptr_t { other = 0, openmp_build = 1, pthreads_build = 2, blis = 3 };

// Wheels' libraries are libscipy_openblas*, and libopenblasp-* where a wheel was repaired; Debian's and conda's are
// called libopenblas.so.0.
bool is_openblas(const char *name) noexcept {
    const std::string_view n = name;
    return n.starts_with("libopenblas") || n.starts_with("libscipy_openblas");
}
// Debian has the interfaces for those who are linked with the reference libraries' names in files of their own, which
// ask for the number of threads, and the kernels, which open the regions, in libopenblas.so.0.
bool is_reference_name(std::string_view name, std::string_view stem) noexcept {
    if (!name.starts_with(stem)) return false;
    name.remove_prefix(stem.size());
    return name.starts_with(".so") || name.starts_with("64.so") || name.starts_with("64_.so");
}
bool is_blas(const char *name) noexcept {
    return is_reference_name(name, "libblas") || is_reference_name(name, "libcblas");
}
bool is_interface(const char *name) noexcept { return is_blas(name) || is_reference_name(name, "liblapack"); }

bool is_openmp(const char *name) noexcept {
    for (const std::string_view library : {"libgomp", "libomp", "libiomp5", "libnvomp", "libfjomp"})
        if (std::string_view(name).starts_with(library)) return true;
    return false;
}

bool is_blis(const char *name) noexcept { return std::string_view(name).starts_with("libblis"); }
// MKL's and Arm's may be installed under the reference libraries' names, too.
bool is_vendors(const char *name) noexcept {
    for (const std::string_view stem : {"libmkl", "libarmpl", "libnvpl", "libessl"})
        if (std::string_view(name).starts_with(stem)) return true;
    return false;
}

kind kind_of(const void *library) noexcept {
    if (!library) return kind::other;
    const bool opens = sys::needs(library, is_openmp);
    if (sys::is_called(library, is_openblas) ||
        (sys::is_called(library, is_interface) && sys::needs(library, is_openblas)))
        return opens ? kind::openmp_build : kind::pthreads_build;
    // Debian has another whole BLIS in libblas.so.3. There is no other that opens regions itself under this name.
    const bool whole = sys::is_called(library, is_blas) && !sys::is_called(library, is_vendors);
    return opens && (whole || sys::is_called(library, is_blis)) ? kind::blis : kind::other;
}

bool is_openblas(kind k) noexcept { return k == kind::openmp_build || k == kind::pthreads_build; }

// What the callers were that we saw: address << 2 | kind, direct-mapped; any thread writes. An address means the same
// library for as long as the process lives, but for dlclose: then what is loaded in its place, and calls from the very
// same address, may be taken for OpenBLAS.
std::atomic<std::uintptr_t> seen[1024];

kind kind_of_caller(const void *caller) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(caller);
    std::atomic<std::uintptr_t> &place = seen[(address ^ address >> 10) % 1024];
    const std::uintptr_t entry = place.load(std::memory_order_relaxed);
    if (entry >> 2 == address) [[likely]]
        return static_cast<kind>(entry & 3);
    const kind found = kind_of(sys::library_around(caller));
    place.store(address << 2 | static_cast<std::uintptr_t>(found), std::memory_order_relaxed);
    return found;
}

// Who was told more than 1 holds the claim: until its region has ended and no other came for a while, for OpenBLAS does
// not say when a call is over, and a long one opens many regions, a few microseconds apart.
constexpr std::int64_t claim_ns = 200'000;
// A region that lasts for longer has the claim no more: its thread may never come back from it, because it ended there
// or a child of a fork has it not. Two calls then share the harts, which costs time only.
constexpr std::int64_t region_ns = 1'000'000'000;
std::atomic<thread *> holder{nullptr}; // written by who takes the claim, when it is free or has expired
std::atomic<std::int64_t> expires{0};  // written by the holder

bool claim(thread *t) noexcept {
    thread *now = holder.load(std::memory_order_relaxed);
    const std::int64_t time = sys::now_ns();
    if (now != t && now && time < expires.load(std::memory_order_relaxed)) return false;
    if (now != t && !holder.compare_exchange_strong(now, t, std::memory_order_relaxed)) return false;
    expires.store(time + claim_ns, std::memory_order_relaxed);
    return true;
}

// How many harts all of BLIS' regions have, of those with several threads; with the process' generation above, for the
// child of a fork has none of them. What one was promised is not yet taken when the next one asks.
std::atomic<std::uint64_t> in_products{0};
constexpr unsigned generation_at = 32;

bool enter_product(unsigned ranks) noexcept {
    const unsigned most = hart_count();
    const std::uint64_t none = std::uint64_t{core::generation()} << generation_at;
    std::uint64_t now = in_products.load(std::memory_order_relaxed), next = 0;
    do {
        next = (now >> generation_at == none >> generation_at ? now : none) + ranks;
        if (next - none > most) return false;
    } while (!in_products.compare_exchange_weak(now, next, std::memory_order_relaxed));
    return true;
}

unsigned leave_product(thread *t) noexcept {
    const unsigned ranks = std::exchange(t->blis_ranks, 0);
    if (ranks != 0) in_products.fetch_sub(ranks, std::memory_order_relaxed);
    return ranks;
}

unsigned all_or_one(thread *t, unsigned wanted) noexcept {
    const unsigned ranks = ranks_for(t, wanted);
    if (ranks == 1) return 0; // as it would be anyway
    if (ranks < wanted || spmd::claim_harts() < ranks || !enter_product(ranks)) return 1;
    t->blis_ranks = ranks;
    const unsigned limit = icv_of(t).thread_limit;
    const unsigned taken = limit == no_limit ? ranks : take_from_limit(t, ranks, limit);
    if (taken == ranks) return ranks;
    give_to_limit(t, taken);
    leave_product(t);
    return 1;
}

} // namespace

unsigned max_threads(const void *caller) noexcept {
    thread *t = current();
    if (kind_of_caller(caller) != kind::openmp_build) {
        t->blas_ranks = 0; // perhaps part of an OpenBLAS that is not known as such: its region has what it is told now
        return 0;
    }
    unsigned ranks = std::min(spmd::claim_harts(), left_of_limit(t));
    const unsigned set = icv_of(t).num_threads;
    if (set && set < ranks) ranks = set;
    if (ranks < 2 || !claim(t)) ranks = 1;
    return t->blas_ranks = ranks;
}

bool sets_threads(const void *caller) noexcept { return is_openblas(kind_of_caller(caller)); }

bool hides_regions(const void *caller) noexcept { return is_openblas(kind_of_caller(caller)); }

unsigned ranks_of_region(thread *t, const void *caller, unsigned wanted) noexcept {
    const kind k = kind_of_caller(caller);
    if (k == kind::blis) return all_or_one(t, wanted);
    if (k != kind::openmp_build) return 0;
    if (holder.load(std::memory_order_relaxed) == t)
        expires.store(sys::now_ns() + region_ns, std::memory_order_relaxed);
    return t->blas_ranks;
}

void region_is_over(thread *t) noexcept {
    if (const unsigned ranks = leave_product(t); ranks != 0 && icv_of(t).thread_limit != no_limit)
        give_to_limit(t, ranks);
    if (holder.load(std::memory_order_relaxed) == t) expires.store(sys::now_ns() + claim_ns, std::memory_order_relaxed);
}

} // namespace comity::openmp::blas
