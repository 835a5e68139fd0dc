// IS, integer sort: ten times the ranks of keys, two of which are changed each time; five ranks verify each time, the
// whole order at the end.
#include <algorithm>
#include <array>

#include "npb.hpp"

namespace {

struct is {
    static constexpr const char *name = "is";
    static constexpr int iterations = 10, tests = 5;

    struct constants {
        int log2_keys, log2_largest, log2_buckets;
        std::array<int, tests> index, rank;
        int first_rising, last_rising; // in iteration i, ranks of the first tests have grown by i - first_rising
        int falling;                   // and the others have shrunk by i - falling
    };

    constants of;
    int keys, largest, buckets, shift;
    std::vector<int> key, original, sorted, count; // count[k]: how many keys are at most k
    std::vector<int> sizes;                        // of buckets, a row a thread
    bool right = true;

    explicit is(char which)
        : of(which == 'S'
                 ? constants{16, 11, 9, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, 0, 2, 0}
             : which == 'W' ? constants{20,
                                        16,
                                        10,
                                        {357773, 934767, 875723, 898999, 404505},
                                        {1249, 11698, 1039987, 1043896, 1048018},
                                        2,
                                        1,
                                        0}
                            : constants{23,
                                        19,
                                        10,
                                        {2112377, 662041, 5336171, 3642833, 4250760},
                                        {104, 17523, 123928, 8288932, 8388264},
                                        1,
                                        2,
                                        1}),
          keys(1 << of.log2_keys),
          largest(1 << of.log2_largest),
          buckets(1 << of.log2_buckets),
          shift(of.log2_largest - of.log2_buckets) {
        npb::random_stream random(314159265);
        for (int i = 0; i < keys; ++i) {
            double sum = 0;
            for (int k = 0; k < 4; ++k) sum += random.next();
            original.push_back(static_cast<int>(largest / 4 * sum));
        }
        sorted.resize(original.size());
        count.resize(static_cast<std::size_t>(largest));
        sizes.resize(static_cast<std::size_t>(buckets) * static_cast<std::size_t>(omp_get_max_threads()));
    }

    void prepare() {
        key = original;
        right = true;
        rank(1);
    }

    // Where each thread's keys of each bucket begin: behind those of smaller buckets, and of the same one those of the
    // threads before. Returns where the bucket itself begins.
    template <class Each> void places(int threads, Each each) const {
        int next = 0;
        for (int b = 0; b < buckets; ++b)
            for (int t = 0; t < threads; ++t) {
                each(b, t, next);
                next += sizes[static_cast<std::size_t>(t * buckets + b)];
            }
    }

    void rank(int iteration) {
        key[static_cast<std::size_t>(iteration)] = iteration;
        key[static_cast<std::size_t>(iteration + iterations)] = largest - iteration;
        std::array<int, tests> tested;
        for (std::size_t i = 0; i < tests; ++i) tested[i] = key[static_cast<std::size_t>(of.index[i])];
        const int *const from = key.data();
        int *const to = sorted.data(), *const counts = count.data();
#pragma omp parallel
        {
            const int self = omp_get_thread_num(), threads = omp_get_num_threads();
            int *const own = sizes.data() + self * buckets;
            std::fill(own, own + buckets, 0);
#pragma omp for schedule(static)
            for (int i = 0; i < keys; ++i) ++own[from[i] >> shift];
            std::vector<int> next(static_cast<std::size_t>(buckets)),
                begin(static_cast<std::size_t>(buckets) + 1, keys);
            places(threads, [&](int b, int t, int place) {
                if (t == 0) begin[static_cast<std::size_t>(b)] = place;
                if (t == self) next[static_cast<std::size_t>(b)] = place;
            });
#pragma omp for schedule(static)
            for (int i = 0; i < keys; ++i) to[next[static_cast<std::size_t>(from[i] >> shift)]++] = from[i];
#pragma omp for schedule(dynamic)
            for (int b = 0; b < buckets; ++b) {
                int *const first = counts + (b << shift), *const last = counts + ((b + 1) << shift);
                std::fill(first, last, 0);
                const int end = begin[static_cast<std::size_t>(b) + 1];
                for (int i = begin[static_cast<std::size_t>(b)]; i < end; ++i) ++counts[to[i]];
                int sum = begin[static_cast<std::size_t>(b)];
                for (int *k = first; k < last; ++k) *k = sum += *k;
            }
        }
        for (std::size_t i = 0; i < tests; ++i) {
            const int wanted = of.rank[i] + (static_cast<int>(i) <= of.last_rising ? iteration - of.first_rising
                                                                                   : of.falling - iteration);
            right &= tested[i] > 0 && count[static_cast<std::size_t>(tested[i]) - 1] == wanted;
        }
    }

    void run() {
        for (int i = 1; i <= iterations; ++i) rank(i);
    }

    // The keys in the order of their ranks are in order, and none is missing.
    bool verified() const {
        std::vector<int> next = count, ordered(key.size());
        for (const int k : key) {
            const int place = --next[static_cast<std::size_t>(k)];
            if (place < 0) return false;
            ordered[static_cast<std::size_t>(place)] = k;
        }
        std::vector<int> truth = key;
        std::sort(truth.begin(), truth.end());
        return right && ordered == truth;
    }
};

} // namespace

int main(int argc, char **argv) { return npb::main_of<is>(argc, argv); }
