#include "sandbox/layers.h"

#include <stddef.h>
#include "base/buffer.h"
#include "base/cleanup.h"

static const struct layer {
	enum sandbox_layer bit;
	const char *name;
	const char *how; /* to get it */
} layers[SANDBOX_LAYER_COUNT] = {
	{SANDBOX_LAYER_NAMESPACES, "namespaces",
         "user namespaces must be allowed; 'nacre doctor' names what forbids them"},
	{SANDBOX_LAYER_NETWORK, "network", "it needs namespaces or seccomp"},
	{SANDBOX_LAYER_PROGRAMS, "programs",
         "a list of the only programs needs namespaces (in a container: docs/in-a-container.md), "
         "one of denied programs at least Landlock"},
	{SANDBOX_LAYER_LANDLOCK, "landlock",
         "it needs Linux 5.19 with Landlock (lsm=); without namespaces also Linux 6.12, or a "
         "seccomp listener"},
	{SANDBOX_LAYER_SECCOMP, "seccomp", "it needs a kernel with CONFIG_SECCOMP_FILTER"},
	{SANDBOX_LAYER_MEMORY, "memory", "the profile must have a sandbox and a limit of memory"},
	{SANDBOX_LAYER_PROCESSES, "processes",
         "the profile must have a limit of processes, and root a control group or idmapped mounts"},
	{SANDBOX_LAYER_NO_NEW_PRIVS, "no_new_privs", "it needs Linux 3.5 or newer"},
	{SANDBOX_LAYER_UNPRIVILEGED, "unprivileged",
         "run nacre as an ordinary user, give the workspace to one, or use a file system with "
         "idmapped mounts (ext4, xfs, btrfs)"},
	{SANDBOX_LAYER_CONTAINER, "container", "the profile must say 'sandbox: {mode: container}'"},
	{SANDBOX_LAYER_NETWORK_NAMES, "network-names",
         "it needs namespaces, and a profile whose sandbox.network is a map; 'nacre doctor' tells "
         "what is there"},
};

const char *sandbox_layer_name(enum sandbox_layer layer)
{
	for (size_t i = 0; i < array_size(layers); i++)
		if (layers[i].bit == layer)
			return layers[i].name;
	return NULL;
}

const char *sandbox_layer_remedy(enum sandbox_layer layer)
{
	for (size_t i = 0; i < array_size(layers); i++)
		if (layers[i].bit == layer)
			return layers[i].how;
	return NULL;
}

const char *const sandbox_tier_names[SANDBOX_TIER_MAX] = {
	[SANDBOX_TIER_STRICT] = "strict",
	[SANDBOX_TIER_LANDLOCK] = "landlock",
	[SANDBOX_TIER_NONE] = "none",
	[SANDBOX_TIER_CONTAINER] = "container",
};

const char *sandbox_tier_name(enum sandbox_tier tier)
{
	return tier < SANDBOX_TIER_MAX ? sandbox_tier_names[tier] : NULL;
}

void sandbox_layers_print(uint32_t bits, struct buffer *into)
{
	const char *between = "";

	for (size_t i = 0; i < array_size(layers); i++) {
		if (!(bits & (uint32_t)layers[i].bit))
			continue;
		buffer_puts(into, between);
		buffer_puts(into, layers[i].name);
		between = ", ";
	}
}
