/*
 * power.c
 *	  A disk that forgets what was not synced: LD_PRELOAD for a server (SoakPower.pm).
 *
 * Below the folder POWER_DATA the processes of a server work on files as ever.  The folder POWER_DISK holds what a
 * power failure would leave: a file goes there when it is synced, whole, as it is then.  Names follow at once: a file
 * that is renamed or unlinked is so on the disk, too, as far as it is there.  A file that was never synced is not
 * there.
 *
 * A copy is made beside its place and renamed, so that a process killed in the middle leaves the file as it was synced
 * before.  The copy may hold more than was written before the sync began, since others write on: a disk may, too.
 *
 * POWER_FORGET is a part of a path: files whose path has it are never taken for synced.  It shows that a test can fail.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

/* The disk's path of a path, false if it is not below the data directory, which is the server's working directory. */
static bool
on_disk(const char *path, char *disk)
{
	const char *data = getenv("POWER_DATA");
	const char *root = getenv("POWER_DISK");
	size_t		len;

	if (data == NULL || root == NULL)
		return false;
	len = strlen(data);
	if (path[0] != '/')
		snprintf(disk, PATH_MAX, "%s/%s", root, path);
	else if (strncmp(path, data, len) == 0 && path[len] == '/')
		snprintf(disk, PATH_MAX, "%s%s", root, path + len);
	else
		return false;
	return true;
}

static void
copy(int from, const char *disk)
{
	static const char suffix[] = ".power";
	char		name[PATH_MAX + sizeof(suffix) + 16];
	char		buffer[65536];
	ssize_t		n;
	off_t		at = 0;
	int			to;

	snprintf(name, sizeof(name), "%s%s%d", disk, suffix, (int) getpid());
	to = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (to < 0)
		return;
	while ((n = pread(from, buffer, sizeof(buffer), at)) > 0)
	{
		if (write(to, buffer, (size_t) n) != n)
			abort();
		at += n;
	}
	close(to);
	REAL(rename) (name, disk);
}

/* Copies one file at a time: a copy that began later has all of an earlier one. */
static void
synced(int fd)
{
	char		link[64];
	char		path[PATH_MAX];
	char		disk[PATH_MAX];
	char		lock_name[PATH_MAX];
	const char *forget = getenv("POWER_FORGET");
	struct stat status;
	ssize_t		n;
	int			from;
	int			lock;
	int			saved = errno;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return;
	path[n] = '\0';
	if (!on_disk(path, disk) || (forget != NULL && strstr(path, forget) != NULL) ||
		fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink == 0)
		return;
	/* another descriptor, for this one may be for writing alone */
	from = open(path, O_RDONLY);
	if (from < 0)
		return;
	snprintf(lock_name, sizeof(lock_name), "%s.lock", getenv("POWER_DISK"));
	lock = open(lock_name, O_RDWR | O_CREAT, 0600);
	if (lock < 0 || flock(lock, LOCK_EX) != 0)
		abort();
	copy(from, disk);
	close(lock);
	close(from);
	errno = saved;
}

int
fsync(int fd)
{
	int			result = REAL(fsync) (fd);

	if (result == 0)
		synced(fd);
	return result;
}

int
fdatasync(int fd)
{
	int			result = REAL(fdatasync) (fd);

	if (result == 0)
		synced(fd);
	return result;
}

/* When recovery begins, all is on the disk. */
int
syncfs(int fd)
{
	(void) fd;
	return 0;
}

int
rename(const char *from, const char *to)
{
	char		disk_from[PATH_MAX];
	char		disk_to[PATH_MAX];
	int			result = REAL(rename) (from, to);

	if (result == 0 && on_disk(from, disk_from) && on_disk(to, disk_to))
		REAL(rename) (disk_from, disk_to);
	return result;
}

int
link(const char *from, const char *to)
{
	char		disk_from[PATH_MAX];
	char		disk_to[PATH_MAX];
	int			result = REAL(link) (from, to);

	if (result == 0 && on_disk(from, disk_from) && on_disk(to, disk_to))
		REAL(link) (disk_from, disk_to);
	return result;
}

int
unlink(const char *path)
{
	char		disk[PATH_MAX];
	int			result = REAL(unlink) (path);

	if (result == 0 && on_disk(path, disk))
		REAL(unlink) (disk);
	return result;
}

int
mkdir(const char *path, mode_t mode)
{
	char		disk[PATH_MAX];
	int			result = REAL(mkdir) (path, mode);

	if (result == 0 && on_disk(path, disk))
		REAL(mkdir) (disk, mode);
	return result;
}

int
rmdir(const char *path)
{
	char		disk[PATH_MAX];
	int			result = REAL(rmdir) (path);

	if (result == 0 && on_disk(path, disk))
		REAL(rmdir) (disk);
	return result;
}
