#pragma once
/*
 * Box: what a plan is made of; for the files of this room only.
 *
 * The tree of a box is a list of steps, worked off one after the other by enter.c. While they run
 * the process still has the host's root as its root and the new tree as its working directory: an
 * absolute path names a file of the host, a relative one a file of the box.
 */
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <sys/types.h>
#include "base/path.h"
#include "base/witness.h"
#include "protect/protect.h"
#include "sandbox/cgroup.h"
#include "sandbox/doors.h"
#include "sandbox/landlock.h"
#include "sandbox/limits.h"
#include "sandbox/plan.h"
#include "sandbox/seccomp.h"

struct arena;
struct buffer;

/* What every box with a tree of its own is cloned with; CLONE_NEWNET comes with the spec. */
#define BOX_NAMESPACES                                                                             \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/* Where the layers of a view are while it is made; the names are short, since overlayfs has signs
 * of its own in paths. */
#define BOX_VIEW_AT    "dev/shm/view"
#define BOX_VIEW_LOWER BOX_VIEW_AT "/lower"
#define BOX_VIEW_STORE BOX_VIEW_AT "/store"

enum box_step_kind {
	BOX_DIRECTORY, /* path, mode; one that exists is fine */
	BOX_FILE,      /* path, mode; data is written to it */
	BOX_SYMLINK,   /* path -> source */
	BOX_BIND,      /* source, absolute or of the box, to path; with all below it */
	BOX_TREE,      /* the same, but source must still be the file (device, inode); attr */
	BOX_ATTACH,    /* the detached mount fd to path */
	BOX_ATTR,      /* attr for path and all below it */
	BOX_MOUNT,     /* a new file system: source is its type, data its options, flags */
	BOX_COVER,     /* source over path, which may be a symbolic link itself */
	BOX_HOLD,      /* path on itself, be it a link: it cannot be renamed; attr */
	BOX_PIN,       /* the directory path on itself, for the same, in a room */
	BOX_VIEW,      /* the overlay of what lies at BOX_VIEW_AT to path; attr */
	BOX_UNMOUNT,   /* what is mounted at path */
	BOX_KIND_MAX,
};

/* Places where entering can fail, beside the steps of the tree (0 and up). */
enum box_at {
	BOX_AT_IDENTITY = -1,
	BOX_AT_LOOPBACK = -2,
	BOX_AT_ROOT = -3,
	BOX_AT_SWITCH = -4,
	BOX_AT_CAPABILITIES = -5,
	BOX_AT_RULES = -6,
	BOX_AT_PRIVACY = -7,
	BOX_AT_FILTER = -8,
	BOX_AT_GROUP = -9,
};

/* Steps are worked off by phase, within a phase in the order in which they were added. */
enum box_phase {
	BOX_SKELETON,    /* mount points and links in the root's own tmpfs */
	BOX_SYSTEM,      /* the system's directories */
	BOX_SYSTEM_DONE, /* the root and all of these become read-only */
	BOX_PRIVATE,     /* file systems of the box's own */
	BOX_OWN,         /* files of the box's own become read-only */
	BOX_GRANTS,      /* parts of the host */
	BOX_MASKS,       /* what is hidden or protected in them */
	BOX_LAST,
};

struct box_step {
	enum box_phase phase;
	enum box_step_kind kind;
	const char *path; /* in the box, without a leading slash; "." is its root */
	const char *source;
	const char *data;
	unsigned long flags; /* mount flags */
	uint64_t attr;       /* MOUNT_ATTR_... to be set */
	mode_t mode;
	bool careful; /* the way to it leads through a room: no link is followed */
	bool idle;    /* not done: in a view nobody needs it */
	bool each;    /* done anew for each command of a box that is kept */
	int fd;
	dev_t device;
	ino_t inode;
	ino_t point; /* where it was put in a room; 0: not known yet */
};

struct box_rule { /* for Landlock, after the root has changed */
	const char *path;
	enum landlock_right right;
	bool resolved; /* it had no link in it: now it must have none either */
};

/* Growing arrays in the plan's arena. */
struct box_steps {
	struct box_step *items;
	size_t count, capacity;
};

struct box_rules {
	struct box_rule *items;
	size_t count, capacity;
};

/* What lies under a path of the box: it decides whether a mount point must be made. */
enum box_ground_kind {
	BOX_GROUND_SKELETON,
	BOX_GROUND_SCRATCH,
	BOX_GROUND_ROOM, /* a directory that commands before have filled */
	BOX_GROUND_HOST,
};

