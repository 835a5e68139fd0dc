#include "elf_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace comity::cli {
namespace {

constexpr std::size_t most_text = 4096; // of an interpreter's path

#if defined(__x86_64__)
constexpr std::uint16_t own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t own_machine = EM_AARCH64;
#else
#error "Comity knows x86-64 and aarch64"
#endif

class open_file {
public:
    explicit open_file(const std::string &path)
        : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {
        struct stat status {};
        if (file_ >= 0 && ::fstat(file_, &status) == 0) size_ = static_cast<std::uint64_t>(status.st_size);
    }
    ~open_file() {
        if (file_ >= 0) ::close(file_);
    }
    open_file(const open_file &) = delete;
    open_file &operator=(const open_file &) = delete;

    // Reads exactly `size` bytes at `offset`, or fails.
    bool read(void *to, std::size_t size, std::uint64_t offset) const {
        auto *at = static_cast<char *>(to);
        while (size > 0) {
            const ssize_t n = ::pread(file_, at, size, static_cast<off_t>(offset));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return false;
            at += n;
            offset += static_cast<std::uint64_t>(n);
            size -= static_cast<std::size_t>(n);
        }
        return true;
    }

    std::uint64_t size() const { return size_; }

    template <class T> bool read_table(std::vector<T> &table, std::uint64_t count, std::uint64_t offset) const {
        if (offset > size_ || count > (size_ - offset) / sizeof(T)) return false; // before memory is taken for it
        table.resize(count);
        return read(table.data(), count * sizeof(T), offset);
    }

private:
    int file_;
    std::uint64_t size_ = 0;
};

std::string header_damage(std::uint64_t size) {
    return "is damaged: its header is not whole (the file has " + std::to_string(size) + " bytes)";
}

// A native file, with its segments and its dynamic section.
class native_elf {
public:
    explicit native_elf(const open_file &file) : file_(file) {
        Elf64_Ehdr header;
        if (!file_.read(&header, sizeof header, 0) ||
            (header.e_phnum > 0 && header.e_phentsize != sizeof(Elf64_Phdr))) {
            has_header_ = false;
            return;
        }
        if (!file_.read_table(segments_, header.e_phnum, header.e_phoff)) {
            has_header_ = false;
            segments_.clear();
        }
        const Elf64_Phdr *dynamic = segment(PT_DYNAMIC);
        if (!dynamic) return;
        if (!file_.read_table(dynamic_, dynamic->p_filesz / sizeof(Elf64_Dyn), dynamic->p_offset)) dynamic_.clear();
        const auto end = std::find_if(dynamic_.begin(), dynamic_.end(), [](auto &d) { return d.d_tag == DT_NULL; });
        dynamic_.erase(end, dynamic_.end());
        std::uint64_t offset = 0;
        if (offset_of(value(DT_STRTAB), offset) && !file_.read_table(strings_, value(DT_STRSZ), offset))
            strings_.clear();
    }

    const Elf64_Phdr *segment(std::uint32_t type) const {
        const auto found = std::find_if(segments_.begin(), segments_.end(), [=](auto &s) { return s.p_type == type; });
        return found == segments_.end() ? nullptr : &*found;
    }

    std::string interpreter() const {
        const Elf64_Phdr *part = segment(PT_INTERP);
        if (!part || part->p_filesz > most_text) return {};
        std::string text(part->p_filesz, '\0');
        if (!file_.read(text.data(), text.size(), part->p_offset)) return {};
        text.resize(::strnlen(text.data(), text.size()));
        return text;
    }

    bool has_header() const { return has_header_; }

    // What is missing at the file's end; empty if nothing.
    std::string find_damage() const {
        if (!has_header_) return header_damage(file_.size());
        for (const Elf64_Phdr &part : segments_)
            if ((part.p_type == PT_LOAD || part.p_type == PT_INTERP || part.p_type == PT_DYNAMIC) &&
                (part.p_offset > file_.size() || part.p_filesz > file_.size() - part.p_offset))
                return "is damaged: the file has " + std::to_string(file_.size()) +
                       " bytes, and its header tells of more (was a copy or a download cut off?)";
        return {};
    }

    bool has_dynamic_section() const { return !dynamic_.empty(); }

    std::vector<std::string> texts(std::int64_t tag) const {
        std::vector<std::string> all;
        for (const Elf64_Dyn &entry : dynamic_)
            if (entry.d_tag == tag) all.push_back(text_at(entry.d_un.d_val));
        return all;
    }
    std::string text(std::int64_t tag) const {
        auto all = texts(tag);
        return all.empty() ? std::string() : all.front();
    }

    template <class F> void for_each_symbol(F &&take) const {
        std::uint64_t offset = 0;
        std::vector<Elf64_Sym> symbols;
        if (!offset_of(value(DT_SYMTAB), offset) || !file_.read_table(symbols, count_symbols(), offset)) return;
        for (const Elf64_Sym &symbol : symbols)
            if (symbol.st_name) take(text_at(symbol.st_name), symbol.st_shndx != SHN_UNDEF);
    }

private:
    std::uint64_t value(std::int64_t tag) const {
        const auto found = std::find_if(dynamic_.begin(), dynamic_.end(), [=](auto &d) { return d.d_tag == tag; });
        return found == dynamic_.end() ? 0 : found->d_un.d_val;
    }

