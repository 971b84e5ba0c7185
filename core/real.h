/* core/real.h - the type of values: float, or double in the library that `make REAL=double` builds. */
#ifndef GR_REAL_H
#define GR_REAL_H
#ifdef GR_REAL_DOUBLE
typedef double gr_real;
#else
typedef float gr_real;
#endif

#ifdef __cplusplus
#define GR_LINKAGE extern "C"
#else
#define GR_LINKAGE
#endif
#ifdef _WIN32 /* a DLL exports all its functions */
#define GR_API GR_LINKAGE
#define GR_PRINTF gnu_printf
#else
#define GR_API GR_LINKAGE __attribute__((visibility("default")))
#define GR_PRINTF printf
#endif
#endif
