#include "session/variables.h"

#include <ctype.h>
#include <string.h>
#include "base/cleanup.h"

bool variable_is_name(const char *name, size_t n)
{
	if (n == 0 || isdigit((unsigned char)name[0]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return true;
}

bool variable_matches(const char *pattern, const char *name, size_t n)
{
	size_t p = strlen(pattern);

	if (pattern[p - 1] == '*')
		return n >= p - 1 && strncmp(pattern, name, p - 1) == 0;
	return n == p && strncmp(pattern, name, n) == 0;
}

bool variable_is_refused(const char *name, size_t n)
{
	static const char *const refused[] = {
		"LD_*",
		"GLIBC_TUNABLES",
		"GCONV_PATH",
		"BASH_ENV",
		"ENV",
		"SHELLOPTS",
		"BASHOPTS",
		"PS4",
		"CDPATH",
		"GLOBIGNORE",
		"IFS",
		"BASH_FUNC_*",
		"BASH_XTRACEFD",
		"PROMPT_COMMAND",
		"NACRE_*",
		"MALLOC_*",
		"LOCPATH",
		"NLSPATH",
		"POSIXLY_CORRECT",
		"POSIX_PEDANTIC",
		"BASH_COMPAT",
		"TEXTDOMAIN*",
	};

	for (size_t i = 0; i < array_size(refused); i++)
		if (variable_matches(refused[i], name, n))
			return true;
	return false;
}
