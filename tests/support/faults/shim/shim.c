/* A library between a program and the C library, for tests of faults below Python.
 *
 * It is loaded by LD_PRELOAD and watches one folder. Every call that touches a path in the folder
 * is counted. One call, or a row of calls, fails with a chosen error or moves only half of its
 * bytes. In a log it writes each change of the folder with its data, in the order in which the
 * changes happened, and the marks that the program sets. `fsync` of a watched file returns at once:
 * what would have survived a power loss is computed from the log (power_loss.py).
 *
 * The program controls it by the functions `shim_*`, for instance with ctypes.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Groups of calls; a bit of `which` of `shim_fail` each. faults.py has the same names. */
enum group {
  OPEN, READ, WRITE, FSYNC, FSYNC_FOLDER, RENAME, UNLINK, RMDIR, MKDIR, TRUNCATE, LINK, CLOSE, STAT,
  READ_FOLDER, FLOCK, MMAP, CHMOD, ACCESS, ADVISE, ALLOCATE, NUM_GROUPS
};

static const char *const names[NUM_GROUPS] = {
  "open", "read", "write", "fsync", "fsync of a folder", "rename", "unlink", "rmdir", "mkdir",
  "truncate", "link", "close", "stat", "read of a folder", "flock", "mmap", "chmod", "access",
  "fadvise", "allocate",
};

/* Kinds of records in the log. power_loss.py reads them. */
enum record { CREATED, WRITTEN, CUT, SYNCED, MADE, MOVED, REMOVED, LINKED, POINTED, MARK, UNKNOWN, CALLED };

struct header {
  uint32_t record;
  int32_t error;
  uint64_t inode;
  int64_t offset;
  uint32_t lengths[3]; /* of a path, another path, and data, which follow */
  uint32_t padding;
};

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char folder[PATH_MAX];
static size_t folder_length;
static int log_file = -1;
static long num_calls, first_failure, num_failures;
static int failure;
static uint64_t groups;
static char failed_call[2 * PATH_MAX];

#define REAL(name, ...)                                                                            \
  ({                                                                                               \
    static __typeof__(&name) real;                                                                 \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                  \
    real(__VA_ARGS__);                                                                             \
  })

/* Control ------------------------------------------------------------------------------------- */

/* Watches a folder, given by its real path, and counts from 0; NULL watches nothing. */
void shim_watch(const char *path) {
  pthread_mutex_lock(&mutex);
  folder_length = 0;
  if (path) {
    snprintf(folder, sizeof folder, "%s", path);
    folder_length = strlen(folder);
  }
  num_calls = first_failure = num_failures = 0;
  failed_call[0] = 0;
  pthread_mutex_unlock(&mutex);
}

/* Lets the calls from number `first` (1 is the first) fail, `number` of them; -1 is all of them.
 *
 * Only calls of `which` groups count. `error` is an errno, or 0 to move half of the bytes. */
void shim_fail(long first, long number, int error, uint64_t which) {
  pthread_mutex_lock(&mutex);
  num_calls = 0;
  first_failure = first, num_failures = number, failure = error, groups = which;
  failed_call[0] = 0;
  pthread_mutex_unlock(&mutex);
}

long shim_calls(void) { return num_calls; }

/* Returns the first call that failed with its path, "" if none did. */
const char *shim_failed(void) { return failed_call; }

/* Writes the log to a descriptor, which the library then owns; -1 ends it. */
void shim_log(int descriptor) {
  pthread_mutex_lock(&mutex);
  if (log_file >= 0) syscall(SYS_close, log_file);
  log_file = descriptor;
  pthread_mutex_unlock(&mutex);
}

static void write_all(const void *data, size_t size) {
  for (const char *next = data; size;) {
    ssize_t done = syscall(SYS_write, log_file, next, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) abort();
    next += done, size -= done;
  }
}

static void note(enum record record, int error, uint64_t inode, int64_t offset, const char *path,
                 const char *other, const void *data, size_t size) {
  if (log_file < 0) return;
  int before = errno;
  struct header header = {record, error, inode, offset, {strlen(path), strlen(other), size}, 0};
  write_all(&header, sizeof header);
  write_all(path, header.lengths[0]);
  write_all(other, header.lengths[1]);
  write_all(data, size);
  errno = before;
}

