#pragma once
/*
 * Init: the process between a keeper and its command. It starts the command, reaps the processes of
 * its tree, and ends the tree when the keeper says so or is gone.
 */
struct child_plan;

/* SOCKET is init's end of the packet socket to the keeper. Every other descriptor is closed, but
 * for those the plan names; a terminal takes the place of its standard streams. */
_Noreturn void init_main(int socket, struct child_plan *plan);

struct sandbox_plan;

/* The same for an init that enters its box before its command is known: the plan is sent
 * (process/wire.h). Every other descriptor is closed, but for those that sandbox_plan_fds() names.
 */
_Noreturn void init_await(int socket, struct sandbox_plan *sandbox);

/* The same for an init below a held box, which has its plan sent later (process/wire.h). Every
 * other descriptor is closed, but for those that sandbox_plan_fds() names. */
_Noreturn void init_serve(int socket, struct sandbox_plan *sandbox);
