#pragma once
/*
 * Secret: random bytes of this installation, made once, in a file that nobody else can read.
 */
#include <stddef.h>

struct error;
struct store;

/* Fills KEY from the state directory. Where nothing can be stored it is a new one, which is as good
 * for as long as this process lives. */
int secret_load(const struct store *store, const char *name, void *key, size_t n,
                struct error *err);

/* Fresh random bytes as letters, digits, '-' and '_': four for each three bytes, and a NUL. INTO
 * has room for SECRET_TEXT_SIZE(BYTES). */
#define SECRET_TEXT_SIZE(bytes) (((bytes)*8 + 5) / 6 + 1)
int secret_text(size_t bytes, char *into, struct error *err);
