/*
 * pack-web DIR OUT.c DEPFILE: the files of the page as constant C data (serve/page.h).
 *
 * Each file is packed as gzip does, without a time or a name, so that two builds are the same
 * bytes. All but index.html lie in a folder named by a hash of all files: what a browser keeps is
 * never old. In index.html each src="NAME" and href="NAME" of a file gets that folder in front; all
 * other files name each other relatively, and stay as they are. DIR "-" packs nothing.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sodium.h>
#include <sys/stat.h>
#include <zlib.h>

#define FILES_MAX 128
#define BYTES_MAX (1U << 20) /* of one file */
#define HASH      16

struct file {
	char path[200];
	unsigned char *bytes;
	size_t n;
};

static struct file files[FILES_MAX];
static size_t count;
static FILE *deps;

static const char *const types[][2] = {
	{".html", "text/html; charset=utf-8"},
	{".js", "text/javascript; charset=utf-8"},
	{".css", "text/css; charset=utf-8"},
	{".svg", "image/svg+xml"},
	{".json", "application/json"},
	{".webmanifest", "application/manifest+json"},
	{".png", "image/png"},
	{".ico", "image/vnd.microsoft.icon"},
	{".woff2", "font/woff2"},
	{".txt", "text/plain; charset=utf-8"},
};

static void fail(const char *path, const char *words)
{
	fprintf(stderr, "pack-web: %s: %s\n", path, words);
	exit(1);
}

static const char *type_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < sizeof(types) / sizeof(*types); i++)
		if (strcmp(dot, types[i][0]) == 0)
			return types[i][1];
	return NULL;
}

static void read_file(const char *from, const char *name)
{
	struct file *f = &files[count];
	FILE *in = fopen(from, "rb");

	if (!in)
		fail(from, "cannot be read");
	if (count == FILES_MAX || strlen(name) >= sizeof(f->path))
		fail(from, "too many files, or too long a name");
	if (!type_of(name))
		fail(from, "no type is known for this name");
	strcpy(f->path, name);
	f->bytes = malloc(BYTES_MAX + 1);
	if (!f->bytes)
		fail(from, "out of memory");
	f->n = fread(f->bytes, 1, BYTES_MAX + 1, in);
	fclose(in);
	if (f->n > BYTES_MAX)
		fail(from, "larger than 1 MiB");
	f->bytes[f->n] = '\0'; /* there is room: it is smaller */
	fprintf(deps, " %s", from);
	count++;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_folder(const char *dir, const char *folder)
{
	struct dirent **list;
	int n;

	fprintf(deps, " %s", dir);
	n = scandir(dir, &list, NULL, by_name);
	if (n < 0)
		fail(dir, "cannot be read");
	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		char from[4096], path[300];
		struct stat st;

		snprintf(from, sizeof(from), "%s/%s", dir, name);
		snprintf(path, sizeof(path), "%s%s", folder, name);
		/* Of an editor, of a build, or for people. */
		if (name[0] == '.' || strchr(name, '~') || strcmp(name, "meson.build") == 0 ||
		    strcmp(name, "README.md") == 0)
			continue;
		if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
		                 ".") != strlen(name))
			fail(from, "a name has letters, digits, '-', '_' and '.'");
		if (stat(from, &st) < 0)
			fail(from, "cannot be read");
		if (S_ISREG(st.st_mode)) {
			read_file(from, path);
		} else if (S_ISDIR(st.st_mode) && !*folder) {
			strcat(path, "/");
			read_folder(from, path);
		} else {
			fail(from, "neither a file nor a folder of the first level");
		}
	}
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

static void hash(const void *bytes, size_t n, char hex[2 * HASH + 1])
{
	unsigned char digest[HASH];

	crypto_generichash(digest, sizeof(digest), bytes, n, NULL, 0);
	sodium_bin2hex(hex, 2 * HASH + 1, digest, sizeof(digest));
}

/* One hash for all: names and contents. */
static void hash_all(char hex[2 * HASH + 1])
{
	unsigned char digest[HASH];
	crypto_generichash_state s;

	crypto_generichash_init(&s, NULL, 0, sizeof(digest));
	for (size_t i = 0; i < count; i++) {
		crypto_generichash_update(&s, (const unsigned char *)files[i].path,
		                          strlen(files[i].path) + 1);
		crypto_generichash_update(&s, (const unsigned char *)&files[i].n,
		                          sizeof(files[i].n));
		crypto_generichash_update(&s, files[i].bytes, files[i].n);
	}
	crypto_generichash_final(&s, digest, sizeof(digest));
	sodium_bin2hex(hex, 2 * HASH + 1, digest, sizeof(digest));
}

static const struct file *file_named(const char *name, size_t n)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(files[i].path) == n && memcmp(files[i].path, name, n) == 0)
			return &files[i];
	return NULL;
}

