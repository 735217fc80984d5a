/*
 * One pass from left to right for the built-in shapes, written out by hand: a keeper makes a mask
 * for one command, and twenty patterns would take longer to compile than the command to start. The
 * profile's own patterns follow, on what the pass has left.
 *
 * The pass follows quotes far enough to know where a value ends: inside of "..." the quote ends it,
 * outside of them 'a b'c is one word. Where that is not clear more is masked rather than less, but
 * never past the end of a quoted text or of a word: a record must still show what was run.
 */
#include "audit/mask-pass.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include "audit/mask.h"
#include "base/buffer.h"

#define NAME_MAX_LEN 128
#define USERINFO_MIN 20 /* a name of a user without a password is shorter than a token */
#define TAKER_MAX    8
#define NAMED_WITHIN 64 /* of very many words in front the first and the last so many are read */

/* The text under the pass. */
struct pass {
	const char *at, *end, *begin;
	const char *kept; /* from here on, up to AT, it is still to be copied */
	struct buffer *out;
	char quote; /* the one that we are in, or NUL */
	/* What was found last is not looked for again from every place in front of it. */
	const char *word_end[3], *colon; /* of a word outside of quotes, in '...', in "..." */
	/* -p and -u mean something else to everybody else. */
	bool mysql;                /* -pSECRET */
	bool login;                /* -p SECRET: sshpass, docker login */
	bool curl;                 /* -uNAME:SECRET, -U NAME:SECRET */
	bool sets;                 /* config set NAME SECRET */
	bool htpasswd;             /* -b FILE NAME SECRET, -nb NAME SECRET */
	struct mask_shorts shorts; /* of other programs */
};

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool starts(const struct pass *p, const char *at, const char *text)
{
	size_t n = strlen(text);

	/* Most of the time the first character settles it. */
	return (size_t)(p->end - at) >= n &&
	       tolower((unsigned char)*at) == tolower((unsigned char)*text) &&
	       strncasecmp(at, text, n) == 0;
}

/* Moves on to TO. */
static void keep(struct pass *p, const char *to)
{
	for (const char *c = p->at; c < to; c++) {
		if (*c == '\\' && p->quote != '\'')
			c++;
		else if (*c == p->quote)
			p->quote = '\0';
		else if (!p->quote && (*c == '"' || *c == '\''))
			p->quote = *c;
	}
	p->at = to;
}

static void copy(struct pass *p)
{
	buffer_append(p->out, p->kept, (size_t)(p->at - p->kept));
	p->kept = p->at;
}

static void hide(struct pass *p, const char *to)
{
	copy(p);
	if (to > p->at)
		buffer_puts(p->out, MASK_STARS);
	p->kept = p->at = to;
}

/* Behind a quoted text that begins at AT, or the end of all. */
static const char *quoted_end(const struct pass *p, const char *at)
{
	char quote = *at++;

	for (; at < p->end && *at != quote; at++)
		if (*at == '\\' && quote == '"' && at + 1 < p->end)
			at++;
	return at < p->end ? at + 1 : at;
}

/* \"value\" inside of "..." */
static bool is_escaped_quote(const struct pass *p, const char *at)
{
	return p->quote == '"' && at + 1 < p->end && at[0] == '\\' && at[1] == '"';
}

/* Where the value that begins here ends. */
static const char *value_end(const struct pass *p, const char *at)
{
	if (is_escaped_quote(p, at)) {
		for (at += 2; at < p->end && *at != '"'; at++)
			if (is_escaped_quote(p, at))
				return at + 2;
		return at;
	}
	while (at < p->end && *at != p->quote) {
		if (*at == '\\' && at + 1 < p->end) {
			at += 2;
		} else if (*at == '"' || *at == '\'') {
			at = quoted_end(p, at);
			if (at < p->end && strchr(",:}]", *at))
				return at; /* "key":"value", in JSON */
		} else if (isspace((unsigned char)*at) || strchr(";&|<>()`", *at)) {
			return at;
		} else {
			at++;
		}
	}
	return at;
}

