// The same function in Comity threads and in kernel threads that hold no hart.
#pragma once

#include "comity/thread.hpp"

#include <thread>
#include <vector>

// Runs f(i) in `own` Comity threads and `foreign` kernel threads at once.
template <class F> void in_threads(int own, int foreign, F f) {
    std::vector<std::thread> kernel_threads;
    for (int i = 0; i < foreign; ++i) kernel_threads.emplace_back(f, own + i);
    {
        const comity::threads scope;
        std::vector<comity::thread> threads;
        for (int i = 0; i < own; ++i)
            threads.emplace_back(
                comity::thread::attributes{.technique = i % 2 ? comity::technique::full : comity::technique::roc_l}, f,
                i);
    }
    for (std::thread &t : kernel_threads) t.join();
}
