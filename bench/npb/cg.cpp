// CG, conjugate gradient: the largest eigenvalue of a random sparse matrix by inverse iteration, whose systems 25 steps
// of conjugate gradients solve.
#include <algorithm>
#include <cmath>
#include <utility>

#include "npb.hpp"

namespace {

struct sparse_vector {
    std::vector<int> index;
    std::vector<double> value;
};

struct matrix { // compressed rows
    std::vector<int> row, column;
    std::vector<double> value;
};

// `nonzeros` random numbers at random places, and one half at `place`.
sparse_vector random_vector(npb::random_stream &random, int size, int nonzeros, int place) {
    int power = 1; // of two, at least the size
    while (power < size) power *= 2;
    sparse_vector made;
    while (static_cast<int>(made.index.size()) < nonzeros) {
        const double value = random.next();
        const int at = static_cast<int>(power * random.next());
        if (at >= size || std::count(made.index.begin(), made.index.end(), at)) continue;
        made.index.push_back(at);
        made.value.push_back(value);
    }
    const auto found = std::find(made.index.begin(), made.index.end(), place);
    if (found != made.index.end()) {
        made.value[static_cast<std::size_t>(found - made.index.begin())] = 0.5;
    } else {
        made.index.push_back(place);
        made.value.push_back(0.5);
    }
    return made;
}

// The sum of weighted outer products of such vectors, whose weights fall from 1 to `condition`, plus the diagonal
// condition - shift.
matrix make_matrix(int size, int nonzeros, double shift) {
    constexpr double condition = 0.1;
    npb::random_stream random(314159265);
    random.next();
    std::vector<std::vector<std::pair<int, double>>> rows(static_cast<std::size_t>(size));
    double weight = 1;
    const double ratio = std::pow(condition, 1.0 / size);
    for (int i = 0; i < size; ++i, weight *= ratio) {
        const sparse_vector v = random_vector(random, size, nonzeros, i);
        for (std::size_t a = 0; a < v.index.size(); ++a)
            for (std::size_t b = 0; b < v.index.size(); ++b) {
                const double diagonal = v.index[a] == i && v.index[b] == i ? condition - shift : 0;
                rows[static_cast<std::size_t>(v.index[a])].emplace_back(v.index[b],
                                                                        v.value[b] * (weight * v.value[a]) + diagonal);
            }
    }
    matrix made;
    made.row.push_back(0);
    for (auto &row : rows) {
        std::stable_sort(row.begin(), row.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
        for (std::size_t k = 0; k < row.size(); ++k) {
            if (k != 0 && row[k].first == row[k - 1].first) {
                made.value.back() += row[k].second;
            } else {
                made.column.push_back(row[k].first);
                made.value.push_back(row[k].second);
            }
        }
        made.row.push_back(static_cast<int>(made.column.size()));
    }
    return made;
}

struct cg {
    static constexpr const char *name = "cg";
    static constexpr int iterations = 15, steps = 25;

    int size;
    double shift, wanted, zeta = 0;
    matrix a;
    std::vector<double> x, z, p, q, r;

    explicit cg(char which) {
        const struct {
            int size, nonzeros;
            double shift, zeta;
        } one = which == 'S'   ? decltype(one){1400, 7, 10, 8.5971775078648}
                : which == 'W' ? decltype(one){7000, 8, 12, 10.362595087124}
                               : decltype(one){14000, 11, 20, 17.130235054029};
        size = one.size;
        shift = one.shift;
        wanted = one.zeta;
        a = make_matrix(size, one.nonzeros, shift);
        for (std::vector<double> *v : {&x, &z, &p, &q, &r}) v->resize(static_cast<std::size_t>(size));
    }

    void prepare() {
        std::fill(x.begin(), x.end(), 1.0);
        iterate();
        std::fill(x.begin(), x.end(), 1.0);
    }

    // Solves a z = x, as far as the steps come.
    void solve() {
        const int n = size;
        const int *const row = a.row.data(), *const column = a.column.data();
        const double *const value = a.value.data();
        double *const to = z.data(), *const direction = p.data(), *const image = q.data(), *const rest = r.data();
        const double *const right = x.data();
        double rho = 0, before = 0, product = 0;
#pragma omp parallel
        {
#pragma omp for reduction(+ : rho)
            for (int j = 0; j < n; ++j) {
                image[j] = to[j] = 0;
                rest[j] = direction[j] = right[j];
                rho += right[j] * right[j];
            }
            for (int step = 0; step < steps; ++step) {
#pragma omp single
                {
                    before = rho;
                    rho = product = 0;
                }
#pragma omp for reduction(+ : product)
                for (int j = 0; j < n; ++j) {
                    double sum = 0;
                    for (int k = row[j]; k < row[j + 1]; ++k) sum += value[k] * direction[column[k]];
                    image[j] = sum;
                    product += direction[j] * sum;
                }
                const double alpha = before / product;
#pragma omp for reduction(+ : rho)
                for (int j = 0; j < n; ++j) {
                    to[j] += alpha * direction[j];
                    rest[j] -= alpha * image[j];
                    rho += rest[j] * rest[j];
                }
                const double beta = rho / before;
#pragma omp for
                for (int j = 0; j < n; ++j) direction[j] = rest[j] + beta * direction[j];
            }
        }
    }

    void iterate() {
        solve();
        const int n = size;
        double *const from = x.data();
        const double *const found = z.data();
        double along = 0, square = 0;
#pragma omp parallel for reduction(+ : along, square)
        for (int j = 0; j < n; ++j) {
            along += from[j] * found[j];
            square += found[j] * found[j];
        }
        zeta = shift + 1 / along;
        const double scale = 1 / std::sqrt(square);
#pragma omp parallel for
        for (int j = 0; j < n; ++j) from[j] = scale * found[j];
    }

    void run() {
        for (int i = 0; i < iterations; ++i) iterate();
    }

    bool verified() const { return npb::near(zeta, wanted, 1e-10); }
};

} // namespace

int main(int argc, char **argv) { return npb::main_of<cg>(argc, argv); }
