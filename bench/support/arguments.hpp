// Command-line options of the benchmark programs: `--name value`, numbers and words. An unknown name or a bad value
// ends the program with status 2, so that a typo in the registry can never measure something else than what its row
// says.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace bench {

class arguments {
public:
    arguments(int argc, char **argv) : program_(argv[0]) {
        for (int i = 1; i < argc; i += 2) {
            if (std::strncmp(argv[i], "--", 2) != 0 || i + 1 >= argc) fail(argv[i], "expected --name value");
            given_.push_back({argv[i] + 2, argv[i + 1], false});
        }
    }

    // The value of --name, or `otherwise`; ends the program when it is not a number in [lowest, highest].
    double number(const char *name, double otherwise, double lowest, double highest) {
        for (option &one : given_) {
            if (one.name != name) continue;
            one.used = true;
            char *end = nullptr;
            const double value = std::strtod(one.value.c_str(), &end);
            if (end == one.value.c_str() || *end != '\0' || !(value >= lowest && value <= highest))
                fail(one.name.c_str(), "value out of range or not a number");
            return value;
        }
        return otherwise;
    }

    int whole(const char *name, int otherwise, int lowest, int highest) {
        return static_cast<int>(number(name, otherwise, lowest, highest));
    }

    // The value of --name, or `otherwise`; ends the program when it is none of `choices`.
    std::string word(const char *name, const char *otherwise, const std::vector<std::string> &choices) {
        for (option &one : given_) {
            if (one.name != name) continue;
            one.used = true;
            if (std::find(choices.begin(), choices.end(), one.value) == choices.end()) {
                std::string known;
                for (const std::string &choice : choices) known += " " + choice;
                fail(one.name.c_str(), ("expected one of:" + known).c_str());
            }
            return one.value;
        }
        return otherwise;
    }

    // To be called when every option has been asked for.
    void finish() const {
        for (const option &one : given_)
            if (!one.used) fail(one.name.c_str(), "unknown option");
    }

private:
    struct option {
        std::string name;
        std::string value;
        bool used;
    };

    [[noreturn]] void fail(const char *what, const char *why) const {
        std::fprintf(stderr, "%s: %s: %s\n", program_, what, why);
        std::exit(2);
    }

    const char *program_;
    std::vector<option> given_;
};

} // namespace bench
