#pragma once
/*
 * Texts of hints that several rows of the table share, and words that programs say.
 */

#define OWN_LOOPBACK                                                                               \
	"The sandbox has a loopback network of its own (sandbox.network: none). Servers of the "   \
	"host and of other commands are not on it. Start the server in the same command, or set "  \
	"sandbox.network: host."
#define NO_NETWORK                                                                                 \
	"The sandbox has no network (sandbox.network: none), so no other host can be reached. "    \
	"Work with what is installed and what is in the workspace, or set sandbox.network: host."
#define NO_NAMES                                                                                   \
	"The sandbox has no network here: the names of sandbox.network need namespaces, and "      \
	"`nacre doctor` tells why there are none. Work with what is installed and what is in the " \
	"workspace."
#define LOOPBACK_AND_NAMES                                                                         \
	"The sandbox has a loopback network of its own. Servers of the host and of other "         \
	"commands are not on it. Start the server in the same command, or ask the operator for "   \
	"\"host.nacre:PORT\" in sandbox.network.allow."
#define UNREACHED                                                                                  \
	WORDS("could not resolve", "couldn't resolve", "unable to resolve", "name resolution",     \
	      "name or service not known", "temporary failure resolving", "eai_again",             \
	      "enotfound", "no such host", "unknown host", "unknownhostexception",                 \
	      "failed to lookup address", "nodename nor servname",                                 \
	      "no address associated with hostname", "network is unreachable", "enetunreach",      \
	      "couldn't connect to server", "failed to establish a new connection")
#define NOT_WRITABLE                                                                               \
	"{path} is outside of the workspace, where commands cannot write. Write into the "         \
	"workspace or /tmp, or add the path to sandbox.writable."
#define PROTECTED                                                                                  \
	"{path} is protected (sandbox.protected): git, editors, shells or agents run or trust "    \
	"what is written there. Leave this change to the operator, or take the path off the list " \
	"with remove: [\"sandbox.protected:{path}\"]."
