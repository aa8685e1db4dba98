/* Loaded before the C library: syncs of SQLite's log fail while the file $FAILING_SYNC is there, or the first one does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fails(int fd) {
    const char *flag = getenv("FAILING_SYNC");
    char link[64], path[4096];
    if (flag == NULL || access(flag, F_OK) != 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 4 || strncmp(path + length - 4, "-wal", 4) != 0) return 0;
    if (getenv("FAILING_ONCE") != NULL) unlink(flag);
    errno = EIO;
    return 1;
}

static int sync_by(const char *name, int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return fails(fd) ? -1 : real(fd);
}

int fdatasync(int fd) { return sync_by("fdatasync", fd); }

int fsync(int fd) { return sync_by("fsync", fd); }
