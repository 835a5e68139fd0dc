// A folder of files that stands in for / in tests; gone at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

class fake_tree {
public:
    fake_tree() {
        std::string name = std::filesystem::temp_directory_path() / "comity-tree-XXXXXX";
        if (!::mkdtemp(name.data())) std::abort();
        root_ = name;
    }
    ~fake_tree() { std::filesystem::remove_all(root_); }
    fake_tree(const fake_tree &) = delete;
    fake_tree &operator=(const fake_tree &) = delete;

    // Writes a file and the folders above it.
    fake_tree &add(const std::string &path, const std::string &content) {
        const std::filesystem::path file = root_ + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << content;
        return *this;
    }
    const char *root() const { return root_.c_str(); }
    std::string path(const std::string &below) const { return root_ + below; }

private:
    std::string root_;
};
