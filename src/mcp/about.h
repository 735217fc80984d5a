#pragma once
/*
 * About: where an agent's commands run, in words made from the profile: what there is of a network,
 * what stays, what is protected, which limits hold.
 */
struct buffer;
struct mcp_offer;

/* Fewer words than this, for any profile. A model reads them with every request. */
#define ABOUT_WORDS_MAX 120

/* Appends sentences about a tool, each with a blank before it. Of a profile that cannot be loaded
 * nothing is said. */
void about_offer(const struct mcp_offer *offer, struct buffer *into);
