// The page without its data, as the build put it into the program: reports/html/dist/page.html.
#ifndef SPILLWAY_REPORTS_HTML_PAGE_TEMPLATE_H_
#define SPILLWAY_REPORTS_HTML_PAGE_TEMPLATE_H_

#include <string_view>

namespace spillway {

std::string_view PageTemplate();

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_HTML_PAGE_TEMPLATE_H_
