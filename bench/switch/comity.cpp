// Comity's own switch (src/core/arch), from inside the library: no scheduler takes part.
#include "switch.hpp"

#include "core/arch/switch.hpp"

namespace {

using namespace comity::core::arch;

struct kit {
    static inline void *saved[2] = {};
    static void start(std::byte *top, void (*side)()) {
        const auto run = [](void *function, void *) { reinterpret_cast<void (*)()>(function)(); };
        comity_arch_save_call(&saved[0], top, run, reinterpret_cast<void *>(side), nullptr);
    }
    static void go(int from, int to) { comity_arch_switch(&saved[from], saved[to], nullptr, nullptr); }
};

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    options.word("technique", "roc_l", {"roc_l"}); // all techniques have the same
    return bench::switching::run_program<kit>(options, "comity");
}
