// LU factorization of a sparse matrix of small dense blocks: each block's step is a task, and the phases of a column
// are kept apart by taskwait (as in the Barcelona OpenMP tasks suite), or all are related by depend.
//   sparselu [--blocks N] [--size S] [--depend 0|1] [--workers W]
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include "omptasks.hpp"

namespace {

using block = std::unique_ptr<double[]>;

struct matrix {
    int blocks, size;
    std::vector<block> at; // null: zeros

    block &get(int i, int j) { return at[static_cast<std::size_t>(i * blocks + j)]; }
    double *make(int i, int j) {
        block &b = get(i, j);
        if (!b) b.reset(new double[static_cast<std::size_t>(size * size)]());
        return b.get();
    }
};

void factor(double *d, int n) {
    for (int k = 0; k < n; ++k)
        for (int i = k + 1; i < n; ++i) {
            d[i * n + k] /= d[k * n + k];
            for (int j = k + 1; j < n; ++j) d[i * n + j] -= d[i * n + k] * d[k * n + j];
        }
}
void forward(const double *d, double *c, int n) {
    for (int k = 0; k < n; ++k)
        for (int i = k + 1; i < n; ++i)
            for (int j = 0; j < n; ++j) c[i * n + j] -= d[i * n + k] * c[k * n + j];
}
void divide(const double *d, double *r, int n) {
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k) {
            r[i * n + k] /= d[k * n + k];
            for (int j = k + 1; j < n; ++j) r[i * n + j] -= r[i * n + k] * d[k * n + j];
        }
}
void subtract_product(const double *r, const double *c, double *inner, int n) {
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k)
            for (int j = 0; j < n; ++j) inner[i * n + j] -= r[i * n + k] * c[k * n + j];
}

void solve_by_phases(matrix &m) {
    const int n = m.size;
    for (int k = 0; k < m.blocks; ++k) {
        double *d = m.get(k, k).get();
        factor(d, n);
        for (int j = k + 1; j < m.blocks; ++j)
            if (double *c = m.get(k, j).get()) {
#pragma omp task firstprivate(d, c, n)
                forward(d, c, n);
            }
        for (int i = k + 1; i < m.blocks; ++i)
            if (double *r = m.get(i, k).get()) {
#pragma omp task firstprivate(d, r, n)
                divide(d, r, n);
            }
#pragma omp taskwait
        for (int i = k + 1; i < m.blocks; ++i)
            if (double *r = m.get(i, k).get())
                for (int j = k + 1; j < m.blocks; ++j)
                    if (double *c = m.get(k, j).get()) {
                        double *inner = m.make(i, j);
#pragma omp task firstprivate(r, c, inner, n)
                        subtract_product(r, c, inner, n);
                    }
#pragma omp taskwait
    }
}

void solve_by_dependences(matrix &m) {
    const int n = m.size;
    for (int k = 0; k < m.blocks; ++k) {
        double *d = m.get(k, k).get();
#pragma omp task firstprivate(d, n) depend(inout : d[0])
        factor(d, n);
        for (int j = k + 1; j < m.blocks; ++j)
            if (double *c = m.get(k, j).get()) {
#pragma omp task firstprivate(d, c, n) depend(in : d[0]) depend(inout : c[0])
                forward(d, c, n);
            }
        for (int i = k + 1; i < m.blocks; ++i)
            if (double *r = m.get(i, k).get()) {
#pragma omp task firstprivate(d, r, n) depend(in : d[0]) depend(inout : r[0])
                divide(d, r, n);
            }
        for (int i = k + 1; i < m.blocks; ++i)
            if (double *r = m.get(i, k).get())
                for (int j = k + 1; j < m.blocks; ++j)
                    if (double *c = m.get(k, j).get()) {
                        double *inner = m.make(i, j);
#pragma omp task firstprivate(r, c, inner, n) depend(in : r[0], c[0]) depend(inout : inner[0])
                        subtract_product(r, c, inner, n);
                    }
    }
#pragma omp taskwait
}

struct problem {
    static constexpr const char *name = "sparselu";

    int blocks, size, depend;
    matrix m{};
    std::vector<double> wanted{}; // of a vector, before it is overwritten

    static problem read(bench::arguments &options) {
        return {options.whole("blocks", 64, 1, 400), options.whole("size", 8, 1, 400),
                options.whole("depend", 0, 0, 1)};
    }
    problem smaller() const { return {blocks > 8 ? blocks / 4 : blocks, size, depend}; }

    static double x(int i) { return static_cast<double>(i % 7) - 3; }
    void prepare() {
        m = {blocks, size, std::vector<block>(static_cast<std::size_t>(blocks * blocks))};
        unsigned seed = 17;
        for (int i = 0; i < blocks; ++i)
            for (int j = 0; j < blocks; ++j) {
                seed = seed * 1664525u + 1013904223u;
                if (i != j && i != j + 1 && j != i + 1 && seed >> 30 != 0) continue; // a quarter of the blocks
                double *b = m.make(i, j);
                for (int k = 0; k < size * size; ++k)
                    b[k] = static_cast<double>((seed >> 8) % 100 + static_cast<unsigned>(k) % 17) / 100;
                if (i == j)
                    for (int k = 0; k < size; ++k) b[k * size + k] += 2 * blocks * size;
            }
        wanted.assign(static_cast<std::size_t>(blocks * size), 0);
        each([this](int row, int column, double value) { wanted[static_cast<std::size_t>(row)] += value * x(column); });
    }
    void solve() { depend ? solve_by_dependences(m) : solve_by_phases(m); }
    // l (u x) is what the matrix times x was.
    void check() {
        std::vector<double> u(wanted.size(), 0), l;
        each([&](int row, int column, double value) {
            if (column >= row) u[static_cast<std::size_t>(row)] += value * x(column);
        });
        l = u;
        each([&](int row, int column, double value) {
            if (column < row) l[static_cast<std::size_t>(row)] += value * u[static_cast<std::size_t>(column)];
        });
        for (std::size_t i = 0; i < l.size(); ++i)
            bench::demand(std::abs(l[i] - wanted[i]) < 1e-6 * (1 + std::abs(wanted[i])), "wrong factors");
    }

private:
    template <class F> void each(F f) {
        for (int i = 0; i < blocks; ++i)
            for (int j = 0; j < blocks; ++j)
                if (const double *b = m.get(i, j).get())
                    for (int k = 0; k < size * size; ++k) f(i * size + k / size, j * size + k % size, b[k]);
    }
};

} // namespace

int main(int argc, char **argv) { return bench::omptasks_main<problem>(argc, argv); }
