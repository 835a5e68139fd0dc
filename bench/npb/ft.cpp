// FT: a partial differential equation solved by three-dimensional Fourier transforms; of each time step the sum of 1024
// values verifies.
#include <array>
#include <cmath>
#include <utility>

#include "npb.hpp"

namespace {

struct complex_number {
    double re, im;
};

constexpr int lanes = 8;                        // lines that are transformed together
using line = std::array<complex_number, lanes>; // one point of each

// Unscaled transforms of `n` points, n a power of two, by Stockham's algorithm: from `from`, which serves as space too,
// to what it returns. roots[k] is exp(2 pi i k / n).
line *transform(line *from, line *to, int n, const std::vector<complex_number> &roots, int sign) {
    for (int length = n, stride = 1; length > 1; length /= 2, stride *= 2) {
        const int half = length / 2;
        for (int p = 0; p < half; ++p) {
            const double re = roots[static_cast<std::size_t>(p * stride)].re;
            const double im = sign * roots[static_cast<std::size_t>(p * stride)].im;
            for (int s = 0; s < stride; ++s) {
                const line &a = from[s + stride * p], &b = from[s + stride * (p + half)];
                line &sum = to[s + stride * 2 * p], &turned = to[s + stride * (2 * p + 1)];
                for (int i = 0; i < lanes; ++i) {
                    const complex_number u = a[static_cast<std::size_t>(i)], v = b[static_cast<std::size_t>(i)];
                    const double d_re = u.re - v.re, d_im = u.im - v.im;
                    sum[static_cast<std::size_t>(i)] = {u.re + v.re, u.im + v.im};
                    turned[static_cast<std::size_t>(i)] = {d_re * re - d_im * im, d_re * im + d_im * re};
                }
            }
        }
        std::swap(from, to);
    }
    return from;
}

struct ft {
    static constexpr const char *name = "ft";
    static constexpr int steps = 6;
    static constexpr double alpha = 1e-6, pi = 3.14159265358979323846;
    using sums = std::array<complex_number, steps>;

    int nx, ny, nz;
    sums wanted, found{};
    std::vector<complex_number> spectrum, values;
    std::vector<double> factors;
    std::array<std::vector<complex_number>, 3> roots;

    explicit ft(char which) {
        if (which == 'S')
            set(64, 64, 64,
                {{{554.6087004964, 484.5363331978},
                  {554.6385409189, 486.5304269511},
                  {554.6148406171, 488.3910722336},
                  {554.5423607415, 490.1273169046},
                  {554.4255039624, 491.7475857993},
                  {554.2683411902, 493.2597244941}}});
        if (which == 'W')
            set(128, 128, 32,
                {{{567.3612178944, 529.3246849175},
                  {563.1436885271, 528.2149986629},
                  {559.4024089970, 527.0996558037},
                  {556.0698047020, 526.0027904925},
                  {553.0898991250, 524.9400845633},
                  {550.4159734538, 523.9212247086}}});
        if (which == 'A')
            set(256, 256, 128,
                {{{504.6735008193, 511.4047905510},
                  {505.9412319734, 509.8809666433},
                  {506.9376896287, 509.8144042213},
                  {507.7892868474, 510.1336130759},
                  {508.5233095391, 510.4914655194},
                  {509.1487099959, 510.7917842803}}});
    }

    void set(int x, int y, int z, const sums &values_of_class) {
        nx = x;
        ny = y;
        nz = z;
        wanted = values_of_class;
        spectrum.resize(size());
        values.resize(size());
        factors.resize(size());
    }

    std::size_t size() const {
        return static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny) * static_cast<std::size_t>(nz);
    }
    std::size_t at(int x, int y, int z) const {
        return (static_cast<std::size_t>(z) * static_cast<std::size_t>(ny) + static_cast<std::size_t>(y)) *
                   static_cast<std::size_t>(nx) +
               static_cast<std::size_t>(x);
    }

    void prepare() { found = {}; }

