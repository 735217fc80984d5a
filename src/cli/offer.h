#pragma once
/*
 * The profiles that a server is about to offer, read before it serves: a mistake in one of them is
 * told to the person who starts it, not to its clients.
 */
struct dialect;
struct engine_wishes;
struct error;

/* The tool that the profile of these wishes speaks; NULL: something is wrong with it. */
const struct dialect *cli_offer_find(const struct engine_wishes *w, struct error *err);
