#include "base/test-support.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "container/endpoint.h"

static char dir[64];

static int make_place(void **state)
{
	test_directory_make(dir);
	return 0;
}

static int drop_place(void **state)
{
	test_directory_remove(dir);
	return 0;
}

static const char *in_dir(char into[128], const char *prefix, const char *name)
{
	assert_in_range(snprintf(into, 128, "%s%s/%s", prefix, dir, name), 1, 127);
	return into;
}

static void make_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

static void expect(const struct docker_place *place, enum docker_client client, const char *url,
                   const char *source)
{
	struct docker_endpoint e;
	struct error err = {0};

	assert_int_equal(docker_endpoint_find(client, place, &e, &err), 0);
	assert_string_equal(e.url, url);
	assert_string_equal(e.path, strncmp(url, "unix://", 7) == 0 ? url + 7 : "");
	assert_non_null(strstr(e.source, source));
}

static void the_profile_comes_before_the_environment(void **state)
{
	const char *const environment[] = {"DOCKER_HOST=tcp://127.0.0.1:2375",
	                                   "CONTAINER_HOST=unix:///p", NULL};
	struct docker_place place = {.environment = environment};

	expect(&place, DOCKER_CLIENT_DOCKER, "tcp://127.0.0.1:2375", "DOCKER_HOST");
	expect(&place, DOCKER_CLIENT_PODMAN, "unix:///p", "CONTAINER_HOST");
	place.configured = "unix:///x/y.sock";
	expect(&place, DOCKER_CLIENT_DOCKER, "unix:///x/y.sock", "docker.endpoint");
	place.configured = "/x/z.sock";
	expect(&place, DOCKER_CLIENT_PODMAN, "unix:///x/z.sock", "docker.endpoint");
}

static void the_default_is_the_first_that_is_there(void **state)
{
	char variable[128], url[128], path[128];
	const char *const environment[] = {in_dir(variable, "XDG_RUNTIME_DIR=", "run"), NULL};
	const struct docker_place place = {.environment = environment};

	assert_int_equal(mkdir(in_dir(path, "", "run"), 0700), 0);
	assert_int_equal(mkdir(in_dir(path, "", "run/podman"), 0700), 0);
	make_socket(in_dir(path, "", "run/podman/podman.sock"));
	expect(&place, DOCKER_CLIENT_PODMAN, in_dir(url, "unix://", "run/podman/podman.sock"),
	       "default");
	if (access("/var/run/docker.sock", F_OK) == 0)
		return; /* this machine has one of its own */
	expect(&place, DOCKER_CLIENT_DOCKER, url, "default");
	make_socket(in_dir(path, "", "run/docker.sock"));
	expect(&place, DOCKER_CLIENT_DOCKER, in_dir(url, "unix://", "run/docker.sock"), "default");
}

static void write_context(const char *name, const char *host)
{
	char path[128], text[512];

	(void)mkdir(in_dir(path, "", "contexts"), 0700);
	(void)mkdir(in_dir(path, "", "contexts/meta"), 0700);
	snprintf(text, sizeof(text), "contexts/meta/%s", name);
	assert_int_equal(mkdir(in_dir(path, "", text), 0700), 0);
	snprintf(text, sizeof(text), "contexts/meta/%s/meta.json", name);
	in_dir(path, "", text);
	snprintf(text, sizeof(text),
	         "{\"Name\": \"%s\", \"Metadata\": {}, \"Endpoints\": {\"docker\": {\"Host\": "
	         "\"%s\", \"SkipTLSVerify\": false}}}",
	         name, host);
	test_file_write(path, text);
}

static void a_context_is_found_by_its_name(void **state)
{
	char settings[128], path[128];
	const char *environment[] = {in_dir(settings, "DOCKER_CONFIG=", "."), NULL, NULL};
	struct docker_place place = {.environment = environment};

	write_context("one", "unix:///one.sock");
	write_context("two", "ssh://host");
	test_file_write(in_dir(path, "", "config.json"), "{\"currentContext\": \"one\"}");
	expect(&place, DOCKER_CLIENT_DOCKER, "unix:///one.sock", "context 'one'");
	environment[1] = "DOCKER_CONTEXT=two";
	expect(&place, DOCKER_CLIENT_DOCKER, "ssh://host", "context 'two'");
	environment[1] = "DOCKER_HOST=unix:///h"; /* as docker's own client has it */
	expect(&place, DOCKER_CLIENT_DOCKER, "unix:///h", "DOCKER_HOST");
}

static void a_context_that_cannot_be_read_is_an_error(void **state)
{
	char settings[128];
	const char *const environment[] = {in_dir(settings, "DOCKER_CONFIG=", "."),
	                                   "DOCKER_CONTEXT=gone", NULL};
	const struct docker_place place = {.environment = environment};
	struct docker_endpoint e;
	struct error err = {0};

	assert_int_equal(docker_endpoint_find(DOCKER_CLIENT_DOCKER, &place, &e, &err), -ENOENT);
	assert_non_null(strstr(err.text, "context 'gone'"));
}

