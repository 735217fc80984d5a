#pragma once
/*
 * What the kernel's Landlock understands, ABI 1 to 7, in words of our own: the header of the C
 * library may be older than the kernel, and the kernel older than this file.
 */
#include <stdint.h>

#define LL_FS_EXECUTE     (1ULL << 0)
#define LL_FS_WRITE_FILE  (1ULL << 1)
#define LL_FS_READ_FILE   (1ULL << 2)
#define LL_FS_READ_DIR    (1ULL << 3)
#define LL_FS_REMOVE_DIR  (1ULL << 4)
#define LL_FS_REMOVE_FILE (1ULL << 5)
#define LL_FS_MAKE_CHAR   (1ULL << 6)
#define LL_FS_MAKE_DIR    (1ULL << 7)
#define LL_FS_MAKE_REG    (1ULL << 8)
#define LL_FS_MAKE_SOCK   (1ULL << 9)
#define LL_FS_MAKE_FIFO   (1ULL << 10)
#define LL_FS_MAKE_BLOCK  (1ULL << 11)
#define LL_FS_MAKE_SYM    (1ULL << 12)
#define LL_FS_REFER       (1ULL << 13) /* ABI 2, Linux 5.19 */
#define LL_FS_TRUNCATE    (1ULL << 14) /* ABI 3, Linux 6.2 */
#define LL_FS_IOCTL_DEV   (1ULL << 15) /* ABI 5, Linux 6.10 */

#define LL_NET_BIND_TCP    (1ULL << 0) /* ABI 4, Linux 6.7 */
#define LL_NET_CONNECT_TCP (1ULL << 1)

#define LL_SCOPE_ABSTRACT_SOCKET (1ULL << 0) /* ABI 6, Linux 6.12 */
#define LL_SCOPE_SIGNAL          (1ULL << 1)

#define LL_ABI_REFER    2
#define LL_ABI_TRUNCATE 3
#define LL_ABI_NET      4
#define LL_ABI_IOCTL    5
#define LL_ABI_SCOPE    6
#define LL_ABI_KNOWN    7 /* the newest that this file describes; it only added logging flags */

#define LL_CREATE_VERSION    (1U << 0)
#define LL_RULE_PATH_BENEATH 1

struct ll_ruleset_attr {
	uint64_t handled_fs;
	uint64_t handled_net; /* from ABI 4 */
	uint64_t scoped;      /* from ABI 6 */
};

struct ll_path_attr {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));
