#pragma once
/*
 * Page: the files of the console, which are part of the binary, and their way to a browser.
 *
 * tools/pack-web.c makes the list from web/. All files but index.html lie in a folder whose name is
 * a hash of all of them: a browser may keep them for ever, and asks for index.html each time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call;
struct http_answer;

struct page_file {
	const char *path; /* below "/"; "" is index.html */
	const char *type;
	const char *etag;           /* quoted; NULL: it never changes under this name */
	const unsigned char *bytes; /* as gzip has it */
	size_t len, plain_len;
};

/* By path; none at all in a build without the console. */
extern const struct page_file page_files[];
extern const size_t page_file_count;

/* Whether this is a GET or HEAD of a file of the page; answered by page_serve() when all of the
 * request is there, so that the connection stays open for the next file. */
bool page_has(struct call *c);
void page_serve(struct call *c);

/* Headers that every answer has, page or not: what a browser must not do with it. Adds them behind
 * those that are there. */
void page_guard(struct http_answer *a, bool is_page);