static void files_of_the_workspace_name_nothing(void **state)
{
	char settings[128], path[128];
	const char *const environment[] = {in_dir(settings, "DOCKER_CONFIG=", "."), NULL};
	const struct docker_place place = {.environment = environment, .workspace = dir};
	struct docker_endpoint e;

	write_context("one", "unix:///one.sock");
	test_file_write(in_dir(path, "", "config.json"), "{\"currentContext\": \"one\"}");
	assert_int_equal(docker_endpoint_find(DOCKER_CLIENT_DOCKER, &place, &e, NULL), 0);
	assert_string_not_equal(e.url, "unix:///one.sock");
}

static void damaged_settings_are_none(void **state)
{
	char settings[128], path[128];
	const char *const environment[] = {in_dir(settings, "DOCKER_CONFIG=", "."), NULL};
	const struct docker_place place = {.environment = environment};
	struct docker_endpoint e;

	test_file_write(in_dir(path, "", "config.json"), "{\"currentContext\": 5}");
	assert_int_equal(docker_endpoint_find(DOCKER_CLIENT_DOCKER, &place, &e, NULL), 0);
	test_file_write(path, "{");
	assert_int_equal(docker_endpoint_find(DOCKER_CLIENT_DOCKER, &place, &e, NULL), 0);
	assert_non_null(strstr(e.source, "default"));
}

static void what_cannot_be_an_address_is_refused(void **state)
{
	char path[300] = "unix:///";
	struct docker_place place = {.configured = "unix://relative"};
	struct docker_endpoint e;
	struct error err = {0};

	assert_int_equal(docker_endpoint_find(DOCKER_CLIENT_DOCKER, &place, &e, &err), -EINVAL);
	memset(path + 8, 'x', 150);
	place.configured = path;
	assert_int_equal(docker_endpoint_find(DOCKER_CLIENT_DOCKER, &place, &e, &err), -EINVAL);
	memset(path + 8, 'x', 280);
	assert_int_equal(docker_endpoint_find(DOCKER_CLIENT_DOCKER, &place, &e, &err),
	                 -ENAMETOOLONG);
}

static void addresses_have_schemes_that_a_client_knows(void **state)
{
	static const char *const good[] = {"tcp://127.0.0.1:2375", "ssh://joe@host", "http://h:1",
	                                   "https://h:1", "127.0.0.1:2375"};
	static const char *const bad[] = {
		"npipe:////./pipe/x", "fd://", "unix:/x.sock", "unix:", "file:///x", "://"};

	for (size_t i = 0; i < array_size(good); i++) {
		struct docker_place place = {.configured = good[i]};

		expect(&place, DOCKER_CLIENT_DOCKER, good[i], "docker.endpoint");
	}
	for (size_t i = 0; i < array_size(bad); i++) {
		struct docker_place place = {.configured = bad[i]};
		struct docker_endpoint e;
		struct error err = {0};

		assert_int_equal(docker_endpoint_find(DOCKER_CLIENT_DOCKER, &place, &e, &err),
		                 -EINVAL);
		assert_non_null(strstr(err.text, "no address of an engine"));
	}
}

static void clients_are_known_by_their_name(void **state)
{
	static const struct {
		const char *program;
		enum docker_client client;
	} cases[] = {{"docker", DOCKER_CLIENT_DOCKER},
	             {"/usr/bin/docker", DOCKER_CLIENT_DOCKER},
	             {"docker-compose", DOCKER_CLIENT_DOCKER},
	             {"podman", DOCKER_CLIENT_PODMAN},
	             {"dockerd", DOCKER_CLIENT_MAX},
	             {"docker/x", DOCKER_CLIENT_MAX},
	             {"", DOCKER_CLIENT_MAX},
	             {"/", DOCKER_CLIENT_MAX}};

	for (size_t i = 0; i < array_size(cases); i++)
		assert_int_equal(docker_client_of(cases[i].program, strlen(cases[i].program)),
		                 cases[i].client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_profile_comes_before_the_environment),
		cmocka_unit_test_setup_teardown(the_default_is_the_first_that_is_there, make_place,
	                                        drop_place),
		cmocka_unit_test_setup_teardown(a_context_is_found_by_its_name, make_place,
	                                        drop_place),
		cmocka_unit_test_setup_teardown(a_context_that_cannot_be_read_is_an_error,
	                                        make_place, drop_place),
		cmocka_unit_test_setup_teardown(files_of_the_workspace_name_nothing, make_place,
	                                        drop_place),
		cmocka_unit_test_setup_teardown(damaged_settings_are_none, make_place, drop_place),
		cmocka_unit_test(what_cannot_be_an_address_is_refused),
		cmocka_unit_test(addresses_have_schemes_that_a_client_knows),
		cmocka_unit_test(clients_are_known_by_their_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