/* Up to the end of the line or of the quoted text: a header has blanks in its value. */
static const char *header_end(const struct pass *p, const char *at)
{
	while (at < p->end && *at != '\n' &&
	       (p->quote ? *at != p->quote : *at != '"' && *at != '\''))
		at++;
	return at;
}

/* Of the word that begins at AT, or that we are in: -u=-u=-u has many beginnings and one end. */
static const char *user_end(struct pass *p, const char *at)
{
	const char **end = &p->word_end[p->quote == '"' ? 2 : p->quote == '\''];

	if (!*end || at >= *end || is_escaped_quote(p, at))
		*end = value_end(p, at);
	return *end;
}

/* Or the end of all. */
static const char *next_colon(struct pass *p, const char *at)
{
	if (!p->colon || p->colon < at)
		p->colon = memchr(at, ':', (size_t)(p->end - at));
	return p->colon = p->colon ? p->colon : p->end;
}

/* curl -u name:password; user and group of a process are numbers. */
static bool pass_user(struct pass *p, const char *value)
{
	const char *end = user_end(p, value), *colon = next_colon(p, value);
	const char *name = value + (*value == '"' || *value == '\'');

	if (colon >= end || starts(p, colon, "://") || colon + 1 == end ||
	    (isdigit((unsigned char)*name) && isdigit((unsigned char)colon[1])))
		return false;
	keep(p, colon + 1);
	hide(p, end > colon + 1 && (end[-1] == '"' || end[-1] == '\'') && *value == end[-1]
	                ? end - 1
	                : end);
	return true;
}

/* Where the word behind the one that ends here begins, without its quote; NULL: there is none. */
static const char *next_word(const struct pass *p, const char *end)
{
	const char *at = end + (end < p->end && (*end == '"' || *end == '\''));
	const char *word = at + strspn(at, " \t");

	return word > at && word < p->end && !strchr(";&|<>()", *word) ? word : NULL;
}

/* Behind the word that begins at AT, in whatever quotes we are. */
static const char *any_word_end(const struct pass *p, const char *at)
{
	while (at < p->end && !isspace((unsigned char)*at) && !strchr(";&|<>()", *at))
		at = *at == '"' || *at == '\'' ? quoted_end(p, at) : at + 1;
	return at;
}

/* htpasswd -b FILE NAME SECRET, -nb NAME SECRET */
static bool pass_htpasswd(struct pass *p, const char *end)
{
	size_t left = memchr(p->at, 'n', (size_t)(end - p->at)) ? 1 : 2;
	const char *word = next_word(p, end);

	if (p->at[1] == '-' || !memchr(p->at, 'b', (size_t)(end - p->at)))
		return false;
	while (word && (left || *word == '-' || word[1] == '-')) {
		left -= left && *word != '-' && word[1] != '-';
		end = any_word_end(p, word);
		word = end < p->end && isspace((unsigned char)*end) ? end + strspn(end, " \t")
		                                                    : NULL;
	}
	if (!word || word >= p->end)
		return false;
	keep(p, word);
	hide(p, any_word_end(p, p->at));
	return true;
}

/* redis-cli -a SECRET, zip -rP SECRET, 7z -pSECRET */
static bool pass_letter(struct pass *p, const char *end)
{
	unsigned char first = (unsigned char)p->at[1] & 0x7f, last = (unsigned char)end[-1] & 0x7f;
	const char *word = next_word(p, end);

	if (p->at[1] == '-' || end - p->at < 2)
		return false;
	if (p->shorts.next[last] && word && (end - p->at == 2 || !p->shorts.glued[first])) {
		keep(p, word);
		hide(p, value_end(p, p->at));
		return true;
	}
	if (!p->shorts.glued[first] ||
	    (end - p->at == 2 && (!*end || isspace((unsigned char)*end) || *end == p->quote)))
		return false;
	keep(p, p->at + 2);
	hide(p, value_end(p, p->at));
	return true;
}

