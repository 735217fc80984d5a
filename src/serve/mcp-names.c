#include "serve/mcp-names.h"

#include <string.h>
#include "base/cleanup.h"
#include "http/server.h"
#include "json/rpc.h"

static const struct {
	const char *method, *param;
} named[] = {
	{"tools/call", "name"},  {"prompts/get", "name"},    {"resources/read", "uri"},
	{"tasks/get", "taskId"}, {"tasks/update", "taskId"}, {"tasks/cancel", "taskId"},
};

static int value_of(char c)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? (int)(at - letters) : -1;
}

/* Compares as it decodes, strictly: whole groups, right padding, no bits left over. */
static bool equals_decoded(const char *p, size_t n, const char *text)
{
	size_t len = strlen(text), at = 0;

	if (n % 4 != 0)
		return false;
	for (size_t i = 0; i < n; i += 4) {
		int pad = i + 4 == n ? (p[i + 3] == '=') + (p[i + 2] == '=' && p[i + 3] == '=') : 0;
		unsigned bits = 0;

		for (int k = 0; k < 4; k++) {
			int v = k >= 4 - pad ? 0 : value_of(p[i + (size_t)k]);

			if (v < 0)
				return false;
			bits = bits << 6 | (unsigned)v;
		}
		if ((pad == 1 && (bits & 0xff)) || (pad == 2 && (bits & 0xffff)))
			return false;
		for (int k = 0; k < 3 - pad; k++, at++)
			if (at >= len || (unsigned char)text[at] != (bits >> (16 - 8 * k) & 0xff))
				return false;
	}
	return at == len;
}

/* The value without the blanks around it. */
static const char *trim(const char *header, size_t *ret_n)
{
	size_t n;

	while (*header == ' ' || *header == '\t')
		header++;
	n = strlen(header);
	while (n > 0 && (header[n - 1] == ' ' || header[n - 1] == '\t'))
		n--;
	*ret_n = n;
	return header;
}

bool mcp_names_equal(const char *header, const char *text)
{
	size_t n;

	header = trim(header, &n);
	return n == strlen(text) && memcmp(header, text, n) == 0;
}

static bool is_ascii(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] >= 0x80)
			return false;
	return true;
}

/* A name may be any text, so it has a second form; what no header may hold has only that one. */
bool mcp_names_name(const char *header, const char *text)
{
	size_t n;

	header = trim(header, &n);
	if (n >= 11 && memcmp(header, "=?base64?", 9) == 0 && memcmp(header + n - 2, "?=", 2) == 0)
		return equals_decoded(header + 9, n - 11, text);
	return is_ascii(header, n) && mcp_names_equal(header, text);
}

const char *mcp_names_check(const struct http_exchange *x, const struct rpc_message *m,
                            const char *revision)
{
	const char *version = http_header(x, "MCP-Protocol-Version"),
		   *method = http_header(x, "Mcp-Method"), *name = http_header(x, "Mcp-Name"),
		   *wanted = NULL;

	if (!version || !revision || !mcp_names_equal(version, revision))
		return "MCP-Protocol-Version and the message do not agree";
	if (!method || !mcp_names_equal(method, m->method))
		return "Mcp-Method and the message do not agree";
	for (size_t i = 0; i < array_size(named); i++)
		if (strcmp(m->method, named[i].method) == 0)
			wanted = json_string_value(rpc_param(m, named[i].param));
	if (wanted && (!name || !mcp_names_name(name, wanted)))
		return "Mcp-Name and the message do not agree";
	return NULL;
}
