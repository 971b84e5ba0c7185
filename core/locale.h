/* core/locale.h - numbers as text are the same in every locale. */
#ifndef GR_LOCALE_H
#define GR_LOCALE_H
#include <locale.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

/* From this line to the end of the block, this thread formats numbers as in the "C" locale. The locale of the program does not change. Every
 * function of the library that formats a floating-point number has this line. The C libraries on Linux allocate nothing for the locale "C". */
#define GR__C_LOCALE __attribute__((cleanup(gr__locale_leave), unused)) const gr__locale gr__c_locale = gr__locale_enter()
typedef struct { locale_t c, before; } gr__locale;
static inline gr__locale gr__locale_enter(void)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const gr__locale l = { c, uselocale(c) }; /* 0 changes nothing */
    return l;
}
static inline void gr__locale_leave(const gr__locale *l)
{
    uselocale(l->before);
    if (l->c) freelocale(l->c);
}
#endif
