// Golden texts: what a dump, a plan or a table looked like when somebody last read and approved it.
//
//   CHECK_GOLDEN("plan_resnet18", PlanToYaml(plan, step));
//
// compares with tests/golden/plan_resnet18.txt byte for byte. On a difference the check fails with the first line
// that differs, and the new text is kept in the build folder; `tests/approve` makes all such texts the golden ones.
#ifndef SPILLWAY_TESTS_GOLDEN_H_
#define SPILLWAY_TESTS_GOLDEN_H_

#include <catch2/catch.hpp>
#include <map>
#include <string>

namespace spillway {

// "" when equal, else what differs and what to do about it.
std::string GoldenDifference(const std::string& name, const std::string& text);

// The same for a page of the documentation that is generated, by its path from the root: scenarios/keys/plan.md.
std::string PageDifference(const std::string& page, const std::string& text);

// A page by its path from the root, with these texts by section as the lines between "<!-- begin SECTION" and
// "<!-- end SECTION". REQUIRES: the page has both of each, in this order.
std::string PageWithSections(const std::string& page, const std::map<std::string, std::string>& texts);

// The first line in which the texts differ, both versions: "line 3:\n  golden: ...\n  actual: ...".
std::string FirstDifference(const std::string& golden, const std::string& actual);

}  // namespace spillway

#define CHECK_GOLDEN(name, text) CHECK(::spillway::GoldenDifference((name), (text)) == "")

#endif  // SPILLWAY_TESTS_GOLDEN_H_
