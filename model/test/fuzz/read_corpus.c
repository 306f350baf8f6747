/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * main() of a fuzz target without libFuzzer: executes each file of some folders once.
 *
 * usage: TARGET FOLDER...
 */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

static void
die(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

/*
 * A copy of just the size, so that a sanitizer sees each access beyond it. Not by fopen(),
 * which some targets replace.
 */
static void
execute(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *bytes;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		die(path);
	bytes = malloc((size_t)st.st_size);
	if (bytes == NULL || read(fd, bytes, (size_t)st.st_size) != st.st_size)
		die(path);
	close(fd);
	LLVMFuzzerTestOneInput(bytes, (size_t)st.st_size);
	free(bytes);
}

static int
is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Returns the number of files. */
static int
execute_all(const char *folder)
{
	struct dirent **entries;
	char path[4096];
	int nb;

	nb = scandir(folder, &entries, is_visible, alphasort);
	if (nb < 0)
		die(folder);
	for (int i = 0; i < nb; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		execute(path);
		free(entries[i]);
	}
	free(entries);
	return nb;
}

int
main(int argc, char **argv)
{
	int nb = 0;

	LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++)
		nb += execute_all(argv[i]);
	printf("%d inputs\n", nb);
	return nb > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
