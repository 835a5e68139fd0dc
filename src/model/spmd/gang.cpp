#include "model/spmd/team_impl.hpp"
namespace comity::spmd {
void team::run_gang_members() noexcept {}
}