/* Writes into the log that the program has acknowledged something. */
void shim_mark(const char *text) {
  pthread_mutex_lock(&mutex);
  note(MARK, 0, 0, 0, text, "", "", 0);
  pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void begin(void) {
  unsetenv("LD_PRELOAD"); /* programs that this one starts are not watched */
}

/* Paths --------------------------------------------------------------------------------------- */

/* Removes "//", "/./" and "/../" from an absolute path, without following links. */
static void normalise(char *path) {
  char *end = path;
  for (char *part = path; *part;) {
    while (*part == '/') part++;
    size_t length = strcspn(part, "/");
    if (length == 2 && !strncmp(part, "..", 2)) {
      while (end > path && *--end != '/') {}
    } else if (length && !(length == 1 && *part == '.')) {
      *end = '/';
      memmove(end + 1, part, length);
      end += length + 1;
    }
    part += length;
  }
  *end = 0;
}

/* Returns the path inside the folder ("" for the folder), NULL if it is outside. */
static const char *inside(const char *path) {
  if (strncmp(path, folder, folder_length)) return NULL;
  if (!path[folder_length]) return "";
  return path[folder_length] == '/' ? path + folder_length + 1 : NULL;
}

static const char *of_descriptor(int descriptor, char *buffer) {
  if (!folder_length || descriptor < 0) return NULL;
  int before = errno;
  char link[40];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, buffer, PATH_MAX - 1);
  errno = before;
  if (length <= 0) return NULL;
  buffer[length] = 0;
  const char *deleted = " (deleted)";
  size_t tail = strlen(deleted);
  if ((size_t)length > tail && !strcmp(buffer + length - tail, deleted)) buffer[length - tail] = 0;
  return inside(buffer);
}

