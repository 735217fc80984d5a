#pragma once
/*
 * Inside: one gate's memory, as its files share it.
 *
 *	gate.c       the process: its gateway and its tasks
 *	gate-event.c what the gateway tells, as the audit log and the tasks have it
 *	gate-ask.c   connections that wait for a person
 *	gate-order.c what the gateway is told
 */
#include "approval/approval.h"
#include "audit/event.h"
#include "gateway/gateway.h"
#include "keeper/gate.h"
#include "profile/profile.h"

#define GATE_TASKS_MAX     64
#define GATE_ITEMS_MAX     10 /* refused ones that are told by name */
#define GATE_QUESTIONS_MAX 16
#define GATE_ANSWERS_MAX   256

struct gate_item {
	char name[DESTINATION_NAME_SIZE];
	uint16_t port;
	enum network_reason reason;
	uint64_t count;
	char rule[DESTINATION_TEXT_SIZE];
	char what[GATEWAY_WHAT_SIZE];
};

struct gate_task {
	int channel; /* -1: free */
	char id[STORE_ID_MAX];
	int64_t ask_ms; /* how long its connections wait for a person */
	bool leaves;
	uint64_t connections, refused, records;
	uint64_t sent, received, held, questions;
	struct gate_item items[GATE_ITEMS_MAX];
	size_t item_count;
	char notice[REPORT_SESSION_MAX];
};

struct gate_open { /* a connection whose end is to be told */
	uint32_t id;
	uint16_t port;
	bool counted;
	char name[DESTINATION_NAME_SIZE];
};

struct gate_question { /* id "": free */
	char id[APPROVAL_ID_MAX];
	char name[DESTINATION_NAME_SIZE];
	uint16_t port;
	uint64_t number; /* the older one has the smaller */
	int64_t until;   /* when nobody waits any longer */
	bool left;       /* a program did not wait */
	uint32_t *held;
	size_t held_count, held_size;
};

struct gate_answer { /* of a person, while tasks are there */
	char name[DESTINATION_NAME_SIZE];
	uint16_t port;
	bool yes;
};

struct gate_asked {                   /* a question that nobody waits for */
	char what[GATEWAY_WHAT_SIZE]; /* its id, or "no" and perhaps why */
	char name[DESTINATION_NAME_SIZE];
	uint16_t port;
};

struct gate_orders { /* that the gateway has not taken yet */
	struct gateway_order *items;
	size_t count, size;
};

struct gate {
	const struct gate_wish *wish;
	int socket;  /* tasks come by it */
	int gateway; /* -1: none runs */
	pid_t pid;
	int deaths;
	struct gate_orders orders;
	struct audit *audit;
	struct gate_task tasks[GATE_TASKS_MAX];
	struct gate_open *open;
	size_t open_count, open_size;
	int desk, watch; /* -1: not opened */
	struct gate_question questions[GATE_QUESTIONS_MAX];
	uint64_t question_count; /* ever asked */
	struct gate_answer answers[GATE_ANSWERS_MAX];
	size_t answer_count;
	struct gate_asked asked[GATE_QUESTIONS_MAX]; /* the last ones, in a ring */
	size_t asked_next;
	struct ports ports;
	char published[PORTS_TEXT_MAX]; /* as the tasks know it */
};

/* Tells every task how many of its connections wait, for what, and what is published. */
void gate_tell_held(struct gate *g);

/* gate-event.c */
struct gate_task *gate_first_task(struct gate *g, size_t *ret_count); /* NULL: there is none */
int gate_record(struct gate *g, enum audit_kind kind, const struct gateway_event *e,
                const char *approval);
void gate_dial(struct gate *g, const struct gateway_event *e);
void gate_refused(struct gate *g, const struct gateway_event *e);
void gate_ended(struct gate *g, const struct gateway_event *e);
void gate_all_ended(struct gate *g);

/* gate-order.c */
void gate_order(struct gate *g, enum gateway_order_kind kind, uint32_t id,
                enum network_reason reason);
short gate_orders_events(const struct gate *g); /* to wait for at the gateway's socket */
void gate_orders_flush(struct gate *g);
void gate_orders_forget(struct gate *g);

/* gate-ask.c */
void gate_ask(struct gate *g, const struct gateway_event *e);
void gate_ask_left(struct gate *g, const struct gateway_event *e);
void gate_ask_look(struct gate *g);    /* something has changed at the desk, or it is time */
void gate_ask_give_up(struct gate *g); /* where nobody of any task will answer */
void gate_ask_forget(struct gate *g);  /* no task is left */
int64_t gate_ask_due(const struct gate *g);
