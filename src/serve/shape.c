/*
 * These lines are checked, not trusted: the tests of the HTTP interface hold every answer that they
 * get against them (tests/integration/openapi.py).
 */
#include "serve/shape.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "json/schema.h"
#include "json/write.h"

#define WORD_MAX 64

static const struct shape {
	const char *name, *members;
} shapes[] = {
	{"Error", "error:ErrorDetail"},
	{"ErrorDetail", "kind:string message:string"},
	{"Health", "status:string version:string"},
	{"Rule", "id:string file:string|null line:integer|null"},
	{"Shell", "success:boolean stdout:string stderr:string returncode:integer"},
	{"ShellError", "&Shell error:ErrorDetail"},
	{"Result",
         "success:boolean exit_code:integer signal:string|null timed_out:boolean stages?:integer[] "
         "duration_ms:integer output?:string stdout?:string stderr?:string truncated:boolean "
         "stdout_bytes:integer stderr_bytes:integer output_file:string|null "
         "stderr_file:string|null task_id:string|null background:boolean note?:string|null "
         "left_running:Left[] verdict:string|null reason:string|null rule:Rule|null "
         "recommended:string[] "
         "approval:Consent|null left_to_sandbox:boolean killed:integer processes:Processes "
         "held?:Held[] notices:string[] sandbox:Sandbox room:Room|null "
         "network:Network|null changes?:Changes undo?:Undo usage:Usage"},
	{"Changes",
         "state:string added:integer changed:integer deleted:integer bytes:integer list:Change[] "
         "more:integer conflicts:Conflict[]"},
	{"Change", "kind:string path:string was?:string directory?:boolean other_names?:integer"},
	{"Conflict", "path:string why:string"},
	{"Undo", "available:boolean why:string|null expires_ms?:integer"},
	{"Network", "connections:integer refused_count:integer refused:Unreached[]"},
	{"Unreached", "name:string port:integer|null count:integer reason:string rule:string|null"},
	{"Room", "id:string generation:integer fresh:boolean"},
	{"Held", "path:string id:string"},
	{"Left", "pid:integer name:string ports:integer[]"},
	{"Consent", "id:string state:string|null by:string|null"},
	{"Processes", "total:integer ended:string[] killed:string[]"},
	{"Sandbox", "tier:string|null layers:string[] missing:string[] limit_hit:string|null"},
	{"Usage", "cpu_ms:integer max_rss_kb:integer"},
	{"Finding", "verdict:string reason:string|null rule:Rule|null left_to_sandbox:boolean"},
	{"Explanation",
         "&Finding recommended:string[] docker:Engine status:string canonical:string|null "
         "commands:Command[] hosts:Host[] source:string tree:Node[] error:Mistake|null box:Box"},
	{"Node", "kind:string start:integer end:integer text:string what:string command?:integer "
                 "children:Node[]"},
	{"Mistake", "message:string start:integer end:integer"},
	{"Box", "tier:string network:string engine:string limits:string[] writable:string[]"},
	{"Host",
         "name:string port:integer|null verdict:string reason:string|null rule:NetworkRule|null "
         "runner_up:NetworkRule|null in_force:boolean"},
	{"NetworkRule", "list:string entry:string file:string|null line:integer set:string|null "
                        "source:string|null"},
	{"Engine", "client:boolean allow:boolean"},
	{"Command", "&Finding words:(string|null)[] via:string|null resolved:string|null "
                    "start:integer end:integer"},
	{"Task",
         "task_id:string state:string running:boolean command:string|null "
         "description:string|null principal:string|null background:boolean started_ms:integer "
         "duration_ms:integer exit_code:integer|null signal:string|null stdout_bytes:integer "
         "stderr_bytes:integer door:string|null profile:string|null session:string|null "
         "workspace:string|null cwd:string|null terminal:Size|null tier:string|null "
         "layers:string[] missing:string[] cpu_ms:integer|null max_rss_kb:integer|null "
         "timeout_ms:integer|null approval:string|null processes:integer|null ports:integer[] "
         "published:string[]"},
	{"Size", "rows:integer cols:integer"},
	{"Tasks", "tasks:Task[]"},
	{"Output",
         "&Task output?:string stdout?:string stderr?:string truncated:boolean next:integer"},
	{"Text", "stream:string text?:string missing_bytes?:integer"},
	{"Order", "&Task was_running:boolean"},
	{"Approval",
         "id:string state:string principal?:string door?:string session?:string profile?:string "
         "created_ms:integer expires_ms:integer command?:string description?:string "
         "workspace?:string cwd?:string sandbox?:string network?:string "
         "reaches?:string engine?:string "
         "input?:string kind:string title:string pieces:Piece[] risk:string "
         "findings:LookFinding[] programs:string[] limits:string[] covers:Cover[] "
         "terminal:boolean names:string held?:string tree_files?:integer rule_id?:string "
         "rule_file?:string rule_line:integer reason?:string "
         "env:string[] files:string[] answers:string[] answer?:string answered_by?:string "
         "answer_reason?:string answered_ms?:integer"},
	{"Piece", "text:string kind:string finding?:integer"},
	{"LookFinding", "level:string what:string text:string"},
	{"Cover", "answer:string offered:boolean text:string"},
	{"Approvals", "approvals:Approval[]"},
	{"Record", "seq:integer event:string ..."},
	{"Records", "records:Record[] before?:integer"},
	{"Message",
         "jsonrpc:string id?:(string|integer|null) method?:string params?:object result?:object "
         "error?:Fault"},
	{"Fault", "code:integer message:string data?:object"},
	{"Document", "openapi:string info:object paths:object ..."},
	{"Session", "room:string session:string principal:string profile:string|null "
                    "workspace:string|null cwd:string|null variables:string[] ports:integer[] "
                    "generation:integer made_ms:integer "
                    "used_ms:integer in_use:boolean bytes?:integer files?:integer tasks:string[]"},
	{"Sessions", "sessions:Session[]"},
	{"Snapshot",
         "stream:string now_ms:integer tasks?:Task[] more_tasks?:boolean approvals?:Approval[]"},
	{"TaskGone", "task_id:string"},
	{"OutputPiece",
         "task_id:string stream:string text?:string missing_bytes?:integer next?:integer"},
	{"OutputEnd", "task_id:string next:integer gone:boolean"},
	{"Screen",
         "task_id:string rows:integer cols:integer whole:boolean cursor:Cursor "
         "title:string|null alternate:boolean application_keys:boolean bracketed_paste:boolean "
         "lines:ScreenLine[]"},
	{"Cursor", "row:integer col:integer visible:boolean"},
	{"ScreenLine", "row:integer runs:ScreenRun[]"},
	{"ScreenRun", "text:string fg?:(integer|string) bg?:(integer|string) attributes?:string"},
	{"ScreenEnd", "task_id:string reason:string"},
	{"Bye", "reason:string"},
	{"Stream", "stream:string topics:string[] outputs:string[] screens:string[]"},
	{"MetricsPoint",
         "at_ms:integer running:integer queued:integer connections:integer streams:integer "
         "commands:integer allowed:integer asked:integer denied:integer nudged:integer "
         "timed_out:integer stopped:integer answers_4xx:integer answers_5xx:integer "
         "stdout_bytes:integer stderr_bytes:integer p50_ms:integer p95_ms:integer "
         "rss_kb:integer cpu_ms:integer"},
	{"History", "step_ms:integer points:MetricsPoint[]"},
	{"Grant",
         "id:string session:string principal:string profile:string command:string sub:boolean "
         "holds:boolean"},
	{"Grants", "grants:Grant[]"},
	{"ProfileName", "name:string file:string|null description:string|null tool:string|null "
                        "error:string|null"},
	{"Profiles", "profiles:ProfileName[]"},
	{"Profile", "name:string description:string|null tool:string|null file:string|null "
                    "text:string|null layers:string[] rules:ProfileRule[] examples:Example[]"},
	{"ProfileRule", "list:string id:string text:string|null file:string|null line:integer "
                        "reason:string|null"},
	{"Example", "command:string verdict:string rule:string|null"},
	{"Doctor",
         "kernel:object root:boolean container:boolean landlock_abi:integer seccomp:boolean "
         "trials:object cgroup:object rooms:object network_names:string|null tier:string "
         "engines:object[] profiles:DoctorProfile[] clients:object[] remedies:object"},
	{"DoctorProfile", "profile:string runs:boolean error?:string tier?:string layers?:string[] "
                          "missing?:string[] required_missing?:string[]"},
	{"Progress", "files:integer of:integer"},
	{"Verdict", "good:boolean files:integer records:integer first_seq:integer last_seq:integer "
                    "last_hash:string checkpoints:integer last_signed:integer breaks:integer "
                    "lost_records:integer note:string|null first_bad:FirstBad|null"},
	{"FirstBad", "file:string|null line:integer seq:integer problem:string|null"},
	{"Me", "principal:string owner:boolean approve:boolean audit:boolean person:boolean "
               "login:string|null expires_ms:integer|null profiles:string[] roots:string[] "
               "version:string host:string now_ms:integer started_ms:integer"},
	{"Link", "url:string code:string principal:string approve:boolean audit:boolean "
                 "expires_ms:integer"},
	{"Login", "key:string login:string principal:string expires_ms:integer"},
	{"Ended", "ended:boolean"},
	{"OneLogin",
         "id:string principal:string created_ms:integer expires_ms:integer current:boolean"},
	{"Logins", "logins:OneLogin[]"},
	{"Nothing", ""},
};