    // Random values, the factors of a time step, the roots of unity.
    void start() {
        const int sizes[] = {nx, ny, nz};
        for (std::size_t d = 0; d < 3; ++d) {
            roots[d].clear();
            for (int k = 0; k < sizes[d]; ++k)
                roots[d].push_back({std::cos(2 * pi * k / sizes[d]), std::sin(2 * pi * k / sizes[d])});
        }
#pragma omp parallel for
        for (int z = 0; z < nz; ++z) {
            npb::random_stream random(314159265);
            random.skip(2 * at(0, 0, z));
            for (std::size_t i = at(0, 0, z); i < at(0, 0, z + 1); ++i) {
                spectrum[i].re = random.next();
                spectrum[i].im = random.next();
            }
        }
        const auto square = [](int k, int n) {
            const int centred = (k + n / 2) % n - n / 2;
            return centred * centred;
        };
#pragma omp parallel for collapse(2)
        for (int z = 0; z < nz; ++z)
            for (int y = 0; y < ny; ++y)
                for (int x = 0; x < nx; ++x)
                    factors[at(x, y, z)] =
                        std::exp(-4 * alpha * pi * pi * (square(x, nx) + square(y, ny) + square(z, nz)));
    }

    // Lines of n points along one dimension, `lanes` of them at a time: point k of lane i is at base + k * step +
    // i * between.
    void lines_at(std::vector<complex_number> &data, std::size_t base, std::size_t step, std::size_t between, int n,
                  const std::vector<complex_number> &root, int sign, line *space) {
        for (int k = 0; k < n; ++k)
            for (std::size_t i = 0; i < lanes; ++i)
                space[k][i] = data[base + static_cast<std::size_t>(k) * step + i * between];
        const line *done = transform(space, space + n, n, root, sign);
        for (int k = 0; k < n; ++k)
            for (std::size_t i = 0; i < lanes; ++i)
                data[base + static_cast<std::size_t>(k) * step + i * between] = done[k][i];
    }

    void along_x(std::vector<complex_number> &data, int sign) {
#pragma omp parallel
        {
            std::vector<line> space(2 * static_cast<std::size_t>(nx));
#pragma omp for collapse(2)
            for (int z = 0; z < nz; ++z)
                for (int y = 0; y < ny; y += lanes)
                    lines_at(data, at(0, y, z), 1, at(0, 1, 0), nx, roots[0], sign, space.data());
        }
    }
    void along_y(std::vector<complex_number> &data, int sign) {
#pragma omp parallel
        {
            std::vector<line> space(2 * static_cast<std::size_t>(ny));
#pragma omp for collapse(2)
            for (int z = 0; z < nz; ++z)
                for (int x = 0; x < nx; x += lanes)
                    lines_at(data, at(x, 0, z), at(0, 1, 0), 1, ny, roots[1], sign, space.data());
        }
    }
    void along_z(std::vector<complex_number> &data, int sign) {
#pragma omp parallel
        {
            std::vector<line> space(2 * static_cast<std::size_t>(nz));
#pragma omp for collapse(2)
            for (int y = 0; y < ny; ++y)
                for (int x = 0; x < nx; x += lanes)
                    lines_at(data, at(x, y, 0), at(0, 0, 1), 1, nz, roots[2], sign, space.data());
        }
    }

    // A step further in time: in the spectrum, and a copy to be transformed back.
    void evolve() {
        const auto count = static_cast<long>(size());
        complex_number *const here = spectrum.data(), *const there = values.data();
        const double *const factor = factors.data();
#pragma omp parallel for
        for (long i = 0; i < count; ++i) {
            here[i] = {here[i].re * factor[i], here[i].im * factor[i]};
            there[i] = here[i];
        }
    }

    complex_number checksum() const {
        double re = 0, im = 0;
#pragma omp parallel for reduction(+ : re, im)
        for (int j = 1; j <= 1024; ++j) {
            const complex_number &one = values[at(j % nx, 3 * j % ny, 5 * j % nz)];
            re += one.re;
            im += one.im;
        }
        return {re / static_cast<double>(size()), im / static_cast<double>(size())};
    }

    void run() {
        start();
        along_x(spectrum, 1);
        along_y(spectrum, 1);
        along_z(spectrum, 1);
        for (complex_number &one : found) {
            evolve();
            along_z(values, -1);
            along_y(values, -1);
            along_x(values, -1);
            one = checksum();
        }
    }

    bool verified() const {
        for (std::size_t i = 0; i < found.size(); ++i)
            if (!npb::near(found[i].re, wanted[i].re, 1e-12) || !npb::near(found[i].im, wanted[i].im, 1e-12))
                return false;
        return true;
    }
};

} // namespace

int main(int argc, char **argv) { return npb::main_of<ft>(argc, argv); }
