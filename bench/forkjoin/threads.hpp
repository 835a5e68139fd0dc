// The kit of a library that has the word `threads` (../support/library/README.md).
#pragma once

#include "forkjoin.hpp"

namespace bench::forkjoin {

template <class Threads, bool may_yield = true, std::size_t largest = 65536> class thread_kit {
public:
    static constexpr bool can_yield = may_yield, is_ordered = true;
    static constexpr std::size_t most = largest;

    void round(const unsigned char *yields, std::size_t n, bool reverse) {
        typename Threads::handle *all = threads_.data();
        for (std::size_t i = 0; i < n; ++i) Threads::template create<body>(all[i], yields[i] ? all : nullptr);
        if (reverse)
            for (std::size_t i = n; i-- > 0;) Threads::join(all[i]);
        else
            for (std::size_t i = 0; i < n; ++i) Threads::join(all[i]);
    }

private:
    static void body(void *yields) {
        count_body();
        if (yields) Threads::yield();
    }

    std::vector<typename Threads::handle> threads_ = std::vector<typename Threads::handle>(most);
};

} // namespace bench::forkjoin