static const struct shape *find(const char *name, size_t n)
{
	for (size_t i = 0; i < array_size(shapes); i++)
		if (strlen(shapes[i].name) == n && memcmp(shapes[i].name, name, n) == 0)
			return &shapes[i];
	return NULL;
}

static bool ends_with(const char *word, size_t n, const char *end)
{
	size_t m = strlen(end);

	return n >= m && memcmp(word + n - m, end, m) == 0;
}

static void put_type(struct json_writer *w, const char *type, size_t n);

/* "a|b|null": the value is one of these. */
static void put_choice(struct json_writer *w, const char *type, size_t n)
{
	json_member_array(w, "anyOf");
	for (const char *end = type + n, *bar; type < end; type = bar + 1) {
		bar = memchr(type, '|', (size_t)(end - type));
		bar = bar ? bar : end;
		json_object_begin(w);
		put_type(w, type, (size_t)(bar - type));
		json_object_end(w);
	}
	json_array_end(w);
}

/* Members of a schema. */
static void put_type(struct json_writer *w, const char *type, size_t n)
{
	char reference[WORD_MAX + 24];

	if (ends_with(type, n, "[]")) {
		json_schema_type(w, "array");
		json_member_object(w, "items");
		put_type(w, type, n - 2);
		json_object_end(w);
	} else if (type[0] == '(' && type[n - 1] == ')') {
		put_choice(w, type + 1, n - 2);
	} else if (memchr(type, '|', n)) {
		put_choice(w, type, n);
	} else if (find(type, n)) {
		snprintf(reference, sizeof(reference), "#/components/schemas/%.*s", (int)n, type);
		json_member_string(w, "$ref", reference);
	} else {
		json_member_bytes(w, "type", type, n);
	}
}

