#pragma once
/*
 * The version of this build, for people and programs that ask: "1.2.3" of a release, "1.2.3+gHASH"
 * of any other commit, "1.2.3+unknown" of a tree without history. tools/version makes it.
 *
 * NACRE_VERSION is the number alone. Processes of nacre compare that one with each other.
 */
extern const char version_text[];
