/*
 * Memory and messages that processes share by name: the driver has made one of each kind, open to
 * everybody, with a secret inside.
 */
#include "attack.h"
#include <mqueue.h>
#include <linux/keyctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

static void sysv_memory(void)
{
	int id = shmget((key_t)world_number("shm_key"), 0, 0);
	char *p = (char *)-1;

	if (id < 0)
		no("shmget");
	p = shmat(id < 0 ? (int)world_number("shm_id") : id, NULL, 0);
	if (p == (char *)-1) {
		no("shmat");
	} else {
		printf("shared memory: %.100s\n", p);
		p[100] = '!';
	}
	show("/proc/sysvipc/shm");
}

static void sysv_messages(void)
{
	struct {
		long type;
		char text[128];
	} message = {1, "pwned"};
	int id = msgget((key_t)world_number("msg_key"), 0);

	if (id < 0) {
		no("msgget");
		id = (int)world_number("msg_id");
	}
	if (msgrcv(id, &message, sizeof(message.text), 0, IPC_NOWAIT) > 0)
		printf("message: %.100s\n", message.text);
	else
		no("msgrcv");
}

static void sysv_semaphores(void)
{
	int id = semget((key_t)world_number("sem_key"), 1, 0);

	if (told("semget", id))
		told("semctl", semctl(id, 0, SETVAL, 7));
}

static void posix_memory(void)
{
	int fd = shm_open(world("posix_shm"), O_RDWR, 0);

	if (fd < 0) {
		no("shm_open");
		return;
	}
	show_fd(fd, "shared memory");
	if (pwrite(fd, "pwned", 5, 0) < 0)
		no("write");
}

static void posix_queue(void)
{
	char text[8192] = "";
	mqd_t q = mq_open(world("posix_queue"), O_RDWR | O_NONBLOCK);

	if (q == (mqd_t)-1) {
		no("mq_open");
		return;
	}
	if (mq_receive(q, text, sizeof(text), NULL) > 0)
		printf("message: %.100s\n", text);
	else
		no("mq_receive");
}

static void keys(void)
{
	char text[256] = "";
	long key;

	for (int ring = KEY_SPEC_THREAD_KEYRING; ring >= KEY_SPEC_REQKEY_AUTH_KEY; ring--) {
		key = syscall(SYS_keyctl, KEYCTL_SEARCH, ring, "user", world("key_name"), 0);
		if (key < 0)
			continue;
		if (syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof(text) - 1) > 0)
			printf("key: %s\n", text);
	}
	key = syscall(SYS_request_key, "user", world("key_name"), NULL, 0);
	if (key >= 0 && syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof(text) - 1) > 0)
		printf("requested key: %s\n", text);
	else
		no("request_key");
	key = world_number("key_id");
	if (syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof(text) - 1) > 0)
		printf("key by number: %s\n", text);
	told("add_key",
	     syscall(SYS_add_key, "user", "nacre-escape", "x", 1, KEY_SPEC_USER_KEYRING));
	told("keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
}

static const struct attempt all[] = {
	{"sysv_memory", sysv_memory},         {"sysv_messages", sysv_messages},
	{"sysv_semaphores", sysv_semaphores}, {"posix_memory", posix_memory},
	{"posix_queue", posix_queue},         {"keys", keys},
};

int main(int argc, char **argv)
{
	return attack(argc, argv, all, count_of(all));
}
