// The one line of JSON that a benchmark of threads prints: {"workload":...,"library":..., then the metrics}.
#pragma once

#include <cstdio>
#include <string>

#include "process.hpp"

namespace bench {

class record {
public:
    record(const char *workload, const char *library) {
        word("workload", workload);
        word("library", library);
    }
    record &word(const char *key, const std::string &value) {
        line_ += line_.empty() ? "{\"" : ",\"";
        line_.append(key).append("\":\"").append(value).append("\"");
        return *this;
    }
    record &number(const std::string &key, double value) {
        char text[48];
        std::snprintf(text, sizeof text, "%.9g", value);
        line_.append(",\"").append(key).append("\":").append(text);
        return *this;
    }
    // Also says what the process is made of. The result was verified, or the program would not have come here.
    void print() {
        number("kernel_threads", kernel_threads());
        number("context_switches", static_cast<double>(context_switches()));
        word("runtime", runtime_path());
        std::printf("%s,\"verified\":true}\n", line_.c_str());
        std::fflush(stdout);
    }

private:
    std::string line_;
};

} // namespace bench