struct box_ground {
	const char *path; /* with a leading slash, as all paths of the plan but those of steps */
	enum box_ground_kind kind;
	int fd; /* of a room */
};

struct box_directory {
	const char *path, *real; /* real is NULL where there is none */
};

struct box_identity {
	uid_t uid; /* kernel's and the box's */
	gid_t gid;
	bool by_parent; /* the parent writes the maps; else the process itself does */
	bool idmapped;  /* the workspace's owner is somebody else, and mapped to us */
	uid_t fs_uid;   /* that owner */
	gid_t fs_gid;
	int map_fd;   /* the user namespace that maps them; -1 */
	pid_t holder; /* the process that it was made by; 0: none */
	char *holder_stack;
};

struct box_part {
	mode_t mode;
	struct timespec modified, changed;
};

#define BOX_PARTS_MAX 32
struct box_traces { /* what a command could leave in namespaces of its own; see afresh.h */
	uint64_t files, blocks;
	struct box_part parts[BOX_PARTS_MAX];
	size_t part_count;
	int objects; /* of System V */
	off_t queues;
	int nice, scheduler, disk; /* of init, whose children inherit them */
	cpu_set_t processors;
};

#define PLAN_UNGRANTED_MAX  256
#define BOX_OTHER_HOMES     6 /* all secrets of so many are looked for afterwards */
#define BOX_HIDDEN_MAX      4
#define BOX_GROUNDS_MAX     128
#define BOX_DIRECTORIES_MAX 32
/* The uid and gid of a box that root starts on a workspace of its own: in the range that is left to
 * dynamic use, where no distribution puts a user. */
#define BOX_UID 64999U

struct sandbox_plan {
	struct arena *arena;
	const struct sandbox_spec *spec;
	struct sandbox_standing standing;
	struct box_identity identity;
	const char *workspace; /* canonical */
	/* The directories above the workspace, from the root on; none where it is the root. */
	struct protect_above above[PATH_DESCENT_MAX];
	size_t above_count;
	const char *home; /* canonical or NULL */
	/* Homes of others that the workspace is in, or has in it. */
	const char *other_homes[BOX_OTHER_HOMES];
	size_t other_home_count;
	const char *hidden[BOX_HIDDEN_MAX]; /* nacre's own places, as the caller knows them */
	size_t hidden_count;
	const char *tmp;
	struct sandbox_room room; /* path NULL: none */
	struct sandbox_net net;
	bool joins;      /* the namespaces of its net */
	bool nets_apart; /* each init of a kept box makes a network by name for itself, */
	struct sandbox_ports ports; /* for these, where a listener is needed for each, */
	struct sandbox_doors doors; /* and this is it, until it is passed on */
	bool has_scratch;           /* commands have temporary files of their own */
	int workspace_fd;           /* O_PATH */
	int workspace_tree;         /* its mount, idmapped and detached; -1 */
	const char *view;           /* the path of its store; NULL: there is none */
	const char *view_why;       /* there was to be one, and why there is not; or NULL */
	int view_fd;                /* borrowed */
	dev_t workspace_device;
	ino_t workspace_inode;
	struct timespec workspace_changed;
	bool workspace_settled; /* some time before the plan */
	bool workspace_shared;  /* a group works in it: directories have the set-group-id bit */
	uint64_t clone_flags;
	struct box_steps steps;
	struct box_rules rules;
	int fds[SANDBOX_FDS_MAX]; /* owned; needed by init */
	size_t fd_count;
	struct landlock_wall wall;
	bool owns_tmp;  /* made by the plan */
	int oom_fd;     /* /proc/self/oom_score_adj of init; made by entering */
	int numbers_fd; /* see numbers.h; made by entering; -1 */
	bool numbered;
	char oom_own[8]; /* what it said then */
	int rules_fd;    /* made by sandbox_enter() */
	struct seccomp_program filter;
	bool filtered;
	bool asks;     /* the filter asks init about signals */
	bool brokered; /* the filter asks the keeper about renaming */
	int listener;  /* where it asks, if this process has sealed itself; -1 */
	struct cgroup *group;
	struct cgroup_events before; /* of the commands of a kept box until now */
	bool group_later;            /* it could not be born there */
	int join_fds[CGROUP_CONTROLLERS];
	size_t join_count;
	struct limit_value limits[LIMITS_MAX];
	int limit_count;
	struct box_ground grounds[BOX_GROUNDS_MAX];
	size_t ground_count;
	struct box_directory directories[BOX_DIRECTORIES_MAX]; /* looked up lately */
	size_t directory_count;
	bool keeps;       /* the plan will be asked whether it is current */
	int company_fd;   /* the workspace, while a command of ours runs there; -1 */
	bool has_company; /* other commands were there when the plan was made */
	int retries;      /* how often it was made anew */
	int unknown;      /* the first error by which a path was neither there nor not there */
	char ungranted[PLAN_UNGRANTED_MAX];
	const char *refusal; /* why there can be no box; NULL: not known */
	struct protect protect;
	struct witnesses *witnesses; /* of what it was made for; NULL: nobody asks */
	bool sealed;                 /* the process that starts commands is confined itself */
	int queues_fd; /* the file system of message queues; -ENODEV: there are none here */
	struct box_traces traces;
	bool traces_known;
	bool has_own;
	bool programs_leak;                     /* a denied program could not be hidden */
	bool offers_which;                      /* it is listed, and a script */
	const char *mask_file, *mask_directory; /* sources; NULL until needed */
	bool runs_own;                          /* programs of the workspace and of /tmp may run */
	bool loopback;
	mode_t umask; /* of the command */
	char uid_map[48], gid_map[48];
};

