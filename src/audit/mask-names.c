#include "audit/mask-pass.h"

#include <ctype.h>
#include <string.h>
#include "base/cleanup.h"

/* How a word may stand in a name. */
enum standing {
	ANYWHERE,
	PART,  /* by itself: api_key, my-api_key, not xapi_key */
	TOKEN, /* no letter behind it: token, tokens are many other things */
};

struct word {
	char text[12];
	unsigned char length, standing;
};

#define WORD(t, how)                                                                               \
	{                                                                                          \
		.text = (t), .length = sizeof(t) - 1, .standing = (how)                            \
	}

static bool stands(const char *name, const char *at, const struct word *w)
{
	unsigned char behind = (unsigned char)at[w->length];

	switch ((enum standing)w->standing) {
	case ANYWHERE:
		return true;
	case PART:
		return (at == name || !isalnum((unsigned char)at[-1])) && !isalnum(behind);
	case TOKEN:
		return !isalpha(behind);
	}
	return false;
}

/* One walk along the name for all of the words: every name of every command comes by here, so most
 * characters are settled by being none that one of them BEGINS with. */
static bool has_word(const char *name, const char *begins, const struct word *words, size_t count)
{
	for (const char *at = name + strcspn(name, begins); *at; at += 1 + strcspn(at + 1, begins))
		for (size_t i = 0; i < count; i++)
			if (words[i].text[0] == *at &&
			    strncmp(at, words[i].text, words[i].length) == 0 &&
			    stands(name, at, &words[i]))
				return true;
	return false;
}

bool mask_is_secret_name(const char *lower)
{
	static const struct word secrets[] = {
		WORD("password", ANYWHERE),
		WORD("passwd", ANYWHERE),
		WORD("passphrase", ANYWHERE),
		WORD("secret", ANYWHERE),
		WORD("credential", ANYWHERE),
		WORD("apikey", ANYWHERE),
		WORD("pass", PART),
		WORD("auth", PART),
		WORD("pw", PART),
		WORD("api_key", PART),
		WORD("api-key", PART),
		WORD("access_key", PART),
		WORD("access-key", PART),
		WORD("private_key", PART),
		WORD("private-key", PART),
		WORD("accesskey", PART),
		WORD("account_key", PART),
		WORD("sas", PART),
		WORD("pat", PART),
		WORD("jwt", PART),
		WORD("bearer", PART),
		WORD("token", TOKEN),
	};
	static const struct word places[] = {WORD("file", PART),    WORD("path", PART),
	                                     WORD("command", PART), WORD("cmd", PART),
	                                     WORD("dir", PART),     WORD("helper", PART)};
	size_t n = strlen(lower);

	/* PWD itself is a directory. */
	if (!has_word(lower, "pscatbj", secrets, array_size(secrets)) &&
	    (n <= 4 || (strcmp(lower + n - 4, "_pwd") != 0 && strcmp(lower + n - 4, "_key") != 0)))
		return false;
	return !has_word(lower, "fpcdh", places, array_size(places));
}

bool mask_is_header_name(const char *lower)
{
	static const char *const names[] = {"authorization", "proxy-authorization", "cookie",
	                                    "set-cookie",    "x-api-key",           "x-auth-token"};

	for (size_t i = 0; i < array_size(names); i++)
		if (strcmp(lower, names[i]) == 0)
			return true;
	return false;
}