static const char *of_path(int at, const char *path, char *buffer) {
  if (!folder_length || !path) return NULL;
  if (!*path) return of_descriptor(at, buffer); /* AT_EMPTY_PATH */
  int before = errno;
  if (*path == '/') {
    if (snprintf(buffer, PATH_MAX, "%s", path) >= PATH_MAX) return NULL;
  } else {
    char base[PATH_MAX];
    if (at == AT_FDCWD) {
      if (syscall(SYS_getcwd, base, sizeof base) < 0) return NULL;
    } else {
      char link[40];
      snprintf(link, sizeof link, "/proc/self/fd/%d", at);
      ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, base, sizeof base - 1);
      if (length <= 0) return NULL;
      base[length] = 0;
    }
    if (snprintf(buffer, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return NULL;
  }
  errno = before;
  normalise(buffer);
  return inside(buffer);
}

/* Calls --------------------------------------------------------------------------------------- */

static int is_short; /* the present call moves half of its bytes */

/* Counts a call; returns the error with which it has to fail, or 0. */
static int fault(enum group group, const char *path, size_t size) {
  is_short = 0;
  note(CALLED, 0, size, group, path, "", "", 0);
  if (first_failure && !(groups >> group & 1)) return 0;
  if (first_failure && !failure && size < 2) return 0; /* nothing to shorten */
  num_calls++;
  if (!first_failure || num_calls < first_failure) return 0;
  if (num_failures >= 0 && num_calls >= first_failure + num_failures) return 0;
  if (!failed_call[0]) snprintf(failed_call, sizeof failed_call, "%s %s", names[group], path);
  is_short = !failure;
  return failure;
}

/* A wrapper's body: `call` is the real call, `after` what a success has changed. */
#define WATCHED(group, path, size, result_type, call, after)                                       \
  ({                                                                                               \
    pthread_mutex_lock(&mutex);                                                                    \
    int error = fault(group, path, size);                                                          \
    result_type result;                                                                            \
    if (error) {                                                                                   \
      result = (result_type)-1;                                                                    \
      errno = error;                                                                               \
    } else {                                                                                       \
      result = (call);                                                                             \
      if (result != (result_type)-1) { after; }                                                    \
    }                                                                                              \
    int after_errno = errno;                                                                       \
    pthread_mutex_unlock(&mutex);                                                                  \
    errno = after_errno;                                                                           \
    result;                                                                                        \
  })

static uint64_t inode_of(int descriptor) {
  struct stat status;
  return syscall(SYS_newfstatat, descriptor, "", &status, AT_EMPTY_PATH) ? 0 : status.st_ino;
}

static int is_folder(int descriptor) {
  struct stat status;
  return !syscall(SYS_newfstatat, descriptor, "", &status, AT_EMPTY_PATH) &&
         S_ISDIR(status.st_mode);
}

static int exists(int at, const char *path) {
  struct stat status;
  int before = errno;
  int found = !syscall(SYS_newfstatat, at, path, &status, AT_SYMLINK_NOFOLLOW);
  errno = before;
  return found;
}

static uint64_t inode_at(int at, const char *path) {
  struct stat status;
  return syscall(SYS_newfstatat, at, path, &status, AT_SYMLINK_NOFOLLOW) ? 0 : status.st_ino;
}

static void note_opened(int descriptor, int flags, const char *path, int existed) {
  /* A file of O_TMPFILE has no name, but may be linked later. */
  if ((flags & O_TMPFILE) == O_TMPFILE) note(CREATED, 0, inode_of(descriptor), 0, "", "", "", 0);
  else if (!existed) note(CREATED, 0, inode_of(descriptor), 0, path, "", "", 0);
  else if (flags & O_TRUNC) note(CUT, 0, inode_of(descriptor), 0, path, "", "", 0);
}

static int open_at(int at, const char *name, int flags, mode_t mode) {
  char buffer[PATH_MAX];
  const char *path = of_path(at, name, buffer);
  if (!path) return syscall(SYS_openat, at, name, flags, mode);
  int existed = 1;
  return WATCHED(OPEN, path, 0, int,
                 (existed = exists(at, name), syscall(SYS_openat, at, name, flags, mode)),
                 note_opened(result, flags, path, existed));
}

#define MODE(last)                                                                                 \
  mode_t mode = 0;                                                                                 \
  if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {                                       \
    va_list rest;                                                                                  \
    va_start(rest, last);                                                                          \
    mode = va_arg(rest, mode_t);                                                                   \
    va_end(rest);                                                                                  \
  }

int open(const char *name, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, name, flags, mode); }
int openat(int at, const char *name, int flags, ...) { MODE(flags) return open_at(at, name, flags, mode); }
int openat64(int at, const char *name, int flags, ...) { MODE(flags) return open_at(at, name, flags, mode); }
int __open_2(const char *name, int flags) { return open_at(AT_FDCWD, name, flags, 0); }
int __open64_2(const char *name, int flags) { return open_at(AT_FDCWD, name, flags, 0); }
int __openat_2(int at, const char *name, int flags) { return open_at(at, name, flags, 0); }
int __openat64_2(int at, const char *name, int flags) { return open_at(at, name, flags, 0); }
int creat(const char *name, mode_t mode) { return open_at(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *name, mode_t mode) { return creat(name, mode); }

/* Streams of the C library read and write without calls that can be replaced here. */
static void note_stream(const char *path, const char *mode) {
  if (strpbrk(mode, "wa+")) note(UNKNOWN, 0, 0, 0, path, "fopen", "", 0);
}

FILE *fopen(const char *name, const char *mode) {
  char buffer[PATH_MAX];
  const char *path = of_path(AT_FDCWD, name, buffer);
  if (path) {
    pthread_mutex_lock(&mutex);
    int error = fault(OPEN, path, 0);
    if (!error) note_stream(path, mode);
    pthread_mutex_unlock(&mutex);
    if (error) return errno = error, NULL;
  }
  return REAL(fopen, name, mode);
}
FILE *fopen64(const char *name, const char *mode) { return fopen(name, mode); }

/* Fails for what was open for writing, as on a network. The descriptor is closed in any case. */
int close(int descriptor) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(descriptor, buffer);
  if (!path || (fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_RDONLY) return syscall(SYS_close, descriptor);
  pthread_mutex_lock(&mutex);
  int error = fault(CLOSE, path, 0);
  int result = syscall(SYS_close, descriptor);
  pthread_mutex_unlock(&mutex);
  return error ? (errno = error, -1) : result;
}

#define HALF(size) (is_short ? (size) / 2 : (size))

static void note_written(int descriptor, const char *path, const void *data, ssize_t size,
                         off_t offset) {
  if (log_file < 0 || size <= 0) return;
  if (offset < 0) offset = lseek(descriptor, 0, SEEK_CUR) - size;
  note(WRITTEN, 0, inode_of(descriptor), offset, path, "", data, size);
}

ssize_t read(int descriptor, void *data, size_t size) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(descriptor, buffer);
  if (!path) return REAL(read, descriptor, data, size);
  return WATCHED(READ, path, size, ssize_t, syscall(SYS_read, descriptor, data, HALF(size)), {});
}