/* -pSECRET of mysql, -p SECRET of sshpass, -u NAME:SECRET; the option may stand in quotes, as every
 * word of a canonical line does. */
static bool pass_short_option(struct pass *p, const char *end)
{
	const char *after = end + (p->quote && end < p->end && *end == p->quote), *value = after;
	bool user = strncmp(p->at, "-u", 2) == 0 || starts(p, p->at, "--user") ||
	            starts(p, p->at, "--proxy-user") || (p->curl && strncmp(p->at, "-U", 2) == 0);

	if ((p->shorts.any && pass_letter(p, end)) || (p->htpasswd && pass_htpasswd(p, end)))
		return true;
	while (value < p->end && (*value == ' ' || *value == '\t' || *value == '='))
		value++;
	if (user && value > after && value < p->end) {
		const char *at = p->at;
		char quote = p->quote;

		keep(p, value); /* out of the quotes */
		if (pass_user(p, value))
			return true;
		p->at = at; /* --user-token has a value of another kind */
		p->quote = quote;
		return false;
	}
	if (user && p->curl && p->at[1] != '-' && end - p->at > 2 && *end == ':')
		return pass_user(p, p->at + 2);
	if (strncmp(p->at, "-p", 2) != 0 || p->at[2] == '-')
		return false;
	if (p->mysql && end - p->at > 2) {
		keep(p, p->at + 2);
		hide(p, value_end(p, p->at));
		return true;
	}
	if (p->login && (value < p->end || end - p->at > 2)) {
		keep(p, end - p->at > 2 ? p->at + 2 : value);
		hide(p, value_end(p, p->at));
		return true;
	}
	return false;
}

/* Where the value of the name that ends here begins; NULL: it has none. */
static const char *value_of(const struct pass *p, const char *end, bool option)
{
	const char *after = end, *value;

	if (is_escaped_quote(p, after))
		after++; /* \"name\": */
	if (after < p->end && after + 1 < p->end && (*after == '"' || *after == '\'') &&
	    strchr(":= ]", after[1]))
		after += after[1] == ']' ? 2 : 1; /* "name":, environ["name"] */
	value = after + strspn(after, " \t");     /* the text ends with a NUL */
	if (value + 1 < p->end && value[0] == '+' && value[1] == '=')
		value++;
	if (value < p->end && (*value == '=' || *value == ':') && value[1] != '/') {
		value++;
		return value + strspn(value, " \t");
	}
	return option && value > after ? value : NULL;
}

/* Whether all of the quoted text that begins with the name here is one word with its value, and no
 * line with commands behind it: "--name=VALUE", env "NAME=VALUE". */
