#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int code_of(int sys)
{
	return sys > 0 ? -sys : -EINVAL;
}

int error_set(struct error *err, enum error_kind kind, int sys, const char *format, ...)
{
	va_list args;

	if (!err)
		return code_of(sys);
	err->kind = kind;
	err->sys = sys > 0 ? sys : 0;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code_of(sys);
}

int error_sys(struct error *err, int sys, const char *format, ...)
{
	va_list args;
	size_t used;

	if (!err)
		return code_of(sys);
	err->kind = ERROR_SYSTEM;
	err->sys = sys;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerrordesc_np(sys));
	return code_of(sys);
}

int error_wrap(struct error *err, const char *format, ...)
{
	char doing[sizeof(err->text)];
	char inner[sizeof(err->text)];
	va_list args;
	size_t used;

	if (!err)
		return -EIO;
	va_start(args, format);
	vsnprintf(doing, sizeof(doing), format, args);
	va_end(args);
	memcpy(inner, err->text, sizeof(inner));
	used = (size_t)snprintf(err->text, sizeof(err->text), "%s: ", doing);
	if (used < sizeof(err->text))
		snprintf(err->text + used, sizeof(err->text) - used, "%s", inner);
	return code_of(err->sys);
}

int error_nomem(struct error *err)
{
	return error_set(err, ERROR_SYSTEM, ENOMEM, "out of memory");
}
