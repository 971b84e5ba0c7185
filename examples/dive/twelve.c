/* examples/dive/twelve.c - the section of twelve numbers, for the page. */
#include "examples/dive/twelve.h"

static const plot_lines scripts[] = { dive_twelve_maths_js, dive_twelve_words_js, dive_twelve_js, NULL };
const plot_section dive_twelve = {
    .id = "twelve",
    .title = "Twelve numbers and a norm",
    .about = "Change numbers, norm, epsilon, gamma and beta, and see every step of the calculation, forward and backward",
    .html = dive_twelve_html,
    .css = dive_twelve_css,
    .js = scripts,
};