static bool is_one_word(const struct pass *p)
{
	static const char *const takers[] = {"env", "export", "declare", "local", "readonly",
	                                     "-e",  "--env",  "--set",   "-var"};
	const char *end = p->at - 1, *begin;

	if (!p->quote || p->at == p->begin || *end != p->quote)
		return false;
	if (*p->at == '-')
		return true;
	while (end > p->begin && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	for (begin = end; begin > p->begin && !isspace((unsigned char)begin[-1]); begin--)
		if (end - begin > TAKER_MAX)
			return false;
	for (size_t i = 0; i < array_size(takers); i++)
		if ((size_t)(end - begin) == strlen(takers[i]) &&
		    memcmp(begin, takers[i], (size_t)(end - begin)) == 0)
			return true;
	return false;
}

/* Up to the quote that ends the text we are in. */
static const char *word_end(const struct pass *p, const char *at)
{
	for (; at < p->end && *at != p->quote; at++)
		if (*at == '\\' && p->quote == '"' && at + 1 < p->end)
			at++;
	return at;
}

/* Whether the name here is that of a setting: config set NAME VALUE, config --global NAME VALUE. */
static bool is_setting(const struct pass *p)
{
	static const char *const before[] = {"set",    "config", "--global", "--local",
	                                     "--user", "--add",  "--system", "--replace-all"};
	const char *at = p->at, *end;

	while (at > p->begin && p->at - at < NAME_MAX_LEN && !strchr(" \t'\"", at[-1]))
		at--;
	while (at > p->begin && strchr(" \t'\"", at[-1]))
		at--;
	end = at;
	while (at > p->begin && end - at <= TAKER_MAX + 8 && !strchr(" \t'\"", at[-1]))
		at--;
	for (size_t i = 0; i < array_size(before); i++)
		if ((size_t)(end - at) == strlen(before[i]) &&
		    memcmp(at, before[i], (size_t)(end - at)) == 0)
			return true;
	return false;
}

/* NAME=VALUE, "name": "value", Name: value, --name VALUE. */
static void pass_name(struct pass *p)
{
	const char *end = p->at, *value;
	char lower[NAME_MAX_LEN + 1];
	bool option = *p->at == '-', header = false, one_word;
	size_t n = 0;

	while (end < p->end && (is_name_char(*end) || *end == '-' || *end == '.'))
		end++;
	if (option && pass_short_option(p, end))
		return;
	value = value_of(p, end, option); /* first: most words have none */
	if (!value && !option && p->sets && is_setting(p))
		value = next_word(p, end);
	for (const char *c = p->at; value && c < end && n < NAME_MAX_LEN; c++)
		if (n > 0 || *c != '-')
			lower[n++] = (char)tolower((unsigned char)*c);
	lower[n] = '\0';
	if (value)
		header = mask_is_header_name(lower);
	if (!value || (!header && !mask_is_secret_name(lower))) {
		keep(p, end > p->at ? end : p->at + 1);
		return;
	}
	one_word = *end == '=' && is_one_word(p);
	keep(p, value < p->end ? value : p->end);
	hide(p, header     ? header_end(p, p->at)
	        : one_word ? word_end(p, p->at)
	                   : value_end(p, p->at));
}

/* scheme://user:password@host */
static bool pass_url(struct pass *p)
{
	const char *user = p->at + 3, *at = NULL, *colon = NULL, *c;

	for (c = user; c < p->end && !isspace((unsigned char)*c) && !strchr("/?#\"'`<>|;", *c);
	     c++) {
		if (*c == '@')
			at = c;
		if (*c == ':' && !colon)
			colon = c;
	}
	if (!at || (!colon && at - user < USERINFO_MIN) || (colon && colon > at))
		return false;
	keep(p, colon ? colon + 1 : user);
	hide(p, at);
	return true;
}

/* Keys and tokens that can be told by their shape. */
static bool pass_token(struct pass *p)
{
	static const struct {
		const char *prefix;
		size_t min; /* characters behind it */
	} shapes[] = {
		{"ghp_", 20},     {"gho_", 20},        {"ghu_", 20},     {"ghs_", 20},
		{"ghr_", 20},     {"github_pat_", 20}, {"glpat-", 16},   {"sk-", 20},
		{"sk_live_", 10}, {"sk_test_", 10},    {"rk_live_", 10}, {"xoxa-", 10},
		{"xoxb-", 10},    {"xoxp-", 10},       {"xoxr-", 10},    {"xoxs-", 10},
		{"AKIA", 16},     {"ASIA", 16},        {"AIza", 30},     {"npm_", 30},
		{"hf_", 30},      {"dop_v1_", 30},     {"SG.", 30},      {"eyJ", 20},
		{"pypi-", 30},
	};

	for (size_t i = 0; i < array_size(shapes); i++) {
		size_t n;
		const char *end;

		if (*p->at != shapes[i].prefix[0])
			continue;
		n = strlen(shapes[i].prefix);
		end = p->at + n;
		if ((size_t)(p->end - p->at) < n || memcmp(p->at, shapes[i].prefix, n) != 0)
			continue;
		while (end < p->end && (is_name_char(*end) || *end == '-' || *end == '.'))
			end++;
		if ((size_t)(end - p->at) < n + shapes[i].min)
			continue;
		keep(p, p->at + n);
		hide(p, end);
		return true;
	}
	return false;
}

static bool pass_private_key(struct pass *p)
{
	static const char last[] = "PRIVATE KEY-----";
	const char *line = p->at, *body, *end;

	for (body = line + 11; body < p->end && body - line < 60; body++)
		if (starts(p, body, last))
			break;
	if (body >= p->end || body - line >= 60)
		return false;
	body += sizeof(last) - 1;
	end = memmem(body, (size_t)(p->end - body), "-----END", 8);
	keep(p, body);
	hide(p, end ? end : p->end);
	return true;
}

static void pass_all(struct pass *p)
{
	while (p->at < p->end) {
		char c = *p->at;
		bool name = is_name_char(c);

		if ((name || c == '-') && (p->at == p->begin || !is_name_char(p->at[-1]))) {
			if (c == '-' && starts(p, p->at, "-----BEGIN ") && pass_private_key(p))
				continue;
			if (name && pass_token(p))
				continue;
			pass_name(p);
			continue;
		}
		if (c == ':' && starts(p, p->at, "://") && pass_url(p))
			continue;
		/* In one step, or the quote would be taken for one that ends the text. */
		keep(p, p->at + (is_escaped_quote(p, p->at) ? 2 : 1));
	}
	copy(p);
}

void mask_pass_text(const char *text, size_t n, struct buffer *out)
{
	struct pass p = {.at = text, .begin = text, .kept = text, .end = text + n, .out = out};

	p.mysql = memmem(text, n, "mysql", 5) || memmem(text, n, "mariadb", 7);
	p.login = memmem(text, n, "sshpass", 7) || memmem(text, n, " login ", 7) ||
	          memmem(text, n, " 'login' ", 9);
	p.curl = memmem(text, n, "curl", 4) != NULL;
	p.sets = memmem(text, n, "config", 6) != NULL;
	p.htpasswd = memmem(text, n, "htpasswd", 8) != NULL;
	mask_shorts_of_text(text, n, &p.shorts);
	pass_all(&p);
}

/* Whether all of the word behind this one is a value. */
static bool wants_secret(const char *word)
{
	char lower[NAME_MAX_LEN + 1];
	size_t n = 0;

	if (*word != '-' || strchr(word, '='))
		return false;
	for (const char *c = word + strspn(word, "-"); *c && n < NAME_MAX_LEN; c++)
		lower[n++] = (char)tolower((unsigned char)*c);
	lower[n] = '\0';
	return mask_is_secret_name(lower);
}

/* sh -c, bash -ec */
static bool wants_script(const char *word)
{
	size_t n = strlen(word);

	return n >= 2 && word[0] == '-' && word[1] != '-' && word[n - 1] == 'c';
}

/* NAME=VALUE or --name=VALUE: all of the rest is the value, blanks included. */
static bool assigns_secret(const char *word)
{
	char lower[NAME_MAX_LEN + 1];
	size_t n = 0;

	if (!strchr(word, '='))
		return false;
	word += strspn(word, "-");
	while ((is_name_char(word[n]) || word[n] == '-' || word[n] == '.') && n < NAME_MAX_LEN) {
		lower[n] = (char)tolower((unsigned char)word[n]);
		n++;
	}
	lower[n] = '\0';
	return word[n] == '=' && mask_is_secret_name(lower);
}

/* WHOLE: a word is this; else it holds it. */
static bool names(const char *const *words, size_t count, const char *part, bool whole)
{
	for (size_t i = 0; i < count; i++) {
		if (i == NAMED_WITHIN && count > 2 * NAMED_WITHIN)
			i = count - NAMED_WITHIN;
		if (whole ? strcmp(words[i], part) == 0 : strstr(words[i], part) != NULL)
			return true;
	}
	return false;
}

/* Whether the word is the value of a short option of a program in front of it; FROM: where in it.
 */
static bool is_short_value(const char *const *words, size_t i, size_t *ret_from)
{
	const char *word = words[i], *before = i > 0 ? words[i - 1] : "";
	size_t n = strlen(before);
	struct mask_shorts s = {0};

	if (!i || (before[0] != '-' && word[0] != '-'))
		return false;
	for (size_t k = 0; k < i && k < NAMED_WITHIN; k++)
		mask_shorts_of_word(words[k], &s);
	if (n > 1 && before[0] == '-' && before[1] != '-' && n <= 5 &&
	    s.next[(unsigned char)before[n - 1] & 0x7f] &&
	    (n == 2 || !s.glued[(unsigned char)before[1] & 0x7f])) {
		*ret_from = 0;
		return true;
	}
	*ret_from = 2;
	return word[0] == '-' && word[1] && word[1] != '-' && word[2] &&
	       s.glued[(unsigned char)word[1] & 0x7f];
}

/* config set NAME VALUE */
static bool is_set_value(const char *const *words, size_t i)
{
	char lower[NAME_MAX_LEN + 1];
	const char *name;
	size_t n = 0;

	if (i < 2 || (strcmp(words[i - 2], "set") != 0 && strcmp(words[i - 2], "config") != 0 &&
	              strncmp(words[i - 2], "--", 2) != 0))
		return false;
	if (!names(words, i, "config", false))
		return false;
	name = strrchr(words[i - 1], ':');
	for (name = name ? name + 1 : words[i - 1]; *name && n < NAME_MAX_LEN; name++)
		lower[n++] = (char)tolower((unsigned char)*name);
	lower[n] = '\0';
	return lower[0] != '-' && mask_is_secret_name(lower);
}

/* htpasswd -b FILE NAME SECRET, -nb NAME SECRET */
static bool is_htpasswd_value(const char *const *words, size_t i)
{
	size_t operands = 0;
	bool given = false, prints = false;

	if (i > NAMED_WITHIN || !names(words, i, "htpasswd", false))
		return false;
	for (size_t k = 1; k < i; k++) {
		if (words[k][0] == '-') {
			given |= strchr(words[k], 'b') != NULL;
			prints |= strchr(words[k], 'n') != NULL;
		} else {
			operands++;
		}
	}
	return given && operands == (prints ? 1 : 2) && words[i][0] != '-';
}

void mask_pass_word(const char *const *words, size_t i, struct buffer *out)
{
	size_t from = 0;
	const char *word = words[i], *before = i > 0 ? words[i - 1] : "",
		   *colon = strchr(word, ':');
	struct pass p = {
		.at = word, .begin = word, .kept = word, .end = word + strlen(word), .out = out};

	if (wants_script(before)) {
		/* A line with commands behind the value, which must be seen. */
		mask_pass_text(word, strlen(word), out);
		return;
	}
	/* Only -p means something else behind these. */
	if (strstr(word, "-p") || strcmp(before, "-p") == 0) {
		p.mysql = names(words, i, "mysql", false) || names(words, i, "mariadb", false);
		p.login = names(words, i, "sshpass", false) ||
		          (i > 1 && names(words + 1, i - 1, "login", true));
	}
	if (*word == '-' || *before == '-')
		p.curl = names(words, i, "curl", false);
	if (assigns_secret(word) || (wants_secret(before) && *word != '-')) {
		keep(&p, assigns_secret(word) ? strchr(word, '=') + 1 : word);
		hide(&p, p.end);
	} else if (is_short_value(words, i, &from)) {
		keep(&p, word + from);
		hide(&p, p.end);
	} else if (is_set_value(words, i) || is_htpasswd_value(words, i)) {
		hide(&p, p.end);
	} else if (p.login && strcmp(before, "-p") == 0) {
		hide(&p, p.end);
	} else if ((p.login || p.mysql) && strncmp(word, "-p", 2) == 0) {
		keep(&p, word + 2);
		hide(&p, p.end);
	} else if (colon &&
	           (strcmp(before, "-u") == 0 || strcmp(before, "--user") == 0 ||
	            strcmp(before, "--proxy-user") == 0 || (p.curl && strcmp(before, "-U") == 0))) {
		keep(&p, isdigit((unsigned char)*word) ? p.end : colon + 1);
		hide(&p, p.end);
	}
	pass_all(&p);
}
