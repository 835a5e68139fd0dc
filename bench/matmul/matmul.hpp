// C += A * B by recursion: each of the four quarters of C gets two products of quarters, four products at a time side
// by side. Blocks of 16 by 16 are multiplied in place, so a product is some thousand operations.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "../support/tree.hpp"

namespace bench {

// A square part of a matrix of `stride` columns.
struct square {
    double *at;
    std::size_t stride;

    square quarter(std::size_t half, int row, int column) const {
        return {at + static_cast<std::size_t>(row) * half * stride + static_cast<std::size_t>(column) * half, stride};
    }
};

// One product of n by n elements; the quarters of the products that may run side by side come in two rounds of four.
struct product {
    square a, b, c;
    std::size_t n;

    static constexpr std::size_t smallest = 16;
    bool is_leaf() const { return n <= smallest; }

    product part(int round, int number) const {
        const std::size_t half = n / 2;
        const int row = number / 2, column = number % 2;
        return {a.quarter(half, row, round), b.quarter(half, round, column), c.quarter(half, row, column), half};
    }
    void multiply() const {
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t k = 0; k < n; ++k) {
                const double factor = a.at[i * a.stride + k];
                for (std::size_t j = 0; j < n; ++j) c.at[i * c.stride + j] += factor * b.at[k * b.stride + j];
            }
    }
};

struct matmul_problem {
    static constexpr const char *name = "matmul";

    std::size_t n;
    std::vector<double> a, b, c;

    explicit matmul_problem(std::size_t size) : n(size), a(n * n), b(n * n), c(n * n) {
        for (std::size_t i = 0; i < n * n; ++i) {
            a[i] = static_cast<double>(i % 7) - 3;
            b[i] = static_cast<double>(i % 11) - 5;
        }
    }
    static matmul_problem read(arguments &options) {
        return matmul_problem(std::size_t{1} << options.whole("log2-n", 9, 1, 12));
    }
    matmul_problem smaller() const { return matmul_problem(n > 64 ? n / 4 : n); }
    void prepare() { c.assign(n * n, 0); }
    product whole() { return {{a.data(), n}, {b.data(), n}, {c.data(), n}, n}; }

    // C x = A (B x), for an x of ones and minus ones: exact, as all are small whole numbers.
    void check() const {
        std::vector<double> x(n), bx(n), abx(n), cx(n);
        for (std::size_t i = 0; i < n; ++i) x[i] = (i * i + 3 * i) % 5 < 2 ? 1 : -1;
        times(b, x, bx);
        times(a, bx, abx);
        times(c, x, cx);
        demand(cx == abx, "wrong product");
    }

private:
    void times(const std::vector<double> &matrix, const std::vector<double> &vector, std::vector<double> &into) const {
        for (std::size_t i = 0; i < n; ++i) {
            into[i] = 0;
            for (std::size_t j = 0; j < n; ++j) into[i] += matrix[i * n + j] * vector[j];
        }
    }
};

} // namespace bench