ssize_t pread(int descriptor, void *data, size_t size, off_t offset) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(descriptor, buffer);
  if (!path) return REAL(pread, descriptor, data, size, offset);
  return WATCHED(READ, path, size, ssize_t,
                 syscall(SYS_pread64, descriptor, data, HALF(size), offset), {});
}
ssize_t pread64(int descriptor, void *data, size_t size, off_t offset) { return pread(descriptor, data, size, offset); }

ssize_t write(int descriptor, const void *data, size_t size) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(descriptor, buffer);
  if (!path) return REAL(write, descriptor, data, size);
  return WATCHED(WRITE, path, size, ssize_t, syscall(SYS_write, descriptor, data, HALF(size)),
                 note_written(descriptor, path, data, result, -1));
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(descriptor, buffer);
  if (!path) return REAL(pwrite, descriptor, data, size, offset);
  return WATCHED(WRITE, path, size, ssize_t,
                 syscall(SYS_pwrite64, descriptor, data, HALF(size), offset),
                 note_written(descriptor, path, data, result, offset));
}
ssize_t pwrite64(int descriptor, const void *data, size_t size, off_t offset) { return pwrite(descriptor, data, size, offset); }

/* Vectors of watched files go through one buffer. */
static size_t total(const struct iovec *parts, int number) {
  size_t size = 0;
  for (int i = 0; i < number; i++) size += parts[i].iov_len;
  return size;
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int number, off_t offset) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(descriptor, buffer);
  if (!path) return REAL(pwritev, descriptor, parts, number, offset);
  size_t size = total(parts, number), filled = 0;
  char *data = malloc(size + 1);
  for (int i = 0; i < number; filled += parts[i++].iov_len)
    memcpy(data + filled, parts[i].iov_base, parts[i].iov_len);
  ssize_t done = offset < 0 ? write(descriptor, data, size) : pwrite(descriptor, data, size, offset);
  free(data);
  return done;
}
ssize_t pwritev64(int descriptor, const struct iovec *parts, int number, off_t offset) { return pwritev(descriptor, parts, number, offset); }
ssize_t writev(int descriptor, const struct iovec *parts, int number) {
  char buffer[PATH_MAX];
  if (!of_descriptor(descriptor, buffer)) return REAL(writev, descriptor, parts, number);
  return pwritev(descriptor, parts, number, -1);
}
ssize_t pwritev2(int descriptor, const struct iovec *parts, int number, off_t offset, int flags) {
  char buffer[PATH_MAX];
  if (!of_descriptor(descriptor, buffer)) return REAL(pwritev2, descriptor, parts, number, offset, flags);
  return pwritev(descriptor, parts, number, offset);
}
ssize_t pwritev64v2(int descriptor, const struct iovec *parts, int number, off_t offset, int flags) {
  return pwritev2(descriptor, parts, number, offset, flags);
}

ssize_t preadv(int descriptor, const struct iovec *parts, int number, off_t offset) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(descriptor, buffer);
  if (!path || number < 1) return REAL(preadv, descriptor, parts, number, offset);
  /* Fewer bytes than there is room for are allowed: only the first part is filled. */
  if (offset < 0) return read(descriptor, parts[0].iov_base, parts[0].iov_len);
  return pread(descriptor, parts[0].iov_base, parts[0].iov_len, offset);
}
ssize_t preadv64(int descriptor, const struct iovec *parts, int number, off_t offset) { return preadv(descriptor, parts, number, offset); }
ssize_t preadv2(int descriptor, const struct iovec *parts, int number, off_t offset, int flags) {
  char buffer[PATH_MAX];
  if (!of_descriptor(descriptor, buffer)) return REAL(preadv2, descriptor, parts, number, offset, flags);
  return preadv(descriptor, parts, number, offset);
}
ssize_t preadv64v2(int descriptor, const struct iovec *parts, int number, off_t offset, int flags) {
  return preadv2(descriptor, parts, number, offset, flags);
}
ssize_t readv(int descriptor, const struct iovec *parts, int number) {
  char buffer[PATH_MAX];
  if (!of_descriptor(descriptor, buffer)) return REAL(readv, descriptor, parts, number);
  return preadv(descriptor, parts, number, -1);
}

