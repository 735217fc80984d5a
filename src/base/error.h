#pragma once
/*
 * Error: why a call failed, in words, beside the negative errno that the call returns.
 *
 * The caller owns it and its size is fixed, so reporting a failure cannot fail. Every function
 * accepts a NULL error: the code alone is then the answer.
 */

enum error_kind {
	ERROR_SYSTEM,      /* the machine: text is for the log, not for clients */
	ERROR_INPUT,       /* the caller's data is wrong; the text may be shown */
	ERROR_LIMIT,       /* a limit of ours was reached; may be shown */
	ERROR_UNSUPPORTED, /* we do not do that here; may be shown */
};

struct error {
	enum error_kind kind;
	int sys; /* errno value, positive; 0 if none applies */
	char text[248];
};

/* Sets kind, code and text, and returns -SYS (-EINVAL for 0), so that a failing place is one
 * statement. */
int error_set(struct error *err, enum error_kind kind, int sys, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Puts "FORMAT: " in front of the text and returns the code the error already has. */
int error_wrap(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A failed system call: the text gets strerror(SYS) behind it. */
int error_sys(struct error *err, int sys, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Memory ran out. */
int error_nomem(struct error *err);