void shape_put_type(struct json_writer *w, const char *type)
{
	json_object_begin(w);
	put_type(w, type, strlen(type));
	json_object_end(w);
}

struct word {
	const char *name, *type;
	size_t name_len, type_len;
	bool needed;
};

/* The next member at *AT. False: there is none. */
static bool next_word(const char **at, struct word *ret)
{
	const char *colon, *end;

	*at += strspn(*at, " ");
	if (!**at)
		return false;
	end = *at + strcspn(*at, " ");
	colon = memchr(*at, ':', (size_t)(end - *at));
	*ret = (struct word){.name = *at,
	                     .name_len = (size_t)((colon ? colon : end) - *at),
	                     .type = colon ? colon + 1 : NULL,
	                     .type_len = colon ? (size_t)(end - colon - 1) : 0};
	ret->needed = ret->name[ret->name_len - 1] != '?';
	ret->name_len -= !ret->needed;
	*at = end;
	return true;
}

enum part { PROPERTIES, REQUIRED };

/* Whether further members are allowed. */
static bool put_members(struct json_writer *w, const char *members, enum part part)
{
	bool open = false;
	char name[WORD_MAX];
	struct word m;

	while (next_word(&members, &m)) {
		if (!m.type && m.name[0] == '&') {
			const struct shape *other = find(m.name + 1, m.name_len - 1);

			open |= other && put_members(w, other->members, part);
		} else if (!m.type) {
			open = true;
		} else if (part == PROPERTIES) {
			snprintf(name, sizeof(name), "%.*s", (int)m.name_len, m.name);
			json_member_object(w, name);
			put_type(w, m.type, m.type_len);
			json_object_end(w);
		} else if (m.needed) {
			json_put_bytes(w, m.name, m.name_len);
		}
	}
	return open;
}

void shape_put_members(struct json_writer *w, const char *members)
{
	(void)put_members(w, members, PROPERTIES);
}

void shape_put_all(struct json_writer *w)
{
	bool open;

	for (size_t i = 0; i < array_size(shapes); i++) {
		json_put_key(w, shapes[i].name);
		json_schema_begin(w);
		open = put_members(w, shapes[i].members, PROPERTIES);
		json_schema_required(w);
		(void)put_members(w, shapes[i].members, REQUIRED);
		json_schema_end(w, open);
	}
}
