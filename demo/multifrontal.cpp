// Sparse least squares on a three-dimensional mesh by multifrontal QR: oneTBB tasks over OpenBLAS.
//
// The shape of chapter 7 of Pan's thesis ("Cooperative Hierarchical Resource Management for Efficient Composition of
// Parallel Software", MIT 2010), where SuiteSparseQR runs the fronts of an elimination tree as TBB tasks and each front
// is factorised by a parallel LAPACK. Near the leaves there are many small fronts, near the root few large ones:
// neither library alone can fill the machine, and neither knows of the other. This program is ordinary user code: it
// does not know Comity.
//
// Prints `TIME seconds` for the factorisation and `RESULT name value` for what must not depend on the number of
// threads.

#include <getopt.h>
#include <tbb/global_control.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

extern "C" void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
                        const int *lwork, int *info);

namespace {

constexpr int leaf_nodes = 60; // boxes of at most so many unknowns are not split further

struct entry {
    int column;
    double value;
};

// One equation: at most two unknowns and a right-hand side.
struct equation {
    std::array<entry, 2> entries;
    int count;
    double right;
};

// A node of the elimination tree: a dense block whose first columns are eliminated here, the rest further up.
struct front {
    std::vector<int> pivots;
    std::vector<int> columns; // pivots first, all in the order of elimination
    std::vector<int> equations;
    std::vector<std::unique_ptr<front>> children;
    std::vector<double> factor; // R with the transformed right-hand side as last column, by columns
    int rows = 0;               // of `factor`; its leading dimension is `assembled`
    int assembled = 0;
};

struct box {
    std::array<int, 3> low, high; // half open
    [[nodiscard]] int extent(int axis) const { return high[axis] - low[axis]; }
    [[nodiscard]] int volume() const { return extent(0) * extent(1) * extent(2); }
};

class mesh {
public:
    explicit mesh(int side) : side_(side) { make_equations(); }

    [[nodiscard]] int unknowns() const { return side_ * side_ * side_; }
    [[nodiscard]] const std::vector<equation> &equations() const { return equations_; }
    [[nodiscard]] box whole() const { return {{0, 0, 0}, {side_, side_, side_}}; }

    [[nodiscard]] std::vector<int> nodes(const box &part) const {
        std::vector<int> found;
        for (int x = part.low[0]; x < part.high[0]; x++)
            for (int y = part.low[1]; y < part.high[1]; y++)
                for (int z = part.low[2]; z < part.high[2]; z++) found.push_back(node(x, y, z));
        return found;
    }

private:
    [[nodiscard]] int node(int x, int y, int z) const { return (x * side_ + y) * side_ + z; }

    // The same numbers on every machine and in every run.
    double next() {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<double>(state_ >> 11) / 9007199254740992.0;
    }

    // A weak anchor for every node, and a weighted difference along every edge of the mesh.
    void make_equations() {
        for (int x = 0; x < side_; x++)
            for (int y = 0; y < side_; y++)
                for (int z = 0; z < side_; z++) {
                    const int here = node(x, y, z);
                    equations_.push_back({{{{here, 0.1}, {}}}, 1, next()});
                    if (x + 1 < side_) add_edge(here, node(x + 1, y, z));
                    if (y + 1 < side_) add_edge(here, node(x, y + 1, z));
                    if (z + 1 < side_) add_edge(here, node(x, y, z + 1));
                }
    }
    void add_edge(int from, int to) {
        equations_.push_back({{{{from, 1.0 + next()}, {to, -1.0 - next()}}}, 2, next()});
    }

