// Multiplies matrices by dividing them, a thread for each half of the work and a temporary matrix for each division
// (Narlikar and Blelloch, 1998, figure 4). With a queue all temporaries exist at once; depth first only a few do.
#include <comity/scheduler.hpp>
#include <comity/thread.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <vector>

namespace {

std::atomic<std::size_t> now{0}, most{0};

// Numbers for whose memory the scheduler is told.
class temporary {
public:
    explicit temporary(std::size_t n) : bytes_(n * sizeof(double)) {
        comity::this_scheduler::charge(bytes_); // others may go first
        numbers_.resize(n);
        const std::size_t all = now += bytes_;
        for (std::size_t seen = most; all > seen && !most.compare_exchange_weak(seen, all);) {
        }
    }
    ~temporary() {
        now -= bytes_;
        comity::this_scheduler::credit(bytes_);
    }
    temporary(const temporary &) = delete;
    temporary &operator=(const temporary &) = delete;
    double *data() { return numbers_.data(); }

private:
    std::size_t bytes_;
    std::vector<double> numbers_;
};

// A square within a matrix whose rows are `stride` numbers long.
struct square {
    double *at;
    std::size_t stride, size;
    [[nodiscard]] square quarter(std::size_t row, std::size_t column) const {
        return {at + (row * stride + column) * (size / 2), stride, size / 2};
    }
};

void multiply_here(square a, square b, square c) {
    for (std::size_t i = 0; i < c.size; ++i)
        for (std::size_t j = 0; j < c.size; ++j) {
            double sum = 0;
            for (std::size_t k = 0; k < a.size; ++k) sum += a.at[i * a.stride + k] * b.at[k * b.stride + j];
            c.at[i * c.stride + j] = sum;
        }
}

// c = a * b
void multiply(square a, square b, square c) {
    if (c.size <= 16) return multiply_here(a, b, c);
    temporary memory(c.size * c.size);
    const square t{memory.data(), c.size, c.size};
    std::array<comity::thread, 8> threads;
    for (std::size_t i = 0; i < 8; ++i) {
        const std::size_t row = i / 4, column = i / 2 % 2, half = i % 2;
        threads.at(i) = comity::thread(
            [=] { multiply(a.quarter(row, half), b.quarter(half, column), (half ? t : c).quarter(row, column)); });
    }
    for (comity::thread &one : threads) one.join();
    for (std::size_t i = 0; i < c.size; ++i)
        for (std::size_t j = 0; j < c.size; ++j) c.at[i * c.stride + j] += t.at[i * t.stride + j];
}

// How much the temporaries need at most, in bytes; 0: the product is wrong.
std::size_t measure(comity::scheduler_kind kind) {
    constexpr std::size_t n = 128;
    std::vector<double> a(n * n), b(n * n), c(n * n), right(n * n);
    for (std::size_t i = 0; i < n * n; ++i) {
        a[i] = static_cast<double>(i % 7);
        b[i] = static_cast<double>(i % 5);
    }
    const comity::scheduled_threads scope(kind);
    most = 0;
    multiply({a.data(), n, n}, {b.data(), n, n}, {c.data(), n, n});
    multiply_here({a.data(), n, n}, {b.data(), n, n}, {right.data(), n, n});
    return c == right ? most.load() : 0;
}

} // namespace

int main() {
    const std::size_t queue = measure(comity::scheduler_kind::fifo),
                      depth_first = measure(comity::scheduler_kind::space_efficient);
    std::printf("temporaries: %zu bytes with a queue, %zu depth first\n", queue, depth_first);
    return queue != 0 && depth_first != 0 && (depth_first < queue || comity::hart_count() > 4) ? 0 : 1;
}
