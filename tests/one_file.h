/* tests/one_file.h - the setup and teardown of a group whose tests share one file in a new folder. */
#ifndef GR_ONE_FILE_H
#define GR_ONE_FILE_H
#include "tests/failing.h"

static char path[512];
FIXTURE(make_path)
{
    const int made = make_folder(state);
    snprintf(path, sizeof path, "%s", in_folder("file"));
    return made;
}
FIXTURE(remove_path)
{
    unlink(path);
    return remove_folder(state);
}
#endif
