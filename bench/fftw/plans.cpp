// Thesis of Iwasaki, section 5.2.2: the kernels of figures 5.5 and 5.9 with FFTW and its OpenMP library. Either one
// three-dimensional plan of `threads` threads, or an outer loop over `count` two-dimensional transforms, each by one
// plan of `threads` threads. FFTW opens a region of that many threads in each step, and for some steps one in another.
//   plans --dimensions 2|3 [--n N] [--count C] [--outer O] [--threads T] [--samples S --sample-ms M --budget-s B]
//
// What is measured should be the runtime and not the planner's luck: the first run plans by measuring and keeps what
// FFTW learned ("wisdom") beside the program; all later ones, whatever runtime answers them, execute the same plan.
#include <fftw3.h>
#include <omp.h>

#include <array>
#include <cmath>
#include <complex>
#include <memory>
#include <string>

#include "../support/demand.hpp"
#include "../support/measure.hpp"
#include "../support/record.hpp"

namespace {

struct free_by_fftw {
    void operator()(void *memory) const { fftw_free(memory); }
};
using buffer = std::unique_ptr<fftw_complex[], free_by_fftw>;

struct request {
    int dimensions, n, count, outer, threads;

    std::size_t points() const { return static_cast<std::size_t>(std::llround(std::pow(n, dimensions))); }
};

// Every thread that calls FFTW asks for teams as wide as the plan.
void set_width(const request &asked) { omp_set_num_threads(asked.threads); }

// The same for every compiler's program.
std::string wisdom_file(const std::string &program, const request &asked) {
    return program.substr(0, program.rfind('/') + 1) + "wisdom-" + std::to_string(asked.dimensions) + "-" +
           std::to_string(asked.n) + "-" + std::to_string(asked.threads);
}

fftw_plan make_plan(const char *program, const request &asked, fftw_complex *in, fftw_complex *out) {
    const std::string file = wisdom_file(program, asked), fresh = file + "." + std::to_string(getpid());
    const std::array<int, 3> sizes{asked.n, asked.n, asked.n};
    fftw_plan_with_nthreads(asked.threads);
    const bool known = fftw_import_wisdom_from_filename(file.c_str()) != 0;
    set_width(asked);
    const fftw_plan plan = fftw_plan_dft(asked.dimensions, sizes.data(), in, out, FFTW_BACKWARD, FFTW_MEASURE);
    bench::demand(plan != nullptr, "FFTW makes no plan");
    if (!known && (fftw_export_wisdom_to_filename(fresh.c_str()) == 0 || std::rename(fresh.c_str(), file.c_str()) != 0))
        std::remove(fresh.c_str()); // a folder that is not ours: plan anew each time
    return plan;
}

// One wave of the spectrum: its transform has magnitude 1 everywhere and turns by a known angle.
void fill(fftw_complex *in, const request &asked, std::size_t wave) {
    for (std::size_t i = 0; i < asked.points(); ++i) in[i][0] = in[i][1] = 0;
    in[wave][0] = 1;
}

void verify(const fftw_complex *out, const request &asked, std::size_t wave) {
    const auto n = static_cast<std::size_t>(asked.n);
    for (std::size_t i = 0; i < asked.points(); i += 7) {
        double turns = 0;
        for (std::size_t place = i, of = wave, d = 0; d < static_cast<std::size_t>(asked.dimensions);
             ++d, place /= n, of /= n)
            turns += static_cast<double>(place % n * (of % n)) / asked.n;
        const std::complex<double> wanted = std::polar(1.0, 2 * std::acos(-1.0) * turns);
        bench::demand(std::abs(wanted - std::complex<double>(out[i][0], out[i][1])) < 1e-9, "a transform is wrong");
    }
}

struct transforms {
    request asked;
    std::vector<buffer> in, out;
    fftw_plan plan = nullptr;

    transforms(const char *program, const request &of) : asked(of) {
        const int count = asked.dimensions == 3 ? 1 : asked.count;
        for (int i = 0; i < count; ++i)
            for (std::vector<buffer> *side : {&in, &out})
                side->emplace_back(static_cast<fftw_complex *>(fftw_malloc(sizeof(fftw_complex) * asked.points())));
        plan = make_plan(program, asked, in[0].get(), out[0].get());
        for (std::size_t i = 0; i < in.size(); ++i) fill(in[i].get(), asked, wave(i));
        for (const buffer &one : out) fill(one.get(), asked, 0);
    }
    ~transforms() { fftw_destroy_plan(plan); }
    transforms(const transforms &) = delete;
    transforms &operator=(const transforms &) = delete;

    std::size_t wave(std::size_t i) const { return (i * 911 + 5) % asked.points(); }

    void run() {
        if (asked.dimensions == 3) {
            fftw_execute_dft(plan, in[0].get(), out[0].get());
            return;
        }
#pragma omp parallel num_threads(asked.outer)
        {
            set_width(asked);
#pragma omp for
            for (int i = 0; i < asked.count; ++i) {
                const auto at = static_cast<std::size_t>(i);
                fftw_execute_dft(plan, in[at].get(), out[at].get());
            }
        }
    }
    void check() const {
        for (std::size_t i = 0; i < in.size(); ++i) verify(out[i].get(), asked, wave(i));
    }
};

// In a region, where FFTW opens one: as wide as was asked for, or what is measured is not what the row says.
void demand_width(const request &asked) {
    int width = 0;
#pragma omp parallel num_threads(asked.dimensions == 3 ? 1 : asked.outer)
    {
        set_width(asked);
#pragma omp single
        {
#pragma omp parallel
#pragma omp single
            width = omp_get_num_threads();
        }
    }
    bench::demand(width == asked.threads, "a nested region was serialised");
}

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    request asked{};
    asked.dimensions = options.whole("dimensions", 3, 2, 3);
    asked.n = options.whole("n", asked.dimensions == 3 ? 64 : 256, 2, 4096);
    asked.count = options.whole("count", 16, 1, 4096);
    asked.outer = options.whole("outer", 2, 1, 1024);
    asked.threads = options.whole("threads", 1, 1, 1024);
    const bench::limits bounds = bench::read_limits(options);
    options.finish();

    bench::demand(fftw_init_threads() != 0, "FFTW has no threads");
    demand_width(asked);
    transforms work(argv[0], asked);
    work.run();
    work.check();
    const bench::timing result = bench::measure([&] { work.run(); }, bounds);
    work.check();
    bench::record record("fftw", "openmp");
    record.number("threads", asked.threads).number("us", result.median).number("us_low", result.lowest);
    record.number("samples", result.samples);
    record.print();
    return 0;
}
