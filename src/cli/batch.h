#pragma once
/*
 * `nacre run --batch`: one JSON request per line in, one JSON result per line out, several at a
 * time.
 */
struct engine;
struct run_options;

int cli_batch(struct engine *engine, const struct run_options *o, int signal_fd);
