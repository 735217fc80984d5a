/*
 * A log comes from the disk, where somebody may have been at it; a command that is masked comes
 * from anybody. The input is tried as a log, as bodies of records that are put into a chain with
 * the right hashes (or nothing behind the hash would ever be reached), and as a text with secrets.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "audit/chain.h"
#include "audit/mask.h"
#include "audit/scan.h"
#include "base/buffer.h"
#include "base/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_log(const char *bytes, size_t n)
{
	scoped(fd_closep) int fd = memfd_create("log", MFD_CLOEXEC);
	const struct audit_link none = {0};
	struct scan_end end;

	if (fd < 0 || fd_write_all(fd, bytes, n) < 0 ||
	    scan_chain(fd, 0, &none, true, &end, NULL) < 0)
		return;
	if (end.size > n || (end.size > 0 && bytes[end.size - 1] != '\n'))
		abort();
}

/* Each line of the input is the body of a record. */
static void try_bodies(const char *bytes, size_t n)
{
	scoped(buffer_donep) struct buffer lines = {0};
	struct audit_link link = {0};
	struct audit_chain chain = {0};
	size_t at = 0;

	while (at < n && lines.len < 1 << 20) {
		const char *end = memchr(bytes + at, '\n', n - at);
		size_t length = end ? (size_t)(end - bytes) - at : n - at, begin = lines.len;

		audit_link_write(&link, link.seq + 1, bytes + at, length, &lines);
		if (buffer_error(&lines) < 0)
			return;
		if (audit_chain_feed(&chain, lines.data + begin, lines.len - begin - 1) < 0) {
			if (strlen(chain.problem) == 0)
				abort();
			chain = (struct audit_chain){0}; /* what follows may be any */
		}
		at += length + 1;
	}
}

static void try_mask(const char *bytes, size_t n)
{
	scoped(buffer_donep) struct buffer text = {0}, masked = {0};
	const char *words[3] = {0};

	buffer_append(&text, bytes, n);
	mask_text(NULL, buffer_str(&text), text.len, &masked);
	if (buffer_error(&masked) < 0 || masked.len > 4 * n + 16)
		abort();
	words[0] = buffer_str(&text);
	words[1] = words[0] + strlen(words[0]) / 2;
	mask_word(NULL, words, 1, &masked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 1 << 16)
		return 0;
	try_log((const char *)data, size);
	try_bodies((const char *)data, size);
	try_mask((const char *)data, size);
	return 0;
}
