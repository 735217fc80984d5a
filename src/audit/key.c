#include "audit/key.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sodium.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"

#define SEED_BYTES crypto_sign_SEEDBYTES
_Static_assert(crypto_sign_PUBLICKEYBYTES == AUDIT_KEY_BYTES, "Ed25519");
_Static_assert(crypto_sign_BYTES == AUDIT_SIGN_BYTES, "Ed25519");

/* Bytes as hex and a newline; on the disk before anything is signed with them. */
static int write_hex(int dir_fd, const char *name, const unsigned char *bytes, size_t n)
{
	char text[2 * AUDIT_SIGN_BYTES + 2];
	int r;

	hex_write(bytes, n, text);
	text[2 * n] = '\n';
	r = fd_replace_file_synced(dir_fd, name, text, 2 * n + 1);
	sodium_memzero(text, sizeof(text));
	return r;
}

static int read_hex(int fd, unsigned char *into, size_t n)
{
	char text[2 * AUDIT_SIGN_BYTES + 2] = {0};
	ssize_t got = read(fd, text, sizeof(text) - 1);
	bool good = got >= (ssize_t)(2 * n) && hex_read(text, into, n) &&
	            text[2 * n + strspn(text + 2 * n, " \r\n")] == '\0';

	sodium_memzero(text, sizeof(text));
	return good ? 0 : -EBADMSG;
}

static int make_key(int dir_fd, unsigned char seed[SEED_BYTES])
{
	unsigned char public_key[AUDIT_KEY_BYTES], secret_key[crypto_sign_SECRETKEYBYTES];
	int r;

	randombytes_buf(seed, SEED_BYTES);
	(void)crypto_sign_seed_keypair(public_key, secret_key, seed);
	sodium_memzero(secret_key, sizeof(secret_key));
	/* The public half first: a key that signs can then always be checked. */
	r = write_hex(dir_fd, "key.pub", public_key, sizeof(public_key));
	return r < 0 ? r : write_hex(dir_fd, "key", seed, SEED_BYTES);
}

static int load_key(int dir_fd, unsigned char seed[SEED_BYTES], struct error *err)
{
	scoped(fd_closep) int fd = fd_open_regular(dir_fd, "key");
	struct stat st;
	int r = fd;

	if (fd == -ENOENT)
		r = make_key(dir_fd, seed);
	else if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_uid != geteuid() || (st.st_mode & 077)))
		return error_set(err, ERROR_SYSTEM, EPERM,
		                 "the key of the audit log is not private to this user");
	else if (fd >= 0)
		r = read_hex(fd, seed, SEED_BYTES);
	if (r == -EBADMSG)
		return error_set(err, ERROR_SYSTEM, EBADMSG, "the key of the audit log is damaged");
	return r < 0 ? error_sys(err, -r, "key of the audit log") : 0;
}

int key_sign(int dir_fd, uint64_t seq, const unsigned char prev[AUDIT_HASH_BYTES],
             struct buffer *body, struct error *err)
{
	unsigned char seed[SEED_BYTES], public_key[AUDIT_KEY_BYTES],
		secret_key[crypto_sign_SECRETKEYBYTES], signature[AUDIT_SIGN_BYTES];
	char statement[AUDIT_STATEMENT_MAX], hex[2 * AUDIT_SIGN_BYTES + 1];
	size_t n = audit_statement(seq, prev, statement);
	int r = load_key(dir_fd, seed, err);

	if (r < 0)
		return r;
	(void)crypto_sign_seed_keypair(public_key, secret_key, seed);
	(void)crypto_sign_detached(signature, NULL, (const unsigned char *)statement, n,
	                           secret_key);
	sodium_memzero(seed, sizeof(seed));
	sodium_memzero(secret_key, sizeof(secret_key));
	hex_write(public_key, sizeof(public_key), hex);
	buffer_printf(body, ",\"key\":\"%s\"", hex);
	hex_write(signature, sizeof(signature), hex);
	buffer_printf(body, ",\"signature\":\"%s\"", hex);
	return buffer_error(body) < 0 ? error_nomem(err) : 0;
}

int key_read_public(int dir_fd, const char *path, unsigned char ret_key[AUDIT_KEY_BYTES],
                    struct error *err)
{
	scoped(fd_closep) int fd = fd_open_regular(dir_fd, path);
	int r = fd < 0 ? fd : read_hex(fd, ret_key, AUDIT_KEY_BYTES);

	if (r == -EBADMSG)
		return error_set(err, ERROR_INPUT, EINVAL, "%.150s holds no public key", path);
	return r < 0 ? error_set(err, ERROR_INPUT, -r, "%.150s: %s", path, strerrordesc_np(-r)) : 0;
}
