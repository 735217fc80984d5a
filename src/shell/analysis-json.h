#pragma once
/*
 * The facts about one text as a JSON object: status, commands, effects, the canonical text (none if
 * the text changes how bash reads it), and for a text that bash refuses what is wrong and where.
 */
#include "shell/facts.h"

struct json_writer;

void shell_facts_write_json(const struct shell_facts *facts, struct json_writer *w);