/* Copies inside the kernel are refused, as by a file system without them: callers then use read
 * and write. */
ssize_t sendfile(int to, int from, off_t *offset, size_t size) {
  char buffer[PATH_MAX];
  if (of_descriptor(to, buffer) || of_descriptor(from, buffer)) return errno = EINVAL, -1;
  return REAL(sendfile, to, from, offset, size);
}
ssize_t sendfile64(int to, int from, off_t *offset, size_t size) { return sendfile(to, from, offset, size); }
ssize_t copy_file_range(int from, off_t *start, int to, off_t *place, size_t size, unsigned flags) {
  char buffer[PATH_MAX];
  if (of_descriptor(to, buffer) || of_descriptor(from, buffer)) return errno = EXDEV, -1;
  return REAL(copy_file_range, from, start, to, place, size, flags);
}

static int sync_descriptor(int descriptor, const char *path) {
  if (fcntl(descriptor, F_GETFL) & O_PATH) return errno = EBADF, -1;
  pthread_mutex_lock(&mutex);
  int error = fault(is_folder(descriptor) ? FSYNC_FOLDER : FSYNC, path, 0);
  note(SYNCED, error, inode_of(descriptor), 0, path, "", "", 0);
  pthread_mutex_unlock(&mutex);
  return error ? (errno = error, -1) : 0;
}

int fsync(int descriptor) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(descriptor, buffer);
  return path ? sync_descriptor(descriptor, path) : REAL(fsync, descriptor);
}

int fdatasync(int descriptor) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(descriptor, buffer);
  return path ? sync_descriptor(descriptor, path) : REAL(fdatasync, descriptor);
}

int syncfs(int descriptor) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(descriptor, buffer);
  if (path) note(UNKNOWN, 0, 0, 0, path, "syncfs", "", 0);
  return REAL(syncfs, descriptor);
}

int ftruncate(int descriptor, off_t size) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(descriptor, buffer);
  if (!path) return REAL(ftruncate, descriptor, size);
  return WATCHED(TRUNCATE, path, 0, int, syscall(SYS_ftruncate, descriptor, size),
                 note(CUT, 0, inode_of(descriptor), size, path, "", "", 0));
}
int ftruncate64(int descriptor, off_t size) { return ftruncate(descriptor, size); }

int truncate(const char *name, off_t size) {
  char buffer[PATH_MAX];
  const char *path = of_path(AT_FDCWD, name, buffer);
  if (!path) return REAL(truncate, name, size);
  return WATCHED(TRUNCATE, path, 0, int, syscall(SYS_truncate, name, size),
                 note(CUT, 0, inode_at(AT_FDCWD, name), size, path, "", "", 0));
}
int truncate64(const char *name, off_t size) { return truncate(name, size); }

int posix_fallocate(int descriptor, off_t offset, off_t size) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(descriptor, buffer);
  if (!path) return REAL(posix_fallocate, descriptor, offset, size);
  pthread_mutex_lock(&mutex);
  int error = fault(ALLOCATE, path, 0);
  note(UNKNOWN, 0, 0, 0, path, "posix_fallocate", "", 0);
  pthread_mutex_unlock(&mutex);
  return error ? error : REAL(posix_fallocate, descriptor, offset, size);
}
int posix_fallocate64(int descriptor, off_t offset, off_t size) { return posix_fallocate(descriptor, offset, size); }

int posix_fadvise(int descriptor, off_t offset, off_t size, int advice) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(descriptor, buffer);
  if (!path) return REAL(posix_fadvise, descriptor, offset, size, advice);
  pthread_mutex_lock(&mutex);
  int error = fault(ADVISE, path, 0);
  pthread_mutex_unlock(&mutex);
  return error; /* the cache is kept: nothing reaches the disk here */
}
int posix_fadvise64(int descriptor, off_t offset, off_t size, int advice) { return posix_fadvise(descriptor, offset, size, advice); }

