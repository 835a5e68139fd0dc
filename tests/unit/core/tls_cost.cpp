// Prints what a block of each provider costs: making and freeing one, its resident memory, and a switch to it and back.
#include <cstdio>
#include <ctime>
#include <vector>

#include <unistd.h>

#include "core/tls/base.hpp"
#include "core/tls/block.hpp"
#include "core/tls/visit.hpp"
#include "sys/clock.hpp"

using namespace comity;
using namespace comity::core;

namespace {

constexpr std::size_t stack_size = 256 * 1024;

tls_block *make(tls_provider provider) {
    int error = 0;
    tls_block *b =
        provider == tls_provider::donor ? make_donor_block(stack_size, error) : make_glibc_block(stack_size, error);
    if (!b) std::printf("  cannot be made: error %d\n", error);
    return b;
}

double resident_kib() {
    long total = 0, resident = 0;
    FILE *file = std::fopen("/proc/self/statm", "r");
    if (!file || std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    if (file) std::fclose(file);
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}

void creation(tls_provider provider) {
    constexpr int count = 2000;
    std::vector<tls_block *> blocks;
    blocks.reserve(count);
    const double before = resident_kib();
    const auto t0 = sys::now_ns();
    for (int i = 0; i < count; ++i)
        if (tls_block *b = make(provider))
            blocks.push_back(b);
        else
            break;
    const auto t1 = sys::now_ns();
    if (blocks.empty()) return;
    const double kib = (resident_kib() - before) / static_cast<double>(blocks.size());
    const auto t2 = sys::now_ns();
    for (tls_block *b : blocks) free_tls_block(b);
    const auto t3 = sys::now_ns();
    const auto n = static_cast<double>(blocks.size());
    std::printf("  make %.2f us, free %.2f us, resident %.1f KiB each (of %zu)\n",
                static_cast<double>(t1 - t0) / 1e3 / n, static_cast<double>(t3 - t2) / 1e3 / n, kib, blocks.size());
}

// ns for a switch to the context and back, over `blocks` of them in turn.
// With `own_tls` the base register gets the value it has: what is left is the stack's part.
void switching(tls_provider provider, std::size_t blocks, bool own_tls = false) {
    constexpr int rounds = 2'000'000;
    std::vector<visit> visits(blocks);
    bool stop = false;
    for (visit &v : visits) {
        v.block = make(provider);
        if (!v.block) return;
        v.arg = &stop;
        v.fn = [](visit &self) {
            while (!*static_cast<volatile bool *>(self.arg)) leave(self);
        };
        enter(v);
    }
    std::vector<std::uintptr_t> bases;
    for (visit &v : visits) bases.push_back(v.block->base), v.block->base = own_tls ? tls_base() : v.block->base;
    const auto t0 = sys::now_ns();
    for (int i = 0; i < rounds;)
        for (visit &v : visits) reenter(v), ++i;
    const auto t1 = sys::now_ns();
    for (std::size_t i = 0; i < blocks; ++i) visits[i].block->base = bases[i];
    stop = true;
    for (visit &v : visits) reenter(v), free_tls_block(v.block);
    std::printf("  %5zu contexts in turn: %.1f ns to one and back\n", blocks, static_cast<double>(t1 - t0) / rounds);
}

void all(tls_provider provider, const char *name) {
    std::printf("%s\n", name);
    creation(provider);
    for (const std::size_t blocks : {1, 8, 64, 1000}) switching(provider, blocks);
}

} // namespace

int main() {
    detect_tls_base();
    const auto t0 = sys::now_ns();
    const char *wrong = tls_self_test(tls_provider::donor);
    const auto t1 = sys::now_ns();
    std::printf("self-test of donors: %s, %.0f us\n", wrong ? wrong : "passed", static_cast<double>(t1 - t0) / 1e3);
    const char *wrong_glibc = tls_self_test(tls_provider::glibc);
    const auto t2 = sys::now_ns();
    std::printf("self-test of glibc blocks: %s, %.0f us\n", wrong_glibc ? wrong_glibc : "passed",
                static_cast<double>(t2 - t1) / 1e3);
    std::printf("stack alone\n");
    for (const std::size_t blocks : {1, 1000}) switching(tls_provider::donor, blocks, true);
    all(tls_provider::donor, "donor");
    if (!wrong_glibc) all(tls_provider::glibc, "glibc");
#if defined(__x86_64__)
    if (has_fsgsbase) {
        has_fsgsbase = false;
        all(tls_provider::donor, "donor, base written by system call");
    }
#endif
}