    int side_;
    std::uint64_t state_ = 7;
    std::vector<equation> equations_;
};

// Geometric nested dissection: a plane through the middle of the longest axis separates two halves, which come first.
std::unique_ptr<front> dissect(const mesh &grid, const box &part) {
    auto made = std::make_unique<front>();
    if (part.volume() <= leaf_nodes) {
        made->pivots = grid.nodes(part);
        return made;
    }
    int axis = 0;
    for (int other : {1, 2})
        if (part.extent(other) > part.extent(axis)) axis = other;
    const int middle = part.low[axis] + part.extent(axis) / 2;
    box left = part, plane = part, right = part;
    left.high[axis] = plane.low[axis] = middle;
    plane.high[axis] = right.low[axis] = middle + 1;
    for (const box &half : {left, right})
        if (half.volume() > 0) made->children.push_back(dissect(grid, half));
    made->pivots = grid.nodes(plane);
    return made;
}

struct symbolic {
    std::vector<int> position; // of an unknown in the order of elimination
    std::vector<front *> home; // the front that eliminates it
};

void number(front &node, symbolic &plan, int &next) {
    for (auto &child : node.children) number(*child, plan, next);
    for (int unknown : node.pivots) {
        plan.position[unknown] = next++;
        plan.home[unknown] = &node;
    }
}

// An equation belongs to the front that eliminates the first of its unknowns.
void place_equations(const mesh &grid, const symbolic &plan) {
    for (std::size_t i = 0; i < grid.equations().size(); i++) {
        const equation &row = grid.equations()[i];
        int first = row.entries[0].column;
        if (row.count == 2 && plan.position[row.entries[1].column] < plan.position[first])
            first = row.entries[1].column;
        plan.home[first]->equations.push_back(static_cast<int>(i));
    }
}

// A front's columns: its pivots, and what its equations and its children leave for later.
void find_columns(front &node, const mesh &grid, const symbolic &plan) {
    node.columns = node.pivots;
    for (auto &child : node.children) {
        find_columns(*child, grid, plan);
        node.columns.insert(node.columns.end(), child->columns.begin() + child->pivots.size(), child->columns.end());
    }
    for (int i : node.equations)
        for (int e = 0; e < grid.equations()[i].count; e++)
            node.columns.push_back(grid.equations()[i].entries[e].column);
    auto earlier = [&](int a, int b) { return plan.position[a] < plan.position[b]; };
    std::sort(node.columns.begin(), node.columns.end(), earlier);
    node.columns.erase(std::unique(node.columns.begin(), node.columns.end()), node.columns.end());
}

// Copies equations and what the children left over into one dense block.
void assemble(front &node, const mesh &grid, const symbolic &plan) {
    const auto width = node.columns.size() + 1;
    auto column_of = [&](int unknown) {
        auto earlier = [&](int a, int b) { return plan.position[a] < plan.position[b]; };
        return std::lower_bound(node.columns.begin(), node.columns.end(), unknown, earlier) - node.columns.begin();
    };
    std::size_t rows = node.equations.size();
    for (auto &child : node.children) rows += child->rows - child->pivots.size();
    node.assembled = static_cast<int>(rows);
    node.factor.assign(rows * width, 0.0);
    std::size_t row = 0;
    for (int i : node.equations) {
        const equation &from = grid.equations()[i];
        for (int e = 0; e < from.count; e++)
            node.factor[column_of(from.entries[e].column) * rows + row] = from.entries[e].value;
        node.factor[(width - 1) * rows + row++] = from.right;
    }
    for (auto &child : node.children) {
        const std::size_t done = child->pivots.size(), left = child->rows - done,
                          child_width = child->columns.size() + 1;
        for (std::size_t c = done; c < child_width; c++) {
            const auto to =
                c + 1 == child_width ? static_cast<std::ptrdiff_t>(width - 1) : column_of(child->columns[c]);
            const std::size_t filled = std::min(left, c - done + 1); // below the diagonal is the reflectors' storage
            std::copy_n(&child->factor[c * child->assembled + done], filled, &node.factor[to * rows + row]);
        }
        row += left;
    }
}

void factorise(front &node, const mesh &grid, const symbolic &plan) {
    tbb::task_group children;
    for (auto &child : node.children) children.run([&] { factorise(*child, grid, plan); });
    children.wait();

    assemble(node, grid, plan);
    const int rows = node.assembled, width = static_cast<int>(node.columns.size()) + 1;
    std::vector<double> tau(std::min(rows, width)), work(static_cast<std::size_t>(width) * 64);
    const int lwork = static_cast<int>(work.size());
    int info = 0;
    dgeqrf_(&rows, &width, node.factor.data(), &rows, tau.data(), work.data(), &lwork, &info);
    // The row of the right-hand side itself holds only a piece of the residual: nothing for the parent.
    node.rows = std::min(rows, width - 1);
}

// Back substitution from the root down.
void solve(const front &node, std::vector<double> &solution) {
    const std::size_t lead = node.assembled, width = node.columns.size();
    for (std::size_t p = node.pivots.size(); p-- > 0;) {
        double sum = node.factor[width * lead + p];
        for (std::size_t c = p + 1; c < width; c++) sum -= node.factor[c * lead + p] * solution[node.columns[c]];
        solution[node.pivots[p]] = sum / node.factor[p * lead + p];
    }
    for (const auto &child : node.children) solve(*child, solution);
}

struct quality {
    double residual; // |Ax - b|
    double gradient; // largest entry of A'(Ax - b): zero at the least-squares solution
};

quality judge(const mesh &grid, const std::vector<double> &solution) {
    std::vector<double> gradient(solution.size(), 0.0);
    double squares = 0;
    for (const equation &row : grid.equations()) {
        double error = -row.right;
        for (int e = 0; e < row.count; e++) error += row.entries[e].value * solution[row.entries[e].column];
        for (int e = 0; e < row.count; e++) gradient[row.entries[e].column] += row.entries[e].value * error;
        squares += error * error;
    }
    double largest = 0;
    for (double g : gradient) largest = std::max(largest, std::abs(g));
    return {std::sqrt(squares), largest};
}

int run(int side) {
    const mesh grid(side);
    symbolic plan{std::vector<int>(grid.unknowns()), std::vector<front *>(grid.unknowns())};
    auto root = dissect(grid, grid.whole());
    int next = 0;
    number(*root, plan, next);
    place_equations(grid, plan);
    find_columns(*root, grid, plan);

    const auto started = std::chrono::steady_clock::now();
    factorise(*root, grid, plan);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    std::printf("TIME %.6f\n", took.count());
    std::fflush(stdout); // whoever measures wants to know the moment

    std::vector<double> solution(grid.unknowns());
    solve(*root, solution);
    double norm = 0;
    for (double x : solution) norm += x * x;
    const quality found = judge(grid, solution);
    std::printf("RESULT norm %.12g\nRESULT residual %.12g\n", std::sqrt(norm), found.residual);
    if (found.gradient < 1e-9) return 0;
    std::fprintf(stderr, "multifrontal: not a least-squares solution: the gradient is %g\n", found.gradient);
    return 1;
}

// A whole number from 1 to `most`, or a message and exit status 2.
int whole_number(const char *option, const char *text, long most) {
    char *end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (*text != '\0' && *end == '\0' && value >= 1 && value <= most) return static_cast<int>(value);
    std::fprintf(stderr, "multifrontal: %s \"%s\": not a whole number from 1 to %ld\n", option, text, most);
    std::exit(2);
}

} // namespace

int main(int argc, char **argv) {
    int side = 26;
    std::optional<tbb::global_control> limit;
    const option options[] = {{"mesh", required_argument, nullptr, 'm'},
                              {"tbb-threads", required_argument, nullptr, 't'},
                              {"help", no_argument, nullptr, 'h'},
                              {}};
    for (int given; (given = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
        if (given == 'm') {
            side = whole_number("--mesh", optarg, 100);
        } else if (given == 't') {
            limit.emplace(tbb::global_control::max_allowed_parallelism, whole_number("--tbb-threads", optarg, 1024));
        } else {
            std::printf("usage: multifrontal [--mesh SIDE] [--tbb-threads N]\n"
                        "Least squares on a mesh of SIDE x SIDE x SIDE nodes (default 26).\n");
            return given == 'h' ? 0 : 2;
        }
    }
    return run(side);
}
