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

/* Short options whose value is a secret, of programs that call it so. */
static const struct {
	const char *program;
	const char *next;  /* letters: the value is the next word */
	const char *glued; /* letters: the value follows at once */
} shorts[] = {
	{"redis-cli", "a", "a"},
	{"zip", "P", "P"},
	{"unzip", "P", "P"},
	{"7z", "", "p"},
	{"7za", "", "p"},
	{"7zr", "", "p"},
	{"7zz", "", "p"},
	{"rar", "", "p"},
	{"unrar", "", "p"},
	{"ldapsearch", "w", "w"},
	{"ldapadd", "w", "w"},
	{"ldapmodify", "w", "w"},
	{"ldapdelete", "w", "w"},
	{"ldapwhoami", "w", "w"},
	{"ldappasswd", "asw", "asw"},
	{"mongo", "p", "p"},
	{"mongosh", "p", "p"},
	{"mongodump", "p", "p"},
	{"mongorestore", "p", "p"},
	{"mongoexport", "p", "p"},
	{"mongoimport", "p", "p"},
	{"cqlsh", "p", "p"},
	{"rabbitmqadmin", "p", "p"},
	{"rdesktop", "p", "p"},
	{"sqlcmd", "P", "P"},
	{"bcp", "P", "P"},
	{"ipmitool", "P", "P"},
	{"mosquitto_pub", "P", "P"},
	{"mosquitto_sub", "P", "P"},
	{"snmpget", "AXc", "AXc"},
	{"snmpwalk", "AXc", "AXc"},
	{"openssl", "kK", ""},
	{"http", "a", "a"},
	{"https", "a", "a"},
	{"lftp", "u", "u"},
	{"smbclient", "U", "U"},
};

static void add_letters(struct mask_shorts *s, size_t i)
{
	for (const char *c = shorts[i].next; *c; c++)
		s->next[(unsigned char)*c & 0x7f] = true;
	for (const char *c = shorts[i].glued; *c; c++)
		s->glued[(unsigned char)*c & 0x7f] = true;
	s->any = true;
}

static bool is_program_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

void mask_shorts_of_text(const char *text, size_t n, struct mask_shorts *ret)
{
	*ret = (struct mask_shorts){0};
	for (size_t i = 0; i < array_size(shorts); i++) {
		size_t len = strlen(shorts[i].program);
		const char *end = text + n;

		for (const char *at = text;
		     (at = memmem(at, (size_t)(end - at), shorts[i].program, len)); at += len) {
			if ((at > text && (is_program_byte(at[-1]) || at[-1] == ':')) ||
			    (at + len < end && !strchr(" \t'\"", at[len])))
				continue;
			add_letters(ret, i);
			break;
		}
	}
}

void mask_shorts_of_word(const char *word, struct mask_shorts *into)
{
	const char *slash = strrchr(word, '/');

	for (size_t i = 0; i < array_size(shorts); i++)
		if (strcmp(slash ? slash + 1 : word, shorts[i].program) == 0)
			add_letters(into, i);
}