/* The folder in front of each name of a file in an attribute. */
static void rewrite(struct file *f, const char *folder)
{
	char *out = malloc(2 * BYTES_MAX), *to = out;
	const char *from = (const char *)f->bytes, *end = from + f->n;

	if (!out)
		fail(f->path, "out of memory");
	while (from < end) {
		size_t head = strncmp(from, "src=\"", 5) == 0    ? 5
		              : strncmp(from, "href=\"", 6) == 0 ? 6
		                                                 : 0;
		size_t n = head ? strcspn(from + head, "\"") : 0;

		if (to - out > BYTES_MAX)
			fail(f->path, "too large with its folders");
		if (head && file_named(from + head, n)) {
			to += sprintf(to, "%.*s%s/", (int)head, from, folder);
			from += head;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	free(f->bytes);
	f->bytes = (unsigned char *)out;
	f->n = (size_t)(to - out);
}

static unsigned char *pack(const struct file *f, size_t *ret_n)
{
	z_stream z = {0};
	size_t room = compressBound(f->n) + 64;
	unsigned char *out = malloc(room);

	if (!out || deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		fail(f->path, "cannot be packed");
	z.next_in = f->bytes;
	z.avail_in = (uInt)f->n;
	z.next_out = out;
	z.avail_out = (uInt)room;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		fail(f->path, "cannot be packed");
	*ret_n = z.total_out;
	deflateEnd(&z);
	return out;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static void write_row(FILE *out, const struct file *f, size_t i, const char *folder, size_t packed)
{
	char hex[2 * HASH + 1];

	hash(f->bytes, f->n, hex);
	if (strcmp(f->path, "index.html") == 0)
		fprintf(out, "\t{\"\", \"%s\", \"\\\"%s\\\"\", file_%zu, %zu, %zu},\n",
		        type_of(f->path), hex, i, packed, f->n);
	else
		fprintf(out, "\t{\"%s/%s\", \"%s\", (const char *)0, file_%zu, %zu, %zu},\n",
		        folder, f->path, type_of(f->path), i, packed, f->n);
}

static void write_bytes(FILE *out, size_t i, const unsigned char *bytes, size_t n)
{
	fprintf(out, "static const unsigned char file_%zu[] = {", i);
	for (size_t at = 0; at < n; at++)
		fprintf(out, "%s%u,", at % 32 ? "" : "\n", bytes[at]);
	fprintf(out, "\n};\n");
}

int main(int argc, char **argv)
{
	char hex[2 * HASH + 1], folder[16];
	size_t packed[FILES_MAX];
	FILE *out;

	if (argc != 4 || sodium_init() < 0)
		return 1;
	out = fopen(argv[2], "w");
	deps = fopen(argv[3], "w");
	if (!out || !deps)
		fail(argv[2], "cannot be written");
	fprintf(deps, "%s:", argv[2]);
	if (strcmp(argv[1], "-") != 0)
		read_folder(argv[1], "");
	fprintf(deps, "\n");
	if (count > 0 && !file_named("index.html", 10))
		fail(argv[1], "there is no index.html");
	hash_all(hex);
	snprintf(folder, sizeof(folder), "w-%.12s", hex);
	fprintf(out, "#include \"serve/page.h\"\n\n");
	for (size_t i = 0; i < count; i++) {
		unsigned char *bytes;

		if (strcmp(files[i].path, "index.html") == 0)
			rewrite(&files[i], folder);
		bytes = pack(&files[i], &packed[i]);
		write_bytes(out, i, bytes, packed[i]);
		free(bytes);
	}
	fprintf(out, "\nconst struct page_file page_files[] = {\n");
	/* index.html is "" and so the first; the others are sorted as they came. */
	for (size_t i = 0; i < count; i++)
		if (strcmp(files[i].path, "index.html") == 0)
			write_row(out, &files[i], i, folder, packed[i]);
	/* After all rows are numbered: the order of a folder is not that of whole paths. */
	struct order {
		struct file f;
		size_t i;
	} *order = calloc(count + 1, sizeof(*order));

	for (size_t i = 0; order && i < count; i++)
		order[i] = (struct order){files[i], i};
	if (!order)
		fail(argv[2], "out of memory");
	qsort(order, count, sizeof(*order), by_path);
	for (size_t i = 0; i < count; i++)
		if (strcmp(order[i].f.path, "index.html") != 0)
			write_row(out, &order[i].f, order[i].i, folder, packed[order[i].i]);
	fprintf(out, "\t{\"\", \"\", (const char *)0, (const unsigned char *)\"\", 0, 0},\n};\n");
	fprintf(out, "const size_t page_file_count = %zu;\n", count);
	free(order);
	return fclose(out) != 0 || fclose(deps) != 0;
}
