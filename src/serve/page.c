#include "serve/page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include "base/fd.h"
#include "base/path.h"
#include "http/text.h"
#include "serve/inside.h"

#define FILE_BYTES_MAX ((size_t)4 << 20)

static const char page_policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
	"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

static void add(struct http_answer *a, const char *name, const char *value)
{
	int i = 0;

	while (a->headers[i][0])
		i++;
	a->headers[i][0] = name;
	a->headers[i][1] = value;
}

void page_guard(struct http_answer *a, bool is_page)
{
	add(a, "Cross-Origin-Resource-Policy", "same-origin");
	add(a, "Referrer-Policy", "no-referrer");
	add(a, "Content-Security-Policy",
	    is_page ? page_policy : "default-src 'none'; frame-ancestors 'none'");
	if (!is_page)
		return;
	add(a, "Cross-Origin-Opener-Policy", "same-origin");
	add(a, "Permissions-Policy", "camera=(), microphone=(), geolocation=()");
}

static const struct page_file *find(const char *path)
{
	size_t low = 0, high = page_file_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(path, page_files[middle].path);

		if (order == 0)
			return &page_files[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static bool accepts_gzip(const struct call *c)
{
	const char *coding = http_header(c->x, "Accept-Encoding");

	return coding && http_accepts(coding, "gzip", false);
}

/* Every browser takes gzip; this is for who looks at the page by hand. */
static void unpack(const struct page_file *f, struct buffer *into)
{
	z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)f->bytes, .avail_in = (uInt)f->len};
	char *room = buffer_reserve(into, f->plain_len + 1);

	if (!room || inflateInit2(&z, 15 + 16) != Z_OK)
		return;
	z.next_out = (Bytef *)room;
	z.avail_out = (uInt)f->plain_len;
	if (inflate(&z, Z_FINISH) == Z_STREAM_END)
		into->len += z.total_out;
	(void)inflateEnd(&z);
}

static void serve_packed(struct call *c, const struct page_file *f)
{
	scoped(buffer_donep) struct buffer body = {0};
	struct http_answer a = {.status = 200, .type = f->type, .body = &body};
	const char *known = http_header(c->x, "If-None-Match");
	bool packed = accepts_gzip(c);

	if (f->etag && known && strcmp(known, f->etag) == 0) {
		a = (struct http_answer){.status = 304};
	} else if (packed) {
		buffer_append(&body, f->bytes, f->len);
		add(&a, "Content-Encoding", "gzip");
	} else {
		unpack(f, &body);
	}
	if (f->etag)
		add(&a, "ETag", f->etag);
	add(&a, "Cache-Control", f->etag ? "no-cache" : "public, max-age=31536000, immutable");
	add(&a, "Vary", "Accept-Encoding");
	page_guard(&a, true);
	metrics_count_answer(&c->serve->metrics, a.status);
	http_answer(c->x, &a);
}

/* For work on the page: files of a directory, as they are now. */

static const char *type_of(const char *path)
{
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
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < array_size(types); i++)
		if (strcmp(dot, types[i][0]) == 0)
			return types[i][1];
	return NULL;
}

/* Names of files as they are packed: no hidden ones, and one folder at most. */
static bool is_plain(const char *path)
{
	int folders = 0;

	if (strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") !=
	    strlen(path))
		return false;
	for (const char *p = path; *p; p++) {
		if ((p == path || p[-1] == '/') && (*p == '.' || *p == '/'))
			return false;
		folders += *p == '/';
	}
	return folders <= 1;
}

/* A descriptor, or a negative errno. */
static int open_file(const struct call *c, const char *path)
{
	scoped(fd_closep) int dir = open(c->serve->options.web, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (!type_of(path) || !is_plain(path))
		return -ENOENT;
	return dir < 0 ? -errno : path_open_beneath(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

static void serve_file(struct call *c, const char *path)
{
	scoped(buffer_donep) struct buffer body = {.max = FILE_BYTES_MAX};
	scoped(fd_closep) int fd = open_file(c, path);
	struct http_answer a = {.status = 200, .type = type_of(path), .body = &body};

	if (fd < 0 || fd_read_all(fd, &body) < 0) {
		answer_error(c, 404, "input", "there is nothing under this path");
		return;
	}
	add(&a, "Cache-Control", "no-store");
	page_guard(&a, true);
	metrics_count_answer(&c->serve->metrics, a.status);
	http_answer(c->x, &a);
}

/* Behind the slash. */
static const char *path_of(const struct call *c)
{
	const char *path = http_path(c->x) + 1;

	return c->serve->options.web && !*path ? "index.html" : path;
}

bool page_has(struct call *c)
{
	const char *method = http_method(c->x);
	scoped(fd_closep) int fd = -1;

	if ((strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) || http_has_body(c->x))
		return false;
	if (!c->serve->options.web)
		return find(path_of(c)) != NULL;
	fd = open_file(c, path_of(c));
	return fd >= 0;
}

void page_serve(struct call *c)
{
	if (c->serve->options.web)
		serve_file(c, path_of(c));
	else
		serve_packed(c, find(path_of(c)));
}