/* plan.c. A plan that knows its place and nothing more. */
int box_plan_begin(const struct sandbox_spec *spec, const struct sandbox_place *place,
                   struct sandbox_plan **ret_plan, struct error *err);
/* NULL when memory runs out, or when PATH is NULL for that reason. */
struct box_step *box_step_add(struct sandbox_plan *p, enum box_phase phase, enum box_step_kind kind,
                              const char *path);
int box_rule_add(struct sandbox_plan *p, const char *path, enum landlock_right right);
/* Takes FD for the box; -E2BIG closes it. */
int box_fd_keep(struct sandbox_plan *p, int fd);

/* maps.c: who the box runs as. */
int box_identity_choose(struct sandbox_plan *p, struct error *err);
void box_identity_done(struct box_identity *id);
int box_identity_write(const struct sandbox_plan *p, pid_t pid, struct error *err);
/* A detached copy of the tree at FD, idmapped where owners are; or a negative errno. */
int box_tree_copy(const struct box_identity *id, int fd, uint64_t attr);

uint64_t box_workspace_attr(const struct sandbox_plan *p);

/* ground.c: the pieces of a tree. */
int box_directory(struct sandbox_plan *p, enum box_phase phase, const char *path, mode_t mode);
int box_bind(struct sandbox_plan *p, enum box_phase phase, const char *source, const char *path);
int box_ground_add(struct sandbox_plan *p, const char *path, enum box_ground_kind kind);
enum box_ground_kind box_ground_of(const struct sandbox_plan *p, const char *path);
/* A file (a directory without DATA and with S_IFDIR in MODE) of the box's own, read-only, to be
 * bound where it is wanted: its path as a source, or NULL. */
const char *box_own_file(struct sandbox_plan *p, const char *name, mode_t mode, const char *data);
/* Whether a path leads through a room. */
bool box_is_careful(const struct sandbox_plan *p, const char *path);
/* A mount point at PATH, with the directories above it, where the host does not provide them. */
int box_point(struct sandbox_plan *p, const char *path, bool is_directory);
/* Cover a file or directory of the host with an empty one that cannot be opened. */
int box_mask(struct sandbox_plan *p, const char *path, bool is_directory);

/* tree.c: the steps that make the tree of the strict tier. */
int box_tree_plan(struct sandbox_plan *p, struct error *err);
/* The file or directory FD, which is PATH on the host, at the same path of the box. */
int box_grant(struct sandbox_plan *p, const char *path, int fd, uint64_t attr);

/* machine.c: what can be read of the machine's processors and packages, in both tiers; the list
 * ends with NULL. */
extern const char *const box_machine_paths[];
extern const char *const box_etc_paths[]; /* the same of /etc, where it is minimal */
int box_machine_plan(struct sandbox_plan *p);

/* careful.c. Sets attributes of the mount FD (PATH empty) or of the one at PATH. */
int box_attr_set(int fd, const char *path, uint64_t attr);
/* The detached mount that a step puts somewhere. Others can write its path, which may lead
 * elsewhere by now: what was opened is compared with what was planned. */
int box_step_source(const struct box_step *s);
int box_step_carefully(const struct box_step *s);

/* enter.c: the loopback interface of a new network namespace. */
int sandbox_net_enter(void);

