#pragma once
/*
 * The facts about a line for people: the line with the places that matter underlined, the tree of
 * commands, and the effects with their reasons.
 */
struct buffer;
struct shell_facts;

void analyse_print(const struct shell_facts *facts, struct buffer *out);
