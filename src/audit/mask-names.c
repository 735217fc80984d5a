#include "audit/mask-pass.h"

#include <ctype.h>
#include <string.h>
#include "base/cleanup.h"

static bool has_part(const char *name, const char *part)
{
	size_t n = strlen(part);

	for (const char *at = name; (at = strstr(at, part)); at++)
		if ((at == name || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[n]))
			return true;
	return false;
}

bool mask_is_secret_name(const char *lower)
{
	static const char *const anywhere[] = {"password", "passwd",     "passphrase",
	                                       "secret",   "credential", "apikey"};
	static const char *const parts[] = {
		"pass",        "auth",       "pw",          "api_key",     "api-key",
		"access_key",  "access-key", "private_key", "private-key", "accesskey",
		"account_key", "sas",        "pat",         "jwt",         "bearer"};
	static const char *const places[] = {"file", "path", "command", "cmd", "dir", "helper"};
	const char *token = strstr(lower, "token");
	size_t n = strlen(lower);

	for (size_t i = 0; i < array_size(places); i++)
		if (has_part(lower, places[i]))
			return false;
	for (size_t i = 0; i < array_size(anywhere); i++)
		if (strstr(lower, anywhere[i]))
			return true;
	for (size_t i = 0; i < array_size(parts); i++)
		if (has_part(lower, parts[i]))
			return true;
	if (token && !isalpha((unsigned char)token[5]))
		return true;
	/* PWD itself is a directory. */
	return (n > 4 && strcmp(lower + n - 4, "_pwd") == 0) ||
	       (n > 4 && strcmp(lower + n - 4, "_key") == 0);
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