/* room.c: the directories of the session's room at their places. */
bool box_room_begin(struct sandbox_plan *p);
int box_room_part(struct sandbox_plan *p, const char *path, const char *name, int fd);
int box_room_caches(struct sandbox_plan *p); /* over home */
int box_room_shm(struct sandbox_plan *p);
/* Marks the steps whose way leads through a room. */
void box_room_care(struct sandbox_plan *p);
/* Takes away what is no directory (IS_DIRECTORY; else no file) where a mount point has to be. */
void box_room_clear(const struct sandbox_plan *p, const char *path, bool is_directory);

/* Whether the mounts in a room are still where they were put. */
bool box_room_holds(struct sandbox_plan *p);

/* The workspace at its own path. */
int box_workspace_plan(struct sandbox_plan *p);
/* view.c: a copy-on-write view in its place. */
int box_view_plan(struct sandbox_plan *p);
/* What has no view gets none from the next plan of this box. False: it had none. */
bool box_view_give_up(struct sandbox_plan *p, int step, int sys);
/* grants.c: what more of the host there is, the workspace among it, and what is hidden in it. */
int box_grants_plan(struct sandbox_plan *p);
int box_secrets_plan(struct sandbox_plan *p);
/* Three by the environment, two for each home, and what the caller says. */
#define BOX_OWN_PLACES (3 + 2 * (1 + BOX_OTHER_HOMES) + BOX_HIDDEN_MAX)
/* The directories of nacre itself and its policy file, whether they are there or not; how many, or
 * -ENOMEM. */
int box_own_places(struct sandbox_plan *p, const char *into[BOX_OWN_PLACES]);

/* private.c: each file and directory below /etc that not everybody may read, until one visit does
 * not return 0. */
int box_private_visit(struct sandbox_plan *p, int (*visit)(void *context, const char *path),
                      void *context);

/* homes.c: whose secrets there are. PATH is HOME of nacre's environment; may be NULL. */
int box_homes_find(struct sandbox_plan *p, const char *path, struct error *err);
/* above.c: the directories from the root down to the workspace. */
int box_above_find(struct sandbox_plan *p, const char *root, struct error *err);
/* Refuse a workspace that is secret or protected, or lies in such a directory. */
int box_above_check(struct sandbox_plan *p, struct error *err);
/* "~/x" is in the home directory, "x" in the workspace; NULL: no memory, or no home. */
const char *box_expand(struct sandbox_plan *p, const char *path);
/* Each path of the spec's secrets, of all homes, until one visit does not return 0. */
int box_secrets_visit(struct sandbox_plan *p, int (*visit)(void *context, const char *path),
                      void *context);

/* company.c: whether other commands are at work in the workspace. */
void box_company_look(struct sandbox_plan *p);

/* protections.c: parts of the workspace that must stay as they are. */
void box_protect_begin(struct sandbox_plan *p);
int box_protect_plan(struct sandbox_plan *p);
/* One more such path, absolute; nothing where it lies elsewhere. */
int box_protect_path(struct sandbox_plan *p, const char *path);
/* An existing path, absolute, that is about to be hidden: it cannot be renamed away. */
int box_protect_hidden(struct sandbox_plan *p, const char *path);

/* The error of a plan that failed with this code: the reason if one is known, else WHAT. */
int box_plan_error(const struct sandbox_plan *p, int code, const char *what, struct error *err);

/* links.c: files, by what they are, whose other names are looked for. */
#define BOX_LINKS_MAX 128
struct box_links {
	struct box_link {
		dev_t device;
		ino_t inode;
	} items[BOX_LINKS_MAX];
	size_t count;
};
int box_links_want(struct box_links *links, const struct stat *st);
/* Visits each name in what can be run in the box; -E2BIG: there is more than can be looked at. */
int box_links_find(struct sandbox_plan *p, const struct box_links *links,
                   int (*visit)(void *context, const char *path), void *context);

/* programs.c: which programs there are. */
int box_programs_plan(struct sandbox_plan *p, struct error *err);
/* For the landlock tier: the denied are exceptions; with a list, all directories of programs are,
 * and rules for the listed are added. */
struct rules;
int box_programs_except(struct sandbox_plan *p, struct rules *rules);

/* rules.c: the landlock tier. */
int box_rules_plan(struct sandbox_plan *p, struct error *err);
int box_except(struct rules *rules, const char *path);

/* standing.c: limits and layers; refuses a box that lacks what the spec requires. */
int box_standing_settle(struct sandbox_plan *p, struct error *err);

/* paths.c. The real path of an existing file and its stat, or NULL; in the arena. If it cannot be
 * told whether the file exists, the plan fails (P->UNKNOWN). */
const char *box_real(struct sandbox_plan *p, const char *path, struct stat *ret_stat);