static int rename_at(int at, const char *name, int to, const char *other, unsigned flags) {
  char buffer[PATH_MAX], second[PATH_MAX];
  const char *path = of_path(at, name, buffer), *target = of_path(to, other, second);
  if (!path && !target) return syscall(SYS_renameat2, at, name, to, other, flags);
  return WATCHED(RENAME, path ? path : target, 0, int,
                 syscall(SYS_renameat2, at, name, to, other, flags),
                 note(path && target && !(flags & ~1u) ? MOVED : UNKNOWN, 0, 0, 0,
                      path ? path : "", target ? target : "", "", 0));
}
int rename(const char *name, const char *other) { return rename_at(AT_FDCWD, name, AT_FDCWD, other, 0); }
int renameat(int at, const char *name, int to, const char *other) { return rename_at(at, name, to, other, 0); }
int renameat2(int at, const char *name, int to, const char *other, unsigned flags) { return rename_at(at, name, to, other, flags); }

static int remove_at(int at, const char *name, int flags) {
  char buffer[PATH_MAX];
  const char *path = of_path(at, name, buffer);
  if (!path) return syscall(SYS_unlinkat, at, name, flags);
  return WATCHED(flags & AT_REMOVEDIR ? RMDIR : UNLINK, path, 0, int,
                 syscall(SYS_unlinkat, at, name, flags),
                 note(REMOVED, 0, 0, 0, path, "", "", 0));
}
int unlink(const char *name) { return remove_at(AT_FDCWD, name, 0); }
int unlinkat(int at, const char *name, int flags) { return remove_at(at, name, flags); }
int rmdir(const char *name) { return remove_at(AT_FDCWD, name, AT_REMOVEDIR); }
int remove(const char *name) {
  int result = unlink(name);
  return result && (errno == EISDIR || errno == EPERM) ? rmdir(name) : result;
}

