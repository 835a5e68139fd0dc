// Values that are set once: a chain of continuations, a coroutine that waits for two values without keeping a thread,
// and an exception on its way through both.
#include <comity/sync/future.hpp>
#include <comity/thread.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

comity::future<int> sum(comity::future<int> a, comity::eventual<int> &b) {
    const int first = co_await a;
    co_return first + co_await b;
}

} // namespace

int main() {
    const comity::threads scope;
    comity::promise<int> a, fails;
    comity::eventual<int> b;

    auto text = sum(a.get_future(), b).then([](int n) { return "the sum is " + std::to_string(n); });
    auto failed = fails.get_future().then([](int n) { return n / 2; }).then([](comity::future<int> f) {
        try {
            return f.get();
        } catch (const std::runtime_error &e) {
            std::printf("caught: %s\n", e.what());
            return -1;
        }
    });

    comity::thread one([&] { a.set_value(40); }), two([&] { b.set(2); });
    comity::thread three([&] { fails.set_exception(std::make_exception_ptr(std::runtime_error("no value"))); });
    std::printf("%s\n", text.get().c_str());
    return failed.get() == -1 ? 0 : 1;
}
