#include "help.hpp"

namespace comity::cli {
namespace {

constexpr std::size_t name_width = 18, line_width = 80;

class help_format : public CLI::Formatter {
public:
    explicit help_format(std::string usage) : usage_(std::move(usage)) { column_width(name_width); }
    std::string make_usage(const CLI::App *, std::string) const override { return "\nUsage: " + usage_ + "\n"; }
    std::string make_description(const CLI::App *app) const override { return app->get_description() + "\n"; }
    std::string make_option_desc(const CLI::Option *option) const override {
        return wrap(option->get_description(), line_width - name_width);
    }

private:
    std::string usage_;
};

} // namespace

std::string wrap(const std::string &text, std::size_t width) {
    std::string result;
    std::size_t column = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        if (column > 0 && column + 1 + (end - at) > width) {
            result += '\n';
            column = 0;
        }
        if (column > 0) result += ' ';
        result.append(text, at, end - at);
        column += (column > 0) + (end - at);
        at = end + 1;
    }
    return result;
}

std::shared_ptr<CLI::FormatterBase> make_help_format(std::string usage) {
    return std::make_shared<help_format>(std::move(usage));
}

} // namespace comity::cli
