#include "gateway/refusal.h"

#include <stdio.h>
#include <string.h>

#define LINE_MAX_SHOWN 400

static const char *const sentences[NETWORK_REASON_MAX] = {
	[NETWORK_REASON_NOT_ALLOWED] = "no rule of the profile allows it",
	[NETWORK_REASON_DENIED] = "a rule of the profile denies it",
	[NETWORK_REASON_PORT] = "the profile allows other ports of this name only",
	[NETWORK_REASON_ADDRESS] = "it is an address, not a name",
	[NETWORK_REASON_PRIVATE] = "the name leads to an address that the profile keeps closed",
	[NETWORK_REASON_SNI] = "the TLS server name is missing, broken or another one",
	[NETWORK_REASON_HOST] = "the Host of the request is another one",
	[NETWORK_REASON_PROXY] = "this asks for a proxy",
	[NETWORK_REASON_PERSON] = "a person refused it",
	[NETWORK_REASON_TIMEOUT] = "nobody answered the question in time",
	[NETWORK_REASON_UNRESOLVED] = "the name has no address",
	[NETWORK_REASON_UNREACHABLE] = "the host cannot be reached",
	[NETWORK_REASON_LIMIT] = "a limit of the gateway was reached",
};

void refusal_text(char *into, size_t size, const char *name, uint16_t port,
                  enum network_reason reason, const char *what)
{
	const char *why = (unsigned int)reason < NETWORK_REASON_MAX ? sentences[reason] : NULL;
	bool six = strchr(name, ':') != NULL;

	snprintf(into, size, "nacre: %s%s%s:%u was refused: %s%s%s%s (%s)", six ? "[" : "", name,
	         six ? "]" : "", port, why ? why : "it was not allowed", what ? " (" : "",
	         what ? what : "", what ? ")" : "", network_reason_word(reason));
}

static size_t write_tls(uint8_t *into)
{
	/* A record of two bytes: fatal, access_denied. */
	static const uint8_t alert[] = {21, 3, 3, 0, 2, 2, 49};

	memcpy(into, alert, sizeof(alert));
	return sizeof(alert);
}

static size_t write_http(const char *text, uint8_t *into)
{
	int n = snprintf((char *)into, REFUSAL_MAX,
	                 "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
	                 "Content-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
	                 strlen(text) + 1, text);

	return (size_t)n;
}

static uint8_t *put_number(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 24);
	at[1] = (uint8_t)(value >> 16);
	at[2] = (uint8_t)(value >> 8);
	at[3] = (uint8_t)value;
	return at + 4;
}

/* RFC 4253: the banner, then one packet before any key exchange. */
static size_t write_ssh(const char *text, uint8_t *into)
{
	static const char banner[] = "SSH-2.0-nacre\r\n";
	size_t n = strlen(text), payload = 1 + 4 + 4 + n + 4, padding = 4;
	uint8_t *at = into;

	while ((4 + 1 + payload + padding) % 8 != 0)
		padding++;
	memcpy(at, banner, sizeof(banner) - 1);
	at = put_number(at + sizeof(banner) - 1, (uint32_t)(1 + payload + padding));
	*at++ = (uint8_t)padding;
	*at++ = 1;              /* SSH_MSG_DISCONNECT */
	at = put_number(at, 1); /* HOST_NOT_ALLOWED_TO_CONNECT */
	at = put_number(at, (uint32_t)n);
	memcpy(at, text, n);
	at = put_number(at + n, 0); /* language */
	memset(at, 0, padding);
	return (size_t)(at + padding - into);
}

size_t refusal_write(enum first_protocol protocol, const char *text, uint8_t into[REFUSAL_MAX])
{
	char line[LINE_MAX_SHOWN + 1];
	size_t n = strnlen(text, LINE_MAX_SHOWN);

	for (size_t i = 0; i < n; i++)
		line[i] = (unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i];
	line[n] = '\0';
	switch (protocol) {
	case FIRST_TLS:
		return write_tls(into);
	case FIRST_HTTP:
		return write_http(line, into);
	case FIRST_SSH:
		return write_ssh(line, into);
	case FIRST_OTHER:
		break;
	}
	return 0;
}
