// Thesis of Iwasaki, section 5.2.2: the kernels of figures 5.5 and 5.9 with FFTW and its OpenMP library. Either one
// three-dimensional plan of several threads, or an outer loop over `count` two-dimensional transforms, each by one plan
// of several threads. FFTW opens a region of that many threads in each step, and for some steps one in another.
//   plans --dimensions 2|3 [--n N] [--count C] [--outer O] [--threads T] [--plannings P]
//         [--samples S --sample-ms M --budget-s B]
// Plans of 1, 2, 4 and so on up to T threads are executed in turns, for what disturbs the machine should disturb all.
//
// What is measured should be the runtime and not the planner's luck, for it measures, too, and what it finds takes up
// to a third longer the next time. Plans are made as there, patiently, and those for the outer loop in a region; but
// several times, and the fastest of them is taken. The first run keeps what FFTW knows of that ("wisdom") beside the
// program, and all later ones, whatever runtime answers them, execute the same plan. As there no third level is active.
// With `--plannings 0` FFTW estimates instead and nothing is kept: at once, but no plan to measure by.
#include <fftw3.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <memory>
#include <string>

#include "../support/demand.hpp"
#include "../support/measure.hpp"
#include "../support/record.hpp"
#include "../support/sampling.hpp"

namespace {

struct free_by_fftw {
    void operator()(void *memory) const { fftw_free(memory); }
};
using buffer = std::unique_ptr<fftw_complex[], free_by_fftw>;

struct request {
    int dimensions, n, count, outer, plannings;

