#include "json/rpc-scan.h"

#include <string.h>
#include "base/utf8.h"

#define DIGITS_MAX 18

struct scanner {
	const char *at, *end;
	size_t depth, ids;
	struct rpc_scan *found;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct scanner *s)
{
	while (s->at < s->end && is_blank(*s->at))
		s->at++;
}

/* From the opening quote to behind the closing one, or to the end. False: it is not closed. */
static bool skip_string(struct scanner *s)
{
	for (s->at++; s->at < s->end; s->at++) {
		if (*s->at == '\\')
			s->at++;
		else if (*s->at == '"') {
			s->at++;
			return true;
		}
	}
	s->at = s->end;
	return false;
}

/* What is written back must be valid by itself: the message around it may not be. */
static bool is_good_string(const char *text, size_t n)
{
	for (size_t i = 1; i + 1 < n; i++) {
		if ((unsigned char)text[i] < 0x20)
			return false;
		if (text[i] != '\\')
			continue;
		i++;
		/* Escapes of characters are not looked into: they may be halves of one, or NUL. */
		if (!text[i] || !strchr("\"\\/bfnrt", text[i]))
			return false;
	}
	return utf8_valid_prefix(text, n) == n;
}

/* Of a size that every reader takes; longer ones are read by who reads all of the message. */
static bool is_integer(const char *text, size_t n)
{
	size_t i = n > 0 && text[0] == '-';

	if (i == n || n - i > DIGITS_MAX || (text[i] == '0' && n > i + 1))
		return false;
	while (i < n && text[i] >= '0' && text[i] <= '9')
		i++;
	return i == n;
}

/* The value behind "id": at the top. Of two nobody can say which one is meant. */
static void take_id(struct scanner *s)
{
	const char *start;
	bool safe = true;

	skip_blanks(s);
	if (s->at == s->end || *s->at != ':')
		return;
	s->found->id_is_twice = s->ids++ > 0;
	s->found->id_is_safe = false;
	s->at++;
	skip_blanks(s);
	start = s->at;
	if (start == s->end)
		return;
	if (*start == '"') {
		if (!skip_string(s))
			return;
		safe = is_good_string(start, (size_t)(s->at - start));
	} else {
		while (s->at < s->end && !is_blank(*s->at) && !strchr(",}]", *s->at))
			s->at++;
		if (s->at == s->end || !is_integer(start, (size_t)(s->at - start)))
			return;
	}
	s->found->id = start;
	s->found->id_len = (size_t)(s->at - start);
	s->found->id_is_safe = safe && !s->found->id_is_twice;
}

void rpc_scan(const char *bytes, size_t n, struct rpc_scan *ret_scan)
{
	struct scanner s = {.at = bytes, .end = bytes + n, .found = ret_scan};
	const char *start;

	*ret_scan = (struct rpc_scan){0};
	while (s.at < s.end) {
		switch (*s.at) {
		case '"':
			start = s.at;
			if (skip_string(&s) && s.depth == 1 && s.at - start == 4 &&
			    memcmp(start, "\"id\"", 4) == 0)
				take_id(&s);
			break;
		case '[':
		case '{':
			if (++s.depth > ret_scan->depth)
				ret_scan->depth = s.depth;
			ret_scan->values++;
			s.at++;
			break;
		case ',':
			ret_scan->values++;
			s.at++;
			break;
		case ']':
		case '}':
			s.depth -= s.depth > 0;
			s.at++;
			break;
		default:
			s.at++;
		}
	}
}
