/* Faults of system calls, made to order: the tests build this with cc and preload it (call_faults.py).
 *
 * A plan of fixed slots lies in a file that the tests and the process map alike, so that a test may change it while
 * the process runs. A call that a slot names, on a path that ends in or holds the slot's text, meets its fault.
 * call_faults.py writes the same layout; keep them equal.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOTS 16

struct slot {
    int active;
    int error;        /* errno that the call ends with; 0: none */
    long skip;        /* so many matching calls go well first */
    long times;       /* then so many meet the fault; negative: all */
    long bytes;       /* of the calls that write: so many bytes get through first, in all; negative: none counted */
    long met;         /* how often the fault was met */
    char call[16];
    char path[256];   /* a part of the path */
};

static struct slot *plan;

__attribute__((constructor)) static void map_plan(void) {
    const char *name = getenv("CALL_FAULTS_PLAN");
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    int descriptor = name ? real(name, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    void *mapped = mmap(NULL, SLOTS * sizeof(struct slot), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (mapped != MAP_FAILED) plan = mapped;
}

/* The slot whose turn it is at this call, or none. `size` bytes are to be written; *through: so many get through. */
static struct slot *fault(const char *call, int descriptor, const char *path, size_t size, size_t *through) {
    char name[4096] = "";
    if (!plan) return NULL;
    for (struct slot *each = plan; each < plan + SLOTS; each++) {
        if (!each->active || strcmp(each->call, call)) continue;
        if (!name[0]) {
            if (path) {
                snprintf(name, sizeof name, "%s", path);
            } else {
                char link[64];
                snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
                ssize_t length = readlink(link, name, sizeof name - 1);
                name[length > 0 ? length : 0] = 0;
            }
        }
        if (!strstr(name, each->path)) continue;
        if (__atomic_fetch_sub(&each->skip, 1, __ATOMIC_SEQ_CST) > 0) continue;
        if (each->bytes > 0 && size <= (size_t)each->bytes) {
            each->bytes -= size;
            continue;
        }
        long before = __atomic_load_n(&each->times, __ATOMIC_SEQ_CST);
        if (before == 0) continue;
        if (before > 0) __atomic_fetch_sub(&each->times, 1, __ATOMIC_SEQ_CST);
        *through = each->bytes > 0 ? (size_t)each->bytes : 0;
        if (each->bytes > 0) each->bytes = 0;
        __atomic_fetch_add(&each->met, 1, __ATOMIC_SEQ_CST);
        return each;
    }
    return NULL;
}

#define REAL(name, result, ...) ((result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

/* Fails as the plan says, or goes on. */
#define FAILS(call, descriptor, path) \
    do { \
        size_t through = 0; \
        int saved = errno; \
        struct slot *met = fault(call, descriptor, path, 0, &through); \
        if (met) { errno = met->error; return -1; } \
        errno = saved; \
    } while (0)

typedef ssize_t writer(int, const void *, size_t, off_t);

static ssize_t counted(writer *real, int descriptor, const void *data, size_t size, off_t offset) {
    size_t through = 0;
    struct slot *met = fault("pwrite", descriptor, NULL, size, &through);
    if (!met) return real(descriptor, data, size, offset);
    if (through > 0) real(descriptor, data, through, offset);
    if (through > 0) return (ssize_t)through; /* a short write; what comes next meets the error */
    errno = met->error;
    return -1;
}

ssize_t pwrite(int d, const void *b, size_t n, off_t o) { return counted((writer *)dlsym(RTLD_NEXT, "pwrite"), d, b, n, o); }
ssize_t pwrite64(int d, const void *b, size_t n, off_t o) { return counted((writer *)dlsym(RTLD_NEXT, "pwrite64"), d, b, n, o); }

ssize_t read(int d, void *b, size_t n) { FAILS("read", d, NULL); return REAL(read, ssize_t, int, void *, size_t)(d, b, n); }
ssize_t pread64(int d, void *b, size_t n, off_t o) { FAILS("read", d, NULL); return REAL(pread64, ssize_t, int, void *, size_t, off_t)(d, b, n, o); }

int fsync(int d) { FAILS("fsync", d, NULL); return REAL(fsync, int, int)(d); }
int fdatasync(int d) { FAILS("fdatasync", d, NULL); return REAL(fdatasync, int, int)(d); }
int ftruncate(int d, off_t n) { FAILS("ftruncate", d, NULL); return REAL(ftruncate, int, int, off_t)(d, n); }
int ftruncate64(int d, off_t n) { FAILS("ftruncate", d, NULL); return REAL(ftruncate64, int, int, off_t)(d, n); }
int rename(const char *old, const char *new) { FAILS("rename", -1, new); return REAL(rename, int, const char *, const char *)(old, new); }
int unlink(const char *path) { FAILS("unlink", -1, path); return REAL(unlink, int, const char *)(path); }
int mkdir(const char *path, mode_t mode) { FAILS("mkdir", -1, path); return REAL(mkdir, int, const char *, mode_t)(path, mode); }
int lstat64(const char *path, struct stat64 *out) { FAILS("lstat", -1, path); return REAL(lstat64, int, const char *, struct stat64 *)(path, out); }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        FAILS("open", -1, path); \
        return REAL(name, int, const char *, int, ...)(path, flags, mode); \
    }

OPEN(open)
OPEN(open64)
