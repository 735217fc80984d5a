#pragma once
/*
 * Explain, the tree: how a line was read, for people who look at one: nodes with their places in
 * the source, and what each of them does, in words.
 */
struct check;
struct json_writer;
struct profile;

/* Members "source", "tree" and "error"; places are bytes of "source". */
void explain_put_tree(const struct check *c, struct json_writer *w);

/* The member "box": the one that the profile asks for. WORKSPACE may be NULL. */
void explain_put_box(const struct profile *p, const char *workspace, struct json_writer *w);