int mkdirat(int at, const char *name, mode_t mode) {
  char buffer[PATH_MAX];
  const char *path = of_path(at, name, buffer);
  if (!path) return syscall(SYS_mkdirat, at, name, mode);
  return WATCHED(MKDIR, path, 0, int, syscall(SYS_mkdirat, at, name, mode),
                 note(MADE, 0, inode_at(at, name), 0, path, "", "", 0));
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

int linkat(int at, const char *name, int to, const char *other, int flags) {
  char buffer[PATH_MAX], second[PATH_MAX];
  const char *path = of_path(at, name, buffer), *target = of_path(to, other, second);
  if (!target) return syscall(SYS_linkat, at, name, to, other, flags);
  return WATCHED(LINK, target, 0, int, syscall(SYS_linkat, at, name, to, other, flags),
                 note(LINKED, 0, inode_at(to, other), 0, path ? path : "", target, "", 0));
}
int link(const char *name, const char *other) { return linkat(AT_FDCWD, name, AT_FDCWD, other, 0); }

int symlinkat(const char *content, int at, const char *name) {
  char buffer[PATH_MAX];
  const char *path = of_path(at, name, buffer);
  if (!path) return syscall(SYS_symlinkat, content, at, name);
  return WATCHED(LINK, path, 0, int, syscall(SYS_symlinkat, content, at, name),
                 note(POINTED, 0, 0, 0, path, content, "", 0));
}
int symlink(const char *content, const char *name) { return symlinkat(content, AT_FDCWD, name); }

/* Calls that change nothing in the model, but can fail. */
#define BY_PATH(group, at, name, call)                                                             \
  char buffer[PATH_MAX];                                                                           \
  const char *path = of_path(at, name, buffer);                                                    \
  return path ? WATCHED(group, path, 0, int, call, {}) : call;
#define BY_DESCRIPTOR(group, descriptor, call)                                                     \
  char buffer[PATH_MAX];                                                                           \
  const char *path = of_descriptor(descriptor, buffer);                                            \
  return path ? WATCHED(group, path, 0, int, call, {}) : call;

int stat(const char *name, struct stat *status) { BY_PATH(STAT, AT_FDCWD, name, REAL(stat, name, status)) }
int lstat(const char *name, struct stat *status) { BY_PATH(STAT, AT_FDCWD, name, REAL(lstat, name, status)) }
int fstat(int descriptor, struct stat *status) { BY_DESCRIPTOR(STAT, descriptor, REAL(fstat, descriptor, status)) }
int fstatat(int at, const char *name, struct stat *status, int flags) { BY_PATH(STAT, at, name, REAL(fstatat, at, name, status, flags)) }
int stat64(const char *name, struct stat64 *status) { BY_PATH(STAT, AT_FDCWD, name, REAL(stat64, name, status)) }
int lstat64(const char *name, struct stat64 *status) { BY_PATH(STAT, AT_FDCWD, name, REAL(lstat64, name, status)) }
int fstat64(int descriptor, struct stat64 *status) { BY_DESCRIPTOR(STAT, descriptor, REAL(fstat64, descriptor, status)) }
int fstatat64(int at, const char *name, struct stat64 *status, int flags) { BY_PATH(STAT, at, name, REAL(fstatat64, at, name, status, flags)) }
int statx(int at, const char *name, int flags, unsigned mask, struct statx *status) { BY_PATH(STAT, at, name, REAL(statx, at, name, flags, mask, status)) }
int access(const char *name, int mode) { BY_PATH(ACCESS, AT_FDCWD, name, REAL(access, name, mode)) }
int faccessat(int at, const char *name, int mode, int flags) { BY_PATH(ACCESS, at, name, REAL(faccessat, at, name, mode, flags)) }
int chmod(const char *name, mode_t mode) { BY_PATH(CHMOD, AT_FDCWD, name, REAL(chmod, name, mode)) }
int fchmod(int descriptor, mode_t mode) { BY_DESCRIPTOR(CHMOD, descriptor, REAL(fchmod, descriptor, mode)) }
int fchmodat(int at, const char *name, mode_t mode, int flags) { BY_PATH(CHMOD, at, name, REAL(fchmodat, at, name, mode, flags)) }
int flock(int descriptor, int operation) { BY_DESCRIPTOR(FLOCK, descriptor, REAL(flock, descriptor, operation)) }
int statvfs64(const char *name, struct statvfs64 *status) { BY_PATH(STAT, AT_FDCWD, name, REAL(statvfs64, name, status)) }

void *mmap(void *address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  char buffer[PATH_MAX];
  const char *path = flags & MAP_ANONYMOUS ? NULL : of_descriptor(descriptor, buffer);
  if (!path) return (void *)syscall(SYS_mmap, address, size, protection, flags, descriptor, offset);
  if (flags & MAP_SHARED && protection & PROT_WRITE) note(UNKNOWN, 0, 0, 0, path, "mmap", "", 0);
  return WATCHED(MMAP, path, 0, void *,
                 (void *)syscall(SYS_mmap, address, size, protection, flags, descriptor, offset), {});
}
void *mmap64(void *address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  return mmap(address, size, protection, flags, descriptor, offset);
}

DIR *opendir(const char *name) {
  char buffer[PATH_MAX];
  const char *path = of_path(AT_FDCWD, name, buffer);
  if (!path) return REAL(opendir, name);
  DIR *stream = WATCHED(READ_FOLDER, path, 0, DIR *, REAL(opendir, name), {});
  return stream == (DIR *)-1 ? NULL : stream;
}

DIR *fdopendir(int descriptor) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(descriptor, buffer);
  if (!path) return REAL(fdopendir, descriptor);
  DIR *stream = WATCHED(READ_FOLDER, path, 0, DIR *, REAL(fdopendir, descriptor), {});
  return stream == (DIR *)-1 ? NULL : stream;
}

struct dirent *readdir(DIR *stream) {
  char buffer[PATH_MAX];
  const char *path = of_descriptor(dirfd(stream), buffer);
  if (!path) return REAL(readdir, stream);
  struct dirent *entry = WATCHED(READ_FOLDER, path, 0, struct dirent *, REAL(readdir, stream), {});
  return entry == (struct dirent *)-1 ? NULL : entry;
}
struct dirent64 *readdir64(DIR *stream) { return (struct dirent64 *)readdir(stream); }
