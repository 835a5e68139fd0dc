#include "report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "comity/version.h"
#include "sys/topology.hpp"

namespace comity::cli {
namespace {

using nlohmann::ordered_json;

ordered_json number_or_null(std::int64_t number) { return number ? ordered_json(number) : ordered_json(); }
ordered_json text_or_null(const std::string &text) { return text.empty() ? ordered_json() : ordered_json(text); }

const char *guard_name(sys::guard_kind kind) {
    switch (kind) {
    case sys::guard_kind::light:
        return "light";
    case sys::guard_kind::mapping:
        return "mapping";
    case sys::guard_kind::none:
    case sys::guard_kind::group: // of stacks from the pool only
    case sys::guard_kind::canary:
        break;
    }
    return "none";
}

const char *tls_name(sys::tls_choice choice) {
    switch (choice) {
    case sys::tls_choice::donor:
        return "donor";
    case sys::tls_choice::glibc:
        return "glibc";
    case sys::tls_choice::automatic:
        break;
    }
    return "auto";
}

const char *bind_name(sys::bind_choice choice) {
    switch (choice) {
    case sys::bind_choice::cores:
        return "cores";
    case sys::bind_choice::numa:
        return "numa";
    case sys::bind_choice::none:
        break;
    }
    return "none";
}

ordered_json topology_json() {
    const sys::topology &t = sys::machine();
    return {{"source", t.source()},
            {"cpus", t.size()},
            {"cores", t.count(sys::part::core)},
            {"l2_caches", t.count(sys::part::l2_cache)},
            {"last_level_caches", t.count(sys::part::last_cache)},
            {"numa_nodes", t.count(sys::part::numa_node)},
            {"sockets", t.count(sys::part::socket)}};
}

// null where harts are not bound
ordered_json hart_cpus_json(const machine_report &machine) {
    if (machine.options.bind == sys::bind_choice::none) return {};
    ordered_json harts = ordered_json::array();
    for (unsigned i = 0; i < machine.options.harts; ++i) {
        const sys::cpu_set cpus = sys::cpus_for(sys::machine(), machine.options.bind, i, machine.options.harts);
        ordered_json list = ordered_json::array();
        for (int cpu = cpus.next(); cpu >= 0; cpu = cpus.next(cpu + 1)) list.push_back(cpu);
        harts.push_back(list);
    }
    return harts;
}

ordered_json machine_json(const machine_report &machine) {
    const auto &cpus = machine.cpus;
    ordered_json json;
    json["cores_online"] = number_or_null(cpus.online);
    json["cores_in_affinity_mask"] = number_or_null(cpus.affinity);
    json["cpu_quota_cores"] = cpus.quota_thousandths ? ordered_json(cpus.quota_thousandths / 1000.0) : ordered_json();
    json["cpu_quota_folder"] = text_or_null(cpus.quota_folder);
    json["harts"] = machine.options.harts;
    json["harts_because"] = explain_harts(machine);
    json["topology"] = topology_json();
    json["bind"] = bind_name(machine.options.bind);
    json["hart_cpus"] = hart_cpus_json(machine);
    json["kernel"] = machine.kernel;
    json["c_library"] = machine.c_library;
    json["tls_switch"] = machine.tls_switch;
    json["fast_tls_switch"] = machine.has_fast_tls_switch;
    json["tls_provider"] = tls_name(machine.options.tls);
    json["membarrier"] = machine.has_membarrier;
    json["stack_guards"] = guard_name(machine.guard);
    json["max_map_count"] = number_or_null(machine.most_mappings);
    json["drop_in_folder"] = text_or_null(machine.here.folder);
    json["environment_complaints"] = machine.complaints;
    json["problems"] = machine.problems;
    return json;
}

ordered_json program_json(const program_report &program) {
    ordered_json json;
    json["name"] = program.name;
    json["pid"] = number_or_null(program.pid);
    json["problem"] = text_or_null(program.problem);
    json["path"] = text_or_null(program.path);
    json["interpreters"] = program.interpreters;
    json["obstacle"] = text_or_null(program.obstacle);
    if (program.pid) {
        json["under_comity"] = program.is_under_comity;
        json["threads"] = program.threads;
        json["affinity"] = program.affinity;
    }
    json["missing_libraries"] = program.missing_libraries;
    json["runtimes"] = ordered_json::array();
    for (const runtime &found : program.runtimes)
        json["runtimes"].push_back({{"kind", found.kind},
                                    {"path", found.path},
                                    {"verdict", verdict_name(found.what)},
                                    {"explanation", found.explanation}});
    json["notes"] = program.notes;
    return json;
}

} // namespace

void print_json(const machine_report &machine, const std::optional<program_report> &program) {
    ordered_json json;
    json["comity"] = {{"version", comity_version()}, {"program", machine.here.program}};
    json["machine"] = machine_json(machine);
    json["program"] = program ? program_json(*program) : ordered_json();
    // Names of files need not be UTF-8; what is not becomes a replacement character.
    fmt::print("{}\n", json.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

} // namespace comity::cli
