#include "session/variables.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
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

/* Words that stand in the name of a secret, between '_'; "PWD" alone is a directory. */
static bool is_secret_word(const char *word, size_t n)
{
	static const char *const words[] = {
		"TOKEN",  "TOKENS", "KEY",        "KEYS",    "SECRET", "SECRETS",    "PASSWORD",
		"PASSWD", "PASS",   "PASSPHRASE", "PW",      "AUTH",   "CREDENTIAL", "CREDENTIALS",
		"CREDS",  "APIKEY", "AUTHTOKEN",  "PRIVATE", "PAT",    "COOKIE",     "COOKIES",
		"DSN",    "CERT",   "SESSIONKEY", "BEARER",  "JWT",    "SIGNATURE",  "ACCESSKEY",
	};

	for (size_t i = 0; i < array_size(words); i++)
		if (strlen(words[i]) == n && strncasecmp(words[i], word, n) == 0)
			return true;
	return false;
}

/* Secrets, and names of places that a box does not have. */
static bool is_secret_name(const char *name, size_t n)
{
	static const char *const patterns[] = {
		"AWS_*",
		"AZURE_*",
		"GOOGLE_APPLICATION_*",
		"GCP_*",
		"ANTHROPIC_*",
		"OPENAI_*",
		"GEMINI_API*",
		"DATABASE_*",
		"MONGO*",
		"REDIS_*",
		"POSTGRES*",
		"PGPASS*",
		"PGSERVICE*",
		"MYSQL_*",
		"VAULT_*",
		"DOCKER_*",
		"KUBE*",
		"NPM_CONFIG_*",
		"npm_config_*",
		"SSH_*",
		"GPG_*",
		"DBUS_*",
		"XDG_RUNTIME_DIR",
		"SUDO_*",
		"DISPLAY",
		"SHELL",
		"WAYLAND_*",
		"TMPDIR",
		"TMP",
		"TEMP",
		"XAUTHORITY",
		"KRB5*",
		"GNOME_KEYRING*",
	};
	size_t from = 0;

	for (size_t i = 0; i < array_size(patterns); i++)
		if (variable_matches(patterns[i], name, n))
			return true;
	for (size_t i = 0; i <= n; i++)
		if (i == n || name[i] == '_') {
			if (is_secret_word(name + from, i - from))
				return true;
			from = i + 1;
		}
	/* Also without '_' before it: GITHUBTOKEN, MYSECRET. */
	for (size_t i = 0; i < n; i++)
		if ((n - i >= 5 && strncasecmp(name + i, "TOKEN", 5) == 0) ||
		    (n - i >= 6 && (strncasecmp(name + i, "SECRET", 6) == 0 ||
		                    strncasecmp(name + i, "PASSWD", 6) == 0)) ||
		    (n - i >= 8 && strncasecmp(name + i, "PASSWORD", 8) == 0))
			return true;
	return false;
}

/* "scheme://user:password@host", and what some secrets begin with. */
static bool is_secret_value(const char *value)
{
	static const char *const beginnings[] = {
		"ghp_",  "gho_", "ghu_", "ghs_", "github_pat_", "glpat-", "sk-", "xoxb-",
		"xoxp-", "AKIA", "ASIA", "eyJ",  "npm_",        "pypi-",  "hf_", "AIza"};

	for (size_t i = 0; i < array_size(beginnings); i++)
		if (strncmp(value, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	if (strstr(value, "-----BEGIN"))
		return true;
	for (const char *at = value; (at = strstr(at, "://")); at++) {
		const char *authority = at + 3;
		size_t n = strcspn(authority, "/?# \t\n");

		if (memchr(authority, '@', n))
			return true;
	}
	return false;
}

bool variable_is_harmless(const char *assignment, size_t n)
{
	return assignment[n] == '=' && variable_is_name(assignment, n) &&
	       !variable_is_refused(assignment, n) && !is_secret_name(assignment, n) &&
	       !is_secret_value(assignment + n + 1);
}
