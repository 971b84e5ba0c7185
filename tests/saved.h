/* tests/saved.h - save a number to a file in the test's own folder, which is the working folder meanwhile, and read it back. */
#ifndef GR_SAVED_H
#define GR_SAVED_H
#include "tests/failing.h"
#include <dirent.h>

static char here[512]; /* the working folder before the test */
FIXTURE(enter_folder)
{
    return make_folder(state) || !getcwd(here, sizeof here) || chdir(test_folder);
}
FIXTURE(leave_folder) { return chdir(here) || remove_folder(state); }

static inline bool save(gr_tape *t, const char *path, int value)
{
    return gr_safetensors_write(t, path, &(gr_safetensors_item){ "x", GR_I32, GR_SCALAR, &value }, 1, NULL);
}
static inline void assert_holds(const char *path, int value)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_safetensors *f = gr_safetensors_open(t, path);
    int64_t found = 0;
    assert_ok(t);
    gr_safetensors_integers(&f->entry[0], &found);
    assert_int_equal(found, value);
    gr_safetensors_free(f);
    gr_tape_free(t);
}
static inline size_t files(const char *folder)
{
    DIR *d = opendir(folder);
    size_t n = 0;
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}
static inline void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}
#endif
