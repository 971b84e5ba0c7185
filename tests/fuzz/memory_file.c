/* tests/fuzz/memory_file.c - a file in memory, for the readers that want a path. */
#include "tests/fuzz/fuzz.h"
#include <sys/mman.h>
#include <unistd.h>

const char *fuzz_number(const uint8_t *bytes, size_t n)
{
    static char name[16];
    static int fd = -1;
    if (fd < 0) fd = memfd_create("fuzz", MFD_CLOEXEC);
    demand(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, bytes, n, 0) == (ssize_t)n, "a file in memory");
    snprintf(name, sizeof name, "%d", fd);
    return name;
}

const char *fuzz_path(const uint8_t *bytes, size_t n)
{
    static char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%s", fuzz_number(bytes, n));
    return path;
}