    std::size_t points() const { return static_cast<std::size_t>(std::llround(std::pow(n, dimensions))); }
};

constexpr double longest_planning_s = 60; // a runtime with slow nested regions would plan for a quarter of an hour

// The same for every compiler's program.
std::string wisdom_file(const std::string &program, const request &asked, int threads) {
    return program.substr(0, program.rfind('/') + 1) + "wisdom-patient-" + std::to_string(asked.dimensions) + "-" +
           std::to_string(asked.n) + "-" + std::to_string(threads);
}

fftw_plan make_plan(const request &asked, int threads, fftw_complex *in, fftw_complex *out) {
    const std::array<int, 3> sizes{asked.n, asked.n, asked.n};
    fftw_plan_with_nthreads(threads);
    fftw_set_timelimit(longest_planning_s);
    fftw_plan plan = nullptr;
#pragma omp parallel num_threads(asked.dimensions == 2 ? asked.outer : 1)
#pragma omp single
    {
        omp_set_num_threads(threads);
        plan = fftw_plan_dft(asked.dimensions, sizes.data(), in, out, FFTW_BACKWARD,
                             asked.plannings > 0 ? FFTW_PATIENT : FFTW_ESTIMATE);
    }
    bench::demand(plan != nullptr, "FFTW makes no plan");
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

struct plan_of {
    int threads;
    fftw_plan plan = nullptr;
};

class transforms {
public:
    transforms(const char *program, const request &of, int most) : asked(of) {
        const int count = asked.dimensions == 3 ? 1 : asked.count;
        for (int i = 0; i < count; ++i)
            for (std::vector<buffer> *side : {&in, &out})
                side->emplace_back(static_cast<fftw_complex *>(fftw_malloc(sizeof(fftw_complex) * asked.points())));
        for (int threads = 1; threads < 2 * most; threads *= 2) {
            plans.push_back({std::min(threads, most)});
            find_plan(plans.back(), wisdom_file(program, asked, plans.back().threads));
        }
        fill_all();
    }
    ~transforms() {
        for (const plan_of &one : plans) fftw_destroy_plan(one.plan);
    }
    transforms(const transforms &) = delete;
    transforms &operator=(const transforms &) = delete;

    void run(const plan_of &by) {
        if (asked.dimensions == 3) {
            omp_set_num_threads(by.threads);
            fftw_execute_dft(by.plan, in[0].get(), out[0].get());
            return;
        }
#pragma omp parallel num_threads(asked.outer)
        {
            omp_set_num_threads(by.threads); // every thread that calls FFTW asks for teams as wide as the plan
#pragma omp for
            for (int i = 0; i < asked.count; ++i) {
                const auto at = static_cast<std::size_t>(i);
                fftw_execute_dft(by.plan, in[at].get(), out[at].get());
            }
        }
    }
    void fill_all() {
        for (std::size_t i = 0; i < in.size(); ++i) fill(in[i].get(), asked, wave(i));
        for (const buffer &one : out) fill(one.get(), asked, 0);
    }
    void check() const {
        for (std::size_t i = 0; i < in.size(); ++i) verify(out[i].get(), asked, wave(i));
    }

    std::vector<plan_of> plans;

private:
    std::size_t wave(std::size_t i) const { return (i * 911 + 5) % asked.points(); }
    void plan_anew(plan_of &one) {
        fftw_destroy_plan(one.plan);
        one.plan = make_plan(asked, one.threads, in[0].get(), out[0].get());
    }
    // The one of `file`, or the fastest of some, which is kept there.
    void find_plan(plan_of &one, const std::string &file) {
        fftw_forget_wisdom(); // of other numbers of threads
        if (asked.plannings == 0 || fftw_import_wisdom_from_filename(file.c_str()) != 0) return plan_anew(one);
        double best = 0;
        std::unique_ptr<char, decltype(&std::free)> learned(nullptr, std::free);
        for (int i = 0; i < asked.plannings; ++i) {
            fftw_forget_wisdom();
            plan_anew(one);
            fill_all();
            const double taken = bench::measure([&] { run(one); }, {0.02, 0.3, 15, 0}).median;
            if (i != 0 && taken >= best) continue;
            best = taken;
            learned.reset(fftw_export_wisdom_to_string());
        }
        fftw_forget_wisdom();
        bench::demand(learned && fftw_import_wisdom_from_string(learned.get()) != 0, "FFTW forgets what it learned");
        plan_anew(one);
        const std::string fresh = file + "." + std::to_string(getpid());
        if (fftw_export_wisdom_to_filename(fresh.c_str()) == 0 || std::rename(fresh.c_str(), file.c_str()) != 0)
            std::remove(fresh.c_str()); // a folder that is not ours: plan anew each time
    }

    const request asked;
    std::vector<buffer> in, out;
};

// In a region, where FFTW opens one: as wide as was asked for, or what is measured is not what the row says.
void demand_width(const request &asked, int threads) {
    int width = 0;
#pragma omp parallel num_threads(asked.dimensions == 3 ? 1 : asked.outer)
    {
        omp_set_num_threads(threads);
#pragma omp single
        {
#pragma omp parallel
#pragma omp single
            width = omp_get_num_threads();
        }
    }
    bench::demand(width == threads, "a nested region was serialised");
}

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    request asked{};
    asked.dimensions = options.whole("dimensions", 3, 2, 3);
    asked.n = options.whole("n", asked.dimensions == 3 ? 64 : 256, 2, 4096);
    asked.count = options.whole("count", 16, 1, 4096);
    asked.outer = options.whole("outer", 2, 1, 1024);
    asked.plannings = options.whole("plannings", 5, 0, 1000);
    const int most = options.whole("threads", 1, 1, 1024);
    const bench::limits bounds = bench::read_limits(options);
    options.finish();

    bench::demand(fftw_init_threads() != 0, "FFTW has no threads");
    omp_set_max_active_levels(2);
    demand_width(asked, most);
    transforms work(argv[0], asked, most);
    std::vector<long> count;
    for (const plan_of &one : work.plans) {
        const auto run = [&] { work.run(one); };
        work.fill_all(); // or it would be verified by what the plan before left
        run();
        work.check();
        count.push_back(bench::calibrate_count(run, bounds));
    }
    std::vector<std::vector<double>> taken(count.size());
    const double begin = bench::wall_seconds();
    for (int round = 0; round < bounds.samples && (round < 3 || bench::wall_seconds() - begin < bounds.budget_seconds);
         ++round)
        for (std::size_t i = 0; i < count.size(); ++i) {
            const auto run = [&] { work.run(work.plans[i]); };
            taken[i].push_back(1e6 * bench::timed_regions(run, count[i]) / static_cast<double>(count[i]));
        }
    work.check();
    bench::record record("fftw", "openmp");
    record.number("samples", static_cast<double>(taken[0].size()));
    for (std::size_t i = 0; i < count.size(); ++i)
        record.number(("us_" + std::to_string(work.plans[i].threads)).c_str(), bench::median_of(std::move(taken[i])));
    record.print();
    return 0;
}
