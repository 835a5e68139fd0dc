// Strassen's product of matrices, its seven products tasks, down to 4 x 4.
//   strassen [--log2-n N] [--workers W]
#include <cmath>
#include <cstddef>
#include <vector>

#include "omptasks.hpp"

namespace {

constexpr int smallest = 4;

// A square part of a matrix whose rows are `row` apart.
struct part {
    double *at;
    std::ptrdiff_t row;

    part quarter(int i, int j, int half) const { return {at + i * half * row + j * half, row}; }
};

// c = a + sign * b
void add(part c, part a, part b, double sign, int n) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) c.at[i * c.row + j] = a.at[i * a.row + j] + sign * b.at[i * b.row + j];
}

void multiply_directly(part c, part a, part b) {
    for (int i = 0; i < smallest; ++i) {
        double sum[smallest] = {};
        for (int k = 0; k < smallest; ++k)
            for (int j = 0; j < smallest; ++j) sum[j] += a.at[i * a.row + k] * b.at[k * b.row + j];
        for (int j = 0; j < smallest; ++j) c.at[i * c.row + j] = sum[j];
    }
}

void multiply(part c, part a, part b, int n) {
    if (n == smallest) return multiply_directly(c, a, b);
    const int h = n / 2;
    const part a11 = a.quarter(0, 0, h), a12 = a.quarter(0, 1, h), a21 = a.quarter(1, 0, h), a22 = a.quarter(1, 1, h);
    const part b11 = b.quarter(0, 0, h), b12 = b.quarter(0, 1, h), b21 = b.quarter(1, 0, h), b22 = b.quarter(1, 1, h);
    std::vector<double> memory(static_cast<std::size_t>(21 * h * h));
    part m[7], l[7], r[7]; // products, and what is multiplied
    for (int i = 0; i < 7; ++i) {
        m[i] = {&memory[static_cast<std::size_t>(3 * i * h * h)], h};
        l[i] = {m[i].at + h * h, h};
        r[i] = {l[i].at + h * h, h};
    }
    const struct {
        part l1, l2;
        double l_sign;
        part r1, r2;
        double r_sign;
    } terms[7] = {{a11, a22, 1, b11, b22, 1},  {a21, a22, 1, b11, b11, 0}, {a11, a11, 0, b12, b22, -1},
                  {a22, a22, 0, b21, b11, -1}, {a11, a12, 1, b22, b22, 0}, {a21, a11, -1, b11, b12, 1},
                  {a12, a22, -1, b21, b22, 1}};
    for (int i = 0; i < 7; ++i) {
        const auto term = terms[i];
        const part to = m[i], left = l[i], right = r[i];
#pragma omp task firstprivate(term, to, left, right, h)
        {
            if (term.l_sign != 0) add(left, term.l1, term.l2, term.l_sign, h);
            if (term.r_sign != 0) add(right, term.r1, term.r2, term.r_sign, h);
            multiply(to, term.l_sign != 0 ? left : term.l1, term.r_sign != 0 ? right : term.r1, h);
        }
    }
#pragma omp taskwait
    const part c11 = c.quarter(0, 0, h), c12 = c.quarter(0, 1, h), c21 = c.quarter(1, 0, h), c22 = c.quarter(1, 1, h);
    add(c11, m[0], m[3], 1, h);
    add(c11, c11, m[4], -1, h);
    add(c11, c11, m[6], 1, h);
    add(c12, m[2], m[4], 1, h);
    add(c21, m[1], m[3], 1, h);
    add(c22, m[0], m[1], -1, h);
    add(c22, c22, m[2], 1, h);
    add(c22, c22, m[5], 1, h);
}

struct problem {
    static constexpr const char *name = "strassen";

    int log2_n;
    std::vector<double> a, b, c;

    int n() const { return 1 << log2_n; }
    static problem read(bench::arguments &options) { return {options.whole("log2-n", 9, 4, 12), {}, {}, {}}; }
    problem smaller() const { return {log2_n > 6 ? log2_n - 2 : log2_n, {}, {}, {}}; }
    void prepare() {
        const std::size_t size = static_cast<std::size_t>(n()) * static_cast<std::size_t>(n());
        a.resize(size);
        b.resize(size);
        c.assign(size, 0);
        for (std::size_t i = 0; i < size; ++i) {
            a[i] = static_cast<double>(i * 7 % 13) / 13;
            b[i] = static_cast<double>(i * 11 % 17) / 17;
        }
    }
    void solve() { multiply({c.data(), n()}, {a.data(), n()}, {b.data(), n()}, n()); }
    // c x = a (b x)
    void check() const {
        const std::size_t count = static_cast<std::size_t>(n());
        const auto times = [count](const std::vector<double> &matrix, const std::vector<double> &x) {
            std::vector<double> y(count, 0);
            for (std::size_t i = 0; i < count; ++i)
                for (std::size_t j = 0; j < count; ++j) y[i] += matrix[i * count + j] * x[j];
            return y;
        };
        std::vector<double> x(count);
        for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<double>(i % 5) - 2;
        const std::vector<double> wanted = times(a, times(b, x)), given = times(c, x);
        for (std::size_t i = 0; i < count; ++i)
            bench::demand(std::abs(wanted[i] - given[i]) < 1e-6 * static_cast<double>(count * count), "wrong product");
    }
};

} // namespace

int main(int argc, char **argv) { return bench::omptasks_main<problem>(argc, argv); }