    // Where in the file the loaded address stands.
    bool offset_of(std::uint64_t address, std::uint64_t &offset) const {
        for (const Elf64_Phdr &part : segments_)
            if (part.p_type == PT_LOAD && address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz) {
                offset = address - part.p_vaddr + part.p_offset;
                return address != 0;
            }
        return false;
    }

    std::string text_at(std::uint64_t at) const {
        if (at >= strings_.size()) return {};
        return {strings_.data() + at, ::strnlen(strings_.data() + at, strings_.size() - at)};
    }

    // The symbol table does not say how long it is; its hash table does.
    std::uint64_t count_symbols() const {
        std::uint64_t offset = 0;
        std::uint32_t sizes[2];
        if (offset_of(value(DT_HASH), offset) && file_.read(sizes, sizeof sizes, offset)) return sizes[1];
        return count_by_gnu_hash();
    }

    // Of a file that exports nothing it says no more; all that it imports is named by relocations.
    std::uint64_t count_by_relocations() const {
        std::uint64_t count = 0;
        for (const auto &[table, size] : {std::pair{DT_JMPREL, DT_PLTRELSZ}, std::pair{DT_RELA, DT_RELASZ}}) {
            std::uint64_t offset = 0;
            std::vector<Elf64_Rela> all;
            if (!offset_of(value(table), offset) || !file_.read_table(all, value(size) / sizeof(Elf64_Rela), offset))
                continue;
            for (const Elf64_Rela &r : all) count = std::max(count, std::uint64_t{ELF64_R_SYM(r.r_info)} + 1);
        }
        return count;
    }

    // Header, bloom filter (64-bit words), buckets, chains: the last chain's end is the last symbol. A chain's element
    // with its lowest bit set is its last.
    std::uint64_t count_by_gnu_hash() const {
        std::uint64_t offset = 0;
        struct {
            std::uint32_t buckets, first_symbol, bloom_words, shift;
        } header;
        if (!offset_of(value(DT_GNU_HASH), offset) || !file_.read(&header, sizeof header, offset)) return 0;
        const std::uint64_t buckets_at = offset + sizeof header + std::uint64_t{header.bloom_words} * 8;
        std::vector<std::uint32_t> buckets;
        if (!file_.read_table(buckets, header.buckets, buckets_at) || buckets.empty()) return count_by_relocations();
        std::uint64_t last = *std::max_element(buckets.begin(), buckets.end());
        if (last < header.first_symbol) return count_by_relocations(); // nothing is exported
        const std::uint64_t chains_at = buckets_at + std::uint64_t{header.buckets} * 4;
        for (;; ++last) {
            std::uint32_t element = 0;
            if (!file_.read(&element, sizeof element, chains_at + (last - header.first_symbol) * 4)) return 0;
            if (element & 1) return last + 1;
        }
    }

    const open_file &file_;
    bool has_header_ = true;
    std::vector<Elf64_Phdr> segments_;
    std::vector<Elf64_Dyn> dynamic_;
    std::vector<char> strings_;
};

} // namespace

std::optional<elf_head> read_elf_head(const std::string &path) {
    unsigned char start[20];
    const open_file raw(path);
    if (!raw.read(start, SELFMAG, 0) || std::memcmp(start, ELFMAG, SELFMAG) != 0) return {};
    elf_head head;
    if (!raw.read(start, sizeof start, 0)) {
        head.damage = header_damage(raw.size());
        head.lacks_header = true;
        return head;
    }
    head.bits = start[EI_CLASS] == ELFCLASS64 ? 64 : 32;
    head.little_endian = start[EI_DATA] == ELFDATA2LSB;
    head.machine =
        static_cast<std::uint16_t>(head.little_endian ? start[18] | start[19] << 8 : start[19] | start[18] << 8);
    head.is_native = head.bits == 64 && head.little_endian && head.machine == own_machine;
    if (!head.is_native) return head;
    const native_elf file(raw);
    head.damage = file.find_damage();
    head.lacks_header = !file.has_header();
    head.interpreter = file.interpreter();
    head.has_dynamic_section = file.has_dynamic_section();
    head.soname = file.text(DT_SONAME);
    head.needed = file.texts(DT_NEEDED);
    head.rpath = file.text(DT_RPATH);
    head.runpath = file.text(DT_RUNPATH);
    return head;
}

elf_symbols read_elf_symbols(const std::string &path) {
    elf_symbols symbols;
    const auto head = read_elf_head(path);
    if (!head || !head->is_native) return symbols;
    const open_file file(path);
    native_elf(file).for_each_symbol([&](std::string name, bool defined) {
        (defined ? symbols.exported : symbols.imported).insert(std::move(name));
    });
    return symbols;
}

const elf_symbols &elf_symbols_of(const std::string &path) {
    static std::map<std::string, elf_symbols> known;
    const auto [at, is_new] = known.try_emplace(path);
    if (is_new) at->second = read_elf_symbols(path);
    return at->second;
}

std::string machine_name(std::uint16_t machine) {
    switch (machine) {
    case EM_X86_64:
        return "x86-64";
    case EM_AARCH64:
        return "aarch64";
    case EM_386:
        return "i386";
    case EM_ARM:
        return "arm";
    case EM_RISCV:
        return "riscv";
    case EM_PPC64:
        return "ppc64";
    case EM_S390:
        return "s390";
    default:
        return "machine number " + std::to_string(machine);
    }
}

std::uint16_t native_machine() { return own_machine; }

} // namespace comity::cli
